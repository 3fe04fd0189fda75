// Package demo is a show: recorded Milvus traffic goes through an embedded
// broker into an embedded bucket, and the worker is killed on the way.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/recording"
	"flowgraph/sinks"
)

// Config says where the show plays.
type Config struct {
	Dir     string   // absolute; made anew
	Program string   // absolute path of this program, which the workers run too
	Environ []string // for the workers, less what is meant for other workers
	Files   fs.FS    // NAME/records.jsonl.gz of the recordings to replay
	Out     io.Writer
	Log     zerolog.Logger
}

// How fast the traffic goes, so that it takes a few seconds and has a middle,
// and after how long something must be wrong.
const (
	rate  = 120 // records a second
	limit = 2 * time.Minute
)

var errTooLong = fmt.Errorf("not done within %s", limit)

// show is one run of the demo.
type show struct {
	Config
	begun   time.Time
	traffic *traffic
	broker  *devstack.Broker
	store   *devstack.Store
	bucket  *sinks.Bucket

	written  atomic.Int64  // records replayed so far
	underway chan struct{} // closed once topics and a first record are there
}

// Run plays the whole. It returns archive.ErrNotExact if the bucket does not
// hold exactly what was replayed. When ctx ends it ends everything that it
// started and removes its folder.
func Run(ctx context.Context, c Config) (err error) {
	s := &show{Config: c, begun: time.Now(), underway: make(chan struct{})}
	if err := newFolder(c.Dir); err != nil {
		return err
	}
	defer func() {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), os.RemoveAll(c.Dir))
		}
	}()
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTooLong)
	defer cancel()
	if s.traffic, err = assemble(c.Files, c.Dir); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return s.onStage(limited, s.play)
}

// onStage plays between the start and the end of broker and bucket.
func (s *show) onStage(ctx context.Context, play func(context.Context) error) (err error) {
	s.broker, err = devstack.StartBroker(devstack.BrokerConfig{Dir: filepath.Join(s.Dir, "kafka")})
	if err != nil {
		return err
	}
	defer s.broker.Close()
	s.store, err = devstack.StartBucket(ctx, devstack.BucketConfig{Dir: filepath.Join(s.Dir, "bucket")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	config := sinks.Default()
	config.Endpoint, config.Bucket = s.store.Endpoint(), s.store.Config().Bucket
	config.AccessKey, config.SecretKey = s.store.Config().AccessKey, s.store.Config().SecretKey
	if s.bucket, err = sinks.NewBucket(config, s.Log, sinks.Hooks{}); err != nil {
		return err
	}
	defer s.bucket.Close()
	s.say("Kafka on %s and a bucket on %s, both inside this process.", s.broker.Addr(), s.store.Endpoint())
	return play(ctx)
}

// play replays beside the workers, and ends both if one fails.
func (s *show) play(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var replaying sync.WaitGroup
	defer replaying.Wait()
	s.say("Replaying %s records of a real Milvus' log into %d partitions, %d a second.",
		number(s.traffic.records), len(s.traffic.ends), rate)
	replaying.Go(func() {
		if err := s.replay(ctx); err != nil {
			cancel(err)
		}
	})
	dropped, err := s.workers(ctx)
	if err != nil {
		cancel(err) // the first cause counts: that of the replay, if it failed before
		return context.Cause(ctx)
	}
	return s.close(ctx, dropped)
}

func (s *show) replay(ctx context.Context) error {
	_, err := recording.Replay(ctx, ctx, s.traffic.path, recording.ReplayOptions{
		Rate: rate, Client: s.broker.Client(),
		Progress: func(done, _ int64) {
			if done == 1 {
				close(s.underway)
			}
			s.written.Store(done)
		},
	})
	return err
}

// workers lets one worker work until it is killed, and a second to the end.
// It returns how many persisted rows and deletes the second read again.
func (s *show) workers(ctx context.Context) (again int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running []*worker
	defer func() {
		cancel()
		for _, w := range running {
			<-w.done
		}
	}()
	select {
	case <-s.underway:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	first, err := s.startWorker(ctx, "worker-1")
	if err != nil {
		return 0, err
	}
	running = append(running, first)
	s.say("Worker 1 reads them: process %d.", first.pid())
	if _, err := s.await(ctx, first, s.worthKilling); err != nil {
		return 0, err
	}
	if err := first.kill(); err != nil {
		return 0, err
	}
	if err := s.tellKill(ctx); err != nil {
		return 0, err
	}
	second, err := s.startWorker(ctx, "worker-2")
	if err != nil {
		return 0, err
	}
	running = append(running, second)
	s.say("Worker 2 starts with nothing but the bucket: process %d.", second.pid())
	if _, err := s.await(ctx, second, s.atEnd); err != nil {
		return 0, err
	}
	s.say("Worker 2 has persisted everything up to the end of both logs.")
	if again, err = second.counter(ctx, "flowgraph_filtered_rows_total"); err != nil {
		return 0, err
	}
	return again, second.drain(ctx)
}

// topics is the expression that the workers read.
func (s *show) topics() string {
	var names []string
	for _, vchannel := range slices.Sorted(maps.Keys(s.traffic.ends)) {
		topic := vchannel[:strings.LastIndexByte(vchannel, '-')]
		names = append(names, regexp.QuoteMeta(topic))
	}
	return "/" + strings.Join(slices.Compact(names), "|") + "/"
}

// close checks the bucket and ends the show with the summary.
func (s *show) close(ctx context.Context, again int64) error {
	want, err := archive.Expect(archive.Recorded(s.traffic.path))
	if err != nil {
		return err
	}
	report, err := archive.Check(ctx, s.bucket, want, archive.CheckOptions{})
	if err != nil {
		return err
	}
	if err := s.summary(ctx, report, want, again); err != nil {
		return err
	}
	return report.Err()
}
