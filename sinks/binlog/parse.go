package binlog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	"flowgraph/stages/column"
)

// ReadHeaders reads a binlog up to its rows: Rows, Deltas and Parquet of the
// result are empty, its Payload is a view of b.
func ReadHeaders(b []byte) (*Log, error) {
	const fixed = magicSize + eventHeader + descriptorData + postHeaders + 4
	le := binary.LittleEndian
	if len(b) < fixed || le.Uint32(b) != magic {
		return nil, fmt.Errorf("%w: no binlog of %d bytes begins like this", ErrCorrupt, len(b))
	}
	log := &Log{}
	d := &log.Descriptor
	d.Event = readEvent(b[magicSize:])
	if d.Event.Type != DescriptorEvent {
		return nil, fmt.Errorf("%w: first event is of type %d", ErrCorrupt, d.Event.Type)
	}
	data := b[magicSize+eventHeader:]
	d.Collection, d.Partition = int64(le.Uint64(data)), int64(le.Uint64(data[8:]))
	d.Segment, d.Field = int64(le.Uint64(data[16:])), int64(le.Uint64(data[24:]))
	d.MinTS, d.MaxTS = le.Uint64(data[32:]), le.Uint64(data[40:])
	d.Type = column.Type(int32(le.Uint32(data[48:])))
	copy(d.PostHeaders[:], data[descriptorData:])

	extra := int64(le.Uint32(b[fixed-4:]))
	if extra > int64(len(b)-fixed) {
		return nil, fmt.Errorf("%w: extras of %d bytes in a file of %d", ErrCorrupt, extra, len(b))
	}
	d.RawExtras = b[fixed : fixed+extra : fixed+extra]
	var err error
	if d.Extras, err = readExtras(d.RawExtras); err != nil {
		return nil, err
	}
	return log, log.readData(b[fixed+extra:])
}

// readData reads the data event, which must be the only one: Milvus writes no
// second, and rows in one would be lost unseen.
func (l *Log) readData(b []byte) error {
	if len(b) < eventHeader+dataFixed {
		return fmt.Errorf("%w: cut short before the data event", ErrCorrupt)
	}
	l.Data = readEvent(b)
	if l.Data.Type != InsertEvent && l.Data.Type != DeleteEvent {
		return fmt.Errorf("%w: data event of type %d", ErrUnsupported, l.Data.Type)
	}
	if int64(l.Data.Length) != int64(len(b)) {
		return fmt.Errorf("%w: data event of %d bytes where %d follow", ErrCorrupt, l.Data.Length, len(b))
	}
	l.Data.MinTS = binary.LittleEndian.Uint64(b[eventHeader:])
	l.Data.MaxTS = binary.LittleEndian.Uint64(b[eventHeader+8:])
	l.Payload = b[eventHeader+dataFixed:]
	return nil
}

func readEvent(b []byte) Event {
	le := binary.LittleEndian
	return Event{
		Timestamp: le.Uint64(b), Type: EventType(b[8]),
		Length: int32(le.Uint32(b[9:])), Next: int32(le.Uint32(b[13:])),
	}
}

// readExtras takes a missing member for its default, and original_size both
// as the string that it should be and as a number.
func readExtras(raw []byte) (Extras, error) {
	e := Extras{OriginalSize: -1}
	if len(raw) == 0 {
		return e, nil
	}
	var in struct {
		Nullable bool            `json:"nullable"`
		Size     json.RawMessage `json:"original_size"`
		Version  string          `json:"version"`
		Key      string          `json:"edek"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return e, fmt.Errorf("%w: extras: %w", ErrCorrupt, err)
	}
	if in.Key != "" {
		return e, fmt.Errorf("%w: encrypted", ErrUnsupported)
	}
	e.Nullable, e.Version = in.Nullable, in.Version
	if size := string(in.Size); size != "" {
		if s, err := strconv.Unquote(size); err == nil {
			size = s
		}
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return e, fmt.Errorf("%w: extras: original_size %s", ErrCorrupt, in.Size)
		}
		e.OriginalSize = n
	}
	return e, nil
}
