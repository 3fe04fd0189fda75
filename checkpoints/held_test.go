package checkpoints_test

import (
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

func TestADocumentForgetsFromWhereItWasRead(t *testing.T) {
	b := membucket.New()
	for offset := int64(0); offset < 40; offset += 2 {
		l := begin(t, b)
		l.ack(moved(offset, nil))
		l.flush()
	}
	l := begin(t, b)
	d, _, err := checkpoints.Load(t.Context(), b, v0.Name())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Earlier) != 16 || d.Earlier[15].ReadFrom.Offset != d.ReadFrom.Offset {
		t.Fatalf("%s", asJSON(d.Earlier))
	}
	for i, e := range d.Earlier {
		p := e.ReadFrom
		if held, ok := d.Held(p.Offset); !ok || held != p || i > 0 && p.Offset <= d.Earlier[i-1].ReadFrom.Offset {
			t.Errorf("%d: %+v", i, p)
		}
	}
	if _, ok := d.Held(d.ReadFrom.Offset - 1); ok {
		t.Error("an offset between positions is held")
	}
	l.flush()
	other := v0
	other.TopicID = "second-topic"
	if d, err = checkpoints.AcceptLog(t.Context(), b, other, 3, nil); err != nil || len(d.Earlier) > 0 {
		t.Errorf("%v: positions of the old log are kept: %s", err, asJSON(d.Earlier))
	}
}

// A message at 3 and its repeat at 9: the worker reads from 7 again. Where the
// reading began a repeat below its seek position is persisted; elsewhere
// nobody knows.
func TestARewindBetweenAMessageAndItsRepeatDoublesIt(t *testing.T) {
	b := membucket.New()
	move := func(readFrom, seek int64) {
		l, c := begin(t, b), moved(seek, nil)
		c.ReadFrom = at(readFrom)
		l.ack(c)
		l.flush()
	}
	move(7, 10)
	move(7, 12)
	move(20, 30)
	begin(t, b)
	for to, want := range map[int64]int64{7: 12, 20: 30, 5: 30, 0: 0} {
		c := membucket.New()
		for _, key := range b.Keys("") {
			c.Set(key, b.Data(key))
		}
		d, err := checkpoints.Rewind(t.Context(), c, v0, at(to))
		if err != nil || d.ReadFrom.Offset != to || d.Seek.Offset != want {
			t.Errorf("rewound to %d: %v %s, want the seek position %d", to, err, asJSON(d), want)
		}
	}
}
