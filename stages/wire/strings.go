package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Strings is a message whose field 1 repeats byte strings.
type Strings struct {
	body  []byte
	count int
}

// newStrings checks the whole message, so that All cannot fail.
func newStrings(body []byte) (Strings, error) {
	s := Strings{body: body}
	if body == nil {
		s.body = []byte{}
	}
	for b := body; len(b) > 0; {
		if x, n := head(b); n > 0 && b[0] == 1<<3|piece {
			s.count++
			b = b[n+int(x):]
			continue
		}
		num, v, n, err := next(b)
		if err != nil {
			return Strings{}, err
		}
		if num == 1 && v.typ == protowire.BytesType {
			s.count++
		}
		b = b[n:]
	}
	return s, nil
}

// Len is the number of strings.
func (s Strings) Len() int { return s.count }

// UTF8 says whether all of them are, as protobuf's strings and Milvus' texts
// have to be.
func (s Strings) UTF8() bool {
	for v := range s.All {
		if !utf8.Valid(v) {
			return false
		}
	}
	return true
}

// All yields the strings as views.
func (s Strings) All(yield func([]byte) bool) {
	for b := s.body; len(b) > 0; {
		if x, n := head(b); n > 0 && b[0] == 1<<3|piece {
			end := n + int(x)
			if !yield(b[n:end]) {
				return
			}
			b = b[end:]
			continue
		}
		num, v, n, err := next(b)
		if err != nil || num == 1 && v.typ == protowire.BytesType && !yield(v.bytes) {
			return
		}
		b = b[n:]
	}
}
