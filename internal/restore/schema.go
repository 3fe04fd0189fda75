package restore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
)

// firstUserField is the ID that Milvus gives the first field; the ones below
// are its own.
const firstUserField = 100

// userFields are the fields that a client makes, in order.
func userFields(s *schemapb.CollectionSchema) []*schemapb.FieldSchema {
	return slices.DeleteFunc(slices.Clone(s.GetFields()), func(f *schemapb.FieldSchema) bool {
		return f.GetFieldID() < firstUserField || f.GetIsDynamic()
	})
}

// creation is the schema as a client sends it: Milvus adds its own fields and
// the dynamic one, and numbers all of them.
func creation(s *schemapb.CollectionSchema, name string) *schemapb.CollectionSchema {
	out := proto.Clone(s).(*schemapb.CollectionSchema)
	out.Name, out.DbName = name, ""
	out.Fields = nil
	for _, f := range userFields(s) {
		f = proto.Clone(f).(*schemapb.FieldSchema)
		f.FieldID, f.State = 0, schemapb.FieldState_FieldCreated
		out.Fields = append(out.Fields, f)
	}
	out.EnableDynamicField = hasDynamic(s)
	return out
}

func hasDynamic(s *schemapb.CollectionSchema) bool { return dynamicID(s) != 0 }

// dynamicID is the ID of the dynamic field, 0 if there is none.
func dynamicID(s *schemapb.CollectionSchema) int64 {
	for _, f := range s.GetFields() {
		if f.GetIsDynamic() {
			return f.GetFieldID()
		}
	}
	return 0
}

// partitionKey says whether a field decides the partition.
func partitionKey(s *schemapb.CollectionSchema) bool {
	return slices.ContainsFunc(s.GetFields(), (*schemapb.FieldSchema).GetIsPartitionKey)
}

// differences compares the archive's schema with the target's, as Milvus
// describes it, by field ID, which is what an import goes by.
func differences(want, have *schemapb.CollectionSchema) error {
	var errs []error
	fields := map[int64]*schemapb.FieldSchema{}
	for _, f := range userFields(have) {
		fields[f.GetFieldID()] = f
	}
	for _, f := range userFields(want) {
		g := fields[f.GetFieldID()]
		delete(fields, f.GetFieldID())
		if g == nil {
			errs = append(errs, fmt.Errorf("field %s (%d) is not in the target", f.GetName(), f.GetFieldID()))
			continue
		}
		if a, b := fieldText(f), fieldText(g); a != b {
			errs = append(errs, fmt.Errorf("field %d is %s in the archive and %s in the target", f.GetFieldID(), a, b))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(fields)) {
		errs = append(errs, fmt.Errorf("field %s (%d) of the target is not in the archive", fields[id].GetName(), id))
	}
	switch id := dynamicID(want); {
	case hasDynamic(want) != have.GetEnableDynamicField():
		errs = append(errs, fmt.Errorf("dynamic field: %v in the archive, %v in the target", hasDynamic(want), have.GetEnableDynamicField()))
	case id != 0 && dynamicID(have) != 0 && id != dynamicID(have):
		errs = append(errs, fmt.Errorf("the dynamic field is %d in the archive and %d in the target", id, dynamicID(have)))
	case id != 0 && dynamicID(have) == 0 && id != lastID(have)+1: // not shown, and numbered last
		errs = append(errs, fmt.Errorf("the dynamic field is %d in the archive and would be %d in the target", id, lastID(have)+1))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrTarget, errors.Join(errs...))
}

func lastID(s *schemapb.CollectionSchema) int64 {
	last := int64(firstUserField - 1)
	for _, f := range userFields(s) {
		last = max(last, f.GetFieldID())
	}
	return last
}

// fieldText is everything of a field that an import or its rows depend on.
func fieldText(f *schemapb.FieldSchema) string {
	text := fmt.Sprintf("%s %s", f.GetName(), f.GetDataType())
	if f.GetDataType() == schemapb.DataType_Array {
		text += " of " + f.GetElementType().String()
	}
	for _, name := range []string{"dim", "max_length", "max_capacity"} {
		if v := param(f.GetTypeParams(), name); v != "" {
			text += " " + name + "=" + v
		}
	}
	for _, mark := range []struct {
		is   bool
		text string
	}{
		{f.GetIsPrimaryKey(), "primary key"}, {f.GetAutoID(), "autoID"},
		{f.GetIsPartitionKey(), "partition key"}, {f.GetNullable(), "nullable"},
	} {
		if mark.is {
			text += ", " + mark.text
		}
	}
	return text
}

// param is one of a field's parameters; numbers are written in one way.
func param(list []*commonpb.KeyValuePair, name string) string {
	for _, kv := range list {
		if kv.GetKey() != name {
			continue
		}
		if n, err := strconv.ParseInt(kv.GetValue(), 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
		return kv.GetValue()
	}
	return ""
}
