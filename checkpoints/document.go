package checkpoints

// Version is the version of the format that this code writes; a greater one is
// refused when read. Documents of logs that were cut back have the next one.
const Version = 1

// Document is the stored state of one vchannel: one JSON object, replaced as
// a whole by compare-and-set, so that positions, segments and schemas can
// never disagree.
type Document struct {
	Version   int    `json:"version"`  // of the format
	VChannel  string `json:"vchannel"` // <topic>-<partition>
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	TopicID   string `json:"topic_id"` // which creation of the topic; positions of another one mean nothing
	Epoch     int64  `json:"epoch"`    // one more with each claim
	Owner     string `json:"owner"`    // drawn at random for each claim
	Sequence  int64  `json:"sequence"` // of this epoch's attempts with new content

	// ReadFrom is where reading begins after a restart.
	ReadFrom Position `json:"read_from"`
	// Seek is the smallest identity not persisted, else the end of the last
	// pack handled.
	Seek Position `json:"seek_position"`
	// Earlier is where readings of this log began, by offset: the read_froms
	// of claimed documents, to which a rewind may go.
	Earlier []Beginning `json:"earlier,omitempty"`
	// Reached is the end of the last pack of which anything but the position is
	// stored, also what has left: far ahead of Seek where an older row is buffered.
	Reached Position `json:"reached,omitzero"`
	// CutBacks are the places at which the log, or one of an earlier creation of
	// the topic, lost its end after that was read, in the order of time.
	CutBacks []CutBack `json:"cut_backs,omitempty"`

	// Home is where the bucket was when the document was last claimed: host,
	// bucket and root. In another place it may be a copy that lacks what its
	// surroundings have, or the other way round; "": not known.
	Home string `json:"home,omitempty"`
	// Unsettled is the epoch of a document that is being accepted as it is
	// (accept-document): what lies ahead of it is not all removed yet; 0: none is.
	Unsettled int64 `json:"unsettled,omitempty"`
	// Manifests is how many segments of this log have left for manifests; nil:
	// a release that does not count has claimed since the log began.
	Manifests *int64 `json:"manifests,omitempty"`

	Collections map[int64]*Collection `json:"collections"`   // by ID
	Segments    map[int64]*Segment    `json:"segments"`      // those without a manifest
	Events      []Event               `json:"ddl,omitempty"` // DDL not yet stored as objects
}

// Beginning is a read_from with the last seek position that a document had
// beside it. A repeat below that whose first message lies before the read_from
// is persisted, and nothing else tells.
type Beginning struct {
	ReadFrom Position `json:"read_from"`
	Seek     Position `json:"seek_position"`
}

// Collection is what the document keeps of one collection. Once dropped only
// the IDs, the drop's position and the AutoEnds stay.
type Collection struct {
	Name         string               `json:"name,omitempty"`
	Channel      string               `json:"channel,omitempty"` // Milvus' own name of the shard, as its messages say; "" until one was persisted
	Schema       []byte               `json:"schema,omitempty"`  // serialized schemapb.CollectionSchema
	SchemaOffset int64                `json:"schema_offset"`     // of the event that gave it; -1: none did
	LastDDL      int64                `json:"last_ddl"`          // offset of the last DDL event applied; -1 if none
	Dropped      *Drop                `json:"dropped,omitempty"`
	Partitions   map[int64]*Partition `json:"partitions"` // -1: deletes for all partitions
}

// Partition holds AutoEnd: the largest End that any auto segment of this
// partition ever had, per level. It never moves back and outlives segments.
type Partition struct {
	Name          string `json:"name,omitempty"`
	AutoEnd       int64  `json:"auto_end"`         // of rows
	AutoEndDelete int64  `json:"auto_end_deletes"` // of deletes
	Dropped       *Drop  `json:"dropped,omitempty"`
}

// Drop is where and when something was dropped.
type Drop struct {
	Offset    int64  `json:"offset"`
	Timestamp uint64 `json:"timestamp,string"` // hybrid
}

// Level of a segment, as Milvus numbers them.
type Level int

const (
	L0 Level = 1 // deletes
	L1 Level = 2 // rows
)

// String is the level's name as people read it.
func (l Level) String() string {
	if l == L0 {
		return "L0"
	}
	return "L1"
}

// State of a segment; it only grows.
type State int

const (
	New     State = iota // met, nothing persisted
	Normal               // some flush persisted, still open
	Flushed              // sealed, last flush persisted, immutable
	Dropped              // its collection or partition was dropped
)

// String is the state's name as people read it.
func (s State) String() string {
	if s < New || s > Dropped {
		return "unknown"
	}
	return [...]string{New: "new", Normal: "normal", Flushed: "flushed", Dropped: "dropped"}[s]
}

// Segment is the state and persisted range of one segment: exactly its rows
// with an identity in [Start, End) are in its logs.
type Segment struct {
	ID         int64    `json:"id,string"`
	Collection int64    `json:"collection,string"`
	Partition  int64    `json:"partition,string"`
	Level      Level    `json:"level"`                // 1: L0, deletes; 2: L1, rows
	Auto       bool     `json:"auto,omitempty"`       // its ID was not chosen by Milvus
	State      State    `json:"state"`                // 0 new, 1 normal, 2 flushed, 3 dropped
	Start      Position `json:"start"`                // the smallest identity in it
	End        Position `json:"end"`                  // of the pack with which the last flush was cut; its rows below are persisted
	Rows       int64    `json:"rows"`                 // or deletes, persisted
	Bytes      int64    `json:"bytes"`                // of its files
	FirstTime  int64    `json:"first_time"`           // log time of its first row, Unix ms
	LastTime   int64    `json:"last_time"`            // the same of its last
	Fields     []int64  `json:"fields,omitempty"`     // field IDs of every flush, ascending; none for L0
	PKField    int64    `json:"pk_field,omitempty"`   // primary key, whose statistics every flush has; 0: none written
	Logs       []Log    `json:"logs,omitempty"`       // one a flush
	Chunks     []string `json:"chunks,omitempty"`     // log IDs that name folded chunks, oldest first
	Generation int      `json:"generation,omitempty"` // how often the log had been cut back when the segment ended: above a later cut its end says nothing
}

// Log is one flush of a segment: every field's file has the same log ID.
type Log struct {
	ID    string `json:"log"` // 18 digits
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	MinTS uint64 `json:"min_ts,string"` // hybrid, of rows
	MaxTS uint64 `json:"max_ts,string"`
}

// EventKind names a DDL event.
type EventKind string

const (
	CreateCollection EventKind = "create_collection"
	AlterCollection  EventKind = "alter_collection" // a schema change
	DropCollection   EventKind = "drop_collection"
	CreatePartition  EventKind = "create_partition"
	DropPartition    EventKind = "drop_partition"
)

// Event is one DDL event, as the document carries it until it is stored as an
// object of its own.
type Event struct {
	Kind       EventKind        `json:"kind"`
	Offset     int64            `json:"offset"`
	Timestamp  uint64           `json:"timestamp,string"` // hybrid
	Collection int64            `json:"collection,string"`
	Name       string           `json:"name,omitempty"` // of the collection or partition
	Partition  int64            `json:"partition,string,omitempty"`
	Partitions map[int64]string `json:"partitions,omitempty"` // created with the collection: ID to name, "" if unknown
	Schema     []byte           `json:"schema,omitempty"`
	// Given marks a creation that the log does not hold: it stands at the first
	// row that was met, and older rows are not known.
	Given bool `json:"given,omitempty"`
	// Generation is how often the log had been cut back when the event was read.
	Generation int `json:"generation,omitempty"`
}

// Change is what one cut does to the document. It enters the document when
// the tracker releases the cut, in cut order, and is on no account visible
// before.
type Change struct {
	Seek, ReadFrom Position
	End            Position  // of the pack with which it was cut
	New            []Segment // met since the last cut: ID, place, Start, times
	Flush          *Flush    // rows persisted or a segment sealed
	Event          *Event    // DDL
	Urgent         bool      // commit at once: nothing else is on its way
}

// Flush is the part of a Change that concerns one segment.
type Flush struct {
	Segment       Segment // ID, place, level, Start, End, times, Fields as of this cut; Logs unset
	PartitionName string
	Channel       string // of the collection, see Collection
	Log           *Log   // nil: no rows
	Sealed        bool
}
