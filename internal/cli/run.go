package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/sinks"
	"flowgraph/sinks/binlog"
	"flowgraph/stages"
)

// RunCommand is the worker.
type RunCommand struct {
	RunConfig
}

// Run works until stopped, or to the ends of the logs with --until-end.
func (c *RunCommand) Run(p *Process, log zerolog.Logger, level *logLevel) error {
	cfg, err := c.worker(p.Environ)
	if err != nil {
		return usageError{err}
	}
	given, err := c.schemas(log)
	if err != nil {
		return usageError{err}
	}
	defer given.close()
	cfg.Schemas = given
	kafkaAnswers, err := c.login(&cfg, log)
	if err != nil {
		return err
	}
	registry, store := newRegistry(p.Version)
	bucket, err := sinks.NewBucket(c.S3Flags.Bucket(log), log, store.Hooks())
	if err != nil {
		return usageError{err}
	}
	defer bucket.Close()
	worker, err := flows.NewWorker(cfg, bucket, registry, log)
	if err != nil {
		return usageError{err}
	}
	// The page is there before the store is tried: it may be the store that
	// somebody wants to know about.
	if c.Listen != "" {
		end, err := c.serve(p.Kill, web.Options{Worker: worker, Control: worker, LogLevel: level, Store: bucket, Metrics: registry, Log: log})
		if err != nil {
			return err
		}
		defer end()
	}
	if err := c.begin(p.Stop, log, worker.CannotStart, func(ctx context.Context) error {
		if err := bucket.Probe(ctx); err != nil {
			return err
		}
		return kafkaAnswers(ctx, worker.KafkaTrouble)
	}); err != nil {
		return err
	}
	log.Info().Str("store", bucket.Name()).Str("topics", c.Topics.String()).Int64("memory_budget", cfg.MemoryBudget).Msg("worker starts")
	return outcome(worker.Run(p.Kill, p.Stop))
}

// serve starts the web server, and returns what closes it.
func (c *RunCommand) serve(kill context.Context, o web.Options) (end func(), err error) {
	access, err := c.access(o.Log)
	if err != nil {
		return nil, err
	}
	o.Address, o.Access = string(c.Listen), access
	server, err := web.Start(o)
	if errors.Is(err, syscall.EADDRINUSE) && o.Address == defaultListen {
		// A second worker on one machine, whose operator did not ask for this address.
		o.Log.Warn().Str("address", defaultListen).Msg("the default address is taken, a free one is chosen; --listen names another")
		o.Address = anyPort
		server, err = web.Start(o)
	}
	if err != nil {
		return nil, err
	}
	o.Log.Info().Str("address", server.Addr()).Str("page", server.URL()).Msg("metrics and health")
	return func() {
		if err := server.Close(kill); err != nil {
			o.Log.Debug().Err(err).Msg("web server")
		}
	}, nil
}

// Addresses of page, metrics and health.
const (
	defaultListen = "127.0.0.1:9090" // as the flag has it
	anyPort       = "127.0.0.1:0"
)

// outcome gives an error of the worker its exit code.
func outcome(err error) error {
	if errors.Is(err, flows.ErrFencedTooOften) || errors.Is(err, flows.ErrInstanceTaken) {
		return fmt.Errorf("%w: %w", ErrOwnershipLost, err)
	}
	return err
}

// worker is the configuration as the worker takes it.
func (c *RunCommand) worker(environ []string) (flows.Config, error) {
	budget := int64(c.MemoryBudget)
	if budget == 0 {
		memory, err := memory()
		if err != nil {
			return flows.Config{}, fmt.Errorf("--memory-budget must be given: %w", err)
		}
		budget = int64(memory / 2)
	}
	limitHeap(budget, environ)
	cfg := flows.Config{
		Brokers: c.Brokers, Topics: c.Topics.Expressions(), Partitions: c.Topics.Partitions(),
		Group: c.Group, InstanceID: c.InstanceID, SessionTimeout: time.Duration(c.SessionTimeout),
		ServerSide: c.GroupProtocol == "consumer",
		UntilEnd:   c.UntilEnd, Grace: time.Duration(c.GracePeriod), MemoryBudget: budget, StallAfter: time.Duration(c.StallAfter),
		Limits: stages.Limits{
			FlushBytes: int64(c.FlushBytes), FlushDeleteBytes: int64(c.FlushDeleteBytes), FlushAge: time.Duration(c.FlushAge),
			SegmentBytes: int64(c.SegmentBytes), SegmentAge: time.Duration(c.SegmentAge),
			IdleSeal: time.Duration(c.IdleSeal), SuccessorSeal: time.Duration(c.SuccessorSeal),
		},
		StopOnBad: c.OnBadRecord == "stop", GapGoOn: c.OnGap == "continue",
	}
	if c.BloomFilter == "basic" {
		cfg.Filter = binlog.BasicFilter
	}
	return cfg, cfg.Validate()
}

// Beside the budget a worker needs what does not grow with the data: the
// client's fetches, encoders. What the program itself takes, some 50 MiB, is
// not the collector's.
const (
	fixedMemory = 96 << 20
	heapShare   = 1.4 // of the budget; the collector frees late
)

// limitHeap tells the collector what the worker may use, unless the operator
// has.
func limitHeap(budget int64, environ []string) {
	if env(environ, "GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(fixedMemory + int64(heapShare*float64(budget)))
	}
}
