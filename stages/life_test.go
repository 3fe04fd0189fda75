package stages_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
	"flowgraph/stages"
	"flowgraph/stages/column"
)

var v0 = checkpoints.VChannel{Topic: "dml_0", Partition: 0, TopicID: "first-topic"}

// world is what outlives a worker: the log, the bucket and what was written.
type world struct {
	t          rapid.TB
	log        []rec
	records    []stages.Record
	truth      *truth
	bucket     *membucket.Bucket
	objects    map[string][]int64 // log ID to the rows written under it
	manifests  map[int64]checkpoints.Segment
	quarantine map[int64]bool
	states     map[int64]checkpoints.State // greatest seen
	frozen     map[int64]int               // logs of Flushed segments
	story      []string
	forgetful  bool // filters forget what the pack before did not name
}

func newWorld(t rapid.TB, log ...rec) *world {
	w := &world{
		t: t, log: number(log), bucket: membucket.New(),
		objects: map[string][]int64{}, manifests: map[int64]checkpoints.Segment{}, quarantine: map[int64]bool{},
		states: map[int64]checkpoints.State{}, frozen: map[int64]int{},
	}
	for _, r := range w.log {
		w.records = append(w.records, r.record())
	}
	w.truth = truthOf(w.log)
	return w
}

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\nlog:\n%sstory: %v", fmt.Sprintf(format, args...), logText(w.log), w.story)
}

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

// life is one worker from its claim to its crash.
type life struct {
	*world
	store   *checkpoints.Store
	doc     *checkpoints.Document // with every change acknowledged
	stored  *checkpoints.Document // as of the last commit
	decoder *stages.Decoder
	filter  *stages.Filter
	buffer  *stages.Buffer
	next    int // record to read next
	now     int64
	pending []*stages.Cut // taken and not yet acknowledged
	seq     uint64
	seek    int64 // of the newest cut
	placed  stages.Counts
}

// quiet are limits under which nothing is cut by itself.
func quiet() stages.Limits {
	return stages.Limits{
		FlushBytes: 1 << 30, FlushDeleteBytes: 1 << 30, FlushAge: 1000 * time.Hour,
		SegmentBytes: 1 << 40, SegmentAge: 1000 * time.Hour, IdleSeal: 1000 * time.Hour, SuccessorSeal: 1000 * time.Hour,
	}
}

// start claims and goes on from the stored document.
func (w *world) start(limits stages.Limits) *life {
	w.t.Helper()
	store, doc, err := checkpoints.Claim(context.Background(), w.bucket, v0, 0)
	if err != nil {
		w.fatalf("claim: %v", err)
	}
	own := *doc
	own.Collections, own.Segments = maps.Clone(doc.Collections), maps.Clone(doc.Segments)
	l := &life{world: w, store: store, doc: &own, stored: doc, decoder: stages.NewDecoder(doc.ReadFrom)}
	l.filter = stages.NewFilter(doc, l.lookup)
	if w.forgetful {
		l.filter.Remember(0)
	}
	l.buffer, err = stages.NewBuffer(doc, stages.BufferConfig{Limits: limits, Names: store.Names(), Pool: &column.Pool{}})
	if err != nil {
		w.fatalf("buffer: %v", err)
	}
	l.next, _ = slices.BinarySearchFunc(w.records, doc.ReadFrom.Offset, func(r stages.Record, off int64) int { return int(r.Offset - off) })
	w.tell("start at %d", doc.ReadFrom.Offset)
	return l
}

func (l *life) lookup(_ context.Context, refs []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error) {
	if l.forgetful { // 8,192 segments later its seal is stored
		l.ack(len(l.pending)).commit().settle()
	}
	known := map[int64]checkpoints.Known{}
	for _, r := range refs {
		if m, ok := l.manifests[r.Segment]; ok {
			known[r.Segment] = checkpoints.Known{State: checkpoints.Flushed, End: m.End}
		} else {
			known[r.Segment] = checkpoints.Known{State: checkpoints.New}
		}
	}
	return known, nil
}

// step sends one batch through all stages.
func (l *life) step(raw *stages.Raw) {
	l.t.Helper()
	raw.Now = l.now
	ctx := context.Background()
	packs, err := l.decoder.Step(ctx, raw)
	if err != nil {
		l.fatalf("decode: %v", err)
	}
	for _, p := range packs {
		parts, err := stages.Splitter{}.Step(ctx, p)
		if err != nil {
			l.fatalf("split: %v", err)
		}
		for _, part := range parts {
			kept, err := l.filter.Step(ctx, part)
			if err != nil {
				l.fatalf("filter: %v", err)
			}
			for _, k := range kept {
				cuts, err := l.buffer.Step(ctx, k)
				if err != nil {
					l.fatalf("buffer: %v", err)
				}
				l.take(cuts)
			}
		}
	}
}

// take checks what cuts owe each other.
func (l *life) take(cuts []*stages.Cut) {
	l.t.Helper()
	for _, c := range cuts {
		l.seq++
		if c.Seq != l.seq {
			l.fatalf("cut %d follows cut %d", c.Seq, l.seq-1)
		}
		if c.Change.Seek.Offset < l.seek || c.Change.ReadFrom.Offset > c.Change.Seek.Offset {
			l.fatalf("cut %d: seek position %d after %d, read_from %d", c.Seq, c.Change.Seek.Offset, l.seek, c.Change.ReadFrom.Offset)
		}
		l.seek = c.Change.Seek.Offset
		l.placed.Rows += c.Counts.Rows + c.Counts.Deletes
	}
	l.pending = append(l.pending, cuts...)
}

// poll reads up to n records of the log in one batch.
func (l *life) poll(n int) *life {
	l.t.Helper()
	n = min(n, len(l.records)-l.next)
	l.tell("poll %d", n)
	l.step(&stages.Raw{Records: slices.Clone(l.records[l.next : l.next+n])})
	l.next += n
	return l
}

// idle lets wall time pass.
func (l *life) idle(d time.Duration) *life {
	l.t.Helper()
	l.now += d.Milliseconds()
	l.tell("idle %v", d)
	l.step(&stages.Raw{Signal: stages.Idle})
	return l
}

// free asks for memory.
func (l *life) free(bytes int64) *life {
	l.t.Helper()
	l.tell("free %d", bytes)
	l.step(&stages.Raw{Signal: stages.Idle, Free: bytes})
	return l
}

// drain is a graceful stop after all of the log was read.
func (l *life) drain() *life {
	l.t.Helper()
	l.poll(len(l.records))
	l.tell("drain")
	l.step(&stages.Raw{Signal: stages.Drain})
	return l.ack(len(l.pending)).commit()
}

// upload writes the rows of the next n cuts without acknowledging them.
func (l *life) upload(cuts []*stages.Cut) {
	l.t.Helper()
	for _, c := range cuts {
		for _, b := range c.Bad {
			l.quarantine[b.Record.Offset] = true
		}
		if c.LogID == "" {
			continue
		}
		if _, twice := l.objects[c.LogID]; twice {
			l.fatalf("log ID %s is used twice", c.LogID)
		}
		l.objects[c.LogID] = l.read(c)
	}
}

// ack stores what the next n cuts hold and lets their changes enter the document.
func (l *life) ack(n int) *life {
	l.t.Helper()
	n = min(n, len(l.pending))
	l.tell("ack %d", n)
	l.upload(l.pending[:n])
	for _, c := range l.pending[:n] {
		if err := l.doc.Apply(c.Change); err != nil {
			l.fatalf("cut %d: %v", c.Seq, err)
		}
	}
	l.pending = l.pending[n:]
	return l
}

// commit stores the document and holds what is stored against the log.
func (l *life) commit() *life {
	l.t.Helper()
	l.tell("commit")
	d := *l.doc
	d.Collections, d.Segments = maps.Clone(d.Collections), maps.Clone(d.Segments)
	if _, err := l.store.Commit(context.Background(), &d); err != nil {
		l.fatalf("commit: %v", err)
	}
	l.stored = &d
	l.check(&d)
	return l
}

// settle moves what the committed document shows as final to manifests and
// stores the document without it.
func (l *life) settle() *life {
	l.t.Helper()
	for id, s := range l.stored.Segments {
		if s.State >= checkpoints.Flushed && l.doc.Segments[id] != nil {
			if !s.Auto || s.Rows > 0 {
				l.manifests[id] = *s
			}
			delete(l.doc.Segments, id)
		}
	}
	l.tell("settle")
	return l.commit()
}

// crash loses everything that is not committed.
func (l *life) crash(limits stages.Limits) *life {
	l.t.Helper()
	l.tell("crash")
	return l.start(limits)
}
