package sinks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"flowgraph/checkpoints"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// rebuild makes lost statistics anew from the keys themselves. One after
// another: it is rare, and a flush's keys may be many. The objects under the
// flushes' own keys stay as they are: what a document refers to is never
// rewritten.
func (c *compound) rebuild(ctx context.Context) error {
	for i, why := range c.lost {
		if why == nil {
			continue
		}
		keys, err := c.flushKeys(ctx, c.logs[i])
		if err == nil {
			c.stats[i], err = c.encode(keys)
		}
		if err != nil {
			return fmt.Errorf("%w; made anew from the keys: %w", why, err)
		}
	}
	return nil
}

// flushKeys reads the primary keys of one flush.
func (c *compound) flushKeys(ctx context.Context, l checkpoints.Log) (*column.Column, error) {
	s := c.seg
	key := checkpoints.InsertLogKey(s.Collection, s.Partition, s.ID, s.PKField, l.ID)
	data, _, err := c.bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	log, err := binlog.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	d := log.Descriptor
	if log.Rows == nil || d.Collection != s.Collection || d.Partition != s.Partition || d.Segment != s.ID || d.Field != s.PKField || int64(log.Rows.Rows) != l.Rows {
		return nil, fmt.Errorf("%s: not the %d keys of this flush: %w", key, l.Rows, binlog.ErrCorrupt)
	}
	return log.Rows, nil
}

// encode makes statistics of keys, and believes them only once they were read
// back and denied no key: a wrong filter would hide deletes for ever.
func (c *compound) encode(keys *column.Column) ([]byte, error) {
	file, err := c.encoder.EncodeKeyStats(keys, c.filter)
	if err != nil {
		return nil, err
	}
	data := bytes.Join(file.Parts, nil)
	file.Free()
	return data, holdsAll(data, keys)
}

func holdsAll(data []byte, keys *column.Column) error {
	stats, err := binlog.ReadKeyStats(data)
	if err != nil {
		return err
	}
	if len(stats) != 1 || stats[0].Field != keys.Field.ID || stats[0].Type != keys.Field.Type {
		return fmt.Errorf("not the statistics of one flush of field %d: %w", keys.Field.ID, binlog.ErrCorrupt)
	}
	for key := range keys.Values() {
		if !stats[0].MayHold(key) {
			return fmt.Errorf("they deny the key %x: %w", key, binlog.ErrCorrupt)
		}
	}
	return nil
}

// accept takes a compound object that is there already for the one that was to
// be made: it may be of before the loss, with another filter where this one
// had to make one. Everything else must be the same.
func (c *compound) accept(ctx context.Context, key string, conflict error) error {
	data, _, err := c.bucket.Get(ctx, key)
	if err != nil {
		return err
	}
	var have []json.RawMessage
	if err := json.Unmarshal(data, &have); err != nil || len(have) != len(c.stats) {
		return conflict
	}
	for i := range have {
		if c.lost[i] == nil {
			if !bytes.Equal(have[i], c.stats[i]) {
				return conflict
			}
			continue
		}
		keys, err := c.flushKeys(ctx, c.logs[i])
		if err != nil {
			return err
		}
		if err := holdsAll(have[i], keys); err != nil {
			return fmt.Errorf("%w: %w", conflict, err)
		}
	}
	return nil
}

// tell says which statistics were lost, once a compound object has them.
func (c *compound) tell() {
	for i, why := range c.lost {
		if why != nil && c.rebuilt != nil {
			c.rebuilt(c.statsKey(c.logs[i]), why)
		}
	}
}
