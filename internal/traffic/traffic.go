// Package traffic makes streams of messages as Milvus 2.3 to 2.5 writes them
// to Kafka: inserts, deletes, upserts, drops and ticks of several collections
// that share logs, with what such logs hold besides: repeats of producers,
// late rows, messages without a row, and garbage.
package traffic

import (
	"math/rand/v2"
	"time"

	"flowgraph/internal/recording"
)

// Log is one Kafka partition that is written to.
type Log struct {
	Topic     string
	Partition int32
}

// Config describes a stream. Two streams of equal configurations are equal.
type Config struct {
	Seed        uint64
	Logs        []Log
	Collections int       // alive at a time; every collection is in all logs
	Partitions  int       // of each collection
	SegmentRows int       // rows of a log's segment before the next one is begun
	MaxRecord   int       // bytes of the largest record, about
	Start       time.Time // of the stream's clock
	Pace        time.Duration
	Mix         Mix
}

// Mix says how often each kind of step is taken, as shares of their sum.
type Mix struct {
	Insert, Upsert, Delete        int
	Late                          int // rows for an older segment of their partition
	NoSegment                     int // rows that name segment 0
	Tick                          int
	Repeat                        int // a producer sends a message again
	Empty                         int // an insert without rows
	Bad                           int // a record that is none of the messages
	DropPartition, DropCollection int
	Pause                         int // the clock jumps by up to a minute
}

// Default is a stream of everything over one topic for each log, as a Milvus
// cluster with so many channels writes it.
func Default(seed uint64, channels int) Config {
	c := Config{
		Seed: seed, Collections: 3, Partitions: 2, SegmentRows: 4000, MaxRecord: 300 << 10,
		Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Pace: 4 * time.Millisecond,
		Mix: Mix{
			Insert: 560, Upsert: 60, Delete: 80, Late: 20, NoSegment: 15, Tick: 200, Repeat: 20,
			Empty: 5, Bad: 15, DropPartition: 4, DropCollection: 1, Pause: 1,
		},
	}
	for i := range channels {
		c.Logs = append(c.Logs, Log{Topic: channelName(i)})
	}
	return c
}

// Totals count what was made so far, as a reader must find it.
type Totals struct {
	Records   int64
	Bytes     int64 // of values
	Rows      int64 // to be stored, each once
	Deletes   int64 // the same
	Repeated  int64 // messages sent again
	AfterDrop int64 // rows and deletes at or after a drop of their place
	Bad       int64 // records for quarantine
}

// Stream makes messages one after another. It is not safe for concurrent use.
type Stream struct {
	cfg         Config
	rng         *rand.Rand
	lastID      int64 // one allocator of rising IDs serves all, as in Milvus
	clock       uint64
	logs        []*channel
	collections []*collection
	made        int // collections so far
	total       Totals
}

// firstID has the width of the IDs that Milvus' allocator gives.
const firstID = 450_000_000_000_000_000

// New begins a stream. Its first records create the collections.
func New(cfg Config) *Stream {
	s := &Stream{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x666c6f77)), lastID: firstID,
		clock: uint64(cfg.Start.UnixMilli()) << 18,
	}
	for i, l := range cfg.Logs {
		s.logs = append(s.logs, &channel{Log: l, index: i, dropped: map[int64]bool{}, headers: i%2 == 1})
	}
	for range cfg.Collections {
		s.collections = append(s.collections, s.create(""))
	}
	return s
}

// Totals returns the counts so far.
func (s *Stream) Totals() Totals { return s.total }

// Next makes the next record of some log. Offsets are not known: they are -1.
func (s *Stream) Next() recording.Record {
	l := s.logs[s.rng.IntN(len(s.logs))]
	for {
		if m := l.next(); m != nil {
			return s.emit(l, m)
		}
		s.step(l)
	}
}

// id allocates an ID. IDs have gaps, since Milvus uses most of them elsewhere.
func (s *Stream) id() int64 {
	s.lastID += 1 + s.rng.Int64N(3)
	return s.lastID
}

// now is a hybrid timestamp above all before.
func (s *Stream) now() uint64 {
	s.clock += 1 + s.rng.Uint64N(2*uint64(s.cfg.Pace.Milliseconds())<<18)
	return s.clock
}

// step takes one step in a log: it queues what the step writes.
func (s *Stream) step(l *channel) {
	mix := s.cfg.Mix
	c := s.collections[s.rng.IntN(len(s.collections))]
	p := c.partitions[s.rng.IntN(len(c.partitions))]
	steps := []struct {
		share int
		do    func()
	}{
		{mix.Insert, func() { s.insert(l, c, p) }},
		{mix.Upsert, func() { s.upsert(l, c, p) }},
		{mix.Delete, func() { s.delete(l, c, p) }},
		{mix.Late, func() { s.late(l, c, p) }},
		{mix.NoSegment, func() { s.write(l, c, p, insert{rows: s.rows(c)}) }},
		{mix.Tick, func() { s.tick(l) }},
		{mix.Repeat, func() { s.repeat(l) }},
		{mix.Empty, func() { s.write(l, c, p, insert{segment: s.segment(l, p, 0)}) }},
		{mix.Bad, func() { s.bad(l, c, p) }},
		{mix.DropPartition, func() { s.dropPartition(l, c, p) }},
		{mix.DropCollection, func() { s.dropCollection(c) }},
		{mix.Pause, func() { s.clock += s.rng.Uint64N(uint64(time.Minute.Milliseconds())) << 18 }},
	}
	sum := 0
	for _, step := range steps {
		sum += step.share
	}
	at := s.rng.IntN(sum)
	for _, step := range steps {
		if at -= step.share; at < 0 {
			step.do()
			return
		}
	}
}
