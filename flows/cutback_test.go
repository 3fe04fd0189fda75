package flows

import (
	"context"
	"errors"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
	"flowgraph/stages"
)

// Where two logs part is where the last epoch ends that both have; a later one
// that was read says that it is not behind where that began.
func TestWhereALogWasCutBack(t *testing.T) {
	at := func(offset int64, epoch int32) checkpoints.Position {
		return checkpoints.Position{Offset: offset, LeaderEpoch: epoch}
	}
	for _, c := range []struct {
		name         string
		reached, was checkpoints.Position
		last         int32
		end          int64
		err          error
		want         int64 // -1: it was not cut back
		failure      error
	}{
		{"the same", at(90, 5), at(50, 3), 5, 90, nil, -1, nil},
		{"grown", at(90, 5), at(50, 3), 5, 200, nil, -1, nil},
		{"within its last epoch", at(90, 5), at(50, 3), 5, 70, nil, 70, nil},
		{"before its last epoch", at(90, 5), at(50, 3), 3, 40, nil, 40, nil},
		{"to a leader that had written more of the epoch before", at(90, 5), at(60, 4), 3, 80, nil, 60, nil},
		{"all", at(90, 5), at(50, 3), 5, 0, nil, 0, nil},
		{"by brokers without epochs", at(90, 5), at(50, 3), 0, 0, errNoLineage, -1, ErrNoEpochs},
		{"when it was read without epochs", at(90, -1), at(50, -1), 0, 0, nil, -1, ErrNoEpochs},
		{"while the broker is away", at(90, 5), at(50, 3), 0, 0, errKilled, -1, errKilled},
	} {
		d := &checkpoints.Document{TopicID: "id", Reached: c.reached, Seek: c.was, ReadFrom: c.was}
		ask := func(context.Context, int32) (int32, int64, error) { return c.last, c.end, c.err }
		got, cut, err := findCut(t.Context(), ask, Log{End: 85}, d)
		switch {
		case !errors.Is(err, c.failure) || c.failure == nil && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case err == nil && (cut != (c.want >= 0) || cut && got.Offset != c.want):
			t.Errorf("%s: cut %v at %+v", c.name, cut, got)
		}
	}
}

// The log that was read has another end than the one that is there now: it is
// gone on with from the cut, and what was below it is not stored again.
func TestOtherRecordsAtStoredOffsetsAreStoredOnceAccepted(t *testing.T) {
	m := membucket.New()
	both := [][]byte{createCollection(collectionID), insert(7, 1, 10), insert(0, 2, 10)}
	was := append(both[:3:3], insert(7, 3, 10), insert(0, 4, 10), tick(9))
	is := append(both[:3:3], insert(0, 33, 10), insert(7, 44, 10), insert(8, 55, 10))
	if err := flowAlone(m, stages.DefaultLimits(), was).Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	again := func() *Flow {
		f := flowAlone(m, stages.DefaultLimits(), is)
		f.Lineage = func(_ context.Context, epoch int32) (int64, error) {
			if epoch > 0 {
				return 6, nil
			}
			return 3, nil
		}
		return f
	}
	if err := again().Run(t.Context(), t.Context()); !errors.Is(err, ErrCutBack) {
		t.Fatal(err)
	}
	f := again()
	d, _, err := checkpoints.Load(t.Context(), m, f.VChannel.Name())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoints.AcceptCutBack(t.Context(), m, f.VChannel, checkpoints.Position{Offset: 3}, d.Epoch, 0); err != nil {
		t.Fatal(err)
	}
	f.Lineage = nil // the flow's records have no other epoch
	if err := f.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	want := archive.NewExpected()
	for i, value := range is {
		want.Add(recording.Record{Topic: topic, Offset: int64(i), Value: value})
	}
	report, err := archive.Check(t.Context(), m, want, archive.CheckOptions{})
	if err != nil || report.Err() != nil || report.Rows != want.Rows || report.CutOff != 2 {
		t.Errorf("%v\n%s", err, report)
	}
}
