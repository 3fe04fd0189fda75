package restore_test

import (
	"bytes"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/sinks/binlog"
)

// sentAgain cuts the log of the largest segment of a collection back and lets
// the archive have its rows once more, as of a producer that sent them again:
// those later than the middle one, or all, stood behind the cut.
func sentAgain(t *testing.T, b *membucket.Bucket, l *archive.Live, all bool) (again int64) {
	t.Helper()
	var s *archive.LiveSegment
	for _, p := range l.Partitions {
		for _, o := range p.Segments {
			if s == nil || o.Rows > s.Rows {
				s = o
			}
		}
	}
	d, _, err := checkpoints.Load(t.Context(), b, s.VChannel)
	if err != nil {
		t.Fatal(err)
	}
	d.CutBack(s.Start, 0, nil)
	at, log := &d.CutBacks[0].At, s.Flushes[0]
	if at.Tick = 0; !all {
		at.Tick = log.MinTS + (log.MaxTS-log.MinTS)/2
	}
	d.Version = checkpoints.Version + 1
	copied := s.Segment.Segment
	copied.ID, copied.Generation, copied.State, copied.Logs, copied.Chunks = s.ID+1_000_003, 1, checkpoints.Flushed, s.Flushes, nil
	for n, f := range s.Flushes {
		keys := copied.DataKeys(f.ID)
		b.Set(keys[len(keys)-1], b.Data(s.DataKeys(f.ID)[len(keys)-1])) // statistics of its keys
		flush, err := l.Flush(t.Context(), s, n)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range flush.Columns {
			var encoder binlog.Encoder
			file, err := encoder.Encode(binlog.Meta{Collection: s.Collection, Partition: s.Partition, Segment: copied.ID, MinTS: f.MinTS, MaxTS: f.MaxTS}, c)
			if err != nil {
				t.Fatal(err)
			}
			b.Set(keys[i], bytes.Join(file.Parts, nil))
		}
	}
	manifest, err := checkpoints.NewManifest(d, &copied).Encode()
	if err != nil {
		t.Fatal(err)
	}
	b.Set(copied.ManifestKey(), manifest)
	data, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b.Set(checkpoints.DocumentKey(d.VChannel), data)
	return s.Rows
}

// A row that a producer sent once more after its log was cut back is stored
// twice and restored once: an import takes whole files, and has no other rule.
func TestARowThatWasSentAgainIsRestoredTwice(t *testing.T) {
	for _, all := range []bool{true, false} {
		b := archived(t, "ddl")
		before := live(t, b, archive.LiveOptions{Collection: "ddl"})
		was := countAll(t, before)
		copied := sentAgain(t, b, before, all)
		l := live(t, b, archive.LiveOptions{Collection: "ddl", Until: before.Until})
		now := countAll(t, l)
		if all && now != was || !all && (now <= was || now >= was+copied) {
			t.Errorf("all %v: %d rows are alive, %d were, of which %d were sent again", all, now, was, copied)
		}
		f := newMilvus(t)
		plan, _, err := f.begin(b, l, "copy")
		if err != nil {
			t.Fatal(err)
		}
		if n := f.same(plan, "copy"); int64(n) != now {
			t.Errorf("%d rows were restored, %d are alive", n, now)
		}
	}
}

func countAll(t *testing.T, l *archive.Live) (n int64) {
	t.Helper()
	for _, p := range l.Partitions {
		rows, err := l.Count(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		n += rows
	}
	return n
}
