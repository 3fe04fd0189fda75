package membucket_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

func put(t *testing.T, b *membucket.Bucket, data, etag string) (checkpoints.Info, error) {
	return b.Put(t.Context(), "k", checkpoints.Object{Parts: [][]byte{[]byte(data[:1]), []byte(data[1:])}},
		checkpoints.Condition{ETag: etag})
}

func TestConditionsAreHonouredOrNoTestOfFencingMeansAnything(t *testing.T) {
	b := membucket.New()
	if _, err := put(t, b, "zero", "nothing"); !errors.Is(err, checkpoints.ErrConflict) {
		t.Errorf("replaced what was not there: %v", err)
	}
	first, err := put(t, b, "first", "")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := put(t, b, "first", ""); err != nil || again.ETag != first.ETag {
		t.Errorf("a repeat: %v", err)
	}
	if _, err := put(t, b, "other", ""); !errors.Is(err, checkpoints.ErrConflict) {
		t.Errorf("created twice: %v", err)
	}
	second, err := put(t, b, "second", first.ETag)
	if err != nil || second.ETag == first.ETag {
		t.Fatalf("replaced: %v", err)
	}
	if _, err := put(t, b, "third", first.ETag); !errors.Is(err, checkpoints.ErrConflict) {
		t.Errorf("replaced by a stale version: %v", err)
	}
	if string(b.Data("k")) != "second" {
		t.Errorf("stored %q", b.Data("k"))
	}
}

func TestAHookFailsACallBeforeOrAfterItTookEffect(t *testing.T) {
	b, lost := membucket.New(), errors.New("lost")
	fail := func(context.Context, membucket.Call) error { return lost }
	b.Before(fail)
	if _, err := put(t, b, "first", ""); !errors.Is(err, lost) || b.Data("k") != nil {
		t.Errorf("before: %v, stored %q", err, b.Data("k"))
	}
	b.Before(nil)
	b.After(fail)
	if _, err := put(t, b, "first", ""); !errors.Is(err, lost) || b.Data("k") == nil {
		t.Errorf("after: %v, stored %q", err, b.Data("k"))
	}
	if n := len(b.Calls(membucket.Put, "k")); n != 2 {
		t.Errorf("%d calls counted", n)
	}
}

func TestListIsInKeyOrder(t *testing.T) {
	b := membucket.New()
	for _, key := range []string{"b/2", "a", "b/10", "c"} {
		b.Set(key, nil)
	}
	var keys []string
	for info, err := range b.List(t.Context(), "b/") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	if !slices.Equal(keys, []string{"b/10", "b/2"}) {
		t.Errorf("keys %v", keys)
	}
}
