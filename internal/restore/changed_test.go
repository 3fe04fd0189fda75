package restore_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/milvus"
	"flowgraph/internal/restore"
)

// alter changes a collection's schema at the end of what every log holds.
func alter(t *testing.T, b *membucket.Bucket, l *archive.Live, change func(*schemapb.CollectionSchema)) {
	t.Helper()
	s := new(schemapb.CollectionSchema)
	if err := proto.Unmarshal(l.Raw, s); err != nil {
		t.Fatal(err)
	}
	change(s)
	raw, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range l.VChannels {
		doc, _, err := checkpoints.Load(t.Context(), b, v)
		if err != nil {
			t.Fatal(err)
		}
		last := doc.Seek.Offset - 1
		doc.Events = append(doc.Events, checkpoints.Event{
			Kind: checkpoints.AlterCollection, Offset: last, Timestamp: l.Until, Collection: l.Collection, Schema: raw,
		})
		c := doc.Collections[l.Collection]
		c.Schema, c.SchemaOffset, c.LastDDL = raw, last, last
		data, err := doc.Encode()
		if err != nil {
			t.Fatal(err)
		}
		b.Set(checkpoints.DocumentKey(v), data)
	}
}

func TestRowsOlderThanAFieldGetItsDefaultOrNull(t *testing.T) {
	b := archived(t, "ddl")
	l := live(t, b, archive.LiveOptions{Collection: "ddl"})
	next := int64(0)
	for _, f := range l.Fields {
		next = max(next, f.ID+1)
	}
	alter(t, b, l, func(s *schemapb.CollectionSchema) {
		s.Fields = append(s.Fields,
			&schemapb.FieldSchema{FieldID: next, Name: "seven", DataType: schemapb.DataType_Int32, Nullable: true,
				DefaultValue: &schemapb.ValueField{Data: &schemapb.ValueField_IntData{IntData: 7}}},
			&schemapb.FieldSchema{FieldID: next + 1, Name: "text", DataType: schemapb.DataType_VarChar, Nullable: true})
	})
	// Where the moment lies within a flush its files are written anew.
	for _, until := range []uint64{l.Until, l.Until + 1} {
		f := newMilvus(t)
		plan, _, err := f.begin(b, live(t, b, archive.LiveOptions{Collection: "ddl", Until: until}), "copy")
		if err != nil {
			t.Fatal(err)
		}
		if n := f.same(plan, "copy"); n == 0 || !slices.ContainsFunc(plan.Warnings, func(w string) bool { return strings.Contains(w, "older than some fields") }) {
			t.Errorf("%d rows, warnings %q", n, plan.Warnings)
		}
	}
}

func TestAFieldWithoutAnyValueForOldRowsIsAnError(t *testing.T) {
	b := archived(t, "ddl")
	l := live(t, b, archive.LiveOptions{Collection: "ddl"})
	alter(t, b, l, func(s *schemapb.CollectionSchema) {
		s.Fields = append(s.Fields, &schemapb.FieldSchema{FieldID: l.Fields[len(l.Fields)-1].ID + 1, Name: "n", DataType: schemapb.DataType_Int32})
	})
	_, _, err := newMilvus(t).begin(b, live(t, b, archive.LiveOptions{Collection: "ddl"}), "copy")
	if !errors.Is(err, restore.ErrArchive) || !strings.Contains(err.Error(), "no field n") {
		t.Error(err)
	}
}

func TestKeysThatMilvusWouldReplaceAreRefused(t *testing.T) {
	b := archived(t, "ddl")
	l := live(t, b, archive.LiveOptions{Collection: "ddl"})
	alter(t, b, l, func(s *schemapb.CollectionSchema) {
		for _, f := range s.GetFields() {
			f.AutoID = f.GetIsPrimaryKey()
		}
	})
	for version, refused := range map[string]bool{"v2.3.5": true, "2.5.14": true, "": true, "v2.6.0": false, "3.0": false} {
		f := newMilvus(t)
		f.version = version
		_, _, err := f.begin(b, live(t, b, archive.LiveOptions{Collection: "ddl"}), "copy")
		if errors.Is(err, restore.ErrKeys) != refused || err != nil && !refused {
			t.Errorf("Milvus %q: %v", version, err)
		}
		if refused && len(f.collections) > 0 {
			t.Errorf("Milvus %q: collections %v were made", version, slices.Collect(maps.Keys(f.collections)))
		}
		if c := f.collections["copy"]; !refused && !slices.ContainsFunc(c.properties, func(kv *commonpb.KeyValuePair) bool {
			return kv.GetKey() == milvus.KeepKeys && kv.GetValue() == "true"
		}) {
			t.Errorf("Milvus %q: without the property it replaces the keys: %v", version, c.properties)
		}
		if !refused { // one that is there must have it too
			f.collections["copy"].properties = nil
			if _, _, err = f.begin(b, live(t, b, archive.LiveOptions{Collection: "ddl"}), "copy", func(o *restore.Options) { o.AddRows = true }); !errors.Is(err, restore.ErrKeys) {
				t.Errorf("Milvus %q, into one without the property: %v", version, err)
			}
		}
		if _, _, err = f.begin(b, live(t, b, archive.LiveOptions{Collection: "ddl"}), "other", func(o *restore.Options) { o.AcceptNewKeys = true }); err != nil {
			t.Errorf("Milvus %q, new keys accepted: %v", version, err)
		}
	}
}
