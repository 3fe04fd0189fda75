package checkpoints

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Manifest is a segment that has left the document: immutable, and the same
// bytes whoever writes it, since it is made only from what a committed
// document shows. It names no owner and no drop: those would differ between a
// zombie's copy and the new owner's.
type Manifest struct {
	Version  int    `json:"version"`
	VChannel string `json:"vchannel"`
	TopicID  string `json:"topic_id"`
	Segment
}

// manifestFile spells a manifest out, so that the embedded Segment does not
// lend its own decoding to the whole.
type manifestFile struct {
	Version  int     `json:"version"`
	VChannel string  `json:"vchannel"`
	TopicID  string  `json:"topic_id"`
	Segment  Segment `json:"segment"`
}

// NewManifest is the manifest of a segment that d, a committed document,
// shows as Flushed or Dropped.
func NewManifest(d *Document, s *Segment) *Manifest {
	m := &Manifest{Version: Version, VChannel: d.VChannel, TopicID: d.TopicID, Segment: *s}
	m.State = Flushed // a drop stays with its partition
	return m
}

// Encode returns the manifest's bytes, the same for the same content.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", m.ManifestKey(), err)
	}
	return json.Marshal(manifestFile{m.Version, m.VChannel, m.TopicID, m.Segment})
}

func (m *Manifest) check() error {
	if m.Version != Version || m.VChannel == "" || m.TopicID == "" || m.State != Flushed {
		return fmt.Errorf("version, log or state is missing: %w", ErrInvalid)
	}
	return m.Segment.check()
}

// DecodeManifest reads a manifest that was stored under key.
func DecodeManifest(key string, data []byte) (*Manifest, error) {
	var f manifestFile
	if err := decodeStrict(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	m := &Manifest{Version: f.Version, VChannel: f.VChannel, TopicID: f.TopicID, Segment: f.Segment}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if m.ManifestKey() != key {
		return nil, fmt.Errorf("%s: holds segment %d of %d/%d: %w", key, m.ID, m.Collection, m.Partition, ErrInvalid)
	}
	return m, nil
}

// LoadManifest reads a segment's manifest; ErrNotExist if it has none.
func LoadManifest(ctx context.Context, b Bucket, r SegmentRef) (*Manifest, error) {
	key := ManifestKey(r.Collection, r.Partition, r.Segment)
	data, _, err := b.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return DecodeManifest(key, data)
}

// putManifest stores a manifest. One that is there already is ours if it says
// the same, even in the bytes of another release.
func putManifest(ctx context.Context, b Bucket, m *Manifest, meta map[string]string) error {
	data, err := m.Encode()
	if err != nil {
		return err
	}
	key := m.ManifestKey()
	_, err = b.Put(ctx, key, Object{Parts: [][]byte{data}, Meta: meta}, Condition{})
	if !errors.Is(err, ErrConflict) {
		return err
	}
	have, loadErr := LoadManifest(ctx, b, SegmentRef{m.Collection, m.Partition, m.ID})
	if loadErr != nil {
		return loadErr
	}
	if !have.same(m) {
		return fmt.Errorf("%w: it holds [%d, %d) of %s", err, have.Start.Offset, have.End.Offset, have.VChannel)
	}
	return nil
}

// same compares content; another release may have written it otherwise.
func (m *Manifest) same(o *Manifest) bool {
	return m.VChannel == o.VChannel && m.TopicID == o.TopicID && sameJSON(m.Segment, o.Segment)
}
