package cli

import (
	"fmt"
	"strings"
	"time"
)

// Duration is a length of time, written with a unit: 500ms, 10s, 1h30m.
type Duration time.Duration

const durationSentence = "write a number with a unit, as in 500ms, 10s, 5m or 24h"

// UnmarshalText reads a duration. A number without a unit and a negative one
// are refused.
func (d *Duration) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	v, err := time.ParseDuration(in)
	switch {
	case err != nil && strings.Trim(in, "0123456789.") == "" && in != "":
		return fmt.Errorf("%q has no unit: %s", in, durationSentence)
	case err != nil:
		return fmt.Errorf("%q is not a duration: %s", in, durationSentence)
	case v < 0:
		return fmt.Errorf("%q is negative: %s", in, durationSentence)
	}
	*d = Duration(v)
	return nil
}

// String writes the duration without units that are zero: 10m, not 10m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
