package stages_test

import (
	"context"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/stages"
	"flowgraph/stages/column"
)

// line is the stages one behind the other, over a document in memory.
type line struct {
	t       testing.TB
	doc     *checkpoints.Document
	epoch   int64
	now     int64
	err     error        // of the last step
	slabs   stages.Slabs // so that what is not copied shows
	decoder *stages.Decoder
	filter  *stages.Filter
	buffer  *stages.Buffer
}

func newLine(t testing.TB, limits stages.Limits) *line {
	l := &line{t: t, doc: &checkpoints.Document{
		Version: checkpoints.Version, VChannel: v0.Name(), Topic: v0.Topic, TopicID: v0.TopicID, Owner: "test",
		Collections: map[int64]*checkpoints.Collection{}, Segments: map[int64]*checkpoints.Segment{},
	}}
	l.start(stages.BufferConfig{Limits: limits})
	return l
}

// start begins anew from the document.
func (l *line) start(config stages.BufferConfig) {
	l.t.Helper()
	l.epoch++
	names, err := checkpoints.NewNames(v0, l.epoch)
	if err != nil {
		l.t.Fatal(err)
	}
	config.Names, config.Pool = names, &column.Pool{}
	l.decoder = stages.NewDecoder(l.doc.ReadFrom)
	l.filter = stages.NewFilter(l.doc, func(_ context.Context, refs []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error) {
		return map[int64]checkpoints.Known{}, nil
	})
	if l.buffer, err = stages.NewBuffer(l.doc, config); err != nil {
		l.t.Fatal(err)
	}
}

func (l *line) poll(records ...stages.Record) []*stages.Cut {
	l.t.Helper()
	raw := l.slabs.Raw(len(records))
	for _, r := range records {
		headers := r.Headers
		r.Headers = nil
		raw.Add(r)
		for _, h := range headers {
			raw.AddHeader(h.Key, h.Value)
		}
	}
	return l.send(raw)
}

// send returns the cuts that a batch leads to; an error of a stage is kept.
func (l *line) send(raw *stages.Raw) (cuts []*stages.Cut) {
	l.t.Helper()
	ctx := context.Background()
	raw.Now = l.now
	packs, err := l.decoder.Step(ctx, raw)
	for i := 0; err == nil && i < len(packs); i++ {
		var parts []*stages.Pack
		parts, err = stages.Splitter{}.Step(ctx, packs[i])
		for j := 0; err == nil && j < len(parts); j++ {
			var kept []*stages.Pack
			if kept, err = l.filter.Step(ctx, parts[j]); err == nil {
				var more []*stages.Cut
				more, err = l.buffer.Step(ctx, kept[0])
				cuts = append(cuts, more...)
				kept[0].Release()
			}
		}
	}
	l.err = err
	return cuts
}
