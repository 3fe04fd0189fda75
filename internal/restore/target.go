package restore

import (
	"context"
	"fmt"
	"slices"

	"flowgraph/internal/milvus"
)

// target makes the collection or checks the one that is there, and makes the
// partitions. It returns the collection's ID.
func (r *run) target(ctx context.Context) (id int64, err error) {
	if err := r.keys(ctx); err != nil {
		return 0, err
	}
	name := r.o.Target
	have, err := r.o.Milvus.Describe(ctx, name)
	if err != nil {
		return 0, err
	}
	made := have == nil
	if made {
		partitions := 0
		if partitionKey(r.plan.Schema) {
			partitions = r.plan.Live.PartitionsMade()
		}
		if err := r.o.Milvus.Create(ctx, creation(r.plan.Schema, name), max(r.plan.Shards, 1), partitions); err != nil {
			return 0, err
		}
		if have, err = r.o.Milvus.Describe(ctx, name); err != nil {
			return 0, err
		}
		if have == nil {
			return 0, fmt.Errorf("%w: collection %s is not there after it was made", ErrMilvus, name)
		}
	}
	if err := differences(r.plan.Schema, have.Schema); err != nil {
		if made {
			return 0, fmt.Errorf("collection %s was made, but Milvus numbers its fields in another way: %w", name, err)
		}
		return 0, fmt.Errorf("collection %s: %w", name, err)
	}
	return have.ID, r.partitions(ctx)
}

// keys refuses what would come back under other keys.
func (r *run) keys(ctx context.Context) error {
	if !autoID(r.plan.Schema) || r.o.AcceptNewKeys {
		return nil
	}
	version, err := r.o.Milvus.Version(ctx)
	if err != nil || !milvus.Below(version, 2, 6) {
		return err
	}
	return fmt.Errorf("%w: collection %s has keys that Milvus makes (autoID), and Milvus %s gives every imported row a new one", ErrKeys, r.plan.Live.Name, version)
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
