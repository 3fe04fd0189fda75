package sinks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// quarantined is a bad record as it is kept: raw, with where it came from and
// why it is here. Byte strings are base64, null stays null.
type quarantined struct {
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Timestamp int64    `json:"timestamp"` // Unix ms
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   [][2]any `json:"headers"`
	Reason    string   `json:"reason"`
}

// quarantine stores the bad records that ride on a cut.
func (s *Sink) quarantine(ctx context.Context, cut *stages.Cut) error {
	for i := range cut.Bad {
		bad := &cut.Bad[i]
		q := quarantined{
			Topic: s.cfg.VChannel.Topic, Partition: s.cfg.VChannel.Partition, Offset: bad.Record.Offset,
			Timestamp: bad.Record.Time, Key: bad.Record.Key, Value: bad.Record.Value,
			Headers: [][2]any{}, Reason: bad.Reason,
		}
		for _, h := range bad.Record.Headers {
			q.Headers = append(q.Headers, [2]any{h.Key, h.Value})
		}
		body, err := json.Marshal(q)
		if err != nil {
			return fmt.Errorf("quarantine offset %d: %w", q.Offset, err)
		}
		key := checkpoints.QuarantineKey(s.cfg.VChannel.Name(), checkpoints.LogName(s.cfg.VChannel.TopicID, s.cfg.Generation), q.Offset)
		o := checkpoints.Object{Parts: [][]byte{body}, Meta: s.cfg.Meta}
		_, err = s.shared.Bucket.Put(ctx, key, o, checkpoints.Condition{})
		if errors.Is(err, checkpoints.ErrConflict) {
			err = s.keptAlready(ctx, key, &q, o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keptAlready: there already is stored, since another life may have said it in
// other words. Only what an earlier one kept, and never told of, of a record
// that the log has lost before anything behind it was committed is replaced.
func (s *Sink) keptAlready(ctx context.Context, key string, q *quarantined, o checkpoints.Object) error {
	data, info, err := s.shared.Bucket.Get(ctx, key)
	if err != nil {
		return err
	}
	var have quarantined
	damaged := json.Unmarshal(data, &have) != nil
	epoch := func(meta map[string]string) int64 {
		n, _ := strconv.ParseInt(meta[checkpoints.MetaEpoch], 10, 64)
		return n
	}
	if damaged || have.Timestamp == q.Timestamp && bytes.Equal(have.Key, q.Key) && bytes.Equal(have.Value, q.Value) || epoch(info.Meta) >= epoch(o.Meta) {
		return nil
	}
	_, err = s.shared.Bucket.Put(ctx, key, o, checkpoints.Condition{ETag: info.ETag})
	if errors.Is(err, checkpoints.ErrConflict) {
		return nil // a later life has
	}
	return err
}
