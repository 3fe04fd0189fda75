package stages_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// The scripts in testdata/buffer: packs go in, cuts come out. See the first
// of them for the commands.
func TestBufferScripts(t *testing.T) {
	datadriven.Walk(t, "../testdata/buffer", func(t *testing.T, path string) {
		s := &bench{line: newLine(t, quiet()), names: map[int64]string{}}
		s.now = time.Hour.Milliseconds()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.command(t, d) })
	})
}

// bench runs the commands of one script.
type bench struct {
	*line
	config  stages.BufferConfig
	pending []*stages.Cut
	names   map[int64]string // of auto segments, in order of appearance
	counts  stages.Counts
	logTime time.Duration
	asks    *stages.Request
}

func (s *bench) command(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "start":
		s.config = stages.BufferConfig{Limits: quiet(), Schemas: stages.GivenSchemas{}}
		for _, a := range d.CmdArgs {
			if err := s.set(a.Key, a.Vals); err != nil {
				d.Fatalf(t, "%s: %v", a, err)
			}
		}
		s.crash(len(s.pending))
		return ""
	case "poll":
		return s.run(t, d, stages.Data, parse(t, d, s.clock(t, d)))
	case "idle":
		s.clock(t, d)
		return s.run(t, d, stages.Idle, nil)
	case "drain":
		return s.run(t, d, stages.Drain, nil)
	case "flush", "seal":
		s.asks = &stages.Request{Seal: d.Cmd == "seal"}
		d.MaybeScanArgs(t, "collection", &s.asks.Collection)
		out := s.run(t, d, stages.Data, nil)
		s.asks = nil
		if n := s.buffer.Unsealed(); n > 0 {
			out += fmt.Sprintf("%d wait\n", n)
		}
		return out
	case "crash":
		n := len(s.pending)
		d.MaybeScanArgs(t, "applied", &n)
		return s.crash(n)
	case "document":
		s.apply(len(s.pending))
		return s.document()
	case "counts":
		return s.count()
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

func (s *bench) set(key string, values []string) error {
	l, value := &s.config.Limits, strings.Join(values, "")
	number, _ := strconv.ParseInt(value, 10, 64)
	age, _ := time.ParseDuration(value)
	switch key {
	case "flush":
		l.FlushBytes = number
	case "flush-deletes":
		l.FlushDeleteBytes = number
	case "age":
		l.FlushAge = age
	case "segment-bytes":
		l.SegmentBytes = number
	case "segment-rows":
		l.SegmentRows = number
	case "segment-age":
		l.SegmentAge = age
	case "idle":
		l.IdleSeal = age
	case "successor":
		l.SuccessorSeal = age
	case "stop-on-bad":
		s.config.StopOnBad = true
	case "schema": // of the collection
		s.config.Schemas.(stages.GivenSchemas)[number] = marshal(schemaOf(0))
	default:
		return fmt.Errorf("unknown argument")
	}
	return nil
}

// clock moves wall time by after=, and returns log time: log=, else what it
// was.
func (s *bench) clock(t *testing.T, d *datadriven.TestData) time.Duration {
	for arg, add := range map[string]func(time.Duration){
		"after": func(x time.Duration) { s.now += x.Milliseconds() },
		"log":   func(x time.Duration) { s.logTime = x },
	} {
		text := ""
		if d.MaybeScanArgs(t, arg, &text); text == "" {
			continue
		}
		x, err := time.ParseDuration(text)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		add(x)
	}
	return s.logTime
}

func (s *bench) run(t *testing.T, d *datadriven.TestData, signal stages.Signal, log []rec) string {
	raw := &stages.Raw{Signal: signal, Request: s.asks}
	d.MaybeScanArgs(t, "free", &raw.Free)
	for _, r := range log {
		raw.Records = append(raw.Records, r.record())
	}
	cuts := s.send(raw)
	s.pending = append(s.pending, cuts...)
	var out strings.Builder
	for _, c := range cuts {
		s.counts = sum(s.counts, c.Counts)
		fmt.Fprintln(&out, s.text(c))
	}
	if s.err != nil {
		fmt.Fprintln(&out, "error:", s.err)
	}
	return out.String()
}

func (s *bench) apply(n int) {
	for _, c := range s.pending[:n] {
		if err := s.doc.Apply(c.Change); err != nil {
			s.t.Fatal(err)
		}
	}
	s.pending = s.pending[n:]
}

// crash starts anew from the document with n of the cuts, as a claim does.
func (s *bench) crash(n int) string {
	s.apply(min(n, len(s.pending)))
	s.pending = nil
	maps.DeleteFunc(s.doc.Segments, func(_ int64, g *checkpoints.Segment) bool { return g.Auto && g.State == checkpoints.New })
	s.line.start(s.config)
	return fmt.Sprintf("reads from %d\n", s.doc.ReadFrom.Offset)
}

// parse reads records, one a line: @offset op pPART sSEGMENT xROWS cCOLLECTION
// vSCHEMA and key=value.
func parse(t *testing.T, d *datadriven.TestData, at time.Duration) []rec {
	var log []rec
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		r := rec{op: op(fields[1]), coll: 1, rows: []int64{1}, time: at.Milliseconds()}
		r.off, _ = strconv.ParseInt(fields[0][1:], 10, 64)
		r.ts = math.MaxUint32 + uint64(r.off)
		if o, ok := map[string]op{"schema": createOp, "drop": dropOp, "partition": partitionOp, "drop-collection": dropAllOp, "bad": badOp, "tick": tickOp, "control": controlOp}[fields[1]]; ok {
			r.op = o
		}
		if r.op != createOp && r.op != dropAllOp && r.op != badOp {
			r.part = 11
		}
		for _, f := range fields[2:] {
			if err := r.set(f); err != nil {
				d.Fatalf(t, "%s: %s: %v", line, f, err)
			}
		}
		for i := range r.rows {
			r.rows[i] = r.off*100 + int64(i)
		}
		log = append(log, r)
	}
	return log
}

func (r *rec) set(field string) error {
	key, value, named := strings.Cut(field, "=")
	if !named {
		key, value = field[:1], field[1:]
	}
	n, err := strconv.ParseInt(value, 10, 64)
	switch key {
	case "p":
		r.part = n
	case "s":
		r.seg = n
	case "c":
		r.coll = n
	case "v":
		r.version = int(n)
	case "x":
		r.rows = make([]int64, n)
	case "msg":
		r.msg = n
	case "t":
		r.txn = n
	case "ts":
		r.ts = uint64(n)
	case "log":
		var d time.Duration
		d, err = time.ParseDuration(value)
		r.time = d.Milliseconds()
	default:
		return fmt.Errorf("unknown")
	}
	return err
}

// name gives auto segments names that do not depend on their IDs.
func (s *bench) name(g *checkpoints.Segment) string {
	if !g.Auto {
		return fmt.Sprintf("s%d", g.ID)
	}
	if s.names[g.ID] == "" {
		s.names[g.ID] = fmt.Sprintf("auto%d", len(s.names)+1)
	}
	return s.names[g.ID]
}

// text is one cut as a line.
func (s *bench) text(c *stages.Cut) string {
	out := fmt.Sprintf("%d:", c.Seq)
	if f := c.Change.Flush; f != nil {
		rows := int64(0)
		if f.Log != nil {
			rows = f.Log.Rows
		}
		out += fmt.Sprintf(" %s p%d L%d rows=%d [%d,%d) %s", s.name(&f.Segment), f.Segment.Partition, f.Segment.Level-1, rows,
			f.Segment.Start.Offset, f.Segment.End.Offset, c.Reason)
		if f.Sealed {
			out += " sealed"
		}
	}
	if e := c.Change.Event; e != nil {
		out += fmt.Sprintf(" event=%s@%d", e.Kind, e.Offset)
	}
	out += fmt.Sprintf(" seek=%d read_from=%d", c.Change.Seek.Offset, c.Change.ReadFrom.Offset)
	for i := range c.Change.New {
		n := &c.Change.New[i]
		out += fmt.Sprintf(" new=%s@%d", s.name(n), n.Start.Offset)
	}
	for _, b := range c.Bad {
		out += fmt.Sprintf(" bad=%d(%s)", b.Record.Offset, b.Reason)
	}
	if c.Change.Urgent {
		out += " urgent"
	}
	return out
}

// document is what the document says.
func (s *bench) document() string {
	var out strings.Builder
	fmt.Fprintf(&out, "seek=%d read_from=%d\n", s.doc.Seek.Offset, s.doc.ReadFrom.Offset)
	for _, id := range slices.Sorted(maps.Keys(s.doc.Collections)) {
		c := s.doc.Collections[id]
		for _, pid := range slices.Sorted(maps.Keys(c.Partitions)) {
			p := c.Partitions[pid]
			fmt.Fprintf(&out, "c%d p%d %q auto ends %d, %d", id, pid, p.Name, p.AutoEnd, p.AutoEndDelete)
			if p.Dropped != nil || c.Dropped != nil {
				fmt.Fprint(&out, " dropped")
			}
			fmt.Fprintln(&out)
		}
	}
	var lines []string
	for _, g := range s.doc.Segments {
		state := []string{"new", "normal", "flushed", "dropped"}[g.State]
		lines = append(lines, fmt.Sprintf("%s c%d p%d %s [%d,%d) rows=%d logs=%d", s.name(g), g.Collection, g.Partition, state, g.Start.Offset, g.End.Offset, g.Rows, len(g.Logs)))
	}
	slices.Sort(lines)
	return out.String() + strings.Join(append(lines, ""), "\n")
}

func sum(a, b stages.Counts) stages.Counts {
	a.Records += b.Records
	a.Rows += b.Rows
	a.Deletes += b.Deletes
	a.Repeated += b.Repeated
	a.Ignored = maps.Clone(a.Ignored)
	for name, n := range b.Ignored {
		if a.Ignored == nil {
			a.Ignored = stages.Ignored{}
		}
		a.Ignored[name] += n
	}
	a.Filtered += b.Filtered
	a.AfterDrop += b.AfterDrop
	a.Rerouted += b.Rerouted
	a.Bad += b.Bad
	return a
}

// count shows what the cuts since the last count say of their records.
func (s *bench) count() string {
	n := s.counts
	s.counts = stages.Counts{}
	return fmt.Sprintf("records=%d rows=%d deletes=%d repeated=%d ignored=%d filtered=%d after-drop=%d rerouted=%d bad=%d\n",
		n.Records, n.Rows, n.Deletes, n.Repeated, n.Ignored.Total(), n.Filtered, n.AfterDrop, n.Rerouted, n.Bad)
}
