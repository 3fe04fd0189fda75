package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time, written with a unit: 500ms, 10s, 1h30m, 30d.
type Duration time.Duration

const durationSentence = "write a number with a unit, as in 500ms, 10s, 5m, 24h or 30d"

// UnmarshalText reads a duration. A number without a unit and a negative one
// are refused.
func (d *Duration) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	v, err := parseDuration(in)
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

// parseDuration also knows days, of 24 hours.
func parseDuration(in string) (time.Duration, error) {
	days, ok := strings.CutSuffix(in, "d")
	if !ok {
		return time.ParseDuration(in)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	return time.Duration(n) * 24 * time.Hour, err
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
