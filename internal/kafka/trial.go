package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Reading is what a worker means to read.
type Reading struct {
	Match      func(topic string) bool // of topics in a group
	Names      []string                // topics given by name
	Partitions map[string][]int32      // instead of a group
	Text       string                  // the selection as it was written
	Group      string
	ServerSide bool // the consumer protocol (KIP-848)
}

// Trial is one thing that a worker needs of Kafka, tried out: what was found,
// or an error whose sentence says what to do.
type Trial struct {
	What, Found string
	Err         error
}

// Try tries out what a worker needs, without a trace: it joins no group,
// commits nothing, makes no topic of ours. What builds on something missing is not
// tried. The error is ctx's.
func (c Config) Try(ctx context.Context, options []kgo.Opt, r Reading) ([]Trial, error) {
	client, err := kgo.NewClient(append(options[:len(options):len(options)],
		kgo.RequestRetries(1), kgo.RetryTimeout(checkTimeout), kgo.WithLogger(silent{}))...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	t := &trials{cfg: c, client: client, admin: kadm.NewClient(client), reading: r}
	for _, step := range []func(context.Context) error{t.brokers, t.topics, t.offsets, t.fetch} {
		try, cancel := context.WithTimeout(ctx, 2*checkTimeout)
		err := step(try)
		cancel()
		if ctx.Err() != nil {
			return t.out, context.Cause(ctx)
		}
		if err != nil {
			break
		}
	}
	if t.answers && len(r.Partitions) == 0 {
		try, cancel := context.WithTimeout(ctx, 2*checkTimeout)
		defer cancel()
		t.group(try)
	}
	return t.out, ctx.Err()
}

// trials is the state of one Try.
type trials struct {
	cfg     Config
	client  *kgo.Client
	admin   *kadm.Client
	reading Reading
	out     []Trial

	answers bool
	found   kadm.TopicDetails  // the topics to be read, in their partitions
	starts  kadm.ListedOffsets // where their logs begin
}

// ok and missing note a trial; missing returns the error too.
func (t *trials) ok(what, format string, args ...any) {
	t.out = append(t.out, Trial{What: what, Found: fmt.Sprintf(format, args...)})
}

func (t *trials) missing(what string, err error) error {
	err = t.cfg.Explain(err)
	t.out = append(t.out, Trial{What: what, Err: err})
	return err
}

// brokers asks one broker for all, and then each: that at least one can be
// reached says nothing of the addresses that it gives for the others.
func (t *trials) brokers(ctx context.Context) error {
	all, err := t.admin.BrokerMetadata(ctx)
	if err != nil {
		return t.missing("brokers", fmt.Errorf("ask Kafka: %w", err))
	}
	t.answers = true
	away := make(chan error, len(all.Brokers))
	for _, b := range all.Brokers {
		go func() {
			_, err := t.client.Broker(int(b.NodeID)).Request(ctx, kmsg.NewPtrApiVersionsRequest())
			if err != nil {
				err = fmt.Errorf("broker %d does not answer at %s:%d, the address that Kafka gives for it (advertised.listeners): make it reachable from here: %w", b.NodeID, b.Host, b.Port, err)
			}
			away <- err
		}()
	}
	var errs []error
	for range all.Brokers {
		errs = append(errs, <-away)
	}
	if err := errors.Join(errs...); err != nil { // one answers: it is not --brokers
		t.out = append(t.out, Trial{What: "brokers", Err: err})
		return err
	}
	t.ok("brokers", "cluster %s answers %s: %d of %d brokers", all.Cluster, t.cfg.transport(), len(all.Brokers), len(all.Brokers))
	t.ok("login", "%s", t.cfg.login())
	return nil
}

func (c Config) transport() string {
	if c.TLS {
		return "over TLS"
	}
	return "in plaintext"
}

// login says how this client has logged in.
func (c Config) login() string {
	if c.SASL == "" || c.SASL == NoLogin {
		return c.who() + ", without a login"
	}
	return fmt.Sprintf("%s, by %s", c.who(), c.SASL)
}

// group asks for the group's offsets, which wants Describe, and sends a
// heartbeat of a member that there is not, which wants Read as joining does.
func (t *trials) group(ctx context.Context) {
	name := t.reading.Group
	offsets, err := t.groupOffsets(ctx)
	known := "it has offsets of " + count(len(offsets), "partition")
	if errors.Is(err, kerr.GroupIDNotFound) {
		known, err = "nobody has used it yet", nil
	}
	if err != nil {
		t.missing("group", fmt.Errorf("group %s: %w", name, err))
		return
	}
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Group, beat.MemberID, beat.Generation = name, "flowgraph-config-check", -1
	resp, err := beat.RequestWith(ctx, t.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if errors.Is(err, kerr.GroupAuthorizationFailed) || resp == nil {
		t.missing("group", fmt.Errorf("group %s: %w", name, err))
		return
	} // else the member is unknown, in whatever words
	t.ok("group", "%s may be used; %s", name, known)
	if t.reading.ServerSide {
		t.serverSide(ctx)
	}
}

// groupOffsets waits for the group's coordinator: the first question for one
// makes Kafka's own topic of offsets where no group was used before.
func (t *trials) groupOffsets(ctx context.Context) (kadm.OffsetResponses, error) {
	for {
		offsets, err := t.admin.FetchOffsets(ctx, t.reading.Group)
		if !errors.Is(err, kerr.CoordinatorNotAvailable) && !errors.Is(err, kerr.CoordinatorLoadInProgress) && !errors.Is(err, kerr.NotCoordinator) {
			return offsets, err
		}
		if pause(ctx, coordinatorPause); ctx.Err() != nil {
			return nil, err
		}
	}
}

// coordinatorPause is how long a coordinator is waited for at a time.
const coordinatorPause = 300 * time.Millisecond

// consumerGroupHeartbeat is the key of the request that KIP-848 brings.
const consumerGroupHeartbeat = 68

func (t *trials) serverSide(ctx context.Context) {
	versions, err := t.admin.ApiVersions(ctx)
	if err == nil {
		versions.Each(func(v kadm.BrokerApiVersions) {
			if _, _, ok := v.KeyVersions(consumerGroupHeartbeat); !ok && v.Err == nil {
				err = fmt.Errorf("broker %d does not know the consumer protocol: choose --group-protocol classic, or a Kafka from 4.0 on", v.NodeID)
			}
		})
	}
	if err != nil {
		t.missing("group protocol", err)
		return
	}
	t.ok("group protocol", "the brokers know consumer (KIP-848)")
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
