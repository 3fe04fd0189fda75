package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	checkTimeout = 6 * time.Second // of one try
	checkPause   = time.Second
	leastTry     = time.Second // a shorter one would say that Kafka does not answer, whatever is wrong
)

// Check connects, logs in and asks for topics, once: so that what is set up
// wrongly is told at the start. Its errors are explained; one that is ErrAway
// may pass.
func (c Config) Check(ctx context.Context, options []kgo.Opt, topics []string) error {
	return c.check(ctx, options, topics, checkTimeout)
}

func (c Config) check(ctx context.Context, options []kgo.Opt, topics []string, limit time.Duration) error {
	client, err := kgo.NewClient(append(options[:len(options):len(options)],
		kgo.RequestRetries(0), kgo.WithLogger(silent{}))...)
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	try, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none; nil would be all
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(try, client)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return c.Explain(fmt.Errorf("ask Kafka: %w", err))
	}
	for _, t := range resp.Topics {
		// A topic that is not there yet may be made later.
		if err := kerr.ErrorForCode(t.ErrorCode); errors.Is(err, kerr.TopicAuthorizationFailed) {
			return c.Explain(fmt.Errorf("topic %s: %w", *t.Topic, err))
		}
	}
	return nil
}

// Await checks until Kafka answers, for so long at most or, if that is 0, as
// long as ctx lasts. Meanwhile the teller says why it waits.
func (c Config) Await(ctx context.Context, options []kgo.Opt, topics []string, patience time.Duration, t *Teller) error {
	start := time.Now()
	for {
		limit := checkTimeout
		if patience > 0 {
			limit = min(limit, patience-time.Since(start))
		}
		err := c.check(ctx, options, topics, limit)
		if err == nil {
			t.over("")
			return nil
		}
		if ctx.Err() != nil || !errors.Is(err, ErrAway) || patience > 0 && time.Since(start)+checkPause+leastTry > patience {
			return err
		}
		t.tell("", err)
		if pause(ctx, checkPause); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// pause waits, at most as long as ctx lasts.
func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// silent is the log of a check, whose error says it all.
type silent struct{}

func (silent) Level() kgo.LogLevel              { return kgo.LogLevelNone }
func (silent) Log(kgo.LogLevel, string, ...any) {}
