package stages_test

import (
	"strconv"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// walTick is a time tick of a WAL, read at a moment of the log (ms).
func walTick(offset int64, ts uint64, at int64) stages.Record {
	r := walRecord(offset, nil, "_v", "1", "_t", "1", "_tt", strconv.FormatUint(ts, 36))
	r.Time = at
	return r
}

// Everything behind a tick that is wrong is left out: that must not pass for
// a log in which nothing happens.
func TestATickFarAheadIsNamedWithWhatItLetsBeLeftOut(t *testing.T) {
	d := stages.NewDecoder(checkpoints.Position{Tick: 100})
	decode(t, d, walTick(0, 110, 1000))
	if l := d.LeftOut(); l != (stages.LeftOut{}) {
		t.Errorf("nothing was left out: %+v", l)
	}
	decode(t, d, walTick(1, 1<<60, 2000), walTick(2, 120, 3000))
	decode(t, d, walTick(3, 130, 64000))
	if l := d.LeftOut(); l != (stages.LeftOut{Tick: 1 << 60, TickOffset: 1, First: 2, Since: 3000, Until: 64000, Records: 2}) || l.Spell() != 61000 {
		t.Errorf("%+v", l)
	}
	decode(t, d, walTick(4, 1<<60, 65000))
	if l := d.LeftOut(); l.Records != 0 {
		t.Errorf("the run does not end: %+v", l)
	}
	again := stages.NewDecoder(checkpoints.Position{Offset: 2, Tick: 1 << 60})
	decode(t, again, walTick(2, 120, 3000))
	if l := again.LeftOut(); l.TickOffset != -1 || l.Tick != 1<<60 || l.First != 2 {
		t.Errorf("after a restart: %+v", l)
	}
}
