package checkpoints_test

import (
	"errors"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

func position(offset int64) checkpoints.Position {
	return checkpoints.Position{Offset: offset, LeaderEpoch: 1, Tick: uint64(offset)}
}

// read is a document of a log that was read up to 90, with a row that is
// buffered at seek.
func read(seek int64) *checkpoints.Document {
	open := func(id int64, state checkpoints.State, start, end int64) *checkpoints.Segment {
		s := &checkpoints.Segment{ID: id, Collection: collection, Partition: partition, Level: checkpoints.L1, State: state, Start: position(start)}
		if state != checkpoints.New {
			s.End, s.Rows = position(end), 1
			s.Logs = []checkpoints.Log{{ID: "100000010000000001", Rows: 1}}
		}
		return s
	}
	return &checkpoints.Document{
		Version: 1, VChannel: v0.Name(), Topic: v0.Topic, TopicID: v0.TopicID, Epoch: 7, Owner: "o",
		ReadFrom: position(seek - 5), Seek: position(seek), Reached: position(90),
		Earlier: []checkpoints.Beginning{
			{ReadFrom: position(10), Seek: position(12)}, {ReadFrom: position(30), Seek: position(35)}, {ReadFrom: position(40), Seek: position(60)},
		},
		Segments: map[int64]*checkpoints.Segment{
			1: open(1, checkpoints.Normal, 20, 45), 2: open(2, checkpoints.Normal, 20, 80), 3: open(3, checkpoints.New, 40, 0),
			4: open(4, checkpoints.New, 70, 0), 5: open(5, checkpoints.Flushed, 60, 90), 6: open(6, checkpoints.Dropped, 60, 75),
		},
		Collections: map[int64]*checkpoints.Collection{
			collection: {Name: "c", Schema: []byte("s"), SchemaOffset: 65, LastDDL: 75, Partitions: map[int64]*checkpoints.Partition{
				partition: {Name: "p", AutoEnd: 85, AutoEndDelete: 20}, 12: {Dropped: &checkpoints.Drop{Offset: 75}}, 13: {Dropped: &checkpoints.Drop{Offset: 40}},
			}},
			2: {SchemaOffset: 3, LastDDL: 72, Dropped: &checkpoints.Drop{Offset: 72}, Partitions: map[int64]*checkpoints.Partition{21: {AutoEnd: 72}}},
		},
	}
}

var lostEvents = []checkpoints.Event{ // the latest first
	{Kind: checkpoints.DropPartition, Offset: 75, Collection: collection, Partition: 12, Name: "p12"},
	{Kind: checkpoints.DropCollection, Offset: 72, Collection: 2, Name: "two", Partitions: map[int64]string{21: "p21"}},
	{Kind: checkpoints.AlterCollection, Offset: 8, Collection: 2, Schema: []byte("newer")},
	{Kind: checkpoints.CreateCollection, Offset: 3, Collection: 2, Name: "one", Schema: []byte("older")},
}

// What is stored from the cut on was of other records: none that stands there
// now may be taken for stored, and none below it for new.
func TestWhatWasStoredOfALostEndIsTakenForWhatStandsThereNow(t *testing.T) {
	d := read(55)
	d.CutBack(position(50), 0, lostEvents)
	if d.Seek.Offset != 50 || d.Reached.Offset != 50 || d.Covered().Offset != 50 || d.Generation() != 1 {
		t.Errorf("positions %+v, %+v, covered %+v", d.Seek, d.Reached, d.Covered())
	}
	// Seek position 60 of the last beginning lies behind the cut: what was open
	// at the cut may have ended before it.
	if d.ReadFrom.Offset != 30 || len(d.Earlier) != 2 {
		t.Errorf("it reads from %d, beginnings %+v", d.ReadFrom.Offset, d.Earlier)
	}
	for id, want := range map[int64]struct {
		state checkpoints.State
		end   int64
	}{
		1: {checkpoints.Normal, 45}, 2: {checkpoints.Flushed, 50}, 3: {checkpoints.New, 0}, 5: {checkpoints.Flushed, 50}, 6: {checkpoints.Flushed, 50},
	} {
		if s := d.Segments[id]; s == nil || s.State != want.state || d.EndOf(s).Offset != want.end {
			t.Errorf("segment %d: %+v", id, s)
		}
	}
	if d.Segments[4] != nil || d.Segments[2].End.Offset != 80 {
		t.Error("a segment met behind the cut is known, or one that holds rows behind it does not say so")
	}
	c, p := d.Collections[collection], d.Collections[collection].Partitions
	if c.LastDDL != 49 || c.SchemaOffset != 50 || string(c.Schema) != "s" || p[partition].AutoEnd != 50 || p[partition].AutoEndDelete != 20 {
		t.Errorf("%+v, %+v", c, p[partition])
	}
	if p[12].Dropped != nil || p[12].Name != "p12" || p[13].Dropped == nil {
		t.Errorf("drops behind and before the cut: %+v, %+v", p[12], p[13])
	}
	two := d.Collections[2]
	if two.Dropped != nil || two.Name != "two" || string(two.Schema) != "newer" || two.Partitions[21].Name != "p21" || two.Partitions[21].AutoEnd != 50 {
		t.Errorf("a collection whose drop was lost: %+v", two)
	}
	if _, err := d.Encode(); err == nil {
		t.Error("an older release would read it and know of no cut")
	}
	d.Version = checkpoints.Version + 1
	if _, err := d.Encode(); err != nil {
		t.Error(err)
	}
}

// A read_from is right for its own seek position: where that lies before the
// cut nothing moves.
func TestPositionsBeforeTheCutStay(t *testing.T) {
	for _, c := range []struct{ seek, at, from, now int64 }{
		{40, 50, 35, 40}, {50, 50, 45, 50}, {51, 50, 30, 50}, {40, 11, 5, 11}, {99, 2, 2, 2},
	} {
		d := read(c.seek)
		d.CutBack(position(c.at), min(5, c.at), nil)
		if d.ReadFrom.Offset != c.from || d.Seek.Offset != c.now {
			t.Errorf("cut at %d with seek position %d: reads from %d, seek position %d", c.at, c.seek, d.ReadFrom.Offset, d.Seek.Offset)
		}
	}
}

// Of two cuts the lower one counts for what was stored before both.
func TestALogIsCutBackTwice(t *testing.T) {
	d := read(55)
	d.CutBack(position(50), 0, nil)
	between := &checkpoints.Segment{State: checkpoints.Flushed, End: position(70), Generation: d.Generation()}
	old := &checkpoints.Segment{State: checkpoints.Flushed, End: position(80)}
	for _, second := range []int64{60, 45} {
		twice := *d
		twice.CutBack(position(second), 0, nil)
		if got := twice.EndOf(old).Offset; got != min(50, second) {
			t.Errorf("cut at 50, then at %d: a segment of before ends at %d", second, got)
		}
		if got := twice.EndOf(between).Offset; got != second {
			t.Errorf("cut at 50, then at %d: one stored between ends at %d", second, got)
		}
		if twice.Holds(v0.TopicID, 0, 48) != (second > 48) || twice.Holds(v0.TopicID, 0, 50) || twice.Holds(v0.TopicID, 1, 55) != (second > 55) {
			t.Errorf("cut at 50, then at %d: the log holds other events", second)
		}
		if at := twice.KeptOf("another topic", 0, position(80)); at.Offset != 80 {
			t.Errorf("another log ends at %d", at.Offset)
		}
	}
}

func storedIn(t *testing.T, b *membucket.Bucket, d *checkpoints.Document) {
	t.Helper()
	data, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b.Set(checkpoints.DocumentKey(d.VChannel), data)
}

// Whoever claimed since the cut was found may have stored what the log has now.
func TestACutThatIsAcceptedTwiceDoublesRows(t *testing.T) {
	b := membucket.New()
	storedIn(t, b, read(55))
	_, err := checkpoints.AcceptCutBack(t.Context(), b, v0, position(50), 6, 0)
	wantError(t, err, checkpoints.ErrFenced)
	d, err := checkpoints.AcceptCutBack(t.Context(), b, v0, position(50), 7, 0)
	if err != nil || d.Epoch != 8 || d.CutBacks[0].Epoch != 8 {
		t.Fatalf("%+v, %v", d, err)
	}
	_, err = checkpoints.AcceptCutBack(t.Context(), b, v0, position(50), 7, 0)
	wantError(t, err, checkpoints.ErrSameLog)
	other := v0
	other.TopicID = "anew"
	_, err = checkpoints.AcceptCutBack(t.Context(), b, other, position(40), 8, 0)
	wantError(t, err, checkpoints.ErrTopicRecreated)
}

// What a drop has taken out of the document comes back from its events.
func TestADropThatWasLostIsUndone(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	c := func(e checkpoints.Event) checkpoints.Change {
		e.Collection = 2
		return checkpoints.Change{Event: &e, End: position(e.Offset + 1), Seek: position(e.Offset + 1), ReadFrom: position(e.Offset + 1)}
	}
	l.ack(c(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 3, Name: "one", Schema: []byte("schema"), Partitions: map[int64]string{21: "p"}}))
	l.ack(c(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 8}))
	l.flush()
	d := l.stored()
	if d.Collections[2].Schema != nil || d.Collections[2].Dropped == nil {
		t.Fatalf("it was not dropped: %s", asJSON(d))
	}
	d, err := checkpoints.AcceptCutBack(t.Context(), b, v0, position(6), d.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Collections[2]; c.Dropped != nil || string(c.Schema) != "schema" || c.Name != "one" || c.Partitions[21].Name != "p" {
		t.Errorf("%s", asJSON(d))
	}
	// Another event may stand at the offset of one that was lost.
	l = begin(t, b)
	l.ack(c(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 8}))
	l.flush()
	for _, key := range []string{checkpoints.EventKey(v0.Name(), v0.TopicID, 8), checkpoints.EventKey(v0.Name(), checkpoints.LogName(v0.TopicID, 1), 8)} {
		if _, err := checkpoints.DecodeEvent(key, b.Data(key)); err != nil {
			t.Error(err)
		}
	}
	_, err = checkpoints.Rewind(t.Context(), b, v0, position(50))
	if !errors.Is(err, checkpoints.ErrForward) {
		t.Error(err)
	}
}
