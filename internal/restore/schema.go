package restore

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/stages/column"
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
	for _, fn := range out.GetFunctions() { // they go by names
		fn.Id, fn.InputFieldIds, fn.OutputFieldIds = 0, nil, nil
	}
	out.EnableDynamicField = hasDynamic(s)
	return out
}

// withoutFunctions leaves out the functions whose results are not in the log,
// and their fields.
func withoutFunctions(s *schemapb.CollectionSchema) (*schemapb.CollectionSchema, error) {
	parsed, err := column.NewSchema(s)
	if err != nil {
		return nil, err
	}
	gone := map[int64]bool{}
	names := map[string]bool{}
	for _, f := range parsed.Computed {
		gone[f.ID], names[f.Name] = true, true
	}
	out := proto.Clone(s).(*schemapb.CollectionSchema)
	out.Fields = slices.DeleteFunc(out.Fields, func(f *schemapb.FieldSchema) bool { return gone[f.GetFieldID()] })
	out.Functions = slices.DeleteFunc(out.Functions, func(fn *schemapb.FunctionSchema) bool {
		return slices.ContainsFunc(fn.GetOutputFieldNames(), func(n string) bool { return names[n] }) ||
			slices.ContainsFunc(fn.GetOutputFieldIds(), func(id int64) bool { return gone[id] })
	})
	return out, nil
}

// computed are the functions whose results are not in the log.
func computed(s *schemapb.CollectionSchema) []string {
	var names []string
	without, err := withoutFunctions(s)
	if err != nil {
		return nil
	}
	kept := map[string]bool{}
	for _, fn := range without.GetFunctions() {
		kept[fn.GetName()] = true
	}
	for _, fn := range s.GetFunctions() {
		if !kept[fn.GetName()] {
			names = append(names, fn.GetName())
		}
	}
	return names
}

func hasDynamic(s *schemapb.CollectionSchema) bool {
	return slices.ContainsFunc(s.GetFields(), (*schemapb.FieldSchema).GetIsDynamic)
}

// partitionKey says whether a field decides the partition.
func partitionKey(s *schemapb.CollectionSchema) bool {
	return slices.ContainsFunc(s.GetFields(), (*schemapb.FieldSchema).GetIsPartitionKey)
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
