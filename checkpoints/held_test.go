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
	if len(d.Earlier) != 16 || d.Earlier[15].Offset != d.ReadFrom.Offset {
		t.Fatalf("%s", asJSON(d.Earlier))
	}
	for i, p := range d.Earlier {
		if held, ok := d.Held(p.Offset); !ok || held != p || i > 0 && p.Offset <= d.Earlier[i-1].Offset {
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
