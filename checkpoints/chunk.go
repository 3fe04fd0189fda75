package checkpoints

import (
	"context"
	"encoding/json"
	"fmt"
)

// Chunk holds log entries that were folded out of a document, so that it
// stays small. Immutable, named by a fresh log ID.
type Chunk struct {
	Version    int      `json:"version"`
	Collection int64    `json:"collection,string"`
	Partition  int64    `json:"partition,string"`
	Segment    int64    `json:"segment,string"`
	Chunks     []string `json:"chunks,omitempty"` // log IDs of the chunks before this one, oldest first
	Logs       []Log    `json:"logs"`             // after those
}

const (
	// chunkNames is how many chunk names a segment keeps before the next fold
	// puts them into its chunk: a segment's entry is bounded, however long it
	// lives.
	chunkNames = 16
	// chunkDepth bounds the walk through a chunk tree that is not ours.
	chunkDepth = 64
)

// Encode returns the chunk's bytes.
func (c *Chunk) Encode() ([]byte, error) { return json.Marshal(c) }

// DecodeChunk reads a chunk that was stored under key.
func DecodeChunk(key string, data []byte) (*Chunk, error) {
	c := new(Chunk)
	if err := decodeStrict(data, c); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if c.Version != Version || len(c.Logs) == 0 {
		return nil, fmt.Errorf("%s: no log entries: %w", key, ErrInvalid)
	}
	if err := checkLogs(c.Logs); err != nil {
		return nil, fmt.Errorf("%s: segment %d: %w", key, c.Segment, err)
	}
	return c, nil
}

// LoadLogs returns every log entry of the segment, those in chunks first,
// oldest first, and the keys of all chunks walked.
func LoadLogs(ctx context.Context, b Bucket, s *Segment) (logs []Log, chunks []string, err error) {
	for _, id := range s.Chunks {
		if err := loadChunk(ctx, b, s, id, chunkDepth, &logs, &chunks); err != nil {
			return nil, nil, err
		}
	}
	logs = append(logs, s.Logs...)
	var rows int64
	for _, l := range logs {
		rows += l.Rows
	}
	if rows != s.Rows {
		return nil, nil, fmt.Errorf("segment %d of %d/%d: %d rows in its logs, %d in its entry: %w",
			s.ID, s.Collection, s.Partition, rows, s.Rows, ErrInvalid)
	}
	return logs, chunks, checkLogs(logs)
}

func loadChunk(ctx context.Context, b Bucket, s *Segment, id string, depth int, logs *[]Log, chunks *[]string) error {
	key := ChunkKey(s.Collection, s.Partition, s.ID, id)
	if depth == 0 {
		return fmt.Errorf("%s: chunks refer to each other: %w", key, ErrInvalid)
	}
	data, _, err := b.Get(ctx, key)
	if err != nil {
		return err
	}
	c, err := DecodeChunk(key, data)
	if err != nil {
		return err
	}
	if c.Segment != s.ID || c.Collection != s.Collection || c.Partition != s.Partition {
		return fmt.Errorf("%s: holds segment %d: %w", key, c.Segment, ErrInvalid)
	}
	for _, before := range c.Chunks {
		if err := loadChunk(ctx, b, s, before, depth-1, logs, chunks); err != nil {
			return err
		}
	}
	*logs, *chunks = append(*logs, c.Logs...), append(*chunks, key)
	return nil
}
