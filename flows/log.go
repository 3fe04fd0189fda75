package flows

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
)

// Log is one partition as the broker has it now.
type Log struct {
	VChannel   checkpoints.VChannel // with the topic's ID
	Start, End int64                // first offset, last stable offset
}

// DescribeLog asks the brokers that the options lead to for a partition.
func DescribeLog(ctx context.Context, options []kgo.Opt, topic string, partition int32) (Log, error) {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return Log{}, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	l := Log{VChannel: checkpoints.VChannel{Topic: topic, Partition: partition}}
	if l.VChannel.TopicID, err = topicID(ctx, client, topic); err != nil {
		return l, err
	}
	if l.Start, l.End, err = bounds(client, l.VChannel)(ctx); err != nil {
		return l, fmt.Errorf("offsets of %s: %w", l.VChannel.Name(), err)
	}
	return l, nil
}

// TopicIDs asks which creations of topics the brokers have.
func TopicIDs(ctx context.Context, options []kgo.Opt, topics []string) (map[string]string, error) {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	ids := map[string]string{}
	for _, topic := range topics {
		if ids[topic], err = topicID(ctx, client, topic); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
