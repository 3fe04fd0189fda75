package archive

import (
	"fmt"
	"iter"
	"math"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/recording"
)

// Expected is what a bucket must hold of logs of Milvus messages: the oracle
// of Check. It is made from the records themselves, decoded on a way of its
// own, so that a fault of the flow's decoding cannot hide itself. It keeps 46
// bytes a row. It is not safe for concurrent use.
type Expected struct {
	// Totals over all logs.
	Records  int64
	Rows     int64 // to be stored, those before a drop included
	Deletes  int64
	Repeated int64 // messages that a producer sent again
	Excluded int64 // rows and deletes at or after a drop of their place
	Bad      int64 // records that belong into quarantine
	// BelowTick counts WAL records whose tick is below one before them.
	BelowTick int64

	logs   map[string]*expectedLog // by vchannel
	places []placeOf
	index  map[placeOf]int32
	rows   *spool
	digest digester
}

// placeOf is a partition of a collection in one log; entries refer to it by
// number.
type placeOf struct {
	log                   *expectedLog
	collection, partition int64
}

// expectedLog is what is known of one log so far.
type expectedLog struct {
	vchannel    string
	begun       bool
	first, last int64 // offsets of its records
	// What is stored of [0, blind) cannot be known from the log, because its
	// records, or the beginnings of their transactions, are gone from it; nor
	// what is behind end, because it was not read.
	blind, end  int64
	collections map[int64]*expectedCollection
	segments    map[int64][2]int64 // collection and partition in which a segment was met first
	repeats     repeats
	tick        uint64                  // of the last time tick
	ticked      bool                    // there was one
	open        map[uint64]*transaction // by ID
	bad         map[int64]badRecord     // by offset
	behind      []schemaFrom            // by offset
}

type expectedCollection struct {
	name       string
	raw        []byte
	schema     *schemapb.CollectionSchema
	created    int64 // offset; -1: the schema was given by hand
	dropped    *int64
	partitions map[int64]int64 // dropped ones, with the drop's offset
}

type badRecord struct {
	value  []byte
	reason string
}

// NewExpected returns an empty expectation; records are added in offset order
// of each partition.
func NewExpected() *Expected {
	return newExpected(&spool{size: entrySize, parts: make([]spoolPart, spoolParts)})
}

func newExpected(rows *spool) *Expected {
	return &Expected{
		logs: map[string]*expectedLog{}, index: map[placeOf]int32{}, rows: rows, digest: newDigester(),
	}
}

// Expect adds all records. Their offsets must be those in the log that was
// read; -1 where they are not known.
func Expect(records iter.Seq2[recording.Record, error]) (*Expected, error) {
	x := NewExpected()
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		x.Add(r)
	}
	return x, nil
}

// Recorded yields the records of a recording as they were recorded.
func Recorded(path string) iter.Seq2[recording.Record, error] {
	return func(yield func(recording.Record, error) bool) {
		r, err := recording.Open(path)
		if err != nil {
			yield(recording.Record{}, err)
			return
		}
		defer r.Close()
		r.All()(yield)
	}
}

// Replayed gives the records the offsets that they have after a replay into
// empty topics: 0, 1, 2, ... in each partition.
func Replayed(records iter.Seq2[recording.Record, error]) iter.Seq2[recording.Record, error] {
	type partition struct {
		topic string
		id    int32
	}
	return func(yield func(recording.Record, error) bool) {
		next := map[partition]int64{}
		for r, err := range records {
			p := partition{r.Topic, r.Partition}
			r.Offset = next[p]
			next[p]++
			if !yield(r, err) {
				return
			}
		}
	}
}

// SetSchema gives the serialized schema of a collection whose creation is not
// in the log.
func (x *Expected) SetSchema(topic string, partition int32, collection int64, raw []byte) error {
	schema := new(schemapb.CollectionSchema)
	if err := proto.Unmarshal(raw, schema); err != nil {
		return fmt.Errorf("schema of collection %d: %w", collection, err)
	}
	c := x.log(topic, partition).collection(collection)
	c.name, c.raw, c.schema, c.created = schema.GetName(), raw, schema, -1
	return nil
}

func (x *Expected) log(topic string, partition int32) *expectedLog {
	name := fmt.Sprintf("%s-%d", topic, partition)
	l := x.logs[name]
	if l == nil {
		l = &expectedLog{
			vchannel: name, collections: map[int64]*expectedCollection{}, segments: map[int64][2]int64{},
			repeats: newRepeats(), open: map[uint64]*transaction{}, bad: map[int64]badRecord{}, end: math.MaxInt64,
		}
		x.logs[name] = l
	}
	return l
}

func (l *expectedLog) collection(id int64) *expectedCollection {
	c := l.collections[id]
	if c == nil {
		c = &expectedCollection{created: -1, partitions: map[int64]int64{}}
		l.collections[id] = c
	}
	return c
}

func (x *Expected) place(p placeOf) int32 {
	i, ok := x.index[p]
	if !ok {
		i = int32(len(x.places))
		x.index[p] = i
		x.places = append(x.places, p)
	}
	return i
}
