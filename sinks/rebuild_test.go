package sinks_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
	"flowgraph/sinks"
	"flowgraph/sinks/binlog"
)

// sealedUnsettled is a segment of two flushes whose compound statistics are
// still to be made; lost is the key of the first flush's own, and its keys.
func sealedUnsettled(t *testing.T, filter binlog.FilterKind) (b *membucket.Bucket, seg *checkpoints.Segment, lost string, keys []string) {
	t.Helper()
	b = membucket.New()
	died := errors.New("died")
	l := beginLife(t, b, func(o *checkpoints.Options) {
		o.Compound = func(context.Context, *checkpoints.Segment, map[string]string) error { return died }
	})
	l.shared.Filter = filter
	keys = []string{"b", "", "a longer key", "a"}
	cut := l.flush(keyField, false, keys...)
	l.flush(keyField, true, "z")
	if err := l.end(); !errors.Is(err, died) {
		t.Fatal(err)
	}
	doc, _, err := checkpoints.Load(t.Context(), b, "t-0")
	if err != nil {
		t.Fatal(err)
	}
	return b, doc.Segments[segmentID], checkpoints.StatsLogKey(1, 2, segmentID, keyField, cut.LogID), keys
}

// A segment whose statistics were lost could never leave the document, and its
// vchannel never go on; a filter that denies a key would hide deletes of it.
func TestLostStatisticsAreMadeAnewFromTheKeys(t *testing.T) {
	for name, damage := range map[string]func(whole string) string{
		"missing":       func(string) string { return "" },
		"truncated":     func(whole string) string { return whole[:50] },
		"two":           func(whole string) string { return "[" + whole + "," + whole + "]" },
		"one in a list": func(whole string) string { return "[" + whole + "]" },
		"other field":   func(whole string) string { return strings.Replace(whole, "100", "101", 1) },
	} {
		for _, filter := range []binlog.FilterKind{binlog.BlockedFilter, binlog.BasicFilter} {
			b, seg, lost, keys := sealedUnsettled(t, filter)
			whole := string(b.Data(lost))
			b.Set(lost, []byte(damage(whole)))
			if damage(whole) == "" {
				b.Remove(lost)
			}
			if err := sinks.PutCompound(t.Context(), b, seg, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			stats, err := binlog.ReadKeyStats(b.Data(compoundKey))
			if err != nil || len(stats) != 2 || stats[0].Kind != filter {
				t.Fatalf("%s: %+v, %v", name, stats, err)
			}
			for _, key := range keys {
				if !stats[0].MayHold([]byte(key)) {
					t.Errorf("%s: the key %q is denied", name, key)
				}
			}
			if string(stats[0].Min) != "" || string(stats[0].Max) != "b" || stats[0].MayHold([]byte("aa")) {
				t.Errorf("%s: it says %+v", name, stats[0])
			}
			// The same keys give the same bytes, so two lives do not disagree.
			if !bytes.Contains(b.Data(compoundKey), []byte(whole)) || string(b.Data(lost)) != damage(whole) {
				t.Errorf("%s: other statistics than those that were lost, or these were rewritten", name)
			}
		}
	}
}

func TestLostStatisticsAreToldOnceTheyAreMadeAnew(t *testing.T) {
	b, seg, lost, _ := sealedUnsettled(t, binlog.BlockedFilter)
	b.Remove(lost)
	l := &keyLife{t: t, shared: sinks.NewShared(b, nil, 1, 1)}
	var told []string
	l.shared.Rebuilt = func(key string, why error) {
		if told = append(told, key); !errors.Is(why, checkpoints.ErrNotExist) {
			t.Error(why)
		}
	}
	if err := l.shared.Compound(t.Context(), seg, nil); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || told[0] != lost {
		t.Errorf("told of %v", told)
	}
}

// The object was made before the loss, by a life with another kind of filter.
func TestCompoundStatisticsOfBeforeALossStay(t *testing.T) {
	b, seg, lost, _ := sealedUnsettled(t, binlog.BlockedFilter)
	if err := sinks.PutCompound(t.Context(), b, seg, nil); err != nil {
		t.Fatal(err)
	}
	whole := b.Data(compoundKey)
	other := bytes.Replace(whole, []byte(`"maxPk":"b"`), []byte(`"maxPk":"by"`), 1)
	for name, c := range map[string]struct {
		stored []byte
		want   error
	}{
		"another filter": {other, nil}, "a key denied": {bytes.Replace(whole, []byte(`"maxPk":"b"`), []byte(`"maxPk":"a"`), 1), checkpoints.ErrConflict},
		"another flush changed": {bytes.Replace(other, []byte(`"maxPk":"z"`), []byte(`"maxPk":"zz"`), 1), checkpoints.ErrConflict},
		"one flush":             {bytes.Clone(b.Data(lost)), checkpoints.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			stats := b.Data(lost)
			defer b.Set(lost, stats)
			b.Set(compoundKey, c.stored)
			b.Remove(lost)
			if err := sinks.PutCompound(t.Context(), b, seg, nil); !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			if !bytes.Equal(b.Data(compoundKey), c.stored) {
				t.Error("it was replaced")
			}
		})
	}
}

// Without the keys there is nothing to make statistics of.
func TestStatisticsAreNotMadeOfOtherKeys(t *testing.T) {
	b, seg, lost, _ := sealedUnsettled(t, binlog.BlockedFilter)
	b.Remove(lost)
	first, second := seg.DataKeys(seg.Logs[0].ID)[2], seg.DataKeys(seg.Logs[1].ID)[2]
	for name, data := range map[string][]byte{"missing": nil, "damaged": b.Data(first)[:100], "of another flush": b.Data(second)} {
		b.Set(first, data)
		want := binlog.ErrCorrupt
		if data == nil {
			b.Remove(first)
			want = checkpoints.ErrNotExist
		}
		err := sinks.PutCompound(t.Context(), b, seg, nil)
		if !errors.Is(err, want) || b.Data(compoundKey) != nil || !strings.Contains(err.Error(), lost) || !strings.Contains(err.Error(), first) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
