package restore_test

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/restore"
	"flowgraph/sinks/binlog"
)

// sameMoved compares a copy with the live rows under the fields' IDs in the target.
func (f *fakeMilvus) sameMoved(plan *restore.Plan, target string, ids map[int64]int64) (n int) {
	f.t.Helper()
	for _, p := range plan.Partitions {
		var want []string
		for _, row := range wanted(f.t, plan.Live, p.LivePartition) {
			var fields []string
			for _, field := range strings.Fields(row) {
				id, value, _ := strings.Cut(field, "=")
				for from, to := range ids {
					if id == fmt.Sprint(from) {
						id = fmt.Sprint(to)
						break
					}
				}
				fields = append(fields, id+"="+value+" ")
			}
			slices.SortFunc(fields, func(x, y string) int { return cmp.Compare(x[:strings.Index(x, "=")], y[:strings.Index(y, "=")]) })
			want = append(want, strings.Join(fields, ""))
		}
		slices.Sort(want)
		if got := f.rows(target, p.Name); !slices.Equal(got, want) {
			f.t.Errorf("partition %s: %d rows in the copy, %d in the archive, or others", p.Name, len(got), len(want))
		}
		n += len(want)
	}
	return n
}

// renumbered gives fields of the archive other IDs, as if the schema had
// gaps.
func renumbered(t *testing.T, b *membucket.Bucket, l *archive.Live, by map[int64]int64) {
	t.Helper()
	for _, key := range b.Keys(fmt.Sprintf("insert_log/%d/", l.Collection)) {
		parts := strings.Split(key, "/")
		for from, to := range by {
			if parts[4] != fmt.Sprint(from) {
				continue
			}
			data := slices.Clone(b.Data(key))
			if err := binlog.Renumber(data, to); err != nil {
				t.Fatal(err)
			}
			b.Remove(key)
			parts[4] = fmt.Sprint(to)
			b.Set(strings.Join(parts, "/"), data)
			break
		}
	}
	s := new(schemapb.CollectionSchema)
	if err := proto.Unmarshal(l.Raw, s); err != nil {
		t.Fatal(err)
	}
	for _, f := range s.GetFields() {
		if to, other := by[f.GetFieldID()]; other {
			f.FieldID = to
		}
	}
	raw, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Concat(b.Keys("checkpoints/"), b.Keys("segments/"), b.Keys("ddl/")) {
		text := strings.ReplaceAll(string(b.Data(key)), base64.StdEncoding.EncodeToString(l.Raw), base64.StdEncoding.EncodeToString(raw))
		for from, to := range by {
			text = strings.ReplaceAll(text, fmt.Sprintf(",%d]", from), fmt.Sprintf(",%d]", to))
		}
		b.Set(key, []byte(text))
	}
}

// A new collection is numbered without the gaps that an old one may have.
func TestFieldsThatMilvusNumbersInAnotherWayAreWrittenUnderItsNumbers(t *testing.T) {
	b := archived(t, "ddl")
	l := live(t, b, archive.LiveOptions{Collection: "ddl"})
	last := l.Fields[len(l.Fields)-1].ID
	renumbered(t, b, l, map[int64]int64{last: last + 5})
	rows := 0
	for _, until := range moments(l) { // whole files, and ones that are cut
		f := newMilvus(t)
		plan, result, err := f.begin(b, live(t, b, archive.LiveOptions{Collection: "ddl", Until: until}), "copy")
		if err != nil {
			t.Fatal(err)
		}
		rows += f.sameMoved(plan, "copy", map[int64]int64{last + 5: last})
		if result.Moved != 1 {
			t.Errorf("%d fields under another number", result.Moved)
		}
	}
	if rows == 0 {
		t.Error("no moment has any rows")
	}
}

func withFunction(t *testing.T, b *membucket.Bucket, l *archive.Live) {
	next := l.Fields[len(l.Fields)-1].ID + 1
	alter(t, b, l, func(s *schemapb.CollectionSchema) {
		s.Fields = append(s.Fields, &schemapb.FieldSchema{FieldID: next, Name: "sparse", DataType: schemapb.DataType_SparseFloatVector, IsFunctionOutput: true})
		s.Functions = []*schemapb.FunctionSchema{{Name: "bm25", Type: schemapb.FunctionType_BM25, OutputFieldNames: []string{"sparse"}, OutputFieldIds: []int64{next}}}
	})
}

// Milvus refuses an import without the results of functions, after everything
// was staged.
func TestACollectionWithFunctionsComesBackOnlyWithoutThem(t *testing.T) {
	b := archived(t, "ddl")
	withFunction(t, b, live(t, b, archive.LiveOptions{Collection: "ddl"}))
	l := live(t, b, archive.LiveOptions{Collection: "ddl"})
	f := newMilvus(t)
	plan, _, err := f.begin(b, l, "copy")
	if !errors.Is(err, restore.ErrFunctions) || !strings.Contains(err.Error(), "bm25") || len(f.collections) > 0 {
		t.Errorf("%v, collections %v", err, f.collections)
	}
	if !slices.ContainsFunc(plan.Warnings, func(w string) bool { return strings.Contains(w, "bm25") }) {
		t.Errorf("warnings %q", plan.Warnings)
	}
	if plan, _, err = f.begin(b, l, "copy", func(o *restore.Options) { o.WithoutFunctions = true }); err != nil {
		t.Fatal(err)
	}
	if n := f.same(plan, "copy"); n == 0 || len(f.collections["copy"].schema.GetFunctions()) > 0 {
		t.Errorf("%d rows, functions %v", n, f.collections["copy"].schema.GetFunctions())
	}
}
