package archive_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/archive"
	"flowgraph/stages/column"
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

func liveRows(t *testing.T, l *archive.Live) []string {
	t.Helper()
	out := []string{}
	key := slices.IndexFunc(l.Fields, func(f archive.LiveField) bool { return f.PrimaryKey })
	names := map[string]bool{}
	for _, p := range l.Partitions {
		if names[p.Name] || p.Name == "" && p.Stored > 0 { // the log names a partition with its first row
			t.Errorf("partition %d has the name %q of another one, or none", p.ID, p.Name)
		}
		names[p.Name] = true
		read := int64(0)
		for r, err := range l.Rows(t.Context(), p, func(n int64) { read += n }) {
			if err != nil {
				t.Fatal(err)
			}
			text := string(r.Values[key])
			if l.Fields[key].Width() == 8 {
				text = strconv.FormatInt(column.Int64(r.Values[key]), 10)
			}
			out = append(out, rowText(p.ID, text, r.ID, r.Timestamp))
		}
		if read != p.Stored {
			t.Errorf("partition %s: %d rows were read, %d are stored", p.Name, read, p.Stored)
		}
	}
	slices.Sort(out)
	return out
}

func TestLiveRowsAreThoseOfTheLogAtEveryMoment(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, name)
			a := open(t, r.bucket)
			var x told
			x.read(t, r.path("records.jsonl.gz"))
			n := 12
			if name == "concurrent" {
				n = 4
			}
			sizes := map[int]bool{}
			for _, moment := range x.moments(n) {
				for collection := range x.created {
					want, alive := x.live(collection, moment)
					l, err := a.Live(t.Context(), archive.LiveOptions{Collection: strconv.FormatInt(collection, 10), Until: moment})
					if errors.Is(err, archive.ErrNoCollection) != !alive {
						t.Fatalf("collection %d at %d: alive %v, %v", collection, moment, alive, err)
					}
					if !alive {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					if got := liveRows(t, l); !slices.Equal(got, want) {
						t.Errorf("collection %d at %d: %d rows, want %d", collection, moment, len(got), len(want))
					}
					sizes[len(want)] = true
				}
			}
			if len(sizes) < 3 {
				t.Errorf("the moments differ in nothing: %v", sizes)
			}
		})
	}
}

func TestANameIsTheCollectionThatIsAliveThen(t *testing.T) {
	r := recorded(t, "ddl")
	a := open(t, r.bucket)
	var x told
	x.read(t, r.path("records.jsonl.gz"))
	drop := x.drops[slices.IndexFunc(x.drops, func(d toldRow) bool { return d.partition == 0 })]
	for _, c := range []struct {
		moment uint64
		fresh  bool
		none   bool
	}{{moment: drop.timestamp - 1}, {moment: drop.timestamp, none: true}, {fresh: true}} {
		l, err := a.Live(t.Context(), archive.LiveOptions{Collection: "gone", Until: c.moment})
		if c.none {
			if !errors.Is(err, archive.ErrNoCollection) {
				t.Errorf("at the drop: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if (l.Collection == drop.collection) == c.fresh || l.Name != "gone" {
			t.Errorf("at %d %q is %d", c.moment, l.Name, l.Collection)
		}
		if c.fresh && (l.Until != l.Complete || l.Complete == 0) {
			t.Errorf("without a moment it is %d, complete up to %d", l.Until, l.Complete)
		}
	}
}
