package cli

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// RunConfig is the worker's configuration. The help texts are also the
// table of docs/reference/settings.md.
type RunConfig struct {
	KafkaFlags
	Group          string   `help:"Consumer group. Workers of one group share the partitions; not used with topic:partition." default:"flowgraph" placeholder:"NAME" group:"Kafka"`
	InstanceID     string   `help:"Name of this worker in the group that stays the same over restarts, so that a restart does not rebalance. Must differ between workers." placeholder:"NAME" group:"Kafka"`
	SessionTimeout Duration `help:"Silence after which the group gives a worker's partitions to others. With --group-protocol consumer the broker decides (its group.consumer.session.timeout.ms)." default:"10s" placeholder:"TIME" group:"Kafka"`
	GroupProtocol  string   `help:"How the group gives out partitions: ${enum}. Classic works with every Kafka; consumer is that of KIP-848, with Kafka 4.0 and later, best from 4.3 on. Workers of both kinds can share a group while it is changed over." enum:"classic,consumer" default:"classic" placeholder:"PROTOCOL" group:"Kafka"`

	S3Flags

	ListenFlags
	StallAfter    Duration `help:"A partition that makes no progress for so long, though there is something to read and neither the bucket nor Kafka nor memory is why, fails /healthz; 0s: never." default:"5m" placeholder:"TIME" group:"Worker"`
	UntilEnd      bool     `help:"Read to where each log ended at the start, flush, commit and end." group:"Worker"`
	StartPatience Duration `help:"How long a worker that the bucket or Kafka refuses at the start tries again, and tells why on its page, before it ends. Without a page, and with --until-end, it ends at once." default:"1m" placeholder:"TIME" group:"Worker"`
	GracePeriod   Duration `help:"Time for a drain when stopped or when a partition is taken away; what is not stored by then is read again after the next start." default:"30s" placeholder:"TIME" group:"Worker"`

	MemoryBudget     Size     `help:"Bytes that may be fetched, buffered and uploading together; 0 is half of the container's or machine's memory." default:"0" placeholder:"SIZE" group:"Flushing"`
	FlushBytes       Size     `help:"A segment's buffered rows are written when they reach this size." default:"64MiB" placeholder:"SIZE" group:"Flushing"`
	FlushDeleteBytes Size     `help:"A segment's buffered deletes are written when they reach this size." default:"16MiB" placeholder:"SIZE" group:"Flushing"`
	FlushAge         Duration `help:"A row is written at latest this long after it was read." default:"10m" placeholder:"TIME" group:"Flushing"`
	BloomFilter      string   `help:"Kind of bloom filter in the statistics of primary keys: ${enum}. Blocked is read by Milvus 2.5 and later, basic by all." enum:"blocked,basic" default:"blocked" placeholder:"KIND" group:"Flushing"`

	SegmentBytes  Size     `help:"Size at which a segment whose ID Milvus did not choose is sealed." default:"1GiB" placeholder:"SIZE" group:"Sealing"`
	SegmentAge    Duration `help:"Age at which a segment whose ID Milvus did not choose is sealed." default:"24h" placeholder:"TIME" group:"Sealing"`
	IdleSeal      Duration `help:"A segment is sealed when the log brought it no row for this long." default:"24h" placeholder:"TIME" group:"Sealing"`
	SuccessorSeal Duration `help:"The same once its partition has a newer segment." default:"10m" placeholder:"TIME" group:"Sealing"`

	OnBadRecord string  `help:"What happens to a record that cannot be read: ${enum}. Quarantine keeps it in the bucket and goes on; stop stops its partition." enum:"quarantine,stop" default:"quarantine" placeholder:"ACTION" group:"Failures"`
	OnGap       string  `help:"What happens when records were deleted from the log before they were read: ${enum}. Stop stops the partition; continue goes on behind the gap." enum:"stop,continue" default:"stop" placeholder:"ACTION" group:"Failures"`
	SchemaFile  string  `help:"JSON file with schemas of collections whose creation is no longer in the log." placeholder:"FILE" group:"Failures"`
	SchemaFrom  Address `help:"Milvus to ask for the schema of a collection whose creation is no longer in the log and that is not in the file." placeholder:"HOST:PORT" group:"Failures"`
	MilvusFlags
}

// Validate refuses settings that contradict each other or could not work.
func (c RunConfig) Validate() error {
	return errors.Join(
		c.KafkaFlags.Validate(), c.S3Flags.Validate(), c.ListenFlags.Validate(), c.MilvusFlags.Validate(),
		c.validateTimes(), c.validateSizes(), c.validateSchemaFile(),
		broken(rule{c.Group == "" && c.Topics.IsSet() && c.Topics.Partitions() == nil,
			"--group is empty: only an explicit list of topic:partition is read without a group"}),
	)
}

func (c RunConfig) validateTimes() error {
	var rules []rule
	for _, d := range []struct {
		flag  string
		value Duration
		least time.Duration
	}{
		{"--session-timeout", c.SessionTimeout, 100 * time.Millisecond},
		{"--grace-period", c.GracePeriod, time.Second},
		{"--flush-age", c.FlushAge, time.Millisecond},
		{"--segment-age", c.SegmentAge, time.Millisecond},
		{"--idle-seal", c.IdleSeal, time.Millisecond},
		{"--successor-seal", c.SuccessorSeal, time.Millisecond},
	} {
		rules = append(rules, rule{time.Duration(d.value) < d.least, fmt.Sprintf("%s %s is too short: it must be at least %s", d.flag, d.value, d.least)})
	}
	return broken(rules...)
}

func (c RunConfig) validateSizes() error {
	var rules []rule
	for _, s := range []struct {
		flag  string
		value Size
	}{
		{"--flush-bytes", c.FlushBytes}, {"--flush-delete-bytes", c.FlushDeleteBytes}, {"--segment-bytes", c.SegmentBytes},
	} {
		rules = append(rules, rule{s.value < 1, fmt.Sprintf("%s must be larger than 0: %s", s.flag, sizeSentence)},
			// Every flush would come from the budget and the setting would do nothing.
			rule{c.MemoryBudget > 0 && s.value > c.MemoryBudget && s.flag != "--segment-bytes",
				fmt.Sprintf("%s %s is more than --memory-budget %s: lower it, or it would never be reached", s.flag, s.value, c.MemoryBudget)})
	}
	return broken(rules...)
}

func (c RunConfig) validateSchemaFile() error {
	if c.SchemaFile == "" {
		return nil
	}
	if _, err := os.Stat(c.SchemaFile); err != nil {
		return fmt.Errorf("--schema-file: %w", err)
	}
	return nil
}
