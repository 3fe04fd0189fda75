package flows

import (
	"context"
	"fmt"
	"time"

	"flowgraph/stages"
)

// leftOutPatience is over how much log time records may be left out in a row
// before that is told: longer than Milvus' clocks differ.
const leftOutPatience = time.Minute

// decoded is the decoder's step, and tells of records that it leaves out for a
// tick which must be wrong.
func (f *Flow) decoded(d *stages.Decoder) func(context.Context, *stages.Raw) ([]*stages.Pack, error) {
	f.Status.leftOut.Store(nil) // of an earlier life
	told := false
	return func(ctx context.Context, in *stages.Raw) ([]*stages.Pack, error) {
		packs, err := d.Step(ctx, in)
		l := d.LeftOut()
		long := l.Spell() > leftOutPatience.Milliseconds()
		if !long {
			f.Status.leftOut.Store(nil)
		} else {
			f.Status.leftOut.Store(&l)
		}
		if long && !told {
			f.Log.Warn().Str("vchannel", f.VChannel.Name()).Uint64("tick", l.Tick).Time("tick_time", tickTime(l.Tick)).Str("tick_at", tickPlace(l)).
				Int64("first", l.First).Int64("records", l.Records).
				Msg("every record is below a time tick that was read before, and is left out, as Milvus does: the tick is wrong, and nothing more is stored of this vchannel until ticks have passed it")
		}
		told = long
		return packs, err
	}
}

// tickPlace says where the tick stands that lets records be left out.
func tickPlace(l stages.LeftOut) string {
	if l.TickOffset < 0 {
		return fmt.Sprintf("an offset below %d", l.First)
	}
	return fmt.Sprintf("offset %d", l.TickOffset)
}

// LeftOutText tells of records that are left out, for people; "" if there are
// none, or not for long.
func (f *FlowStatus) LeftOutText() string {
	l := f.LeftOut
	if l == nil {
		return ""
	}
	return fmt.Sprintf("%d records from offset %d on, %s of the log, are below the time tick %d (%s) at %s and are left out: the tick is wrong",
		l.Records, l.First, time.Duration(l.Spell())*time.Millisecond, l.Tick, tickTime(l.Tick).UTC().Format(time.RFC3339), tickPlace(*l))
}
