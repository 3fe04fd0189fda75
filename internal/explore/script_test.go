package explore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/recording"
	"flowgraph/stages"
)

const (
	topic = "explored"
	begun = 1_700_000_000_000 // log time of the first record, Unix ms
)

// script is what stands in a log and what a worker does with it. Its lines
// are records, which enter the log when the script comes to them, and actions:
//
//	poll [n]     the worker fetches the next n records, or all there are
//	wait 5s      time passes
//	free n       memory is short: n bytes are to be flushed
//	ask-flush    an operator asks for a flush of all
//	ask-seal [c] and for the seal of what is open, of a collection or of all
//	seal-first   the next life is asked for that before it reads anything
//	drain        a graceful stop, and a start
//	restart      a kill, and a start
//	takeover     another worker claims; the old one does not know and goes on
//	rewind [n]   an operator's command: to the log's beginning, or to the n-th
//	             last of the positions from which workers began
//	put-back n   all workers end, and the n-th last version of the document is put
//	             in its place; an operator accepts it if a worker refuses it
//	gc, sweep    an operator looks for garbage, and removes what was found
//	clock 10m    so much later the next record is written
//	skip n       so many offsets hold no record
//	new-log      the topic is deleted and created anew, and an operator accepts
//	             that; what follows stands in the new log
//	cut-back n   the log loses its last n records, an operator accepts that, and
//	             what follows stands in their place: first the collections that
//	             were created or changed in what it lost, once more
//	limits k=v   thresholds, for the whole script
type script struct {
	name    string
	topicID string
	then    *script // after new-log or cut-back; nil: none
	kept    int     // records that it has in common with the part before: cut-back
	cutBack bool
	epochs  map[int64]int32 // leader epochs of records, by offset
	limits  stages.Limits
	options checkpoints.Options
	replay  int // records that a new life reads at a time, up to the first failure
	steps   []step
	records []recording.Record
	control map[int64]bool // offsets of transaction markers
	expect  *archive.Expected
}

// step is one line.
type step struct {
	text     string
	verb     string
	n        int           // of poll, free, rewind and ask-seal
	span     time.Duration // of wait
	produced int           // records in the log once the line is done
}

// writer keeps what the lines of a script have in common.
type writer struct {
	*script
	clock int64 // Unix ms
	next  int64 // offset
	row   int64
	sent  []recording.Record // inserts and deletes with a message ID, which a producer may repeat
	known map[int64]int      // schema versions of the collections
	epoch int32              // of the leader
	ddl   map[int64]change   // DDL in the log, by offset
}

// quiet are limits under which nothing is cut by itself.
func quiet() stages.Limits {
	return stages.Limits{
		FlushBytes: 1 << 30, FlushDeleteBytes: 1 << 30, FlushAge: 1000 * time.Hour, SegmentBytes: 1 << 40,
		SegmentAge: 100_000 * time.Hour, IdleSeal: 100_000 * time.Hour, SuccessorSeal: 100_000 * time.Hour,
	}
}

func parse(name, text string) (*script, error) {
	s := &script{name: name, topicID: "first-topic", limits: quiet(), options: checkpoints.DefaultOptions(), replay: replays[0], expect: archive.NewExpected(), control: map[int64]bool{}, epochs: map[int64]int32{}}
	s.options.MinInterval, s.options.PositionInterval, s.options.MaxWait = 20*time.Millisecond, 50*time.Millisecond, time.Second
	w := &writer{script: s, clock: begun, row: 1, known: map[int64]int{}, epoch: 1, ddl: map[int64]change{}}
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "new-log":
			var err error
			if w, err = w.newLog(); err != nil {
				return nil, err
			}
			continue
		case "cut-back":
			lost, err := strconv.Atoi(strings.Join(words[1:], ""))
			if err != nil {
				return nil, err
			}
			if w, err = w.cut(lost); err != nil {
				return nil, err
			}
			continue
		}
		if err := w.line(strings.TrimSpace(line), words[0], words[1:]); err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", name, i+1, line, err)
		}
	}
	for part := s; part != nil; part = part.then {
		for _, r := range part.records {
			if !part.control[r.Offset] {
				part.expect.Add(r)
			}
		}
	}
	return s, nil
}

// newLog begins the log that follows. Rows and times go on, and what the
// document may know of collections is no event of the new log.
func (w *writer) newLog() (*writer, error) {
	w.then = &script{
		name: w.name, topicID: w.topicID + "-anew", limits: w.limits, options: w.options, replay: w.replay,
		expect: archive.NewExpected(), control: map[int64]bool{}, epochs: map[int64]int32{},
	}
	for collection, version := range w.known {
		if err := w.then.expect.SetSchema(topic, 0, collection, schemaOf(collection, version)); err != nil {
			return nil, err
		}
	}
	return &writer{script: w.then, clock: w.clock, row: w.row, known: w.known, epoch: w.epoch, ddl: map[int64]change{}}, nil
}

func (w *writer) line(text, verb string, args []string) error {
	st := step{text: text, verb: verb}
	var err error
	switch verb {
	case "limits":
		return w.settings(args)
	case "clock", "wait":
		var d time.Duration
		if d, err = time.ParseDuration(strings.Join(args, "")); verb == "clock" {
			w.clock += d.Milliseconds()
			return err
		}
		st.span = d
	case "skip":
		n, err := strconv.ParseInt(strings.Join(args, ""), 10, 64)
		w.next += n
		return err
	case "poll", "free", "rewind", "put-back", "ask-seal":
		if verb == "poll" || verb == "free" {
			st.n = 1 << 30
		}
		if len(args) > 0 {
			st.n, err = strconv.Atoi(args[0])
		}
	case "ask-flush", "seal-first", "drain", "restart", "takeover", "gc", "sweep":
	default:
		err = w.write(verb, args)
	}
	st.produced = len(w.records)
	w.steps = append(w.steps, st)
	return err
}

func (w *writer) settings(args []string) error {
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		var d time.Duration
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			d, err = time.ParseDuration(v)
		}
		if err != nil {
			return err
		}
		switch k {
		case "flush":
			w.limits.FlushBytes = n
		case "deletes":
			w.limits.FlushDeleteBytes = n
		case "age":
			w.limits.FlushAge = d
		case "bytes":
			w.limits.SegmentBytes = n
		case "rows":
			w.limits.SegmentRows = n
		case "lifetime":
			w.limits.SegmentAge = d
		case "idle":
			w.limits.IdleSeal = d
		case "successor":
			w.limits.SuccessorSeal = d
		case "fold":
			w.options.FoldAbove = int(n)
		case "replay":
			w.replay = int(n)
		case "every":
			w.options.MinInterval, w.options.PositionInterval = d, d
		default:
			return fmt.Errorf("no limit %q", k)
		}
	}
	return nil
}

// write appends a record to the log.
func (w *writer) write(verb string, args []string) error {
	m, ahead := message{rows: 1, keepalive: -1000}, int64(0)
	kind, back := "", 1
	for _, a := range args {
		if err := m.argument(a, &ahead, &back, &kind); err != nil {
			return err
		}
	}
	w.clock++
	m.ts = uint64(w.clock+ahead) << 18
	m.first, w.row = w.row, w.row+max(m.rows, 1)
	r, ok := m.record(verb)
	if verb == "create" || verb == "alter" {
		w.known[m.collection] = m.version
	}
	w.ddl[w.next] = change{verb, m.collection}
	switch {
	case ok && m.id != 0:
		w.sent = append(w.sent, r)
	case ok || verb == "control":
	case verb == "bad":
		if r.Value, ok = m.badValue(kind); !ok {
			return fmt.Errorf("no bad record of kind %q", kind)
		}
	case verb == "repeat":
		if back > len(w.sent) && w.cutBack { // it is lost
			return nil
		}
		if back > len(w.sent) {
			return fmt.Errorf("nothing to repeat")
		}
		r = w.sent[len(w.sent)-back]
	default:
		return fmt.Errorf("no such line")
	}
	r.Topic, r.Offset, r.Timestamp = topic, w.next, w.clock
	w.control[w.next], w.epochs[w.next] = verb == "control", w.epoch
	w.records = append(w.records, r)
	w.next = checkpoints.After(w.next)
	return nil
}

// argument reads c1/11, wal, or key=value.
func (m *message) argument(a string, ahead *int64, back *int, kind *string) (err error) {
	if a == "wal" {
		m.wal = true
		return nil
	}
	k, v, pair := strings.Cut(a, "=")
	if !pair {
		place, isPlace := strings.CutPrefix(a, "c")
		if !isPlace || !strings.ContainsAny(place[:1], "0123456789") {
			*kind = a
			return nil
		}
		c, p, _ := strings.Cut(place, "/")
		if m.collection, err = strconv.ParseInt(c, 10, 64); err == nil && p != "" {
			m.partition, err = strconv.ParseInt(p, 10, 64)
		}
		return err
	}
	var list []int64
	for _, word := range strings.Split(v, ",") {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return err
		}
		list = append(list, n)
	}
	n := list[0]
	switch k {
	case "s":
		m.segment, m.segments = n, list
	case "n":
		m.rows = n
	case "msg":
		m.id = n
	case "ahead": // ms that its timestamp is later than the clock
		*ahead = n
	case "back":
		*back = int(n)
	case "v":
		m.version = int(n)
	case "size":
		m.size = int(n)
	case "txn":
		m.txn, m.wal = n, true
	case "keep": // ms after which its transaction expires
		m.keepalive = n
	default:
		return fmt.Errorf("no argument %q", k)
	}
	return nil
}
