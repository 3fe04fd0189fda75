package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written with a unit: 64MiB, 1GiB, 500kB, 10B.
type Size int64

const sizeSentence = "write a number with a unit, as in 512KiB, 64MiB or 1GiB"

type unit struct {
	name  string
	bytes float64
}

// units in the order in which a size is written: the first that divides it.
func units() []unit {
	return []unit{
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
	}
}

// UnmarshalText reads a size. A number without a unit is refused, except 0: it
// would be bytes to one reader and megabytes to another.
func (s *Size) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	if in == "0" {
		*s = 0
		return nil
	}
	digits := strings.TrimRight(in, "kKMGTiIbB ")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return fmt.Errorf("%q is not a size: %s", in, sizeSentence)
	}
	if n < 0 {
		return fmt.Errorf("%q is negative: %s", in, sizeSentence)
	}
	name := strings.TrimSpace(in[len(digits):])
	if name == "" {
		return fmt.Errorf("%q has no unit: %s", in, sizeSentence)
	}
	for _, u := range units() {
		if strings.EqualFold(name, u.name) {
			if n*u.bytes >= math.MaxInt64 {
				return errors.New("the size is larger than any machine's memory")
			}
			*s = Size(n * u.bytes)
			return nil
		}
	}
	return fmt.Errorf("%q has an unknown unit: %s", in, sizeSentence)
}

// String writes the size exactly, with the largest unit that divides it.
func (s Size) String() string {
	for _, u := range units() {
		if n := int64(u.bytes); s != 0 && int64(s)%n == 0 {
			return strconv.FormatInt(int64(s)/n, 10) + u.name
		}
	}
	return "0"
}
