package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topics looks up what is to be read. Kafka hides topics that a user may not
// describe from a list of all, so those given by name are asked for by name.
func (t *trials) topics(ctx context.Context) error {
	all, err := t.admin.ListTopics(ctx)
	if err != nil {
		return t.missing("topics", fmt.Errorf("list topics: %w", err))
	}
	t.found = kadm.TopicDetails{}
	for name, d := range all {
		if len(t.reading.Partitions) == 0 && t.reading.Match(name) {
			t.found[name] = d
		}
	}
	if err := t.named(ctx); err != nil {
		return t.missing("topics", err)
	}
	if len(t.found) == 0 {
		return t.missing("topics", fmt.Errorf("none of the %d topics that Kafka shows %s matches %s: correct --topics, or allow Read and Describe on them; "+
			"topics that Milvus makes later are found when they are there", len(all), t.cfg.who(), t.reading.Text))
	}
	n, names := 0, t.found.Names()
	for i, name := range names {
		n += len(t.found[name].Partitions)
		names[i] = fmt.Sprintf("%s (%d)", name, len(t.found[name].Partitions))
	}
	t.ok("topics", "%s with %s: %s", count(len(names), "topic"), count(n, "partition"), some(names))
	return nil
}

// named adds the topics that are given by name or in a list of partitions.
func (t *trials) named(ctx context.Context) error {
	names := slices.Clone(t.reading.Names)
	for name := range t.reading.Partitions {
		names = append(names, name)
	}
	var errs []error
	for _, name := range names { // one each, or an error is not told by name
		all, err := t.admin.ListTopics(ctx, name)
		d := all[name]
		if err == nil {
			err = d.Err
		}
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			err = fmt.Errorf("there is no topic %s: correct --topics, or wait until Milvus has made it", name)
		case err != nil:
			err = t.cfg.Explain(fmt.Errorf("topic %s: %w", name, err))
		default:
			if err = t.only(&d); err == nil {
				t.found[name] = d
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// only leaves those partitions of a topic that are to be read.
func (t *trials) only(d *kadm.TopicDetail) error {
	wanted, explicit := t.reading.Partitions[d.Topic]
	if !explicit {
		return nil
	}
	kept := kadm.PartitionDetails{}
	for _, id := range wanted {
		p, ok := d.Partitions[id]
		if !ok {
			return fmt.Errorf("topic %s has %s, and none of number %d: correct --topics", d.Topic, count(len(d.Partitions), "partition"), id)
		}
		kept[id] = p
	}
	d.Partitions = kept
	return nil
}

// some of many names.
func some(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// offsets asks where the logs begin and end, which wants Describe, and how
// old their newest record is.
func (t *trials) offsets(ctx context.Context) (err error) {
	names := t.found.Names()
	if t.starts, err = t.admin.ListStartOffsets(ctx, names...); err == nil {
		err = t.starts.Error()
	}
	if err != nil {
		return t.missing("describe", fmt.Errorf("offsets of %s: %w", some(names), err))
	}
	ends, err := t.admin.ListCommittedOffsets(ctx, names...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return t.missing("describe", fmt.Errorf("offsets of %s: %w", some(names), err))
	}
	retained, cut := int64(0), 0
	for _, d := range t.found {
		for id := range d.Partitions {
			start, _ := t.starts.Lookup(d.Topic, id)
			end, _ := ends.Lookup(d.Topic, id)
			retained += end.Offset - start.Offset
			if start.Offset > 0 {
				cut++
			}
		}
	}
	whole := "every log has its beginning"
	if cut > 0 {
		whole = count(cut, "log") + " no longer with their beginning"
	}
	t.ok("describe", "%s retained; %s", count(int(retained), "offset"), whole)
	return nil
}

// fetch reads a little of each topic, which wants Read.
func (t *trials) fetch(ctx context.Context) error {
	byLeader := map[int32]*kmsg.FetchRequest{}
	for _, d := range t.found.Sorted() {
		for _, p := range d.Partitions.Sorted()[:min(1, len(d.Partitions))] {
			req := byLeader[p.Leader]
			if req == nil {
				req = kmsg.NewPtrFetchRequest()
				req.MaxBytes, req.IsolationLevel = 1, 1 // one batch, read committed
				byLeader[p.Leader] = req
			}
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic, topic.TopicID = d.Topic, d.ID
			part := kmsg.NewFetchRequestTopicPartition()
			start, _ := t.starts.Lookup(d.Topic, p.Partition)
			part.Partition, part.FetchOffset, part.PartitionMaxBytes = p.Partition, start.Offset, 1
			topic.Partitions = append(topic.Partitions, part)
			req.Topics = append(req.Topics, topic)
		}
	}
	bytes := 0
	for leader, req := range byLeader {
		n, err := t.fetchFrom(ctx, leader, req)
		if err != nil {
			return t.missing("read", err)
		}
		bytes += n
	}
	if bytes == 0 {
		t.ok("read", "allowed; there is no record yet")
	} else {
		t.ok("read", "a first record was read")
	}
	t.newest(ctx)
	return nil
}

func (t *trials) fetchFrom(ctx context.Context, leader int32, req *kmsg.FetchRequest) (bytes int, err error) {
	answer, err := t.client.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		return 0, fmt.Errorf("fetch from broker %d: %w", leader, err)
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	if !ok {
		return 0, fmt.Errorf("fetch from broker %d: another answer (%T)", leader, answer)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return 0, fmt.Errorf("fetch from broker %d: %w", leader, err)
	}
	var errs []error
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			bytes += len(p.RecordBatches)
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				errs = append(errs, t.cfg.Explain(fmt.Errorf("fetch %s: %w", t.nameOf(topic), err)))
			}
		}
	}
	return bytes, errors.Join(errs...)
}

// nameOf is a topic's name also where the answer has only its ID.
func (t *trials) nameOf(topic kmsg.FetchResponseTopic) string {
	for _, d := range t.found {
		if topic.Topic == "" && d.ID == topic.TopicID {
			return d.Topic
		}
	}
	return topic.Topic
}

// muchSkew is how far in the future a record's time may lie.
const muchSkew = time.Minute

// newest looks at the time of the newest record: one from the future shows
// clocks that differ. Brokers before Kafka 3.0 do not tell.
func (t *trials) newest(ctx context.Context) {
	listed, err := t.admin.ListMaxTimestampOffsets(ctx, t.found.Names()...)
	if err != nil {
		return
	}
	var newest kadm.ListedOffset
	listed.Each(func(o kadm.ListedOffset) {
		if o.Err == nil && o.Timestamp > newest.Timestamp {
			newest = o
		}
	})
	if newest.Timestamp <= 0 {
		return
	}
	old := time.Since(time.UnixMilli(newest.Timestamp)).Round(time.Second)
	if old < -muchSkew {
		t.missing("clocks", fmt.Errorf("the newest record of %s is from %s ahead of the clock here: set the clocks here, of Milvus and of Kafka by NTP", newest.Topic, -old))
		return
	}
	t.ok("clocks", "the newest record is %s old", max(old, 0))
}
