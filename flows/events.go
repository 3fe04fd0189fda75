package flows

import (
	"strconv"
	"sync"
	"time"

	"flowgraph/sinks"
)

// Event is something that happened to a vchannel of this worker.
type Event struct {
	Seq        uint64    `json:"seq"` // 1, 2, 3, ... in this process
	At         time.Time `json:"at"`
	Kind       string    `json:"kind"` // flush, seal, pause, resume, quarantine, a DDL event's kind, or the state a vchannel came into
	VChannel   string    `json:"vchannel"`
	Segment    string    `json:"segment,omitempty"` // of a flush or seal, as are the next
	Collection string    `json:"collection,omitempty"`
	Partition  string    `json:"partition,omitempty"`
	Level      string    `json:"level,omitempty"`
	Reason     string    `json:"reason,omitempty"` // of the flush, as in the metric; of the quarantine
	Rows       int64     `json:"rows,omitempty"`
	Bytes      int64     `json:"bytes,omitempty"`   // of the files
	TookMS     int64     `json:"took_ms,omitempty"` // encoding and upload
	Offset     *int64    `json:"offset,omitempty"`  // end of what is persisted; of the DDL event or bad record
	Error      string    `json:"error,omitempty"`
	Advice     string    `json:"advice,omitempty"`
}

// Events are some of what a worker remembers of what happened.
type Events struct {
	Events []Event `json:"events"` // oldest first
	Last   uint64  `json:"last"`   // sequence number of the newest event there is
	Missed bool    `json:"missed"` // older ones after the number asked for are forgotten, or were left out
}

// eventsKept is how many events a worker remembers.
const eventsKept = 1024

// eventLog is a ring of the last events.
type eventLog struct {
	mu   sync.Mutex
	last uint64
	ring [eventsKept]Event
}

func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.Seq, e.At = l.last, time.Now()
	l.ring[e.Seq%eventsKept] = e
}

// after returns the newest events with greater sequence numbers, at most so
// many.
func (l *eventLog) after(seq uint64, limit int) Events {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := Events{Events: []Event{}, Last: l.last}
	if seq >= l.last {
		return out // also after a restart: the caller sees that Last is smaller
	}
	n := min(l.last-seq, eventsKept, uint64(max(limit, 0)))
	out.Missed = n < l.last-seq
	for s := l.last - n + 1; s <= l.last; s++ {
		out.Events = append(out.Events, l.ring[s%eventsKept])
	}
	return out
}

// happened notes what a stored cut did. An event is kept for long: it must not
// point into the cut, which holds whole records.
func (f *flowStatus) happened(r sinks.Report, names func(collection, partition int64) (string, string)) {
	if !r.Stored {
		return
	}
	v := f.vchannel.Name()
	for i := range r.Cut.Bad {
		bad := &r.Cut.Bad[i]
		f.set.events.add(Event{Kind: "quarantine", VChannel: v, Offset: offset(bad.Record.Offset), Reason: bad.Reason})
	}
	if e := r.Cut.Change.Event; e != nil {
		f.set.events.add(Event{Kind: string(e.Kind), VChannel: v, Collection: e.Name, Offset: offset(e.Offset)})
	}
	fl := r.Cut.Change.Flush
	if fl == nil {
		return
	}
	s := &fl.Segment
	e := Event{
		Kind: "flush", VChannel: v, Segment: strconv.FormatInt(s.ID, 10), Level: s.Level.String(),
		Reason: string(r.Cut.Reason), Bytes: r.Bytes, TookMS: r.Took.Milliseconds(), Offset: offset(s.End.Offset),
	}
	e.Collection, e.Partition = names(s.Collection, s.Partition)
	if e.Partition == "" {
		e.Partition = fl.PartitionName
	}
	e.Collection, e.Partition = nameOr(e.Collection, s.Collection), partitionName(e.Partition, s.Partition)
	if fl.Log != nil {
		e.Rows = fl.Log.Rows
	} else {
		e.Kind = "seal"
	}
	f.set.events.add(e)
}

// nameOr is the name, or the ID where there is none.
func nameOr(name string, id int64) string {
	if name != "" {
		return name
	}
	return strconv.FormatInt(id, 10)
}

// allPartitions is the partition of deletes that concern all.
const allPartitions = -1

// partitionName is nameOr for a partition.
func partitionName(name string, id int64) string {
	if id == allPartitions {
		return "(all)"
	}
	return nameOr(name, id)
}
