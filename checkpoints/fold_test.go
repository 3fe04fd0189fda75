package checkpoints_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

func folding(limit int) checkpoints.Options {
	o := checkpoints.DefaultOptions()
	o.FoldAbove = limit
	return o
}

// segmentOf is a segment as it is stored, wherever it is.
func segmentOf(t *testing.T, b *membucket.Bucket, id int64) *checkpoints.Segment {
	t.Helper()
	if s := stored(t, b).Segments[id]; s != nil {
		return s
	}
	m, err := checkpoints.LoadManifest(t.Context(), b, checkpoints.SegmentRef{Collection: collection, Partition: partition, Segment: id})
	if err != nil {
		t.Fatal(err)
	}
	return &m.Segment
}

func TestFoldingLosesNoLogAndKeepsTheDocumentSmall(t *testing.T) {
	b := membucket.New()
	l := beginWith(t, b, folding(4000))
	var want []string
	const flushes = 600
	for i := range int64(flushes) {
		c := l.rows(segment(1, 0, i+1), 1)
		want = append(want, c.Flush.Log.ID)
		l.ack(c)
		l.ack(l.rows(segment(2, 0, i+1), 1))
		l.flush()
		if n := len(b.Data(checkpoints.DocumentKey(v0.Name()))); n > 4000 {
			t.Fatalf("after %d flushes the document has %d bytes", i, n)
		}
	}
	l.ack(l.last(segment(1, 0, flushes+1), 1))
	l.flush()
	s := segmentOf(t, b, 1)
	logs, chunks, err := checkpoints.LoadLogs(t.Context(), b, s)
	if err != nil || len(logs) != flushes+1 || len(chunks) < 20 {
		t.Fatalf("%d logs in %d chunks: %v", len(logs), len(chunks), err)
	}
	for i, id := range want {
		if logs[i].ID != id {
			t.Fatalf("log %d is %s, want %s", i, logs[i].ID, id)
		}
	}
	if len(s.Chunks) > 16 || s.Rows != flushes+1 {
		t.Errorf("manifest %s", asJSON(s))
	}
	b.Remove(chunks[0])
	if _, _, err := checkpoints.LoadLogs(t.Context(), b, s); err == nil {
		t.Error("a missing chunk is not noticed")
	}
}

func TestAChunkOfACommitThatWasLostIsNotUsedAgain(t *testing.T) {
	b := membucket.New()
	zombie := beginWith(t, b, folding(800))
	for i := range int64(4) {
		zombie.ack(zombie.rows(segment(1, 0, i+1), 1))
	}
	var late held
	if err := zombie.tracker.Flush(doomed(t, b, late.hook)); err == nil {
		t.Fatal("a commit without a reply is called stored")
	}
	b.Before(nil)
	orphans := b.Keys("segments/")
	if len(orphans) == 0 {
		t.Fatal("nothing was folded")
	}
	owner := beginWith(t, b, folding(800))
	for i := range int64(6) {
		owner.ack(owner.rows(segment(1, 0, i+1), 1))
	}
	owner.flush()
	logs, chunks, err := checkpoints.LoadLogs(t.Context(), b, segmentOf(t, b, 1))
	if err != nil || len(logs) != 6 || len(chunks) == 0 {
		t.Fatalf("%d logs in %v: %v", len(logs), chunks, err)
	}
	for _, key := range chunks {
		if key == orphans[0] {
			t.Errorf("chunk %s is used by two lives", key)
		}
	}
}

func TestTheLongestListIsFoldedFirstAndAFinalOneNever(t *testing.T) {
	b := membucket.New()
	l := beginWith(t, b, folding(10500))
	for i := range int64(60) {
		l.ack(l.rows(segment(1, 0, i+1), 1))
	}
	for i := range int64(5) {
		l.ack(l.rows(segment(2, 0, i+1), 1))
	}
	for i := range int64(70) {
		l.ack(l.rows(segment(3, 0, i+1), 1))
	}
	l.ack(l.last(segment(3, 0, 90), 1))
	b.Before(refuse(membucket.Put, checkpoints.ManifestKey(collection, partition, 3), context.DeadlineExceeded))
	if err := l.tracker.Flush(t.Context()); err == nil {
		t.Fatal("the manifest was not tried")
	}
	d := l.stored()
	if len(d.Segments[1].Logs) != 1 || len(d.Segments[2].Logs) != 5 || len(d.Segments[3].Logs) != 71 {
		t.Errorf("logs left: %d, %d, %d", len(d.Segments[1].Logs), len(d.Segments[2].Logs), len(d.Segments[3].Logs))
	}
}

func TestFiveThousandOpenSegmentsMakeABoundedDocument(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	const segments = 5000
	sizes := []int{}
	for round := range int64(4) {
		for id := range int64(segments) {
			l.ack(l.rows(segment(id+1, 0, round+1), 1))
		}
		l.flush()
		sizes = append(sizes, len(b.Data(checkpoints.DocumentKey(v0.Name()))))
	}
	for i, n := range sizes {
		if n > segments*560 {
			t.Errorf("round %d: %d bytes", i, n)
		}
	}
	if grown := sizes[3] - sizes[2]; grown > segments*25 { // a chunk's name
		t.Errorf("a round adds %d bytes: %v", grown, sizes)
	}
	for id := range int64(segments) {
		l.ack(empty(segment(id+1, 0, 9)))
	}
	l.flush()
	if n := len(b.Data(checkpoints.DocumentKey(v0.Name()))); n > 2000 {
		t.Errorf("history leaves %d bytes", n)
	}
	if n := len(b.Calls(membucket.Put, checkpoints.DocumentKey(v0.Name()))); n != 1+4+2 {
		t.Errorf("%d document puts", n)
	}
	next := begin(t, b)
	if len(next.doc.Segments) != 0 {
		t.Errorf("%d segments are loaded", len(next.doc.Segments))
	}
}

func TestAChunkOfAnotherSegmentIsNotRead(t *testing.T) {
	b := membucket.New()
	const id = "100000010000000001"
	s := segment(1, 0, 2)
	s.Rows, s.Chunks = 1, []string{id}
	key := checkpoints.ChunkKey(collection, partition, 1, id)
	const chunk = `{"version":1,"collection":"100","partition":"101","segment":"1","chunks":[%s],
		"logs":[{"log":"100000010000000002","rows":1,"bytes":1,"min_ts":"0","max_ts":"0"}]}`
	b.Set(key, fmt.Appendf(nil, chunk, ""))
	if _, _, err := checkpoints.LoadLogs(t.Context(), b, &s); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"of another segment": strings.Replace(fmt.Sprintf(chunk, ""), `"segment":"1"`, `"segment":"2"`, 1),
		"in a circle":        fmt.Sprintf(chunk, `"`+id+`"`),
		"empty":              `{"version":1,"collection":"100","partition":"101","segment":"1","logs":[]}`,
		"truncated":          chunk[:60],
		"of other rows":      strings.Replace(fmt.Sprintf(chunk, ""), `"rows":1`, `"rows":2`, 1),
	} {
		b.Set(key, []byte(data))
		_, _, err := checkpoints.LoadLogs(t.Context(), b, &s)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		wantError(t, err, checkpoints.ErrInvalid)
	}
}
