package cli

import (
	"errors"
	"fmt"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"flowgraph/internal/reread"
)

// hidden stands where a secret would.
const hidden = "(hidden)"

// Secret is a value that is shown nowhere. It is kept behind a pointer, so that
// not even %#v of a struct around it prints it.
type Secret struct{ held *held }

type held struct {
	value string
	file  string // that it was read from, "" if it was given itself
}

// secretFile is what the parser is given for a secret that lies in a file.
type secretFile struct{ path, text string }

// NewSecret hides a value; an empty one is no secret at all.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{&held{value: value}}
}

// Reveal returns the value, for the one place that logs in with it.
func (s Secret) Reveal() string {
	if s.held == nil {
		return ""
	}
	return s.held.value
}

// Source returns a function that gives the value as it is at the time: a file
// is read again each time, so that what lies in it may be replaced while the
// process runs. A new file that cannot be used is logged under the setting's
// name, and the old value stays.
func (s Secret) Source(setting string, log zerolog.Logger) func() string {
	if s.held == nil || s.held.file == "" {
		return s.Reveal
	}
	text, err := reread.Text(s.held.file, func(err error) {
		if err != nil {
			log.Warn().Err(err).Str("setting", setting).Msg("the file of a secret cannot be used; the old one stays")
			return
		}
		log.Info().Str("setting", setting).Str("file", s.held.file).Msg("a secret was read again")
	})
	if err != nil { // it was readable a moment ago
		log.Warn().Err(err).Str("setting", setting).Msg("the file of a secret cannot be read any more; it is not read again")
		return s.Reveal
	}
	return text.Get
}

// IsSet tells whether there is a value.
func (s Secret) IsSet() bool { return s.held != nil }

// String is "(hidden)", or empty where there is no value.
func (s Secret) String() string {
	if s.held == nil {
		return ""
	}
	return hidden
}

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String, for every encoder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes the value. What --print-config writes in its place is
// refused, or a printed configuration would log in with it.
func (s *Secret) UnmarshalText(text []byte) error {
	if string(text) == hidden {
		return errors.New("this is what --print-config writes in the place of a secret: give the secret itself")
	}
	*s = NewSecret(string(text))
	return nil
}

// Decode takes the value from the parser, which may hand on a file.
func (s *Secret) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("secret")
	if err != nil {
		return err
	}
	if f, ok := token.Value.(secretFile); ok {
		if err := s.UnmarshalText([]byte(f.text)); err != nil {
			return err
		}
		if s.held == nil {
			return fmt.Errorf("%s is empty", f.path)
		}
		s.held.file = f.path
		return nil
	}
	text, ok := token.Value.(string)
	if !ok {
		return errors.New("a secret is text")
	}
	return s.UnmarshalText([]byte(text))
}
