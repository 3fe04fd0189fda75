package roundtrip

import (
	"bytes"
	"context"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"pgregory.net/rapid"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/stages/column"
)

// sent is a row as it was sent, or a delete.
type sent struct {
	ts     uint64
	values map[int64][]byte // by field; nil is a null
}

// journey is a log and what it should lead to.
type journey struct {
	log
	fields  []*field
	output  *field         // what a function computes behind the log; nil: there is no function
	rows    map[int64]sent // by row ID
	deletes []archive.Delete
}

func drawJourney(t *rapid.T) *journey {
	j := &journey{log: log{t: t, tick: 1 << 40}, fields: drawFields(t), rows: map[int64]sent{}}
	schema := &schemapb.CollectionSchema{Name: "every type", EnableDynamicField: true}
	for _, f := range j.fields {
		schema.Fields = append(schema.Fields, f.pb)
	}
	if rapid.IntRange(0, 2).Draw(t, "function") == 0 {
		j.output = &field{dim: 1, pb: &schemapb.FieldSchema{FieldID: int64(100 + len(j.fields)), Name: "computed", DataType: schemapb.DataType_SparseFloatVector, IsFunctionOutput: true}}
		schema.Fields = append(schema.Fields, j.output.pb)
		schema.Functions = []*schemapb.FunctionSchema{{Name: "bm25", Type: schemapb.FunctionType_BM25, OutputFieldIds: []int64{j.output.pb.GetFieldID()}}}
	}
	first := rapid.Bool().Draw(t, "2.6 from the beginning")
	j.wal = first
	j.create(schema)
	for range rapid.IntRange(1, 6).Draw(t, "messages") {
		j.wal = first || j.wal || rapid.IntRange(0, 3).Draw(t, "upgrade") == 0
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0:
			j.drawDelete(t)
		case 1:
			j.timeTick()
		default:
			j.drawInsert(t)
		}
	}
	return j
}

func (j *journey) drawInsert(t *rapid.T) {
	n := rapid.IntRange(0, 5).Draw(t, "rows")
	var ids []int64
	for range n {
		ids = append(ids, 445<<40+int64(len(j.rows)+len(ids)))
	}
	values := make([]map[int64][]byte, n)
	for i := range values {
		values[i] = map[int64][]byte{}
	}
	var columns []*schemapb.FieldData
	for _, f := range j.fields {
		if f.mayLeave && (j.wal || f.pb.GetNullable() || f.pb.GetIsDynamic()) && rapid.IntRange(0, 2).Draw(t, "left out") == 0 {
			for i := range values {
				values[i][f.pb.GetFieldID()] = f.absent
			}
			continue
		}
		c := &cells{}
		c.draw(t, f, n, f.pb.GetNullable() && rapid.Bool().Draw(t, "with nulls"))
		for i := range values {
			values[i][f.pb.GetFieldID()] = c.want[i]
		}
		columns = append(columns, c.column(f))
	}
	if j.output != nil && rapid.Bool().Draw(t, "output sent") {
		c := &cells{}
		c.draw(t, j.output, n, false)
		columns = append(columns, c.column(j.output))
	}
	times := j.insert(rapid.SampledFrom([]int64{0, 301, 302}).Draw(t, "segment"), ids, columns)
	for i, id := range ids {
		j.rows[id] = sent{times[i], values[i]}
	}
}

func (c *cells) column(f *field) *schemapb.FieldData {
	out := &schemapb.FieldData{Type: f.pb.GetDataType(), FieldId: f.pb.GetFieldID(), FieldName: f.pb.GetName(), IsDynamic: f.pb.GetIsDynamic(), ValidData: c.valid}
	if c.vectors != nil {
		out.Field = &schemapb.FieldData_Vectors{Vectors: c.vectors}
	} else {
		out.Field = &schemapb.FieldData_Scalars{Scalars: c.scalars}
	}
	return out
}

func (j *journey) drawDelete(t *rapid.T) {
	c := &cells{}
	n := rapid.IntRange(0, 4).Draw(t, "keys")
	c.draw(t, j.fields[0], n, false)
	keys := &schemapb.IDs{IdField: &schemapb.IDs_IntId{IntId: c.scalars.GetLongData()}}
	if texts := c.scalars.GetStringData(); texts != nil {
		keys.IdField = &schemapb.IDs_StrId{StrId: texts}
	}
	ts := j.delete(keys, n)
	for _, key := range c.want {
		j.deletes = append(j.deletes, archive.Delete{Key: key, Timestamp: ts})
	}
}

// A value that changes on its way is lost for good, whatever the counts say.
func TestRowsOfEveryTypeComeBackAsTheyWereSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJourney(t)
		m := membucket.New()
		run(t, j.records, m, rapid.SampledFrom([]int64{1, 400, 64 << 20}).Draw(t, "flush bytes"), rapid.IntRange(1, 10).Draw(t, "records a poll"))
		j.compare(t, m)
		want, report := checkLog(t, j.records, m)
		if want.Bad != 0 || report.Rows != int64(len(j.rows)) || report.Deletes != int64(len(j.deletes)) {
			t.Fatalf("%d bad records\n%s", want.Bad, report)
		}
	})
}

// compare reads everything back.
func (j *journey) compare(t *rapid.T, m *membucket.Bucket) {
	ctx := context.Background()
	a, err := archive.Open(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	rows, deletes := 0, 0
	for s, err := range a.Segments(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		for f, err := range a.Flushes(ctx, s) {
			if err != nil {
				t.Fatal(err)
			}
			if s.Level == checkpoints.L0 {
				for d := range f.Deletes() {
					if deletes >= len(j.deletes) || !bytes.Equal(d.Key, j.deletes[deletes].Key) || d.Timestamp != j.deletes[deletes].Timestamp {
						t.Fatalf("delete %d: %v", deletes, d)
					}
					deletes++
				}
				continue
			}
			for r := range f.Rows() {
				j.row(t, s, r)
				rows++
			}
		}
	}
	if rows != len(j.rows) || deletes != len(j.deletes) {
		t.Fatalf("%d of %d rows, %d of %d deletes came back", rows, len(j.rows), deletes, len(j.deletes))
	}
}

func (j *journey) row(t *rapid.T, s *archive.Segment, r archive.Row) {
	want, ok := j.rows[r.ID]
	if !ok || r.Timestamp != want.ts || len(s.Fields) != 2+len(want.values) {
		t.Fatalf("row %d at %d with fields %v, sent at %d", r.ID, r.Timestamp, s.Fields, want.ts)
	}
	for i, id := range s.Fields {
		if v := r.Values[i]; id >= column.FirstUser && (!bytes.Equal(v, want.values[id]) || (v == nil) != (want.values[id] == nil)) {
			t.Fatalf("row %d, field %d: %.60x (null %t), sent %.60x (null %t)", r.ID, id, v, v == nil, want.values[id], want.values[id] == nil)
		}
	}
}
