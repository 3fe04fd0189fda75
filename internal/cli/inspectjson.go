package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"strconv"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/stages/column"
)

// lines writes lines through one buffer.
type lines struct{ *bufio.Writer }

func newLines(w io.Writer) lines { return lines{bufio.NewWriterSize(w, 64<<10)} }

func (l lines) line(b []byte) error {
	if _, err := l.Write(b); err != nil {
		return err
	}
	return l.WriteByte('\n')
}

// json writes {"segments": [...], "vchannels": [...]}: segments first and as
// they are read, because the vchannels sum them up. IDs and hybrid timestamps
// are strings, since JSON's numbers do not hold 64 bits everywhere.
func (i *inspection) json(ctx context.Context, w io.Writer) error {
	out := newLines(w)
	separator := "{\"segments\": ["
	item := func(v any) error {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, err = out.WriteString(separator + "\n  " + string(text))
		separator = ","
		return err
	}
	if err := i.segments(ctx, func(s *archive.Segment) error { return item(newSegmentView(s)) }); err != nil {
		return err
	}
	if separator != "," { // there are none
		out.WriteString(separator)
	}
	separator = "],\n\"vchannels\": ["
	for _, v := range i.archive.VChannels() {
		if !i.only(v.Name) {
			continue
		}
		if v.Err != nil {
			i.problem(v.Err)
		}
		if err := item(i.newVChannelView(v)); err != nil {
			return err
		}
	}
	if separator != "," {
		out.WriteString(separator)
	}
	out.WriteString("]}\n")
	return out.Flush() // also what a write before it failed with
}

type segmentView struct {
	ID             int64                `json:"id,string"`
	VChannel       string               `json:"vchannel"`
	TopicID        string               `json:"topic_id"`
	Collection     int64                `json:"collection,string"`
	CollectionName string               `json:"collection_name"`
	Partition      int64                `json:"partition,string"`
	PartitionName  string               `json:"partition_name"`
	Level          string               `json:"level"`
	State          string               `json:"state"`
	Auto           bool                 `json:"auto"`
	InManifest     bool                 `json:"in_manifest"`
	Rows           int64                `json:"rows"`
	Bytes          int64                `json:"bytes"`
	Start          checkpoints.Position `json:"start"`
	End            checkpoints.Position `json:"end"`
	FirstTime      int64                `json:"first_time"`
	LastTime       int64                `json:"last_time"`
	Fields         []int64              `json:"fields,omitempty"`
	Logs           []checkpoints.Log    `json:"logs"`
	Chunks         []string             `json:"chunks,omitempty"`
	Generation     int                  `json:"generation,omitempty"` // how often its log had been cut back
	Dropped        *checkpoints.Drop    `json:"dropped,omitempty"`
}

func newSegmentView(s *archive.Segment) segmentView {
	return segmentView{
		ID: s.ID, VChannel: s.VChannel, TopicID: s.TopicID, Collection: s.Collection, CollectionName: s.CollectionName,
		Partition: s.Partition, PartitionName: s.PartitionName, Level: s.Level.String(), State: s.State.String(),
		Auto: s.Auto, InManifest: s.InManifest, Rows: s.Rows, Bytes: s.Bytes, Start: s.Start, End: s.End,
		FirstTime: s.FirstTime, LastTime: s.LastTime, Fields: s.Fields,
		Logs: append([]checkpoints.Log{}, s.Logs...), Chunks: s.Chunks, Generation: s.Generation, Dropped: s.Dropped,
	}
}

type vchannelView struct {
	VChannel    string                `json:"vchannel"`
	Error       string                `json:"error,omitempty"`
	Topic       string                `json:"topic,omitempty"`
	Partition   int32                 `json:"partition"`
	TopicID     string                `json:"topic_id,omitempty"`
	Epoch       int64                 `json:"epoch,omitempty"`
	Owner       string                `json:"owner,omitempty"`
	Sequence    int64                 `json:"sequence,omitempty"`
	ReadFrom    *checkpoints.Position `json:"read_from,omitempty"`
	Seek        *checkpoints.Position `json:"seek_position,omitempty"`
	CutBacks    []checkpoints.CutBack `json:"cut_backs,omitempty"` // where its log lost its end
	HeldBack    *heldBackView         `json:"held_back,omitempty"`
	Rows        int64                 `json:"rows"`
	Deletes     int64                 `json:"deletes"`
	Bytes       int64                 `json:"bytes"`
	Segments    map[string]int        `json:"segments"` // by state
	Collections []collectionView      `json:"collections"`
}

// heldBackView names the segments that hold the seek position back: by is
// certain, perhaps is not known to the bucket.
type heldBackView struct {
	By      []id   `json:"by"`
	Perhaps []id   `json:"perhaps"`
	Text    string `json:"text"`
}

// id is a number that JSON writes as a string.
type id int64

// MarshalJSON implements json.Marshaler.
func (n id) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatInt(int64(n), 10)) }

type collectionView struct {
	ID         int64             `json:"id,string"`
	Name       string            `json:"name"`
	Dropped    *checkpoints.Drop `json:"dropped,omitempty"`
	Fields     []fieldView       `json:"fields,omitempty"`
	Partitions []partitionView   `json:"partitions"`
}

type partitionView struct {
	ID            int64             `json:"id,string"`
	Name          string            `json:"name"`
	AutoEnd       int64             `json:"auto_end"`
	AutoEndDelete int64             `json:"auto_end_deletes"`
	Dropped       *checkpoints.Drop `json:"dropped,omitempty"`
}

type fieldView struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	Dim        int    `json:"dim,omitempty"`
	Nullable   bool   `json:"nullable,omitempty"`
	PrimaryKey bool   `json:"primary_key,omitempty"`
	Dynamic    bool   `json:"dynamic,omitempty"`
}

func (i *inspection) newVChannelView(v *archive.VChannel) vchannelView {
	if v.Err != nil {
		return vchannelView{VChannel: v.Name, Error: v.Err.Error(), Segments: map[string]int{}, Collections: []collectionView{}}
	}
	d, t, h := v.Doc, i.of(v.Name), v.Holders()
	out := vchannelView{
		VChannel: v.Name, Topic: d.Topic, Partition: d.Partition, TopicID: d.TopicID, Epoch: d.Epoch, Owner: d.Owner,
		Sequence: d.Sequence, ReadFrom: &d.ReadFrom, Seek: &d.Seek, CutBacks: d.CutBacks, Rows: t.Rows, Deletes: t.Deletes, Bytes: t.Bytes,
		Segments: map[string]int{}, Collections: []collectionView{},
		HeldBack: &heldBackView{By: ids(h.Certain), Perhaps: ids(h.Possible), Text: heldBack(h)},
	}
	for state, n := range t.States {
		out.Segments[checkpoints.State(state).String()] = n
	}
	for _, c := range v.Collections(i.archive) {
		view := collectionView{ID: c.ID, Name: c.Name, Dropped: c.Dropped, Partitions: []partitionView{}}
		if c.Schema != nil {
			for _, f := range c.Schema.Fields {
				view.Fields = append(view.Fields, newFieldView(f))
			}
		}
		for _, p := range c.Partitions {
			view.Partitions = append(view.Partitions, partitionView{p.ID, p.Name, p.AutoEnd, p.AutoEndDelete, p.Dropped})
		}
		out.Collections = append(out.Collections, view)
	}
	return out
}

func newFieldView(f column.Field) fieldView {
	return fieldView{ID: f.ID, Name: cmp.Or(f.Name, "-"), Type: f.Type.String(), Dim: f.Dim, Nullable: f.Nullable, PrimaryKey: f.PrimaryKey, Dynamic: f.Dynamic}
}

func ids(list []*checkpoints.Segment) []id {
	out := []id{}
	for _, s := range list {
		out = append(out, id(s.ID))
	}
	return out
}
