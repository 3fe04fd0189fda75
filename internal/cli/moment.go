package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Moment is a hybrid timestamp: physical milliseconds << 18 or'ed with a
// counter. 0 is none.
type Moment uint64

// counterBits of a hybrid timestamp.
const counterBits = 18

// leastHybrid is the hybrid timestamp of the year 2001. Smaller numbers are
// seconds or milliseconds that somebody took for one.
const leastHybrid = 1_000_000_000_000 << counterBits

// UnmarshalText reads RFC 3339, in UTC where no zone is named, or a hybrid
// timestamp as it is. A time is the beginning of its millisecond.
func (m *Moment) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	if n, err := strconv.ParseUint(in, 10, 64); err == nil {
		if n < leastHybrid || n > math.MaxInt64 {
			return fmt.Errorf("%d is no hybrid timestamp (milliseconds << %d); write a time as %s", n, counterBits, timeExample)
		}
		*m = Moment(n)
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, in); err == nil {
			if t.UnixMilli() <= 0 {
				return errors.New("a time before 1970")
			}
			*m = Moment(uint64(t.UnixMilli()) << counterBits)
			return nil
		}
	}
	return fmt.Errorf("neither a time as %s (UTC without a zone) nor a hybrid timestamp", timeExample)
}

const timeExample = "2026-11-29T13:20:00Z"

// String writes what UnmarshalText reads, or nothing.
func (m Moment) String() string {
	if m == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(m), 10)
}
