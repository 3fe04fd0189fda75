package stages_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages"
)

// source answers one after the other, and counts.
type source struct {
	answers []func() (*stages.Given, error)
	asked   int
}

func (s *source) Given(context.Context, int64) (*stages.Given, error) {
	s.asked++
	return s.answers[min(s.asked, len(s.answers))-1]()
}

func gives(raw []byte) func() (*stages.Given, error) {
	return func() (*stages.Given, error) {
		return &stages.Given{Schema: raw, Name: "docs", Partitions: map[int64]string{11: "p11", 12: "empty"}, Doubtful: true, From: "a source"}, nil
	}
}

func fails(err error) func() (*stages.Given, error) {
	return func() (*stages.Given, error) { return nil, err }
}

// oldRow is a row of a collection that is older than the log.
func oldRow(offset int64) stages.Record {
	r := row(7).at(offset)
	r.ts = 1 << 40
	return r.record()
}

func older(t *testing.T, s stages.SchemaSource) *line {
	l := newLine(t, flushEach())
	l.start(stages.BufferConfig{Limits: flushEach(), Schemas: s})
	return l
}

func apply(t *testing.T, l *line, cuts []*stages.Cut) {
	t.Helper()
	for _, c := range cuts {
		if err := l.doc.Apply(c.Change); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASchemaThatIsAskedForEntersTheDocumentBeforeAnyRowUnderIt(t *testing.T) {
	s := &source{answers: []func() (*stages.Given, error){gives(marshal(schemaOf(0)))}}
	l := older(t, s)
	cuts := l.poll(oldRow(5), oldRow(6))
	if l.err != nil {
		t.Fatal(l.err)
	}
	if e := cuts[0].Change.Event; e == nil || !e.Given || e.Offset != 5 || e.Name != "docs" || e.Timestamp == 0 || e.Partitions[12] != "empty" || len(cuts[0].Columns) > 0 {
		t.Fatalf("the first cut holds %+v", cuts[0].Change)
	}
	apply(t, l, cuts)
	c := l.doc.Collections[1]
	if c.Name != "docs" || c.SchemaOffset != 5 || c.Partitions[12].Name != "empty" {
		t.Errorf("the document has %+v", c)
	}
	// Whatever the source says later, what the document has counts.
	l.start(stages.BufferConfig{Limits: flushEach(), Schemas: s})
	l.poll(oldRow(8))
	if l.err != nil || s.asked != 1 {
		t.Errorf("asked %d times, %v", s.asked, l.err)
	}
	if got := l.doc.Segments[7]; got.Rows != 2 || got.Start.Offset != 5 {
		t.Errorf("the segment is %+v", got)
	}
}

// A life that ends between the answer and its commit has stored no row.
func TestAnAnswerThatWasNotCommittedIsAskedForAgain(t *testing.T) {
	other := schemaOf(0)
	other.Fields = append(other.Fields, &schemapb.FieldSchema{FieldID: 300, Name: "later", DataType: schemapb.DataType_Int64, Nullable: true})
	s := &source{answers: []func() (*stages.Given, error){gives(marshal(schemaOf(0))), gives(marshal(other))}}
	l := older(t, s)
	l.poll(oldRow(5))
	l.start(stages.BufferConfig{Limits: flushEach(), Schemas: s})
	apply(t, l, l.poll(oldRow(5)))
	if l.err != nil || s.asked != 2 || len(l.doc.Events) != 1 || string(l.doc.Events[0].Schema) != string(marshal(other)) {
		t.Errorf("asked %d times, %v, %+v", s.asked, l.err, l.doc.Events)
	}
}

func TestASourceThatDoesNotAnswerIsToldFromOneThatHasNothing(t *testing.T) {
	for _, want := range []error{stages.ErrNoAnswer, stages.ErrUnknownCollection} {
		l := older(t, &source{answers: []func() (*stages.Given, error){fails(fmt.Errorf("somewhere: %w", want))}})
		if cuts := l.poll(oldRow(5)); !errors.Is(l.err, want) || len(cuts) > 0 || !strings.Contains(l.err.Error(), "collection 1 at offset 5") {
			t.Errorf("%v, %d cuts", l.err, len(cuts))
		}
	}
	if l := older(t, nil); l.poll(oldRow(5)) != nil || !errors.Is(l.err, stages.ErrUnknownCollection) {
		t.Error(l.err)
	}
}

// All rows would go to quarantine under a schema that is not theirs.
func TestADoubtfulSchemaThatTheFirstRowDoesNotFitIsNotTaken(t *testing.T) {
	wrong := schemaOf(0)
	wrong.Fields = append(wrong.Fields, &schemapb.FieldSchema{FieldID: 300, Name: "other", DataType: schemapb.DataType_Int64})
	s := &source{answers: []func() (*stages.Given, error){gives(marshal(wrong))}}
	l := older(t, s)
	if cuts := l.poll(oldRow(5)); !errors.Is(l.err, stages.ErrUnknownCollection) || len(cuts) > 0 || !strings.Contains(l.err.Error(), "a source gives a schema") {
		t.Errorf("%v, %d cuts", l.err, len(cuts))
	}
	given := func() (*stages.Given, error) { return &stages.Given{Schema: marshal(wrong)}, nil }
	l = older(t, &source{answers: []func() (*stages.Given, error){given}})
	cuts := append(l.poll(oldRow(5)), l.send(&stages.Raw{Signal: stages.Idle})...) // of a file: whoever wrote it decides
	if l.err != nil || len(cuts) != 2 || cuts[0].Change.Event == nil || len(cuts[1].Bad) != 1 {
		t.Errorf("%v, %d cuts", l.err, len(cuts))
	}
}
