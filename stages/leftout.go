package stages

// LeftOut is a run of WAL records below the last time tick, with none at or
// above it in between. Single ones are Milvus' own stragglers. A long run
// follows a tick that is wrong, far in the future: Milvus leaves out all that
// comes after it too, until its clock has caught up.
type LeftOut struct {
	Tick       uint64 `json:"tick,string"` // which they are below; hybrid
	TickOffset int64  `json:"tick_offset"` // of the record that brought it; -1: one before reading began
	First      int64  `json:"first"`       // offset of the first of them
	Since      int64  `json:"since"`       // log time of the first, Unix ms
	Until      int64  `json:"until"`       // and of the last
	Records    int64  `json:"records"`
}

// Spell is the log time over which the run lasts, in milliseconds.
func (l LeftOut) Spell() int64 { return max(0, l.Until-l.Since) }

// LeftOut is the run that lasts at the end of the last pack; it has no
// records if there is none.
func (d *Decoder) LeftOut() LeftOut { return d.left }

// leave counts a record that is below the last tick.
func (d *Decoder) leave(r *Record) {
	if d.left.Records == 0 {
		d.left = LeftOut{Tick: d.next.Tick, TickOffset: d.tickAt, First: r.Offset, Since: r.Time}
	}
	d.left.Records++
	d.left.Until = r.Time
}
