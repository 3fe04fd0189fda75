package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/checkpoints"
	"flowgraph/internal/milvus"
)

// tryRefusals is how often the first object that is staged is sent again
// after a refusal.
const tryRefusals = 3

// target makes the collection or checks the one that is there, and makes the
// partitions. It returns the collection's ID.
func (r *run) target(ctx context.Context) (id int64, err error) {
	schema, err := r.schema()
	if err != nil {
		return 0, err
	}
	name := r.o.Target
	have, err := r.o.Milvus.Describe(ctx, name)
	if err != nil {
		return 0, err
	}
	properties, err := r.keys(ctx, have)
	if err != nil {
		return 0, err
	}
	if have == nil {
		if err := r.tryStage(ctx); err != nil {
			return 0, err
		}
		partitions := 0
		if partitionKey(schema) {
			partitions = r.plan.Live.PartitionsMade()
		}
		if err := r.o.Milvus.Create(ctx, creation(schema, name), max(r.plan.Shards, 1), partitions, properties); err != nil {
			return 0, err
		}
		if have, err = r.o.Milvus.Describe(ctx, name); err != nil {
			return 0, err
		}
		if have == nil {
			return 0, fmt.Errorf("%w: collection %s is not there after it was made", ErrMilvus, name)
		}
	}
	ids, err := match(schema, have.Schema)
	if err != nil {
		return 0, fmt.Errorf("collection %s: %w", name, err)
	}
	r.moved = moved(ids)
	return have.ID, r.partitions(ctx)
}

// tryStage puts an object where all will be staged: one that may not be put
// must not leave an empty collection behind. One that cannot be removed goes,
// or is told of, with what else is staged.
func (r *run) tryStage(ctx context.Context) error {
	key := r.prefix + "try"
	_, err := r.o.Stage.Put(ctx, key, checkpoints.Object{Parts: [][]byte{[]byte("{}\n")}}, checkpoints.Condition{Refusals: tryRefusals})
	if err != nil {
		return fmt.Errorf("collection %s is not made, since nothing can be staged: %w", r.o.Target, err)
	}
	_ = r.o.Stage.Remove(ctx, key)
	return nil
}

// schema is what the target is to have. Milvus computes no function's results
// while it imports binlogs, and refuses an import without them.
func (r *run) schema() (*schemapb.CollectionSchema, error) {
	names := computed(r.plan.Schema)
	if len(names) == 0 {
		return r.plan.Schema, nil
	}
	if !r.o.WithoutFunctions {
		return nil, fmt.Errorf("%w: what function %s computes is not in the log, and an import does not compute it", ErrFunctions, strings.Join(names, ", "))
	}
	return withoutFunctions(r.plan.Schema)
}

// keys refuses what would come back under other keys. Milvus 2.6 keeps those
// of a collection with a property, which is returned for one that is to be made.
func (r *run) keys(ctx context.Context, have *milvus.Collection) (map[string]string, error) {
	if !autoID(r.plan.Schema) || r.o.AcceptNewKeys {
		return nil, nil
	}
	version, err := r.o.Milvus.Version(ctx)
	if err != nil {
		return nil, err
	}
	name := r.plan.Live.Name
	switch {
	case milvus.Below(version, 2, 6):
		return nil, fmt.Errorf("%w: collection %s has keys that Milvus makes (autoID), and Milvus %s gives every imported row a new one", ErrKeys, name, version)
	case have != nil && have.Properties[milvus.KeepKeys] != "true":
		return nil, fmt.Errorf("%w: collection %s makes its keys (autoID) and has not the property %s=true, with which Milvus %s would keep those that are imported",
			ErrKeys, r.o.Target, milvus.KeepKeys, version)
	}
	return map[string]string{milvus.KeepKeys: "true"}, nil
}

func (r *run) partitions(ctx context.Context) error {
	have, err := r.o.Milvus.Partitions(ctx, r.o.Target)
	if err != nil {
		return err
	}
	for _, p := range r.plan.Partitions {
		if slices.Contains(have, p.Name) {
			continue
		}
		if partitionKey(r.plan.Schema) {
			return fmt.Errorf("%w: collection %s has no partition %s, and with a partition key none can be made", ErrTarget, r.o.Target, p.Name)
		}
		if err := r.o.Milvus.CreatePartition(ctx, r.o.Target, p.Name); err != nil {
			return err
		}
	}
	return nil
}

// counts are the rows of the plan's partitions in the target.
func (r *run) counts(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for _, p := range r.plan.Partitions {
		n, err := r.o.Milvus.Rows(ctx, r.o.Target, p.Name)
		if err != nil {
			return nil, err
		}
		out[p.Name] = n
	}
	return out, nil
}
