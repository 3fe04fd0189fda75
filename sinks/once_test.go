package sinks_test

import (
	"net/http"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
)

// Who reads "get k: get k: ..." looks for the difference. The bucket names the
// call and the key, so nobody above it does.
func TestNoErrorOfTheStoreNamesItsKeyTwice(t *testing.T) {
	g := newGateway(t)
	g.fault = func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, 403, "AccessDenied") }
	cfg := g.config()
	cfg.ReadRefusals = 1
	b := newBucket(t, cfg)
	cfg.AccessKey = "somebodyelse" // so that bytes pass through this process
	other := newBucket(t, cfg)

	v := checkpoints.VChannel{Topic: "rows", Partition: 0, TopicID: "t"}
	segment := checkpoints.SegmentRef{Collection: 1, Partition: 2, Segment: 7}
	logs := &checkpoints.Segment{ID: 7, Collection: 1, Partition: 2, Level: checkpoints.L1, PKField: 100, State: checkpoints.Flushed, Logs: []checkpoints.Log{{ID: "100000010000000001", Rows: 1}}, Rows: 1}
	const stats = "stats_log/1/2/7/100/100000010000000001"
	refused := checkpoints.Condition{Refusals: 1}
	for name, s := range map[string]struct {
		key string
		err func() error
	}{
		"put": {"some/key", func() error { _, err := b.Put(t.Context(), "some/key", object("x"), refused); return err }},
		"replace": {"some/key", func() error {
			_, err := b.Put(t.Context(), "some/key", object("x"), checkpoints.Condition{ETag: "e", Refusals: 1})
			return err
		}},
		"get":         {"some/key", func() error { _, _, err := b.Get(t.Context(), "some/key"); return err }},
		"stat":        {"some/key", func() error { _, err := b.Stat(t.Context(), "some/key"); return err }},
		"list":        {"some/key", func() error { return lastError(t, b, "some/key") }},
		"remove":      {"some/key", func() error { return b.Remove(t.Context(), "some/key") }},
		"copy inside": {"some/key", func() error { _, err := b.CopyFrom(t.Context(), b, "some/key", "other"); return err }},
		"copy":        {"some/key", func() error { _, err := b.CopyFrom(t.Context(), other, "some/key", "other"); return err }},
		"a document":  {checkpoints.DocumentKey("rows-0"), func() error { _, _, err := checkpoints.Load(t.Context(), b, "rows-0"); return err }},
		"a claim":     {checkpoints.DocumentKey("rows-0"), func() error { _, _, err := checkpoints.Claim(t.Context(), b, v, 0); return err }},
		"a manifest":  {checkpoints.ManifestKey(1, 2, 7), func() error { _, err := checkpoints.LoadManifest(t.Context(), b, segment); return err }},
		"a replaced":  {"some/key", func() error { _, err := checkpoints.Replace(t.Context(), b, "some/key", object("x")); return err }},
		"statistics":  {stats, func() error { return sinks.PutCompound(t.Context(), b, logs, nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.err()
			if err == nil {
				t.Fatal("no error")
			}
			if n := strings.Count(err.Error(), s.key); n != 1 {
				t.Errorf("the key is named %d times: %v", n, err)
			}
		})
	}
}

// A condition that failed is told by two layers: what the bucket saw, and what
// the other object is.
func TestAConflictNamesItsKeyOnce(t *testing.T) {
	g := newGateway(t)
	b := newBucket(t, g.config())
	g.store("files/some/key", []byte("another"))
	_, err := b.Put(t.Context(), "some/key", object("x"), checkpoints.Condition{Refusals: 1})
	if err == nil || strings.Count(err.Error(), "some/key") != 1 {
		t.Errorf("got %v", err)
	}
}

func lastError(t *testing.T, b *sinks.Bucket, prefix string) (last error) {
	for _, err := range b.List(t.Context(), prefix) {
		last = err
	}
	return last
}
