package flows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
	"flowgraph/stages"
)

// Bounds answers where a log begins and ends: the first offset that can be
// read, and the one after the last that is stable.
type Bounds func(ctx context.Context) (start, end int64, err error)

// Shared is what the flows of a worker share.
type Shared struct {
	Sink    *sinks.Shared
	Pace    *checkpoints.Pace
	Budget  *Budget
	Claims  chan struct{} // as many claims at a time as it holds
	Home    string        // where the bucket is, see checkpoints.Signs; "": not known
	Surveys *checkpoints.Surveyor
	Buffer  stages.BufferConfig // less what each flow has of its own
	Options checkpoints.Options
	GapGoOn bool // data lost to retention does not stop a vchannel
	Metrics *Metrics
	Log     zerolog.Logger
}

// Flow is the pipeline of one vchannel, from one claim to its end.
type Flow struct {
	VChannel checkpoints.VChannel
	Bounds   Bounds
	Lineage  Lineage // nil: nobody can be asked
	Told     Told    // the same
	Until    int64   // offset at which to drain and end; -1: never
	// Ready is called once, after the claim: the log is to be read from here
	// on into the mailbox.
	Ready func(from checkpoints.Position, m *Mailbox)
	// Committed is called after the claim and each commit with what is stored.
	Committed func(checkpoints.Told)
	Status    *flowStatus
	*Shared
}

// NewFlow returns a flow that stands alone: whoever runs it feeds the mailbox
// that Ready is given.
func NewFlow(v checkpoints.VChannel, shared *Shared) *Flow {
	return &Flow{VChannel: v, Until: -1, Status: shared.Metrics.join(v), Shared: shared}
}

// So many bad records of a flow are told in so long; all are counted.
const (
	badTold  = 5
	badEvery = 10 * time.Second
)

// run is one life of a flow: what it has claimed, and what it works with.
type run struct {
	ctx     context.Context
	fail    context.CancelCauseFunc
	store   *checkpoints.Store
	doc     *checkpoints.Document // as claimed
	from    checkpoints.Position  // where reading begins
	mailbox *Mailbox
	tracker *checkpoints.Tracker
}

// Run claims the vchannel, reads it until stop or ctx ends or something
// fails, and returns when everything is closed. A graceful stop flushes and
// commits everything and returns nil; ctx is the kill.
func (f *Flow) Run(ctx, stop context.Context) error {
	r, err := f.open(ctx)
	if err != nil {
		return err
	}
	account := &Account{budget: f.Budget}
	defer account.close()
	r.mailbox = newMailbox(account)
	defer r.mailbox.end()
	options := f.Options
	options.Compound = f.Sink.Compound
	options.Committed = func(c checkpoints.Commit) { f.committed(c, r.doc.Epoch) }
	r.tracker = checkpoints.NewTracker(r.store, r.doc, f.Pace, options)
	f.Status.running(r.doc, r.tracker, r.mailbox)

	r.ctx, r.fail = context.WithCancelCause(ctx)
	defer r.fail(nil)
	committing, stopCommitting := context.WithCancel(r.ctx)
	var commits sync.WaitGroup
	commits.Go(func() {
		if err := r.tracker.Run(committing); committing.Err() == nil || !errors.Is(err, context.Canceled) {
			r.fail(fmt.Errorf("%w: %w", errCommit, err))
		}
	})
	f.tell(checkpoints.Told{Seek: r.doc.Seek, Epoch: r.doc.Epoch, Sequence: r.doc.Sequence})
	f.Ready(r.from, r.mailbox)
	err = f.pipe(r, stop)
	stopCommitting()
	commits.Wait()
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	if err := r.tracker.Flush(r.ctx); err != nil {
		return fmt.Errorf("%w: %w", errCommit, err)
	}
	return nil
}

// open claims the vchannel and holds what its document says against the log.
func (f *Flow) open(ctx context.Context) (*run, error) {
	start, end, err := f.Bounds(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: bounds of the log: %w", errClaim, err)
	}
	store, doc, err := f.claim(ctx, start)
	if err != nil {
		return nil, err
	}
	if doc.Covered().Offset > end {
		// The owner before may have read on between our question and our claim.
		if start, end, err = f.Bounds(ctx); err != nil {
			return nil, fmt.Errorf("%w: bounds of the log: %w", errClaim, err)
		}
	}
	from, err := f.begin(doc, start, end)
	if err != nil {
		return nil, err
	}
	if err := f.sameLog(ctx, furthest(doc)); err != nil {
		return nil, fmt.Errorf("%w: %w", errClaim, err)
	}
	f.Status.logStart.Store(start)
	f.Status.logEnd.Store(end)
	f.Status.endAt.Store(time.Now().UnixNano())
	f.Status.readTick.Store(from.Tick)
	f.Status.moved(doc.Seek, time.Now())
	f.Status.read.Store(from.Offset)
	f.Log.Info().Str("vchannel", f.VChannel.Name()).Int64("epoch", doc.Epoch).Int64("from", from.Offset).
		Int64("seek", doc.Seek.Offset).Int64("log_end", end).Msg("claimed")
	return &run{store: store, doc: doc, from: from}, nil
}

// pipe wires the stages and blocks until the last cut is stored or given up.
func (f *Flow) pipe(r *run, stop context.Context) error {
	doc, account := r.doc, r.mailbox.account
	config := f.Buffer
	config.Names = r.store.Names()
	buffer, err := stages.NewBuffer(doc, config)
	if err != nil {
		return err
	}
	decoder := stages.NewDecoder(r.from)
	told := f.Log.Sample(&zerolog.BurstSampler{Burst: badTold, Period: badEvery})
	filter := stages.NewFilter(doc, func(ctx context.Context, refs []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error) {
		return checkpoints.LookupSegments(ctx, f.Sink.Bucket, doc, refs)
	})
	sink := sinks.NewSink(r.ctx, f.Sink, sinks.Config{
		VChannel: f.VChannel, Generation: doc.Generation(), Meta: r.store.Meta(), Ack: r.tracker.Ack, Fail: r.fail,
		Done: func(rep sinks.Report) {
			account.add(&account.flushing, -rep.Cut.Bytes)
			account.unstored.done(rep.Cut.Seq)
			f.Metrics.cut(rep)
			f.Status.landed(rep)
			f.Status.happened(rep, r.tracker.Names)
			for i := 0; rep.Stored && i < len(rep.Cut.Bad); i++ {
				bad := &rep.Cut.Bad[i]
				told.Warn().Str("vchannel", f.VChannel.Name()).Int64("offset", bad.Record.Offset).
					Str("reason", bad.Reason).Msg("bad record, kept in quarantine")
			}
		},
	})

	f.newSource(r, stop).
		Via(lift(r, "decode", f.decoded(decoder))).
		Via(lift(r, "ddl split", stages.Splitter{}.Step)).
		Via(lift(r, "position filter", filter.Step)).
		Via(lift(r, "segment buffer", accounted(buffer, r.mailbox, f.Status))).
		To(sink)
	return nil
}

// accounted keeps the memory account around the buffer's step: what a pack
// held of the fetched records is free once it was placed, and cuts are in
// flight until the sink is done with them.
func accounted(b *stages.Buffer, m *Mailbox, s *flowStatus) func(context.Context, *stages.Pack) ([]*stages.Cut, error) {
	a := m.account
	return func(ctx context.Context, p *stages.Pack) ([]*stages.Cut, error) {
		cuts, err := b.Step(ctx, p)
		for _, c := range cuts {
			a.add(&a.flushing, c.Bytes)
		}
		a.unstored.placed(b, cuts)
		a.set(&a.buffered, b.Held())
		a.set(&a.open, p.Open)
		a.add(&a.fetched, -p.Bytes)
		if p.Free > 0 {
			m.freed()
		}
		if err == nil {
			s.read.Store(p.End.Offset)
			s.readTick.Store(p.End.Tick)
			s.stepped(b, p, cuts)
			if p.Request != nil {
				m.obeyed(p.Request, done(p.Request, cuts, b, s.views.seq))
			}
		}
		p.Release()
		return cuts, err
	}
}

// begin compares the position to read from with the log itself: a client's
// reset policy never decides.
func (f *Flow) begin(doc *checkpoints.Document, start, end int64) (checkpoints.Position, error) {
	from, name := doc.ReadFrom, f.VChannel.Name()
	if covered := doc.Covered().Offset; covered > end {
		// Not even on-gap goes on here: new records would be taken for
		// persisted ones until they pass the old positions.
		return from, fmt.Errorf("%w: %s must be read from offset %d, with rows stored of offsets below %d, and its log ends at %d",
			ErrCutBack, name, from.Offset, covered, end)
	}
	if from.Offset >= start {
		return from, nil
	}
	err := fmt.Errorf("%w: %s must be read from offset %d, its log starts at %d: offsets %d to %d are lost",
		ErrDataLoss, name, from.Offset, start, from.Offset, checkpoints.Last(start))
	f.Metrics.lost(start - from.Offset)
	if !f.GapGoOn {
		return from, err
	}
	f.Log.Error().Err(err).Str("vchannel", name).Msg("goes on behind the gap, as configured")
	return checkpoints.Position{Offset: start, LeaderEpoch: -1, Tick: from.Tick}, nil
}

func (f *Flow) committed(c checkpoints.Commit, epoch int64) {
	f.Metrics.commits.Inc()
	f.Metrics.documentBytes.Add(float64(c.Bytes))
	f.Metrics.commitSeconds.Observe(c.Took.Seconds())
	now := time.Now()
	f.Metrics.movedAt.Store(now.UnixNano())
	f.Status.moved(c.Seek, now)
	f.tell(checkpoints.Told{Seek: c.Seek, Epoch: epoch, Sequence: c.Sequence})
}

func (f *Flow) tell(t checkpoints.Told) {
	if f.Committed != nil {
		f.Committed(t)
	}
}
