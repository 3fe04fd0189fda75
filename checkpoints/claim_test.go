package checkpoints_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

func TestTwoClaimsOfOneHostNeverShareAnEpoch(t *testing.T) {
	b := membucket.New()
	var other *checkpoints.Store
	raced := false
	b.Before(func(ctx context.Context, c membucket.Call) (err error) {
		// A second start loads the same document and claims first.
		if c.Op == membucket.Put && c.Key == checkpoints.DocumentKey(v0.Name()) && !raced {
			raced = true
			other, _, err = checkpoints.Claim(ctx, b, v0, 0)
		}
		return err
	})
	store, doc, err := checkpoints.Claim(t.Context(), b, v0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if other.Epoch() != 1 || store.Epoch() != 2 {
		t.Errorf("epochs %d and %d, want 1 and 2", other.Epoch(), store.Epoch())
	}
	_, err = other.Commit(t.Context(), doc)
	wantError(t, err, checkpoints.ErrFenced)
	if _, err := store.Commit(t.Context(), doc); err != nil {
		t.Errorf("the later claim cannot commit: %v", err)
	}
}

func TestEveryClaimMakesOtherNames(t *testing.T) {
	b := membucket.New()
	seen := map[any]bool{}
	for range 3 {
		l := begin(t, b)
		before := ""
		for range 1000 {
			logID, id := l.names.LogID(), l.names.SegmentID()
			if seen[logID] || seen[id] {
				t.Fatalf("%s or %d made twice", logID, id)
			}
			if len(logID) != 18 || logID <= before || id>>62 != 1 {
				t.Fatalf("log ID %s after %s, segment ID %x", logID, before, id)
			}
			seen[logID], seen[id], before = true, true, logID
		}
		if l.store.Names() != l.names {
			t.Fatal("a second counter for one epoch")
		}
	}
}

func TestNamesOfPartitionsAndTopicsDiffer(t *testing.T) {
	seen := map[int64]bool{}
	for _, v := range []checkpoints.VChannel{
		{Topic: "t", Partition: 0, TopicID: "a"}, {Topic: "t", Partition: 1, TopicID: "a"}, {Topic: "t", Partition: 0, TopicID: "b"},
	} {
		n, err := checkpoints.NewNames(v, 1)
		if err != nil {
			t.Fatal(err)
		}
		seen[n.SegmentID()] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d segment IDs for three logs", len(seen))
	}
}

func TestTheLastEpochIsRefusedNotWrapped(t *testing.T) {
	b := membucket.New()
	doc := strings.Replace(valid, `"epoch":1,`, `"epoch":9999999,`, 1)
	b.Set(checkpoints.DocumentKey(v0.Name()), []byte(doc))
	_, _, err := checkpoints.Claim(t.Context(), b, v0, 0)
	wantError(t, err, checkpoints.ErrEpoch)
	if string(b.Data(checkpoints.DocumentKey(v0.Name()))) != doc {
		t.Error("the document was written")
	}
	if _, err := checkpoints.NewNames(v0, checkpoints.MaxEpoch+1); err == nil {
		t.Error("an epoch of eight digits has names")
	}
}

func TestALostDocumentIsNotAFreshStart(t *testing.T) {
	b := membucket.New()
	begin(t, b)
	b.Remove(checkpoints.DocumentKey(v0.Name()))
	_, _, err := checkpoints.Claim(t.Context(), b, v0, 0)
	wantError(t, err, checkpoints.ErrDocumentLost)
	if b.Data(checkpoints.DocumentKey(v0.Name())) != nil {
		t.Error("a document was written")
	}
}

func TestADocumentBornWhileLookingIsNotALostOne(t *testing.T) {
	b := membucket.New()
	raced := false
	b.Before(func(ctx context.Context, c membucket.Call) (err error) {
		if c.Op == membucket.Stat && !raced {
			raced = true
			_, _, err = checkpoints.Claim(ctx, b, v0, 0)
		}
		return err
	})
	store, _, err := checkpoints.Claim(t.Context(), b, v0, 0)
	if err != nil || store.Epoch() != 2 {
		t.Fatalf("claim: %v", err)
	}
}

func TestTheBornMarkComesAfterTheDocument(t *testing.T) {
	b := membucket.New()
	down := errors.New("down")
	b.Before(refuse(membucket.Put, checkpoints.BornKey(v0.Name()), down))
	_, _, err := checkpoints.Claim(t.Context(), b, v0, 0)
	wantError(t, err, down)
	b.Before(nil)
	if l := begin(t, b); l.doc.Epoch != 2 || b.Data(checkpoints.BornKey(v0.Name())) == nil {
		t.Errorf("epoch %d, keys %v", l.doc.Epoch, b.Keys(""))
	}
}

func TestARecreatedTopicStopsWithBothIDs(t *testing.T) {
	b := membucket.New()
	begin(t, b)
	other := v0
	other.TopicID = "second-topic"
	_, _, err := checkpoints.Claim(t.Context(), b, other, 0)
	wantError(t, err, checkpoints.ErrTopicRecreated)
	for _, want := range []string{"first-topic", "second-topic"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

func TestAnUnreadableDocumentIsNeverAFreshStart(t *testing.T) {
	for name, fail := range map[string]error{
		"403": checkpoints.ErrRefused, "time-out": context.DeadlineExceeded,
	} {
		b := membucket.New()
		b.Before(refuse(membucket.Get, "checkpoints/", fail))
		_, _, err := checkpoints.Claim(t.Context(), b, v0, 200)
		if !errors.Is(err, fail) || len(b.Keys("")) > 0 {
			t.Errorf("%s: error %v, keys %v", name, err, b.Keys(""))
		}
	}
	b := membucket.New()
	b.Set(checkpoints.DocumentKey(v0.Name()), []byte(valid[:100]))
	_, _, err := checkpoints.Claim(t.Context(), b, v0, 200)
	wantError(t, err, checkpoints.ErrInvalid)
	if n := len(b.Calls(membucket.Put, "")); n > 0 {
		t.Errorf("%d objects were put over a truncated document", n)
	}
}

func TestAVChannelWithoutADocumentBeginsAtTheLogsStart(t *testing.T) {
	_, d, err := checkpoints.Claim(t.Context(), membucket.New(), v0, 50)
	if err != nil || d.ReadFrom.Offset != 50 || d.Seek.Offset != 50 {
		t.Fatalf("%v: reads from %d", err, d.ReadFrom.Offset)
	}
}

func TestAClaimKeepsPositionsAndForgetsOnlyUnpersistedAutoSegments(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	mine, unmet := l.names.SegmentID(), l.names.SegmentID()
	l.ack(l.rows(auto(mine, 0, 4), 2))
	met := moved(4, nil)
	met.New = []checkpoints.Segment{auto(unmet, 4, 0), segment(7, 4, 0)}
	l.ack(met)
	l.flush()
	if s := l.stored().Segments[unmet]; s == nil || s.State != checkpoints.New {
		t.Fatalf("the segment met is %v", s)
	}
	next := begin(t, b)
	if next.doc.Segments[unmet] != nil || next.doc.Segments[mine] == nil || next.doc.Segments[7] == nil {
		t.Errorf("segments after the claim: %s", asJSON(next.doc.Segments))
	}
	if next.doc.Seek.Offset != 4 || next.doc.Epoch != 2 || next.doc.Sequence != 0 {
		t.Errorf("claimed document %s", asJSON(next.doc))
	}
}
