package stages

import "context"

// Splitter cuts packs so that each holds either rows or one event, in log
// order.
type Splitter struct{}

// Step returns the pack itself if it holds no event.
func (Splitter) Step(_ context.Context, in *Pack) ([]*Pack, error) {
	var out []*Pack
	start, hold, from := in.Start, in.Hold, 0
	for i := range in.Messages {
		event := in.Messages[i].Event
		if event == nil {
			continue
		}
		if i > from {
			out = append(out, &Pack{
				Start: start, End: event.Position, Hold: hold, HoldAfter: event.Start,
				Messages: in.Messages[from:i], LogTime: event.LogTime, Now: in.Now, Open: in.Open,
			})
		}
		out = append(out, &Pack{
			Start: event.Position, End: event.End, Hold: event.Start, HoldAfter: event.After,
			Event: event, LogTime: event.LogTime, Now: in.Now, Open: in.Open,
		})
		start, hold, from = event.End, event.After, i+1
	}
	if from == 0 {
		return []*Pack{in}, nil
	}
	// The rest carries what concerns the poll as a whole: signal, memory, counts.
	rest := *in
	rest.Start, rest.Hold, rest.Messages = start, hold, in.Messages[from:]
	return append(out, &rest), nil
}
