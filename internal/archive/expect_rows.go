package archive

import (
	"errors"
	"fmt"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"google.golang.org/protobuf/proto"
)

// rowsOf reads an insert or delete where its record stands and returns what
// is to be done when it takes effect: at once, or at its transaction's commit.
// nil is a repeat.
func (x *Expected) rowsOf(l *expectedLog, m letter) (func(letter) error, error) {
	if len(m.value) == 0 {
		return nil, errors.New("the record has no value")
	}
	if m.kind == commonpb.MsgType_Delete {
		request := new(msgpb.DeleteRequest)
		if err := proto.Unmarshal(m.value, request); err != nil {
			return nil, err
		}
		if request.GetCollectionID() <= 0 {
			return nil, errors.New("an ID is missing or negative")
		}
		return x.once(l, m, request, func(m letter) error { return x.delete(l, m, request) }), nil
	}
	request := new(msgpb.InsertRequest)
	if err := proto.Unmarshal(m.value, request); err != nil {
		return nil, err
	}
	if request.GetCollectionID() <= 0 || request.GetSegmentID() < 0 {
		return nil, errors.New("an ID is missing or negative")
	}
	return x.once(l, m, request, func(m letter) error { return x.insert(l, m, request) }), nil
}

// sendable is what insert and delete have in common.
type sendable interface {
	GetBase() *commonpb.MsgBase
	GetShardName() string
	GetTimestamps() []uint64
}

// once is do for a message that was not sent before, else nil.
func (x *Expected) once(l *expectedLog, m letter, r sendable, do func(letter) error) func(letter) error {
	again, doubt := l.sentBefore(m, r.GetBase().GetMsgID(), r.GetShardName(), r.GetTimestamps())
	if again {
		x.Repeated++
		return nil
	}
	return func(m letter) error {
		m.doubt = max(m.doubt, doubt)
		return do(m)
	}
}

// insert notes the rows of a message.
func (x *Expected) insert(l *expectedLog, m letter, request *msgpb.InsertRequest) error {
	segment, times := request.GetSegmentID(), request.GetTimestamps()
	if m.wal {
		segment, times = m.segment, stamped(len(request.GetRowIDs()), m.tick)
	}
	c := l.collection(request.GetCollectionID())
	if c.gone(request.GetPartitionID()) {
		x.Excluded += int64(request.GetNumRows())
		return nil
	}
	at := [2]int64{request.GetCollectionID(), request.GetPartitionID()}
	if met, ok := l.segments[segment]; ok && met != at && segment != 0 {
		return fmt.Errorf("segment %d was met in another place", segment)
	}
	l.segments[segment] = at
	if c.schema == nil {
		return fmt.Errorf("collection %d was not created before it", request.GetCollectionID())
	}
	columns, err := c.columns(request, m.wal)
	if err != nil {
		return err
	}
	place := x.place(placeOf{l, at[0], at[1]})
	for i, id := range request.GetRowIDs() {
		e := entry{digest: x.digest.row(place, uint64(id), times[i], columns, i),
			place: place, kind: rowEntry, id: id, identity: m.identity, segment: segment, doubt: m.doubt}
		e.keepIn(x.rows)
	}
	x.Rows += int64(len(request.GetRowIDs()))
	return nil
}

// delete notes the deletes of a message.
func (x *Expected) delete(l *expectedLog, m letter, request *msgpb.DeleteRequest) error {
	c := l.collection(request.GetCollectionID())
	if c.gone(request.GetPartitionID()) {
		x.Excluded += request.GetNumRows()
		return nil
	}
	if c.schema == nil {
		return fmt.Errorf("collection %d was not created before it", request.GetCollectionID())
	}
	times := request.GetTimestamps()
	rows := len(times)
	if m.wal {
		rows = int(request.GetNumRows())
	}
	keys, err := c.keys(request, rows)
	if err != nil {
		return err
	}
	if m.wal {
		times = stamped(rows, m.tick)
	}
	place := x.place(placeOf{l, request.GetCollectionID(), request.GetPartitionID()})
	for i, ts := range times {
		x.Deletes++
		e := entry{digest: x.digest.delete(place, keys(i), ts),
			place: place, kind: deleteEntry, id: x.Deletes, identity: m.identity, doubt: m.doubt}
		e.keepIn(x.rows)
	}
	return nil
}

// stamped are n timestamps, all of one value: those in the body of a WAL's
// record are placeholders, as many as there may be.
func stamped(n int, tick uint64) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = tick
	}
	return out
}

// sentBefore says whether a message is a producer's repeat, or may be one of
// what is gone from the log. In a WAL nothing is: what stands there twice was
// sent again because the first was rolled back.
func (l *expectedLog) sentBefore(m letter, id int64, shard string, timestamps []uint64) (bool, doubt) {
	if m.wal {
		return false, certain
	}
	doubt := l.inDoubt(id, timestamps)
	return l.repeats.again(id, shard, m.kind, timestamps), doubt
}
