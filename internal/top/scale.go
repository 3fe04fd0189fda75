package top

import (
	"math"

	"flowgraph/flows"
)

// scale places offsets on an axis of so many cells.
type scale struct {
	from, to float64
	width    int
	bend     float64 // what lies before it is compressed into the first cells
	at       int     // so many; 0: nothing is compressed
}

// newScale spans the log from its start, or with tail from where reading would
// begin again. What is stored for long may be a thousand times what is not:
// then the part that moves gets most of the axis.
func newScale(c *flows.FlowStatus, tail bool, width int) scale {
	live := float64(min(c.ReadFrom, c.Seek))
	end := float64(max(c.LogEnd, c.Read))
	s := scale{from: float64(c.LogStart), to: end, width: width}
	if tail {
		s.from = live
	}
	if s.to-s.from < 10 {
		s.to = s.from + 10
	}
	margin := max(5, 0.08*(end-live))
	if !tail && end > live && end-live+margin < 0.4*(s.to-s.from) {
		s.bend, s.at = live-margin, width/3
	}
	return s
}

// x is the cell of an offset, from 0 to width: it may lie just behind the end.
func (s scale) x(offset int64) float64 {
	v := float64(offset)
	if s.at == 0 {
		return (v - s.from) / (s.to - s.from) * float64(s.width)
	}
	if v < s.bend {
		return (v - s.from) / (s.bend - s.from) * float64(s.at)
	}
	return float64(s.at) + (v-s.bend)/(s.to-s.bend)*float64(s.width-s.at)
}

// cell is the one that an offset's mark stands in.
func (s scale) cell(offset int64) int {
	return min(s.width-1, max(0, int(s.x(offset))))
}

// cover gives the cells [a, b) of a range. One that is not empty has a cell at
// least, if it is on the axis at all.
func (s scale) cover(from, to int64) (a, b int) {
	if to <= from || s.x(to) < 0 || s.x(from) > float64(s.width) {
		return 0, 0
	}
	a = s.cell(from)
	b = min(s.width, int(math.Ceil(s.x(to)-1e-9)))
	return a, max(b, a+1)
}

// ticks are round offsets, one in about every so many cells.
func (s scale) ticks(apart int) []int64 {
	if s.at == 0 {
		return rounds(s.from, s.to, s.width/apart)
	}
	return append(rounds(s.from, s.bend-(s.bend-s.from)*float64(apart)/float64(max(1, s.at)), s.at/apart),
		rounds(s.bend, s.to, (s.width-s.at)/apart)...)
}

// rounds are at most so many round numbers in a range.
func rounds(from, to float64, most int) []int64 {
	if most < 1 || to <= from {
		return nil
	}
	rough := max(1, (to-from)/float64(most))
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	step := power * 10
	for _, m := range []float64{5, 2, 1} {
		if m*power >= rough {
			step = m * power
		}
	}
	var out []int64
	for t := math.Ceil(from/step) * step; t <= to; t += step {
		out = append(out, int64(t))
	}
	return out
}
