package stages_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/stages"
	"flowgraph/stages/wire"
)

// golden reads the records that Milvus 2.6 wrote.
func golden(t *testing.T) []stages.Record {
	t.Helper()
	const dir = "../testdata/golden/kafka-wal-2.6/"
	index, err := os.ReadFile(dir + "index.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		Offset  int64
		File    string
		Headers map[string]string
	}
	if err := json.Unmarshal(index, &entries); err != nil {
		t.Fatal(err)
	}
	var records []stages.Record
	for _, e := range entries {
		r := stages.Record{Offset: e.Offset, Time: 1000}
		if r.Value, err = os.ReadFile(dir + e.File); err != nil {
			t.Fatal(err)
		}
		for k, v := range e.Headers {
			r.Headers = append(r.Headers, wire.Header{Key: k, Value: []byte(v)})
		}
		records = append(records, r)
	}
	return records
}

// The body of a WAL record is not final: segment and timestamps stand in the
// headers. Read as they are, all rows would be at time 0 in no segment.
func TestTheWALOfMilvus26(t *testing.T) {
	l := newLine(t, quiet())
	var got []string
	for _, r := range golden(t) {
		for _, c := range l.poll(r) {
			if l.err != nil || len(c.Bad) > 0 {
				t.Fatalf("offset %d: %v, bad %v", r.Offset, l.err, c.Bad)
			}
			if f := c.Change.Flush; f != nil && f.Log != nil {
				got = append(got, fmt.Sprintf("%d rows of level %d in %d, auto %t, at %d to %d, %s", f.Log.Rows, f.Segment.Level-1,
					f.Segment.Partition, f.Segment.Auto, f.Log.MinTS, f.Log.MaxTS, c.Reason))
				if !f.Segment.Auto && f.Segment.ID != 445600 {
					t.Errorf("rows in segment %d", f.Segment.ID)
				}
			}
			if e := c.Change.Event; e != nil {
				got = append(got, fmt.Sprintf("%s of %d", e.Kind, e.Collection))
			}
		}
	}
	const base = uint64(1700000000000) << 18
	want := []string{
		"create_collection of 445566",
		fmt.Sprintf("2 rows of level 1 in 445567, auto false, at %d to %d, sealed", base+2, base+2),
		fmt.Sprintf("1 rows of level 0 in 445567, auto true, at %d to %d, dropped", base+3, base+3),
		"drop_partition of 445566", "drop_collection of 445566",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// walRecord is a record with these headers, given as name and value in turn.
func walRecord(offset int64, value []byte, headers ...string) stages.Record {
	r := stages.Record{Offset: offset, Value: value}
	for i := 0; i < len(headers); i += 2 {
		r.Headers = append(r.Headers, wire.Header{Key: headers[i], Value: []byte(headers[i+1])})
	}
	return r
}

func TestWALRecordsThatAreBadOrWithoutEffect(t *testing.T) {
	schemaless := base64.StdEncoding.EncodeToString(numbersOf(0, 1))
	for _, c := range []struct {
		name    string
		headers []string
		want    string
	}{
		{"unknown type", []string{"_v", "1", "_t", "50", "_tt", "a"}, "bad: unknown WAL message type 50"},
		{"type 0", []string{"_v", "1", "_t", "0", "_tt", "a"}, "bad: unknown WAL"},
		{"a transaction as one record", []string{"_v", "1", "_t", "999", "_tt", "a"}, "bad: unknown WAL"},
		{"create segment", []string{"_v", "2", "_t", "10", "_tt", "a"}, "ignored"},
		{"an index", []string{"_v", "2", "_t", "35", "_tt", "a"}, "ignored"},
		{"replication", []string{"_v", "2", "_t", "800", "_tt", "a"}, "ignored"},
		{"of a row's security", []string{"_v", "2", "_t", "47", "_tt", "a"}, "ignored"},
		{"a snapshot", []string{"_v", "2", "_t", "39", "_tt", "a"}, "ignored"},
		{"a collection that is emptied", []string{"_v", "2", "_t", "38", "_tt", "a"}, "bad: WAL message type 38, TruncateCollection"},
		{"the end of the log", []string{"_v", "2", "_t", "700", "_tt", "a"}, "bad: WAL message type 700, AlterWAL"},
		{"the end of the log, told to coordinators", []string{"_v", "2", "_t", "700", "_tt", "a", "_vc", "p_vcchan"}, "bad: WAL message type 700, AlterWAL"},
		{"a type of no release yet", []string{"_v", "2", "_t", "49", "_tt", "a"}, "bad: unknown WAL message type 49"},
		{"properties only", []string{"_v", "2", "_t", "13", "_tt", "a", "_h", schemaless}, "ignored"},
		{"no type", []string{"_v", "1", "_tt", "a"}, "bad: malformed"},
		{"no tick", []string{"_v", "1", "_t", "2"}, "bad: malformed"},
		{"a type that is no number", []string{"_v", "1", "_t", "x", "_tt", "a"}, "bad: malformed"},
		{"a tick that is no number", []string{"_v", "1", "_t", "2", "_tt", "!"}, "bad: malformed"},
		{"a header that is no base64", []string{"_v", "1", "_t", "4", "_tt", "a", "_h", "%"}, "bad: malformed"},
		{"a flush header cut short", []string{"_v", "2", "_t", "4", "_tt", "a", "_h", "CA=="}, "bad: flush header"},
		{"an insert without a body", []string{"_v", "1", "_t", "2", "_tt", "a"}, "bad: insert into collection 0"},
		{"of 2.5 after all", []string{"_t", "2"}, "bad: empty"},
		{"a commit that was never begun", []string{"_v", "2", "_t", "901", "_tt", "a", "_tx", "CAc="}, "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := what(decode(t, stages.NewDecoder(checkpoints.Position{}), walRecord(0, nil, c.headers...))); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Who looks for rows that are not there wants to know what was passed over.
func TestWhatIsPassedOverIsCountedByItsName(t *testing.T) {
	d := stages.NewDecoder(checkpoints.Position{})
	var got stages.Counts
	for i, h := range [][]string{{"11"}, {"11"}, {"34"}, {"13", "_vc", "p_vcchan"}, {"38"}} {
		p := decode(t, d, walRecord(int64(i), nil, append([]string{"_v", "2", "_tt", "a", "_t"}, h...)...))
		for name, n := range p.Counts.Ignored {
			if got.Ignored == nil {
				got.Ignored = stages.Ignored{}
			}
			got.Ignored[name] += n
		}
	}
	if want := (stages.Ignored{"Import": 2, "CreateIndex": 1, "control": 1}); !maps.Equal(got.Ignored, want) {
		t.Errorf("counted %v", got.Ignored)
	}
}

// Its rows would be missing from the archive silently if it went to quarantine.
func TestAnEncryptedRecordStopsTheVChannel(t *testing.T) {
	d := stages.NewDecoder(checkpoints.Position{})
	r := walRecord(0, []byte("cipher"), "_v", "1", "_t", "2", "_tt", "a", "_ch", "")
	if _, err := d.Step(context.Background(), &stages.Raw{Records: []stages.Record{r}}); !errors.Is(err, stages.ErrEncrypted) {
		t.Errorf("error %v", err)
	}
}

// Milvus has no row that was appended below the last tick.
func TestRecordsBelowTheLastTickAreLeftOut(t *testing.T) {
	at := func(off int64, tick uint64) stages.Record {
		r := member(0, 5)
		r.off, r.rows, r.ts = off, []int64{1}, tick
		return r.record()
	}
	// After a restart the last tick is that of the position read from.
	d := stages.NewDecoder(checkpoints.Position{Tick: 100})
	p := decode(t, d, at(0, 99), at(1, 100), walRecord(2, nil, "_v", "1", "_t", "1", "_tt", strconv.FormatUint(200, 36)), at(3, 199), at(4, 200))
	if len(p.Messages) != 2 || p.Counts.BelowTick != 2 || p.End.Tick != 200 {
		t.Errorf("%d messages, %d left out, tick %d", len(p.Messages), p.Counts.BelowTick, p.End.Tick)
	}
	if m := p.Messages[1].Insert; m.Segment != 5 || m.MinTS != 200 || m.MaxTS != 200 {
		t.Errorf("segment %d at %d to %d", m.Segment, m.MinTS, m.MaxTS)
	}
}

// An abandoned transaction must not hold read_from, or memory, for ever.
func TestTransactionsExpireByTheTicksOfTheLog(t *testing.T) {
	tick := func(off int64, ms uint64) stages.Record {
		return walRecord(off, nil, "_v", "1", "_t", "1", "_tt", strconv.FormatUint(ms<<18, 36))
	}
	begin := func(off int64, ms uint64, id, keepalive int64) stages.Record {
		context := base64.StdEncoding.EncodeToString(numbersOf(id, keepalive))
		return walRecord(off, nil, "_v", "2", "_t", "900", "_tt", strconv.FormatUint(ms<<18, 36), "_tx", context)
	}
	d := stages.NewDecoder(checkpoints.Position{})
	late := member(7, 5)
	late.off, late.rows, late.ts = 2, []int64{1}, 1010<<18
	p := decode(t, d, begin(0, 1000, 7, 20), begin(1, 1000, 8, -1000), late.record(), tick(3, 1029))
	if p.HoldAfter.Offset != 0 || p.Counts.Expired != 0 || p.Open == 0 {
		t.Errorf("reading must begin at %d, %d expired, %d bytes open", p.HoldAfter.Offset, p.Counts.Expired, p.Open)
	}
	p = decode(t, d, tick(4, 1030))
	if p.HoldAfter.Offset != 1 || p.Counts.Expired != 1 || p.Open != 0 {
		t.Errorf("reading must begin at %d, %d expired, %d bytes open", p.HoldAfter.Offset, p.Counts.Expired, p.Open)
	}
	commit := txn(commitOp, 7).at(5)
	commit.ts = 1031 << 18
	again := member(7, 5)
	again.off, again.rows, again.ts = 6, []int64{2}, 1031<<18
	if p = decode(t, d, commit.record(), again.record()); len(p.Messages) != 0 || p.Counts.Orphans != 2 {
		t.Errorf("%d messages, %d orphans", len(p.Messages), p.Counts.Orphans)
	}
	huge := stages.NewDecoder(checkpoints.Position{})
	if p = decode(t, huge, begin(0, 1000, 9, math.MaxInt64), begin(1, 1000, 10, 1<<46), tick(2, 2000)); p.HoldAfter.Offset != 0 || p.Counts.Expired != 0 {
		t.Errorf("reading must begin at %d, %d expired that last for ever", p.HoldAfter.Offset, p.Counts.Expired)
	}
	never := txn(rollbackOp, 8).at(7)
	never.ts = 1 << 60
	if p = decode(t, d, tick(8-1, 1<<40), never.at(8).record()); p.HoldAfter.Offset != 9 || p.Counts.Expired != 0 {
		t.Errorf("reading must begin at %d, %d expired", p.HoldAfter.Offset, p.Counts.Expired)
	}
}
