package checkpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Encode returns the document's bytes, the same for the same content. A
// document that Decode would refuse is never stored: ErrInvalid.
func (d *Document) Encode() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", DocumentKey(d.VChannel), err)
	}
	return json.Marshal(d)
}

// Decode reads a vchannel's document. What is missing is never taken for
// zero, since 0 is an ordinary offset. Errors name the key and, where it is
// about one, the segment.
func Decode(vchannel string, data []byte) (*Document, error) {
	d, err := decode(data)
	if err == nil && d.VChannel != vchannel {
		err = fmt.Errorf("is of vchannel %q: %w", d.VChannel, ErrInvalid)
	}
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", DocumentKey(vchannel), err)
	}
	return d, nil
}

func decode(data []byte) (*Document, error) {
	d := new(Document)
	if err := decodeStrict(data, d); err != nil {
		return nil, err
	}
	return d, nil
}

// notNewer refuses what a newer release has written: it is not damaged, must
// not be called so, and nothing else of it can be judged.
func notNewer(data []byte, known int) error {
	var head struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return invalid(err)
	}
	if head.Version != nil && *head.Version > known {
		return fmt.Errorf("version %d, this release knows %d: %w", *head.Version, known, ErrNewerVersion)
	}
	return nil
}

// decodeStrict is json.Unmarshal that refuses a version that is newer, or a
// key given twice (the last one would win silently), and names every other
// failure ErrInvalid.
func decodeStrict(data []byte, v any) error {
	known := Version
	if _, document := v.(*Document); document {
		known = cutVersion
	}
	if err := notNewer(data, known); err != nil {
		return err
	}
	// Unmarshal also bounds the nesting, on which the walk below relies.
	if err := json.Unmarshal(data, v); err != nil {
		return invalid(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return refuseTwice(dec, "")
}

// refuseTwice reads one JSON value whose place is path.
func refuseTwice(dec *json.Decoder, path string) error {
	tok, err := dec.Token()
	if err != nil {
		return invalid(err)
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		place := path
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return invalid(err)
			}
			name, _ := key.(string)
			place = path + "/" + name
			if seen[name] {
				return fmt.Errorf("two entries for %s: %w", place, ErrInvalid)
			}
			seen[name] = true
		}
		if err := refuseTwice(dec, place); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	if err != nil {
		return invalid(err)
	}
	return nil
}

func invalid(err error) error {
	if errors.Is(err, ErrInvalid) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrInvalid, err)
}

// UnmarshalJSON wants the whole document.
func (d *Document) UnmarshalJSON(data []byte) error {
	type plain Document
	fields, err := decodeWhole(data, (*plain)(d), "version", "vchannel", "topic", "partition", "topic_id",
		"epoch", "owner", "sequence", "read_from", "seek_position", "collections", "segments")
	if err != nil {
		return err
	}
	// "7" and "07" are two keys of JSON and one of the map.
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(fields["segments"], &entries); err != nil {
		return err
	}
	if len(entries) != len(d.Segments) {
		return fmt.Errorf("two entries for one segment: %w", ErrInvalid)
	}
	return nil
}

// UnmarshalJSON wants the whole position: half a one is none.
func (p *Position) UnmarshalJSON(data []byte) error {
	type plain Position
	_, err := decodeWhole(data, (*plain)(p), "offset", "leader_epoch", "tick")
	if err != nil {
		return fmt.Errorf("position: %w", err)
	}
	return nil
}

// UnmarshalJSON wants both ends of the range once anything is persisted; a
// New segment may lack them.
func (s *Segment) UnmarshalJSON(data []byte) error {
	type plain Segment
	fields, err := decodeWhole(data, (*plain)(s), "id", "collection", "partition", "level", "state", "rows")
	for _, name := range []string{"start", "end"} {
		if err == nil && s.State != New && missing(fields[name]) {
			err = fmt.Errorf("%s is missing: %w", name, ErrInvalid)
		}
	}
	if err != nil {
		return fmt.Errorf("segment %s: %w", fields["id"], err)
	}
	return nil
}

// UnmarshalJSON wants the offsets that decide whether an event applies.
func (c *Collection) UnmarshalJSON(data []byte) error {
	type plain Collection
	_, err := decodeWhole(data, (*plain)(c), "schema_offset", "last_ddl", "partitions")
	return err
}

// UnmarshalJSON wants the ends below which rows are persisted.
func (p *Partition) UnmarshalJSON(data []byte) error {
	type plain Partition
	_, err := decodeWhole(data, (*plain)(p), "auto_end", "auto_end_deletes")
	return err
}

// UnmarshalJSON wants the drop's place.
func (d *Drop) UnmarshalJSON(data []byte) error {
	type plain Drop
	_, err := decodeWhole(data, (*plain)(d), "offset", "timestamp")
	return err
}

// UnmarshalJSON wants the event's place.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	_, err := decodeWhole(data, (*plain)(e), "kind", "offset", "collection")
	return err
}

// decodeWhole decodes an object that must have the fields named, and returns
// its fields.
func decodeWhole(data []byte, v any, required ...string) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	for _, name := range required {
		if missing(fields[name]) {
			return fields, fmt.Errorf("%s is missing: %w", name, ErrInvalid)
		}
	}
	return fields, json.Unmarshal(data, v)
}

func missing(field json.RawMessage) bool {
	return field == nil || string(field) == "null"
}
