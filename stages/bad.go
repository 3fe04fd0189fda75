package stages

import "strings"

// BadKind sorts bad records into a few kinds, for metrics; a BadRecord's
// Reason has the words.
type BadKind string

const (
	BadEmpty     BadKind = "empty"        // no value
	BadUnknown   BadKind = "unknown_type" // a message type or version that no release known here sends
	BadMalformed BadKind = "malformed"    // no message, or one without what every one has
	BadMisplaced BadKind = "misplaced"    // its segment belongs to another collection or partition
	BadMisfit    BadKind = "misfit"       // the columns do not fit the schema, or one another
)

// BadKinds lists all of them.
var BadKinds = []BadKind{BadEmpty, BadUnknown, BadMalformed, BadMisplaced, BadMisfit}

// kindOf is the kind of a record that was found bad before the buffer, by how
// the decoder's and the filter's words begin.
func kindOf(reason string) BadKind {
	switch {
	case strings.HasPrefix(reason, "empty: "):
		return BadEmpty
	case strings.HasPrefix(reason, "unknown message "), strings.HasPrefix(reason, "unknown WAL "), strings.HasPrefix(reason, "WAL message type "):
		return BadUnknown
	case strings.HasPrefix(reason, "segment "):
		return BadMisplaced
	}
	return BadMalformed
}
