package archive

import "context"

// Tail lists the segments of a vchannel that hold rows or deletes from an
// offset of its log on, with their names; a segment that begins before it also
// holds others.
func (a *Archive) Tail(ctx context.Context, vchannel string, offset int64) ([]*Segment, error) {
	if err := a.LoadHistory(ctx); err != nil {
		return nil, err
	}
	var tail []*Segment
	doc := a.doc(vchannel)
	for s, err := range a.Segments(ctx) {
		if err != nil {
			return nil, err
		}
		if doc != nil && s.VChannel == vchannel && s.TopicID == doc.TopicID && s.Rows > 0 && a.end(s).Offset > offset {
			tail = append(tail, s)
		}
	}
	return tail, nil
}
