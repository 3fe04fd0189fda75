package restore

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
)

// match finds for every field of the archive, by its name, the ID of the one in
// the target, as Milvus describes it. An import goes by IDs alone. They differ
// where fields were added behind the dynamic one or were left out: a new
// collection is numbered without gaps. ErrTarget names every field that does
// not fit.
func match(want, have *schemapb.CollectionSchema) (map[int64]int64, error) {
	var errs []error
	ids, fields := map[int64]int64{}, map[string]*schemapb.FieldSchema{}
	for _, f := range named(have) {
		fields[f.GetName()] = f
	}
	for _, f := range named(want) {
		g := fields[f.GetName()]
		delete(fields, f.GetName())
		if g == nil {
			errs = append(errs, fmt.Errorf("field %s (%d) is not in the target", f.GetName(), f.GetFieldID()))
			continue
		}
		ids[f.GetFieldID()] = g.GetFieldID()
		if a, b := fieldText(f), fieldText(g); a != b {
			errs = append(errs, fmt.Errorf("field %d is %s in the archive and %s in the target", f.GetFieldID(), a, b))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		errs = append(errs, fmt.Errorf("field %s (%d) of the target is not in the archive", name, fields[name].GetFieldID()))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrTarget, errors.Join(errs...))
	}
	return ids, nil
}

// named are all fields but Milvus' own two.
func named(s *schemapb.CollectionSchema) []*schemapb.FieldSchema {
	return slices.DeleteFunc(slices.Clone(s.GetFields()), func(f *schemapb.FieldSchema) bool { return f.GetFieldID() < firstUserField })
}

// moved are the fields that have another ID in the target.
func moved(ids map[int64]int64) map[int64]int64 {
	out := map[int64]int64{}
	for from, to := range ids {
		if from != to {
			out[from] = to
		}
	}
	return out
}
