package checkpoints_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"flowgraph/checkpoints"
)

// An older program that meets what a newer one has written must not call it
// damaged: whoever believes that brings an older version back, and rows are
// stored twice.
func TestWhatANewerReleaseWroteIsCalledDamaged(t *testing.T) {
	at := checkpoints.Position{Offset: 9, LeaderEpoch: -1}
	segment := checkpoints.Segment{ID: 3, Collection: 1, Partition: 2, Level: checkpoints.L1, State: checkpoints.Flushed, Start: at, End: at}
	m := checkpoints.Manifest{Version: checkpoints.Version, VChannel: "t-0", TopicID: "id", Segment: segment}
	manifest, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := (&checkpoints.Chunk{Version: checkpoints.Version, Collection: 1, Partition: 2, Segment: 3}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	event, err := json.Marshal(map[string]any{
		"version": checkpoints.Version, "vchannel": "t-0", "topic_id": "id",
		"event": checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 7, Collection: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, object := range map[string]struct {
		bytes  []byte
		decode func(key string, data []byte) error
	}{
		checkpoints.ManifestKey(1, 2, 3): {manifest, func(key string, data []byte) error {
			_, err := checkpoints.DecodeManifest(key, data)
			return err
		}},
		checkpoints.ChunkKey(1, 2, 3, "100000010000000001"): {chunk, func(key string, data []byte) error {
			_, err := checkpoints.DecodeChunk(key, data)
			return err
		}},
		checkpoints.EventKey("t-0", "id", 7): {event, func(key string, data []byte) error {
			_, err := checkpoints.DecodeEvent(key, data)
			return err
		}},
	} {
		newer := bytes.Replace(object.bytes, []byte(`"version":1`), []byte(`"version":2`), 1)
		if bytes.Equal(newer, object.bytes) {
			t.Fatalf("%s has no version: %s", key, object.bytes)
		}
		wantError(t, object.decode(key, newer), checkpoints.ErrNewerVersion)
	}
}
