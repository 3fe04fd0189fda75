// Package flows runs one go-streams pipeline per Kafka partition. It is the
// only package that knows the Kafka client and go-streams' operators.
package flows

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/sinks/binlog"
	"flowgraph/stages"
)

// Config is what a worker does, less the store.
type Config struct {
	Brokers []string
	// Topics are regular expressions, anchored at both ends. A worker with
	// topics is a member of Group.
	Topics []string
	Group  string
	// Partitions is an explicit list instead, read without a group.
	Partitions     map[string][]int32
	InstanceID     string // static group membership; "" for none
	SessionTimeout time.Duration
	ServerSide     bool          // the group's broker gives out partitions (KIP-848), not its first member
	UntilEnd       bool          // end where each log ended at start
	Grace          time.Duration // for flushing everything at a graceful stop
	MemoryBudget   int64         // bytes
	StallAfter     time.Duration // without progress for so long a flow is stuck; 0: never
	Limits         stages.Limits
	StopOnBad      bool                // a bad record stops its vchannel
	GapGoOn        bool                // data lost to retention does not stop a vchannel
	Filter         binlog.FilterKind   // of key statistics
	Schemas        stages.SchemaSource // asked for collections older than the log; nil: none
	Client         []kgo.Opt           // of the Kafka client: TLS, SASL
	ClientLog      kgo.Logger          // what the client says besides; nil: it is dropped
	Explain        func(error) error   // puts before an error of the client what to do about it; nil: it stays as it is
}

// DefaultConfig is a worker with the default limits, of no topics yet.
func DefaultConfig() Config {
	return Config{
		Group: "flowgraph", SessionTimeout: 10 * time.Second, Grace: 30 * time.Second,
		MemoryBudget: 1 << 30, StallAfter: 5 * time.Minute, Limits: stages.DefaultLimits(),
	}
}

// Validate says what is wrong, and what is allowed.
func (c Config) Validate() error {
	var errs []error
	if len(c.Brokers) == 0 {
		errs = append(errs, errors.New("no brokers are given"))
	}
	if (len(c.Topics) == 0) == (len(c.Partitions) == 0) {
		errs = append(errs, errors.New("either topics or an explicit list of topic:partition must be given, not both"))
	}
	if len(c.Topics) > 0 && c.Group == "" {
		errs = append(errs, errors.New("topics are read in a group, and none is given"))
	}
	if _, err := c.match(); err != nil {
		errs = append(errs, err)
	}
	if c.MemoryBudget < 16<<20 {
		errs = append(errs, fmt.Errorf("a memory budget of %d bytes is below 16 MiB", c.MemoryBudget))
	}
	if c.Limits.FlushBytes <= 0 || c.Limits.FlushBytes > 1<<30 || c.Limits.FlushDeleteBytes <= 0 || c.Limits.FlushDeleteBytes > 1<<30 {
		errs = append(errs, errors.New("a flush must be between 1 byte and 1 GiB: a file has to stay below 2 GiB"))
	}
	if c.SessionTimeout < 100*time.Millisecond {
		errs = append(errs, fmt.Errorf("a session time-out of %s is below 100ms", c.SessionTimeout))
	}
	return errors.Join(errs...)
}

// match returns a function that says whether a topic is one of Topics.
func (c Config) match() (func(topic string) bool, error) {
	var exprs []*regexp.Regexp
	for _, t := range c.Topics {
		e, err := regexp.Compile(t)
		if err != nil {
			return nil, fmt.Errorf("topic expression %q: %w", t, err)
		}
		exprs = append(exprs, e)
	}
	return func(topic string) bool {
		for _, e := range exprs {
			if e.MatchString(topic) {
				return true
			}
		}
		return false
	}, nil
}
