package cli

import "errors"

// hidden stands where a secret would.
const hidden = "(hidden)"

// Secret is a value that is shown nowhere. It is kept behind a pointer, so that
// not even %#v of a struct around it prints it.
type Secret struct{ value *string }

// NewSecret hides a value; an empty one is no secret at all.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{&value}
}

// Reveal returns the value, for the one place that logs in with it.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsSet tells whether there is a value.
func (s Secret) IsSet() bool { return s.value != nil }

// String is "(hidden)", or empty where there is no value.
func (s Secret) String() string {
	if s.value == nil {
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
