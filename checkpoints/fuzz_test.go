package checkpoints_test

import (
	"bytes"
	"errors"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

// Whatever lies under the key of a document, a manifest, a chunk or an event:
// it is read as one and written back the same, or it is refused by name.
func FuzzWhatLiesInTheBucket(f *testing.F) {
	f.Add([]byte(valid))
	f.Add([]byte(`{"version":1,"collection":"100","partition":"101","segment":"1","logs":[{"log":"100000010000000002","rows":1,"bytes":1,"min_ts":"0","max_ts":"0"}]}`))
	for _, seed := range objectsOfALife(f) {
		f.Add(seed)
	}
	refused := func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, checkpoints.ErrInvalid) && !errors.Is(err, checkpoints.ErrNewerVersion) {
			t.Errorf("refused with %v", err)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, err := checkpoints.Decode(v0.Name(), data); err != nil {
			refused(t, err)
		} else if first, err := d.Encode(); err != nil {
			t.Errorf("what was read cannot be stored: %v", err)
		} else if again, err := checkpoints.Decode(v0.Name(), first); err != nil {
			t.Errorf("what was stored cannot be read: %v", err)
		} else if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Errorf("it changes when stored again: %v\n%s\n%s", err, first, second)
		}
		if _, err := checkpoints.DecodeManifest("m", data); err != nil {
			refused(t, err)
		}
		if _, err := checkpoints.DecodeChunk("c", data); err != nil {
			refused(t, err)
		}
		if _, err := checkpoints.DecodeEvent("e", data); err != nil {
			refused(t, err)
		}
	})
}

// objectsOfALife are all that a claim and a few changes leave.
func objectsOfALife(f *testing.F) (seeds [][]byte) {
	b := membucket.New()
	store, doc, err := checkpoints.Claim(f.Context(), b, v0, 0)
	if err != nil {
		f.Fatal(err)
	}
	tracker := checkpoints.NewTracker(store, doc, checkpoints.NewPace(), folding(200))
	l := &life{tracker: tracker, names: store.Names()}
	for _, c := range []checkpoints.Change{
		event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 0, Name: "c", Schema: []byte("s")}),
		l.rows(segment(1, 1, 2), 1), l.rows(segment(1, 1, 3), 1), l.rows(segment(1, 1, 4), 1), l.last(segment(1, 1, 5), 1),
		event(checkpoints.Event{Kind: checkpoints.DropPartition, Offset: 5, Partition: partition}),
	} {
		l.ack(c)
		if err := tracker.Flush(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
	for _, key := range b.Keys("") {
		seeds = append(seeds, b.Data(key))
	}
	return seeds
}
