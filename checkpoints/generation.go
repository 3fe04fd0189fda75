package checkpoints

import "strconv"

// cutVersion is the version of a document whose log was cut back: a release
// that does not know of it would take records of the tail that is there now
// for stored ones.
const cutVersion = 2

// CutBack is where a log lost its end, after that was read, and went on with
// other records. Below it the log is what it was.
type CutBack struct {
	TopicID string   `json:"topic_id"`
	At      Position `json:"at"`    // its tick is one before it, perhaps not the last one
	Epoch   int64    `json:"epoch"` // of the claim that accepted it
}

// Generation is how often the log had been cut back when the document was
// stored. Offsets of different generations are comparable below the cuts
// between them alone.
func (d *Document) Generation() int {
	n := 0
	for _, c := range d.CutBacks {
		if c.TopicID == d.TopicID {
			n++
		}
	}
	return n
}

// Kept is the end of what the log has now of what it had in a generation
// below end.
func (d *Document) Kept(generation int, end Position) Position {
	return d.KeptOf(d.TopicID, generation, end)
}

// KeptOf is Kept of any log of the topic that the document tells of.
func (d *Document) KeptOf(topicID string, generation int, end Position) Position {
	n := 0
	for _, c := range d.CutBacks {
		if c.TopicID != topicID {
			continue
		}
		if n++; n > generation {
			end = end.Earlier(c.At)
		}
	}
	return end
}

// EndOf is the end below which a segment's rows of the log as it is now are
// persisted. d is the segment's document, or that of its manifest's vchannel.
func (d *Document) EndOf(s *Segment) Position { return d.Kept(s.Generation, s.End) }

// Holds says whether the log still has what an event of a generation, at this
// offset, stood in.
func (d *Document) Holds(topicID string, generation int, offset int64) bool {
	at := Position{Offset: After(offset)}
	return d.KeptOf(topicID, generation, at).Offset == at.Offset
}

// formatVersion is the lowest version of the format that tells all of d.
func (d *Document) formatVersion() int {
	if len(d.CutBacks) > 0 {
		return cutVersion
	}
	return Version
}

// LogName is how keys name one generation of a log: of two records at one
// offset both are kept.
func LogName(topicID string, generation int) string {
	if generation == 0 {
		return topicID
	}
	return topicID + "." + strconv.Itoa(generation)
}
