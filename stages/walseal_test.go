package stages_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// walBare is a WAL record outside of any transaction.
func walBare(off int64, kind int, channel string, header, body []byte) stages.Record {
	r := walRecord(off, body, "_v", "2", "_t", strconv.Itoa(kind), "_tt", strconv.FormatUint(1<<41, 36), "_vc", channel, "_h", base64Of(header), "_bh", "CAE=", "_wt", "1")
	if channel == "" {
		r.Headers = slices.DeleteFunc(r.Headers, func(h walHeader) bool { return h.Key == "_vc" })
	}
	return r
}

// A seal that hits too much ends segments that Milvus goes on filling; one
// that is missed keeps them open for a day.
func TestWhatARecordOfAWALSeals(t *testing.T) {
	changed := marshal(schemaOf(1))
	schemas := nested(nil, 1, nested(nil, 5, changed))
	both := protowire.AppendVarint(protowire.AppendTag(protowire.AppendVarint(protowire.AppendTag(numbersOf(1, 7), 3, protowire.VarintType), 5), 3, protowire.VarintType), 6)
	const here, control = "dml_0_1v0", "dml_0_vcchan"
	for _, c := range []struct {
		name    string
		kind    int
		channel string
		header  []byte
		body    []byte
		want    string
	}{
		{"flush", 4, here, numbersOf(1, 11, 5), nil, "5"},
		{"flush of an unknown segment", 4, here, numbersOf(1, 11, 77), nil, ""},
		{"flush of no segment", 4, here, numbersOf(1, 11), nil, ""},
		{"flush of another collection's segment", 4, here, numbersOf(2, 21, 5), nil, ""},
		{"manual flush", 9, here, both, nil, "5 6"},
		{"manual flush of packed segments", 9, here, nested(numbersOf(1, 7), 3, []byte{6, 5}), nil, "5 6"},
		{"manual flush of no segment", 9, here, numbersOf(1, 7), nil, ""},
		{"flush all", 37, "", nil, nil, "5 6 9"},
		{"flush all by the control channel", 37, control, nil, nil, "5 6 9"},
		{"flush by the control channel", 4, control, numbersOf(1, 11, 5), nil, ""},
		{"create segment", 10, here, numbersOf(1, 11, 5), nil, ""},
		{"change of the schema", 12, here, numbersOf(1), nested(nil, 1, changed), "5 6 alter_collection docs"},
		{"alteration of the schema", 13, here, numbersOf(7, 1), schemas, "5 6 alter_collection docs"},
		{"alteration of schema and name", 13, here, numbersOf(7, 1), nested(nil, 1, append(nested(nil, 3, []byte("new")), nested(nil, 5, changed)...)), "5 6 alter_collection new"},
		{"the same schema again", 13, here, numbersOf(7, 1), nested(nil, 1, nested(nil, 5, marshal(schemaOf(0)))), ""},
		{"a new name", 13, here, numbersOf(7, 1), nested(nil, 1, nested(nil, 3, []byte("new"))), "alter_collection new"},
		{"a property", 13, here, numbersOf(7, 1), nested(nil, 1, nested(nil, 7, nil)), ""},
		{"alteration by the control channel", 13, control, numbersOf(7, 1), schemas, ""},
		{"drop by the control channel", 6, control, numbersOf(1), nil, ""},
		{"encrypted, of the control channel", 16, control, nil, nil, ""},
	} {
		l := newLine(t, quiet())
		log := number([]rec{create(1), create(2), member(0, 5), member(0, 6), other(), row(0)})
		for _, r := range log {
			l.poll(r.record())
		}
		var got []string
		r := walBare(6, c.kind, c.channel, c.header, c.body)
		if strings.HasPrefix(c.name, "encrypted") {
			r.Headers = append(r.Headers, walHeader{Key: "_ch"})
		}
		for _, cut := range l.poll(r) {
			if f := cut.Change.Flush; f != nil && !f.Segment.Auto {
				got = append(got, fmt.Sprint(f.Segment.ID))
				if !f.Sealed || f.Segment.State != checkpoints.Flushed {
					t.Errorf("%s: segment %d is not sealed", c.name, f.Segment.ID)
				}
			}
			if e := cut.Change.Event; e != nil {
				got = append(got, string(e.Kind), e.Name)
			}
			if len(cut.Bad) > 0 {
				t.Errorf("%s: bad: %s", c.name, cut.Bad[0].Reason)
			}
		}
		if l.err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, l.err, c.want)
		}
	}
}

// A field is added while inserts of senders that do not know it yet are on
// their way: no segment mixes the two schemas, and no row is lost.
func TestAFieldIsAddedWhileInsertsAreOnTheirWay(t *testing.T) {
	added := schemaOf(1)
	added.Fields[2].Nullable = true
	l := newLine(t, quiet())
	log := number([]rec{create(1), member(0, 5), member(0, 6).v(1), member(0, 6), member(0, 5)})
	for i := range log[1:] {
		log[1+i].off = []int64{1, 3, 4, 5}[i]
	}
	var cuts []*stages.Cut
	for _, r := range log {
		if r.off == 3 {
			cuts = append(cuts, l.poll(walBare(2, 13, "dml_0_1v0", numbersOf(7, 1), nested(nil, 1, nested(nil, 5, marshal(added)))))...)
		}
		record := r.record()
		record.Headers = slices.DeleteFunc(record.Headers, func(h walHeader) bool { return h.Key == "_tx" })
		if r.off > 2 {
			for i, h := range record.Headers {
				if h.Key == "_tt" {
					record.Headers[i].Value = []byte(strconv.FormatUint(1<<41+uint64(r.off), 36))
				}
			}
		}
		cuts = append(cuts, l.poll(record)...)
	}
	cuts = append(cuts, l.send(&stages.Raw{Signal: stages.Drain})...)
	var got []string
	for _, c := range cuts {
		if f := c.Change.Flush; f != nil && f.Log != nil {
			nulls := ""
			for _, col := range c.Columns {
				for _, ok := range col.Values() {
					if col.Field.ID == 102 {
						nulls += fmt.Sprint(" ", ok)
					}
				}
			}
			got = append(got, fmt.Sprintf("auto %t rows %d fields %v%s", f.Segment.Auto, f.Log.Rows, f.Segment.Fields, nulls))
		}
		for _, b := range c.Bad {
			t.Error(b.Reason)
		}
	}
	want := []string{
		"auto false rows 1 fields [0 1 100 101]",
		"auto false rows 2 fields [0 1 100 101 102] true false",
		"auto true rows 1 fields [0 1 100 101 102] false", // late for the segment that was sealed
	}
	if l.err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s\nwant\n%s", l.err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// One log over the upgrade: a message of 2.5 and a WAL's are told apart, the
// window of message IDs is the former's alone, and ticks of both count for
// both.
func TestALogGoesOverTo26(t *testing.T) {
	d := stages.NewDecoder(checkpoints.Position{})
	again := func(off int64) stages.Record { return number([]rec{row(5).sent(77, 1<<40).at(off)})[0].record() }
	wal := func(off int64, ts uint64) stages.Record {
		r := member(0, 5).at(off)
		r.rows, r.ts, r.msg = []int64{1}, ts, 77
		return r.record()
	}
	p := decode(t, d, again(0), wal(1, 1<<40), again(2), wal(3, 1<<40+1))
	if len(p.Messages) != 3 || p.Counts.Repeated != 1 || p.HoldAfter.Offset != 0 {
		t.Errorf("%d messages, %d repeats, reading begins at %d", len(p.Messages), p.Counts.Repeated, p.HoldAfter.Offset)
	}
	tick := walRecord(4, nil, "_v", "1", "_t", "1", "_tt", strconv.FormatUint(1<<41, 36))
	p = decode(t, d, tick, wal(5, 1<<41-1), again(6))
	if len(p.Messages) != 1 || p.Messages[0].Identity.Offset != 6 || p.Counts.BelowTick != 1 || p.End.Tick != 1<<41 || p.Counts.Repeated != 0 {
		t.Errorf("%d messages, %d below the tick, %d repeats, tick %d", len(p.Messages), p.Counts.BelowTick, p.Counts.Repeated, p.End.Tick)
	}
}

// A version whose bodies are not known must not be read as one that is.
func TestVersionsOfAWAL(t *testing.T) {
	body := marshal(insertOf(rec{coll: 1, part: 11, rows: []int64{1}}))
	for _, c := range [][3]string{
		{"1", "2", "insert"}, {"2", "2", "bad: WAL message type 2 has no version 2"}, {"3", "2", `bad: unknown WAL version "3"`}, {"", "2", `bad: unknown WAL version ""`},
		{"0", "1", `bad: unknown WAL version "0"`}, {"2", "1", "nothing"}, {"2", "5", "bad: WAL message type 5"}, {"2", "900", "bad: a transaction without an ID"},
		{"2", "901", "bad: a transaction without"}, {"1", "902", "bad: a transaction without"},
	} {
		r := walRecord(0, body, "_v", c[0], "_t", c[1], "_tt", "zz")
		if got := what(decode(t, stages.NewDecoder(checkpoints.Position{}), r)); !strings.HasPrefix(got, c[2]) {
			t.Errorf("version %q of type %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
