package archive_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/archive"
)

// told is what a log says, read without anything of the archive.
type told struct {
	rows, deletes []toldRow
	created       map[int64]uint64 // by collection
	drops         []toldRow        // partition 0: the collection
}

type toldRow struct {
	vchannel              string
	collection, partition int64
	key                   string
	id                    int64
	timestamp             uint64
}

// read reads the messages of a recording.
func (x *told) read(t *testing.T, path string) {
	t.Helper()
	x.created = map[int64]uint64{}
	for r, err := range archive.Recorded(path) {
		if err != nil {
			t.Fatal(err)
		}
		var header commonpb.MsgHeader
		if err := proto.Unmarshal(r.Value, &header); err != nil {
			t.Fatal(err)
		}
		at := toldRow{vchannel: r.Topic, timestamp: header.GetBase().GetTimestamp()}
		switch header.GetBase().GetMsgType() {
		case commonpb.MsgType_Insert:
			var m msgpb.InsertRequest
			unmarshal(t, r.Value, &m)
			at.collection, at.partition = m.GetCollectionID(), m.GetPartitionID()
			for i, id := range m.GetRowIDs() {
				at.id, at.timestamp, at.key = id, m.GetTimestamps()[i], keyAt(&m, i)
				x.rows = append(x.rows, at)
			}
		case commonpb.MsgType_Delete:
			var m msgpb.DeleteRequest
			unmarshal(t, r.Value, &m)
			at.collection, at.partition = m.GetCollectionID(), m.GetPartitionID()
			for i, ts := range m.GetTimestamps() {
				at.timestamp = ts
				if texts := m.GetPrimaryKeys().GetStrId().GetData(); len(texts) > 0 {
					at.key = texts[i]
				} else {
					at.key = strconv.FormatInt(m.GetPrimaryKeys().GetIntId().GetData()[i], 10)
				}
				x.deletes = append(x.deletes, at)
			}
		case commonpb.MsgType_CreateCollection:
			var m msgpb.CreateCollectionRequest
			unmarshal(t, r.Value, &m)
			x.created[m.GetCollectionID()] = at.timestamp
		case commonpb.MsgType_DropCollection:
			var m msgpb.DropCollectionRequest
			unmarshal(t, r.Value, &m)
			at.collection = m.GetCollectionID()
			x.drops = append(x.drops, at)
		case commonpb.MsgType_DropPartition:
			var m msgpb.DropPartitionRequest
			unmarshal(t, r.Value, &m)
			at.collection, at.partition = m.GetCollectionID(), m.GetPartitionID()
			x.drops = append(x.drops, at)
		}
	}
}

func unmarshal(t *testing.T, data []byte, m proto.Message) {
	t.Helper()
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
}

// keyAt is the primary key of a message's row: in the recordings the fields
// pk, id and name are keys.
func keyAt(m *msgpb.InsertRequest, i int) string {
	for _, f := range m.GetFieldsData() {
		switch f.GetFieldName() {
		case "pk", "id":
			return strconv.FormatInt(f.GetScalars().GetLongData().GetData()[i], 10)
		case "name":
			return f.GetScalars().GetStringData().GetData()[i]
		}
	}
	return strconv.FormatInt(m.GetRowIDs()[i], 10) // a key that Milvus made
}

// live are the rows of a collection that the rule leaves at a moment, written
// out; false if it does not exist then.
func (x *told) live(collection int64, moment uint64) ([]string, bool) {
	gone := map[int64]bool{}
	for _, d := range x.drops {
		if d.collection == collection && d.timestamp <= moment {
			gone[d.partition] = true
		}
	}
	type where struct{ vchannel, key string }
	deletes := map[where][]toldRow{}
	for _, d := range x.deletes {
		if d.collection == collection && d.timestamp <= moment {
			deletes[where{d.vchannel, d.key}] = append(deletes[where{d.vchannel, d.key}], d)
		}
	}
	out := []string{}
	for _, r := range x.rows {
		if r.collection != collection || r.timestamp > moment || gone[r.partition] {
			continue
		}
		if !slices.ContainsFunc(deletes[where{r.vchannel, r.key}], func(d toldRow) bool {
			return d.timestamp > r.timestamp && (d.partition == r.partition || d.partition == -1)
		}) {
			out = append(out, rowText(r.partition, r.key, r.id, r.timestamp))
		}
	}
	slices.Sort(out)
	return out, x.created[collection] <= moment && !gone[0]
}

func rowText(partition int64, key string, id int64, ts uint64) string {
	return fmt.Sprintf("%d/%s/%d/%d", partition, key, id, ts)
}

// moments are those at which something changes, thinned out, and for every
// drop the last one before it.
func (x *told) moments(n int) []uint64 {
	var all []uint64
	for _, list := range [][]toldRow{x.rows, x.deletes} {
		for _, r := range list {
			all = append(all, r.timestamp)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	var out []uint64
	for i := range n {
		out = append(out, all[i*(len(all)-1)/(n-1)])
	}
	for _, d := range x.drops {
		out = append(out, d.timestamp, d.timestamp-1)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
