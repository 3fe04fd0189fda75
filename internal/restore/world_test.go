package restore_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/restore"
	"flowgraph/internal/testlog"
)

var archives testlog.Archives

// archived is a copy of what a worker has made of a recording.
func archived(t *testing.T, name string) *membucket.Bucket {
	t.Helper()
	return archives.Of(t, name)
}

func live(t *testing.T, b checkpoints.Bucket, o archive.LiveOptions) *archive.Live {
	t.Helper()
	a, err := archive.Open(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Live(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// stage is the whole of Milvus' bucket.
type stage struct {
	*membucket.Bucket
	archive *membucket.Bucket
}

func (s *stage) Path(key string) string { return key }

func (s *stage) Copy(_ context.Context, source, key string) error {
	data := s.archive.Data(source)
	if data == nil {
		return fmt.Errorf("%s: %w", source, checkpoints.ErrNotExist)
	}
	s.Set(key, data)
	return nil
}

func (s *stage) Remove(_ context.Context, key string) error {
	s.Bucket.Remove(key)
	return nil
}

// begin plans and runs one restore.
func (f *fakeMilvus) begin(b *membucket.Bucket, l *archive.Live, target string, change ...func(*restore.Options)) (*restore.Plan, *restore.Result, error) {
	f.t.Helper()
	plan, err := restore.NewPlan(f.t.Context(), l, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	o := restore.Options{
		Milvus: f.client, Archive: b, Stage: &stage{f.bucket, b}, Target: target, Every: time.Microsecond, Patience: 3,
	}
	for _, c := range change {
		c(&o)
	}
	result, err := restore.Run(f.t.Context(), plan, o)
	return plan, result, err
}

// rows are a restored partition's as text, sorted.
func (f *fakeMilvus) rows(collection, partition string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.collections[collection].rows[partition]))
}

// wanted are the live rows of a partition in the same form.
func wanted(t *testing.T, l *archive.Live, p *archive.LivePartition) []string {
	t.Helper()
	var out []string
	for r, err := range l.Rows(t.Context(), p, nil) {
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]string{}
		var ids []string
		for i, f := range l.Fields {
			id := strconv.FormatInt(f.ID, 10)
			ids, fields[id] = append(ids, id), fmt.Sprintf("%s=%x ", id, r.Values[i])
		}
		slices.Sort(ids)
		var text strings.Builder
		for _, id := range ids {
			text.WriteString(fields[id])
		}
		out = append(out, text.String())
	}
	slices.Sort(out)
	return out
}

// same compares a whole copy with the live rows, and returns their number.
func (f *fakeMilvus) same(plan *restore.Plan, target string) (rows int) {
	f.t.Helper()
	for _, p := range plan.Partitions {
		want, got := wanted(f.t, plan.Live, p.LivePartition), f.rows(target, p.Name)
		if !slices.Equal(got, want) {
			f.t.Errorf("partition %s as of %d: %d rows in the copy, %d in the archive, or others", p.Name, plan.Live.Until, len(got), len(want))
		}
		rows += len(want)
	}
	if left := f.bucket.Keys(""); len(left) > 0 {
		f.t.Errorf("left on the stage: %v", left[:1])
	}
	return rows
}
