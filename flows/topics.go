package flows

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flowgraph/checkpoints"
)

// watchTopics compares the topics' IDs with those that the flows read: of a
// topic created anew the client may deliver neither records nor an error.
func (w *Worker) watchTopics() {
	ticker := time.NewTicker(w.patience.topics)
	defer ticker.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-ticker.C:
			w.compareTopics()
			w.askEnds()
		}
	}
}

// compareTopics asks once for all topics, and ends the flows of those that
// are not what they were. What cannot be asked now is asked next time.
func (w *Worker) compareTopics() {
	reading := map[string][]*install{}
	w.mu.Lock()
	for _, a := range w.parts {
		if i := a.installed.Load(); i != nil {
			reading[a.topic] = append(reading[a.topic], i)
		}
	}
	w.mu.Unlock()
	if len(reading) == 0 || !w.kafkaSilent(time.Now()).IsZero() {
		w.lookForTopics()
		return
	}
	w.kafka.noTopic(nil)
	req := kmsg.NewPtrMetadataRequest()
	for topic := range reading {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(w.ctx, w.client)
	if err != nil {
		return
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || t.TopicID == [16]byte{} || kerr.ErrorForCode(t.ErrorCode) != nil {
			continue
		}
		now := topicIDText(t.TopicID)
		for _, i := range reading[*t.Topic] {
			if id := i.a.topicID.Load(); id != nil && *id != now {
				i.fail(recreated(i.a, now))
			}
		}
	}
}

// recreated is the end of a flow whose topic has another ID now.
func recreated(a *assignment, now string) error {
	return fmt.Errorf("%s-%d: topic ID %s became %s: %w", a.topic, a.id, *a.topicID.Load(), now, checkpoints.ErrTopicRecreated)
}

// lookForTopics finds out why the group gives this worker nothing: no broker
// takes it, or there is no topic for it.
func (w *Worker) lookForTopics() {
	resp, err := w.askSeeds()
	if err != nil {
		if w.ctx.Err() == nil {
			w.kafka.trouble(err)
		}
		return
	}
	w.mu.Lock()
	mine := len(w.parts)
	w.mu.Unlock()
	match, err := w.cfg.match()
	if err != nil || mine > 0 || len(w.cfg.Topics) == 0 {
		w.kafka.noTopic(nil)
		return
	}
	for i := range resp.Topics {
		if t := resp.Topics[i].Topic; t != nil && match(*t) {
			w.kafka.noTopic(nil)
			return
		}
	}
	if err := noneMatches(len(resp.Topics), w.cfg.Topics); w.kafka.noTopic(err) {
		w.log.Warn().Err(err).Str("advice", Advice(err)).Msg("nothing to read; it goes on as soon as there is")
	}
}

// noneMatches names what was looked for as an operator writes it, not as an
// anchored expression.
func noneMatches(shown int, expressions []string) error {
	var wanted []string
	for _, e := range expressions {
		e = strings.TrimSuffix(strings.TrimPrefix(e, "^(?:"), ")$")
		if exp, err := regexp.Compile(e); err == nil {
			if name, whole := exp.LiteralPrefix(); whole {
				wanted = append(wanted, name)
				continue
			}
		}
		wanted = append(wanted, "/"+e+"/")
	}
	sought := strings.Join(wanted, ",")
	if shown == 0 {
		return fmt.Errorf("%w: Kafka shows no topic at all, and none that matches %s", errNoTopic, sought)
	}
	return fmt.Errorf("%w: none of the %d topics that Kafka shows matches %s", errNoTopic, shown, sought)
}

// askSeeds asks for all topics, each broker once: the client itself would try
// again for a long time and keep to itself why.
func (w *Worker) askSeeds() (resp *kmsg.MetadataResponse, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, w.patience.topics)
	defer cancel()
	for _, b := range w.client.SeedBrokers() {
		if resp, err = kmsg.NewPtrMetadataRequest().RequestWith(ctx, b); err == nil {
			return resp, nil
		}
	}
	return nil, err
}
