package sinks

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/reugn/go-streams"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"flowgraph/checkpoints"
	"flowgraph/sinks/binlog"
	"flowgraph/stages"
	"flowgraph/stages/column"
)

// Shared is what all sinks of a worker share: the store, the encoder's
// buffers, how many files are encoded at a time, and how many flushes are
// under way beside the one that each sink may always have.
type Shared struct {
	Bucket  checkpoints.Bucket
	Encoder *binlog.Encoder
	Pool    *column.Pool
	Filter  binlog.FilterKind // of key statistics
	// Rebuilt, if given, is told of key statistics that were lost, why, and
	// that a compound object holds them again.
	Rebuilt  func(key string, why error)
	encoding chan struct{}
	flushes  chan struct{}
	settling *semaphore.Weighted // bytes of compound statistics in memory
}

// uploads is how many files of one flush are under way at a time.
const uploads = 4

// NewShared bounds the files being encoded and the flushes under way.
func NewShared(b checkpoints.Bucket, pool *column.Pool, encoding, flushes int) *Shared {
	return &Shared{
		Bucket: b, Encoder: &binlog.Encoder{}, Pool: pool,
		encoding: make(chan struct{}, encoding), flushes: make(chan struct{}, flushes),
		settling: semaphore.NewWeighted(settlingBytes),
	}
}

// Report says what became of one cut, for metrics and the memory budget.
type Report struct {
	Cut     *stages.Cut
	Stored  bool // false: given up, to be read again
	Objects int
	Bytes   int64 // of its files
	Took    time.Duration
}

// Config is what one flow's sink needs.
type Config struct {
	VChannel checkpoints.VChannel
	// Generation of the vchannel's log: see checkpoints.Document.
	Generation int
	Meta       map[string]string // user metadata of every object
	// Ack hands a cut's change on once everything it refers to is stored: the
	// only edge that leads back.
	Ack func(seq uint64, c checkpoints.Change)
	// Fail ends the flow; nothing of it may be written after.
	Fail context.CancelCauseFunc
	// Done is called for every cut, stored or given up, once its memory is free.
	Done func(Report)
}

// Sink writes cuts to the bucket and acknowledges them. It implements
// streams.Sink and drains its input until that is closed, whatever happened.
type Sink struct {
	ctx    context.Context
	shared *Shared
	cfg    Config
	in     chan any
	own    chan struct{} // the flush that no other vchannel can take away
	done   chan struct{}
}

var _ streams.Sink = (*Sink)(nil)

// NewSink starts a sink that works until its input is closed.
func NewSink(ctx context.Context, shared *Shared, cfg Config) *Sink {
	s := &Sink{ctx: ctx, shared: shared, cfg: cfg, in: make(chan any), own: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// In is where cuts come in.
func (s *Sink) In() chan<- any { return s.in }

// AwaitCompletion returns when every cut is stored or given up.
func (s *Sink) AwaitCompletion() { <-s.done }

func (s *Sink) run() {
	defer close(s.done)
	var flushes sync.WaitGroup
	defer flushes.Wait()
	for element := range s.in {
		cut := element.(*stages.Cut)
		if len(cut.Columns) == 0 && len(cut.Bad) == 0 {
			alive := s.ctx.Err() == nil
			if alive {
				s.cfg.Ack(cut.Seq, cut.Change)
			}
			s.cfg.Done(Report{Cut: cut, Stored: alive})
			continue
		}
		slot := s.slot()
		if slot == nil {
			s.cfg.Done(Report{Cut: cut})
			continue
		}
		flushes.Go(func() {
			defer func() { <-slot }()
			s.store(cut)
		})
	}
}

// slot waits until a flush may begin: the sink's own first, so that vchannels
// whose prefix the store denies cannot hold up all others. nil: ctx ended.
func (s *Sink) slot() chan struct{} {
	select {
	case s.own <- struct{}{}:
		return s.own
	default:
	}
	select {
	case s.own <- struct{}{}:
		return s.own
	case s.shared.flushes <- struct{}{}:
		return s.shared.flushes
	case <-s.ctx.Done():
		return nil
	}
}

// store makes everything durable that a cut refers to, and only then
// acknowledges it.
func (s *Sink) store(cut *stages.Cut) {
	report := Report{Cut: cut}
	started := time.Now()
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Fail(fmt.Errorf("sink: panic: %v\n%s", p, debug.Stack()))
		}
		report.Took = time.Since(started)
		s.cfg.Done(report)
	}()
	err := s.quarantine(s.ctx, cut)
	if err == nil && len(cut.Columns) > 0 {
		report.Objects, report.Bytes, err = s.flush(cut)
	}
	if err != nil {
		s.cfg.Fail(err) // the columns go to the garbage: a broken upload may still be reading them
		return
	}
	for _, c := range cut.Columns {
		c.Free(s.shared.Pool)
	}
	if cut.Change.Flush != nil && cut.Change.Flush.Log != nil {
		cut.Change.Flush.Log.Bytes = report.Bytes
	}
	report.Stored = true
	s.cfg.Ack(cut.Seq, cut.Change)
}

// flush encodes the columns one after another and uploads the files side by
// side.
func (s *Sink) flush(cut *stages.Cut) (objects int, bytes int64, err error) {
	group, ctx := errgroup.WithContext(s.ctx)
	group.SetLimit(uploads)
	for file, err := range s.files(cut) {
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		objects, bytes = objects+1, bytes+file.Size
		group.Go(func() error { return s.put(ctx, file) })
		if ctx.Err() != nil {
			break
		}
	}
	err = group.Wait()
	if err == nil { // then nothing but the flow's end stopped the loop early: not all files are stored
		err = context.Cause(s.ctx)
	}
	return objects, bytes, err
}

// put uploads one file. A panic is the flow's error, as in a stage.
func (s *Sink) put(ctx context.Context, file namedFile) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("put %s: panic: %v\n%s", file.key, p, debug.Stack())
		}
	}()
	o := checkpoints.Object{Parts: file.Parts, CRC32C: &file.CRC32C, Meta: s.cfg.Meta}
	if _, err := s.shared.Bucket.Put(ctx, file.key, o, checkpoints.Condition{}); err != nil {
		return err
	}
	file.Free()
	return nil
}

type namedFile struct {
	*binlog.File
	key string
}

// files yields the encoded files of a cut with their keys: a binlog a field
// and the key statistics, or one delta log.
func (s *Sink) files(cut *stages.Cut) func(func(namedFile, error) bool) {
	seg := &cut.Change.Flush.Segment
	log := cut.Change.Flush.Log
	meta := binlog.Meta{
		Collection: seg.Collection, Partition: seg.Partition, Segment: seg.ID, MinTS: log.MinTS, MaxTS: log.MaxTS,
	}
	return func(yield func(namedFile, error) bool) {
		if seg.Level == checkpoints.L0 {
			key := checkpoints.DeltaLogKey(seg.Collection, seg.Partition, seg.ID, cut.LogID)
			file, err := s.encode(func() (*binlog.File, error) {
				return s.shared.Encoder.EncodeDeltas(meta, cut.Columns[0], cut.Columns[1])
			})
			yield(namedFile{file, key}, wrap(key, err))
			return
		}
		for _, c := range cut.Columns {
			key := checkpoints.InsertLogKey(seg.Collection, seg.Partition, seg.ID, c.Field.ID, cut.LogID)
			file, err := s.encode(func() (*binlog.File, error) { return s.shared.Encoder.Encode(meta, c) })
			if !yield(namedFile{file, key}, wrap(key, err)) || err != nil {
				return
			}
			if c.Field.ID != seg.PKField || seg.PKField == 0 {
				continue
			}
			key = checkpoints.StatsLogKey(seg.Collection, seg.Partition, seg.ID, seg.PKField, cut.LogID)
			file, err = s.encode(func() (*binlog.File, error) { return s.shared.Encoder.EncodeKeyStats(c, s.shared.Filter) })
			if !yield(namedFile{file, key}, wrap(key, err)) || err != nil {
				return
			}
		}
	}
}

// encode takes its turn: flushes that wait for the store must not be in the
// way of those that need a processor, and many at once need much memory.
func (s *Sink) encode(do func() (*binlog.File, error)) (*binlog.File, error) {
	select {
	case s.shared.encoding <- struct{}{}:
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
	defer func() { <-s.shared.encoding }()
	return do()
}

func wrap(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("encode %s: %w", key, err)
}
