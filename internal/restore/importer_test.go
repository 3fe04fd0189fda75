package restore_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"

	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// importFiles reads two prefixes as the importer of Milvus does: every child is
// a segment, every child of that a field, whose files are zipped by name.
func (f *fakeMilvus) importFiles(c *fakeCollection, q *milvuspb.ImportRequest) (rows []string, err error) {
	end := uint64(math.MaxUint64)
	for _, o := range q.GetOptions() {
		if o.GetKey() == "end_ts" {
			ms, err := strconv.ParseUint(o.GetValue(), 10, 64)
			if err != nil {
				return nil, err
			}
			end = ms << 18
		}
	}
	if _, there := c.rows[q.GetPartitionName()]; !there || len(q.GetFiles()) != 2 {
		return nil, fmt.Errorf("partition %q, files %v", q.GetPartitionName(), q.GetFiles())
	}
	segments := map[string]map[string][]string{} // segment, field: keys in order
	for _, key := range f.bucket.Keys(q.GetFiles()[0]) {
		parts := strings.Split(strings.TrimPrefix(key, q.GetFiles()[0]), "/")
		if len(parts) != 3 {
			return nil, fmt.Errorf("%s lies in the way", key)
		}
		if segments[parts[0]] == nil {
			segments[parts[0]] = map[string][]string{}
		}
		segments[parts[0]][parts[1]] = append(segments[parts[0]][parts[1]], key)
	}
	f.sizes = append(f.sizes, len(segments))
	for segment, fields := range segments {
		deleted, err := f.deltas(q.GetFiles()[1]+segment+"/", end)
		if err != nil {
			return nil, err
		}
		got, err := f.segment(c, fields, deleted, end)
		if err != nil {
			return nil, fmt.Errorf("segment %s: %w", segment, err)
		}
		rows = append(rows, got...)
	}
	return rows, nil
}

func (f *fakeMilvus) deltas(prefix string, end uint64) (map[string]uint64, error) {
	last := map[string]uint64{}
	for _, key := range f.bucket.Keys(prefix) {
		d, err := binlog.ReadDeltas(f.bucket.Data(key))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		keys, times := values(d.Keys), values(d.Timestamps)
		for i, k := range keys {
			if ts := uint64(column.Int64([]byte(times[i]))); ts <= end {
				last[k] = max(last[k], ts)
			}
		}
	}
	return last, nil
}

// segment returns every row that is left as the text of its values by field.
func (f *fakeMilvus) segment(c *fakeCollection, fields map[string][]string, deleted map[string]uint64, end uint64) (rows []string, err error) {
	need, pk := []string{"0", "1"}, ""
	for _, field := range c.schema.GetFields() {
		need = append(need, strconv.FormatInt(field.GetFieldID(), 10))
		if field.GetIsPrimaryKey() {
			pk = need[len(need)-1]
		}
	}
	if c.schema.GetEnableDynamicField() {
		need = append(need, strconv.Itoa(100+len(c.schema.GetFields())))
	}
	slices.Sort(need)
	if have := slices.Sorted(maps.Keys(fields)); !slices.Equal(have, need) {
		return nil, fmt.Errorf("fields %v, the schema has %v", have, need)
	}
	for i := range fields["0"] {
		batch := map[string][]string{}
		for id, keys := range fields {
			if len(keys) != len(fields["0"]) {
				return nil, fmt.Errorf("field %s has %d files, field 0 %d", id, len(keys), len(fields["0"]))
			}
			log, err := binlog.Read(f.bucket.Data(keys[i]))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", keys[i], err)
			}
			batch[id] = values(log.Rows)
		}
		for n, ts := range batch["1"] {
			at := uint64(column.Int64([]byte(ts)))
			if at > end || at < deleted[batch[pk][n]] {
				continue
			}
			var text strings.Builder
			for _, id := range need {
				fmt.Fprintf(&text, "%s=%x ", id, batch[id][n])
			}
			rows = append(rows, text.String())
		}
	}
	return rows, nil
}

func values(c *column.Column) (out []string) {
	for v := range c.Values() {
		out = append(out, string(v))
	}
	return out
}
