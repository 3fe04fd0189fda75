package archive_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// damage is one thing done to a bucket that was exact.
type damage struct {
	name string
	do   func(*testing.T, *membucket.Bucket)
	want string // in a problem
}

// pick returns the first segment of the document or of a manifest, by key,
// that pleases.
func pick(t *testing.T, m *membucket.Bucket, pleases func(*archive.Segment) bool) *archive.Segment {
	t.Helper()
	for s, err := range open(t, m).Segments(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if pleases(s) {
			return s
		}
	}
	t.Fatal("no such segment")
	return nil
}

func withRows(s *archive.Segment) bool    { return s.Level == checkpoints.L1 && s.Rows > 1 }
func withDeletes(s *archive.Segment) bool { return s.Level == checkpoints.L0 && s.Rows > 1 }
func manifested(s *archive.Segment) bool  { return withRows(s) && s.InManifest }

// edit changes a segment where it is stored.
func edit(t *testing.T, m *membucket.Bucket, s *archive.Segment, change func(*checkpoints.Segment)) {
	t.Helper()
	if s.InManifest {
		manifest, err := checkpoints.LoadManifest(t.Context(), m, checkpoints.SegmentRef{Collection: s.Collection, Partition: s.Partition, Segment: s.ID})
		if err != nil {
			t.Fatal(err)
		}
		change(&manifest.Segment)
		data, err := manifest.Encode()
		if err != nil {
			t.Fatal(err)
		}
		put(t, m, s.ManifestKey(), data, metaOf(t, m, s.ManifestKey()))
		return
	}
	editDoc(t, m, s.VChannel, func(d *checkpoints.Document) { change(d.Segments[s.ID]) })
}

func editDoc(t *testing.T, m *membucket.Bucket, vchannel string, change func(*checkpoints.Document)) {
	t.Helper()
	doc, _, err := checkpoints.Load(t.Context(), m, vchannel)
	if err != nil {
		t.Fatal(err)
	}
	change(doc)
	data, err := json.Marshal(doc) // also what Encode would refuse
	if err != nil {
		t.Fatal(err)
	}
	put(t, m, checkpoints.DocumentKey(vchannel), data, metaOf(t, m, checkpoints.DocumentKey(vchannel)))
}

// rewrite encodes one field's file anew after its column was changed.
func rewrite(t *testing.T, m *membucket.Bucket, key string, change func(*column.Column)) {
	t.Helper()
	log, err := binlog.Read(get(t, m, key))
	if err != nil {
		t.Fatal(err)
	}
	change(log.Rows)
	d := log.Descriptor
	file, err := new(binlog.Encoder).Encode(binlog.Meta{Collection: d.Collection, Partition: d.Partition, Segment: d.Segment, MinTS: d.MinTS, MaxTS: d.MaxTS}, log.Rows)
	if err != nil {
		t.Fatal(err)
	}
	put(t, m, key, slices.Concat(file.Parts...), metaOf(t, m, key))
}

// addFlush gives the segment a second flush with the same files.
func addFlush(t *testing.T, m *membucket.Bucket, s *archive.Segment) {
	t.Helper()
	last := s.Logs[len(s.Logs)-1]
	again := last
	again.ID = last.ID[:17] + string(last.ID[17]+1)
	if last.ID[17] == '9' {
		again.ID = last.ID[:16] + string(last.ID[16]+1) + "0"
	}
	for i, key := range s.DataKeys(last.ID) {
		put(t, m, s.DataKeys(again.ID)[i], get(t, m, key), metaOf(t, m, key))
	}
	edit(t, m, s, func(s *checkpoints.Segment) {
		s.Logs = append(s.Logs, again)
		s.Rows += again.Rows
	})
}

// reversed appends an Int64 column's values last first.
func reversed(from, to *column.Column) {
	var values [][]byte
	for v := range from.Values() {
		values = append(values, v)
	}
	slices.Reverse(values)
	for _, v := range values {
		to.AppendFixed(&column.Pool{}, v)
	}
}

func TestTheCheckFindsWhatIsWrong(t *testing.T) {
	r := recorded(t, "ddl")
	want := r.expected(t)
	for _, d := range damages() {
		t.Run(d.name, func(t *testing.T) {
			m := copyOf(t, r.bucket)
			if report := check(t, m, want, archive.CheckOptions{}); report.Err() != nil {
				t.Fatalf("the copy is not exact: %s", report)
			}
			d.do(t, m)
			report := check(t, m, want, archive.CheckOptions{MaxProblems: 1000})
			if !slices.ContainsFunc(report.Problems, func(p string) bool { return strings.Contains(p, d.want) }) {
				t.Errorf("no problem says %q: %s", d.want, report)
			}
		})
	}
}

func TestAnAutoEndBelowAManifestsEndIsFound(t *testing.T) {
	r := recorded(t, "concurrent")
	m := copyOf(t, r.bucket)
	s := pick(t, m, func(s *archive.Segment) bool { return withDeletes(s) && s.InManifest })
	editDoc(t, m, s.VChannel, func(d *checkpoints.Document) {
		d.Collections[s.Collection].Partitions[s.Partition].AutoEndDelete = s.End.Offset - 1
	})
	report := check(t, m, r.expected(t), archive.CheckOptions{})
	if report.Wrong != 1 || !strings.Contains(report.Problems[0], "its auto end is") {
		t.Errorf("%s", report)
	}
}

func TestObjectsThatNoDocumentCanReferToAreCounted(t *testing.T) {
	r := recorded(t, "ddl")
	m := copyOf(t, r.bucket)
	s := pick(t, m, withRows)
	// A second start made the first one's unfinished uploads garbage.
	editDoc(t, m, s.VChannel, func(d *checkpoints.Document) { d.Epoch++ })
	key := s.DataKeys("100000010000099999")[0]
	put(t, m, key, []byte("half a flush"), checkpoints.Meta(s.VChannel, 1))
	report := check(t, m, r.expected(t), archive.CheckOptions{})
	if report.Err() != nil || report.Unreferenced != 1 || report.UnreferencedBytes != int64(len("half a flush")) {
		t.Errorf("%s", report)
	}
}
