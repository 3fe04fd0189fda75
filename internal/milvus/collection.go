package milvus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
)

// Version is what the Milvus calls itself, as v2.3.5.
func (m *Client) Version(ctx context.Context) (string, error) {
	r, err := ask(ctx, m, "ask its version", m.service.GetVersion, &milvuspb.GetVersionRequest{})
	return r.GetVersion(), err
}

// Below says whether a version is below a release; one that cannot be read is
// taken for an old one.
func Below(version string, major, minor int) bool {
	var a, b int
	if _, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &a, &b); err != nil {
		return true
	}
	return a < major || a == major && b < minor
}

// KeepKeys is the property by which a collection of 2.6 and later takes keys
// that are given although it makes them by itself (autoID).
const KeepKeys = "allow_insert_auto_id"

// Collection is one as Milvus has it.
type Collection struct {
	ID         int64
	Schema     *schemapb.CollectionSchema // with the dynamic field, without RowID and Timestamp
	Properties map[string]string
}

// Describe returns nil if there is no such collection.
func (m *Client) Describe(ctx context.Context, name string) (*Collection, error) {
	has, err := ask(ctx, m, "look for collection "+name, m.service.HasCollection, &milvuspb.HasCollectionRequest{DbName: m.cfg.Database, CollectionName: name})
	if err != nil || !has.GetValue() {
		return nil, err
	}
	r, err := ask(ctx, m, "describe collection "+name, m.service.DescribeCollection, &milvuspb.DescribeCollectionRequest{DbName: m.cfg.Database, CollectionName: name})
	if err != nil {
		return nil, err
	}
	schema, err := whole(r.GetSchema())
	if err != nil {
		return nil, fmt.Errorf("%w at %s: describe collection %s: %w", ErrMilvus, m.cfg.Address, name, err)
	}
	c := &Collection{r.GetCollectionID(), schema, map[string]string{}}
	for _, kv := range r.GetProperties() {
		c.Properties[kv.GetKey()] = kv.GetValue()
	}
	return c, nil
}

// Create makes a collection with properties. partitions is 0
// without a partition key.
func (m *Client) Create(ctx context.Context, s *schemapb.CollectionSchema, shards, partitions int, properties map[string]string) error {
	raw, err := proto.Marshal(s)
	if err != nil {
		return fmt.Errorf("schema of %s: %w", s.GetName(), err)
	}
	q := &milvuspb.CreateCollectionRequest{
		DbName: m.cfg.Database, CollectionName: s.GetName(), Schema: raw, ShardsNum: int32(shards),
		ConsistencyLevel: commonpb.ConsistencyLevel_Bounded, NumPartitions: int64(partitions),
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		q.Properties = append(q.Properties, &commonpb.KeyValuePair{Key: name, Value: properties[name]})
	}
	_, err = ask(ctx, m, "create collection "+s.GetName(), order(m.service.CreateCollection), q)
	return err
}

// Partitions lists their names.
func (m *Client) Partitions(ctx context.Context, collection string) ([]string, error) {
	r, err := ask(ctx, m, "list the partitions of "+collection, m.service.ShowPartitions, &milvuspb.ShowPartitionsRequest{DbName: m.cfg.Database, CollectionName: collection})
	return r.GetPartitionNames(), err
}

// CreatePartition makes one.
func (m *Client) CreatePartition(ctx context.Context, collection, name string) error {
	q := &milvuspb.CreatePartitionRequest{DbName: m.cfg.Database, CollectionName: collection, PartitionName: name}
	_, err := ask(ctx, m, "create partition "+name, order(m.service.CreatePartition), q)
	return err
}

// Rows is how many rows a partition's segments have.
func (m *Client) Rows(ctx context.Context, collection, partition string) (int64, error) {
	q := &milvuspb.GetPartitionStatisticsRequest{DbName: m.cfg.Database, CollectionName: collection, PartitionName: partition}
	r, err := ask(ctx, m, "count the rows of partition "+partition, m.service.GetPartitionStatistics, q)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(param(r.GetStats(), "row_count"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: no number of rows for partition %s: %w", ErrMilvus, partition, err)
	}
	return n, nil
}

func param(list []*commonpb.KeyValuePair, name string) string {
	for _, kv := range list {
		if kv.GetKey() == name {
			return kv.GetValue()
		}
	}
	return ""
}
