package roundtrip

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
)

// milvus reads the records that code of Milvus wrote.
func milvus(t *testing.T, folder string) []recording.Record {
	t.Helper()
	dir := "../../testdata/golden/" + folder + "/"
	index, err := os.ReadFile(dir + "index.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		File    string
		Headers map[string]string
	}
	if err := json.Unmarshal(index, &entries); err != nil {
		t.Fatal(err)
	}
	var records []recording.Record
	for i, e := range entries {
		r := recording.Record{Topic: topic, Offset: int64(i), Timestamp: 1_700_000_000_000}
		if r.Value, err = os.ReadFile(dir + e.File); err != nil {
			t.Fatal(err)
		}
		for _, k := range slices.Sorted(maps.Keys(e.Headers)) {
			r.Headers = append(r.Headers, recording.Header{Name: k, Value: []byte(e.Headers[k])})
		}
		records = append(records, r)
	}
	return records
}

// The same rows travel in both forms of the log; in the WAL their time is the
// record's, and a seal stands in the log.
func TestWhatMilvusWroteBecomesFilesAndADocument(t *testing.T) {
	const base = 1700000000000 << 18
	for _, c := range []struct {
		folder string
		fields int // the system's included
		want   []string
	}{
		{"kafka-msgstream-2.5", 24, []string{
			"segment 445600 of 445566/445567 level 2 dropped, 5 rows, start 2, end 9", "row 445700000: pk -20 at +0", "row 445700001: pk -10 at +0",
			"row 445700002: pk 0 at +0", "row 445700003: pk 10 at +3", "row 445700004: pk 20 at +3",
			"segment 4611686018427387904 of 445566/445567 level 1 dropped, 2 rows, start 5, end 9", "delete of -20 at +100", "delete of 10 at +100",
		}},
		{"kafka-wal-2.6", 3, []string{
			"segment 445600 of 445566/445567 level 2 dropped, 2 rows, start 2, end 6", "row 1: pk 11 at +2", "row 2: pk 12 at +2",
			"segment 4611686018427387904 of 445566/445567 level 1 dropped, 1 rows, start 3, end 8", "delete of 11 at +3",
		}},
	} {
		m := membucket.New()
		records := milvus(t, c.folder)
		run(t, records, m, 64<<20, 3)
		if want, _ := checkLog(t, records, m); want.Bad != 0 {
			t.Errorf("%s: %d bad records", c.folder, want.Bad)
		}
		if got := told(t, m, base, c.fields); !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.folder, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		doc, _, err := m.Get(t.Context(), checkpoints.DocumentKey(vchannel.Name()))
		if err != nil {
			t.Fatal(err)
		}
		d, err := checkpoints.Decode(vchannel.Name(), doc)
		if err != nil {
			t.Fatal(err)
		}
		if end := int64(len(records)); d.Seek.Offset != end || d.ReadFrom.Offset != end || d.Collections[445566].Dropped == nil || len(d.Segments) != 0 {
			t.Errorf("%s: the document stands at %+v, %d segments", c.folder, d.Seek, len(d.Segments))
		}
	}
}

// told renders what a bucket holds; times are counted from base, and the IDs
// of auto segments are not told apart.
func told(t *testing.T, m *membucket.Bucket, base uint64, fields int) (out []string) {
	t.Helper()
	ctx := context.Background()
	a, err := archive.Open(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range a.Segments(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		id := s.ID
		if s.Auto {
			id = 1 << 62
		}
		out = append(out, fmt.Sprintf("segment %d of %d/%d level %d %s, %d rows, start %d, end %d",
			id, s.Collection, s.Partition, s.Level, stateOf(s), s.Rows, s.Start.Offset, s.End.Offset))
		if s.Level == checkpoints.L1 && len(s.Fields) != fields {
			t.Errorf("segment %d has fields %v", s.ID, s.Fields)
		}
		for f, err := range a.Flushes(ctx, s) {
			if err != nil {
				t.Fatal(err)
			}
			if s.Level == checkpoints.L0 {
				for d := range f.Deletes() {
					out = append(out, fmt.Sprintf("delete of %d at +%d", int64(le64(d.Key)), d.Timestamp-base))
				}
				continue
			}
			for r := range f.Rows() {
				out = append(out, fmt.Sprintf("row %d: pk %d at +%d", r.ID, int64(le64(r.Values[slices.Index(s.Fields, 100)])), r.Timestamp-base))
			}
		}
	}
	return out
}

func stateOf(s *archive.Segment) string {
	if s.State == checkpoints.Dropped {
		return "dropped"
	}
	return "flushed"
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
