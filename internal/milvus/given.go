package milvus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
)

// Known is what a Milvus has now of a collection that is asked for by its ID.
type Known struct {
	Name       string
	Schema     *schemapb.CollectionSchema // with the dynamic field, without RowID and Timestamp
	Partitions map[int64]string           // by ID
}

// Lookup finds a collection by its ID, in the configured database, or without
// one in all of them. ErrNotExist if this Milvus has none; ErrSchema if what
// it tells is not enough.
func (m *Client) Lookup(ctx context.Context, id int64) (*Known, error) {
	known, err := m.lookupIn(ctx, m.cfg.Database, id)
	if m.cfg.Database != "" || !errors.Is(err, ErrNotExist) {
		return known, err
	}
	databases, failed := ask(ctx, m, "list the databases", m.service.ListDatabases, &milvuspb.ListDatabasesRequest{})
	if errors.Is(failed, ErrRefused) || unimplemented(failed) { // 2.2 has none, and not everybody may see them
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	for _, name := range databases.GetDbNames() {
		if known, err = m.lookupIn(ctx, name, id); !errors.Is(err, ErrNotExist) {
			return known, err
		}
	}
	return nil, err
}

func (m *Client) lookupIn(ctx context.Context, database string, id int64) (*Known, error) {
	what := fmt.Sprintf("describe collection %d", id)
	r, err := askIn(ctx, m, database, what, m.service.DescribeCollection, &milvuspb.DescribeCollectionRequest{DbName: database, CollectionID: id})
	if err != nil {
		return nil, err
	}
	if r.GetCollectionID() != id {
		return nil, fmt.Errorf("%w at %s: %s: it answers with collection %d", ErrMilvus, m.cfg.Address, what, r.GetCollectionID())
	}
	name := r.GetSchema().GetName()
	schema, err := whole(r.GetSchema())
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %s: %w", ErrMilvus, m.cfg.Address, what, err)
	}
	q := &milvuspb.ShowPartitionsRequest{DbName: database, CollectionID: id, CollectionName: name}
	p, err := askIn(ctx, m, database, "list the partitions of "+name, m.service.ShowPartitions, q)
	if err != nil {
		return nil, err
	}
	known := &Known{Name: name, Schema: schema, Partitions: map[int64]string{}}
	for i, id := range p.GetPartitionIDs() {
		if i < len(p.GetPartitionNames()) {
			known.Partitions[id] = p.GetPartitionNames()[i]
		}
	}
	return known, nil
}

// dynamicName is what Milvus calls the field of everything without a field.
const dynamicName = "$meta"

// whole adds what Milvus does not show: the dynamic field. It is numbered
// behind the fields of the creation, so it is last, or where fields were added
// later, in the one gap that the others leave.
func whole(s *schemapb.CollectionSchema) (*schemapb.CollectionSchema, error) {
	if len(s.GetFields()) == 0 {
		return nil, fmt.Errorf("%w: it has no fields", ErrSchema)
	}
	s = proto.Clone(s).(*schemapb.CollectionSchema)
	s.Fields = slices.DeleteFunc(s.Fields, func(f *schemapb.FieldSchema) bool { return f.GetFieldID() < firstUserField })
	shown := slices.ContainsFunc(s.Fields, (*schemapb.FieldSchema).GetIsDynamic)
	if !s.GetEnableDynamicField() || shown {
		return s, nil
	}
	taken := map[int64]bool{}
	for _, f := range s.Fields {
		taken[f.GetFieldID()] = true
	}
	for _, f := range s.GetStructArrayFields() {
		taken[f.GetFieldID()] = true
		for _, g := range f.GetFields() {
			taken[g.GetFieldID()] = true
		}
	}
	last := slices.Max(slices.Collect(maps.Keys(taken)))
	id, gaps := last+1, 0
	for free := int64(firstUserField); free < last; free++ {
		if !taken[free] {
			id, gaps = free, gaps+1
		}
	}
	if gaps > 1 {
		return nil, fmt.Errorf("%w: it has a dynamic field, and %d numbers below %d are without a field: which of them it has is not told", ErrSchema, gaps, last)
	}
	s.Fields = append(s.Fields, &schemapb.FieldSchema{
		FieldID: id, Name: dynamicName, Description: "dynamic schema", DataType: schemapb.DataType_JSON, IsDynamic: true,
	})
	return s, nil
}

// firstUserField is the ID that Milvus gives the first field; the ones below
// are its own.
const firstUserField = 100
