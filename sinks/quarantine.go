package sinks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
		key := checkpoints.QuarantineKey(s.cfg.VChannel.Name(), s.cfg.VChannel.TopicID, q.Offset)
		_, err = s.shared.Bucket.Put(ctx, key, checkpoints.Object{Parts: [][]byte{body}, Meta: s.cfg.Meta}, checkpoints.Condition{})
		// There already is stored: another life may have said it in other words.
		if err != nil && !errors.Is(err, checkpoints.ErrConflict) {
			return err
		}
	}
	return nil
}
