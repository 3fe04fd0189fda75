package recording

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// batchOverhead is what a batch of one record may need beside the record's
// bytes: batch header, lengths and attributes.
const batchOverhead = 64 << 10

// maxBatchBytes is the message size that topics and producer must allow.
func (s Survey) maxBatchBytes() int32 {
	return int32(min(max(1<<20, s.Largest+s.Largest/64+batchOverhead), math.MaxInt32))
}

// prepareTopics makes the topics that are missing and refuses those that a
// replay would not leave as a copy of the recording.
func prepareTopics(ctx context.Context, adm *kadm.Client, s Survey, appending bool) error {
	names := slices.Sorted(maps.Keys(s.Partitions))
	if len(names) == 0 {
		return nil
	}
	existing, err := adm.ListTopics(ctx, names...)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	var missing []string
	for _, name := range names {
		t := existing[name]
		switch {
		case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
			missing = append(missing, name)
		case t.Err != nil:
			return fmt.Errorf("topic %s: %w", name, t.Err)
		case len(t.Partitions) < int(s.Partitions[name]):
			return fmt.Errorf("topic %s has %d partitions and the recording needs %d: add partitions or delete the topic",
				name, len(t.Partitions), s.Partitions[name])
		}
	}
	// All refusals come before the first change.
	if !appending {
		if err := refuseRecords(ctx, adm, names, missing); err != nil {
			return err
		}
	}
	for _, name := range missing {
		if err := createTopic(ctx, adm, name, s.Partitions[name], s.maxBatchBytes()); err != nil {
			return fmt.Errorf("create topic %s: %w", name, err)
		}
	}
	return nil
}

func refuseRecords(ctx context.Context, adm *kadm.Client, names, missing []string) error {
	present := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(missing, n) })
	if len(present) == 0 {
		return nil
	}
	starts, err := adm.ListStartOffsets(ctx, present...)
	if err != nil {
		return fmt.Errorf("list start offsets: %w", err)
	}
	ends, err := adm.ListEndOffsets(ctx, present...)
	if err != nil {
		return fmt.Errorf("list end offsets: %w", err)
	}
	if err := errors.Join(starts.Error(), ends.Error()); err != nil {
		return fmt.Errorf("list offsets: %w", err)
	}
	for _, end := range ends.Offsets().Sorted() {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		if end.At > start.Offset {
			return fmt.Errorf("topic %s: %w: partition %d ends at offset %d; delete the topic, or append to it on purpose",
				end.Topic, ErrNotEmpty, end.Partition, end.At)
		}
	}
	return nil
}

// createTopic makes a topic that keeps what is replayed: a broker's usual
// settings would delete old records within minutes and refuse the timestamps
// of a machine whose clock is ahead.
func createTopic(ctx context.Context, adm *kadm.Client, name string, partitions, maxBytes int32) error {
	configs := map[string]*string{
		"max.message.bytes":              kadm.StringPtr(strconv.Itoa(int(maxBytes))),
		"retention.ms":                   kadm.StringPtr("-1"),
		"retention.bytes":                kadm.StringPtr("-1"),
		"message.timestamp.type":         kadm.StringPtr("CreateTime"),
		"message.timestamp.after.max.ms": kadm.StringPtr(strconv.FormatInt(math.MaxInt64, 10)),
	}
	_, err := adm.CreateTopic(ctx, partitions, -1, configs, name)
	if errors.Is(err, kerr.InvalidConfig) {
		// Brokers before Kafka 3.6 do not know this one and have no such limit.
		delete(configs, "message.timestamp.after.max.ms")
		_, err = adm.CreateTopic(ctx, partitions, -1, configs, name)
	}
	return err
}
