package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// consume reads a topic and throws it away: the floor of every worker.
func consume(ctx context.Context, brokers, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers), kgo.ConsumeTopics(topic), kgo.FetchMaxBytes(50<<20),
		kgo.FetchMaxPartitionBytes(50<<20), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	var left int64
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return errs[0].Err
		}
		left -= int64(fetches.NumRecords())
	}
	return nil
}

// floats makes a column of vectors of so many bytes.
func floats(in input, bytes int) *column.Column {
	c := column.New(column.Field{ID: 101, Type: 101, Dim: in.dim})
	values := make([]byte, 4*in.dim)
	for i := range values {
		values[i] = byte(i * 37)
	}
	pool := &column.Pool{}
	for int(c.Bytes()) < bytes {
		c.AppendFixed(pool, values)
	}
	return c
}

// encode writes so many bytes of vectors as binlogs, without a flow.
func encode(in input, total int64) error {
	const flush = 16 << 20
	c := floats(in, flush)
	encoder := &binlog.Encoder{}
	for done := int64(0); done < total; done += c.Bytes() {
		f, err := encoder.Encode(binlog.Meta{Collection: 1, Partition: 2, Segment: 3, MinTS: 1, MaxTS: 2}, c)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		f.Free()
	}
	return nil
}

// move copies so many bytes once.
func move(total int64) {
	from, to := make([]byte, 16<<20), make([]byte, 16<<20)
	for i := range from {
		from[i] = byte(i)
	}
	for done := int64(0); done < total; done += int64(len(from)) {
		copy(to, from)
	}
}
