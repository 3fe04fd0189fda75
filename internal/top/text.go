package top

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"
)

// mark is how a stretch of text is meant; without colours it shows as bold,
// dim or reversed, and what must be told apart has cells of its own besides.
type mark int

const (
	plain mark = iota
	dim
	strong
	good
	warn
	bad
	persistedMark
	flyingMark
	bufferedMark
	seekMark
	chosen // the selected line
)

// stretch is text of one mark.
type stretch struct {
	text string
	mark mark
}

// line is one line of a frame. What it says is clean: see clean.
type line []stretch

func say(m mark, text string) line { return line{{text, m}} }

// and adds a stretch.
func (l line) and(m mark, text string) line { return append(l, stretch{text, m}) }

// width is in cells of a terminal.
func (l line) width() int {
	n := 0
	for _, s := range l {
		n += cells(s.text)
	}
	return n
}

func cells(text string) int { return uniseg.StringWidth(text) }

// clean makes text from outside harmless: no control character, line break,
// or mark that turns the direction of writing reaches the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp), r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, text)
}

// clip cuts a text that is wider than so many cells.
func clip(text string, width int) string {
	if cells(text) <= width {
		return text
	}
	if width <= 0 {
		return ""
	}
	out, used, state := strings.Builder{}, 0, -1
	for text != "" {
		var cluster string
		var w int
		cluster, text, w, state = uniseg.FirstGraphemeClusterInString(text, state)
		if used+w > width-1 {
			break
		}
		out.WriteString(cluster)
		used += w
	}
	return out.String() + "…"
}

// padded is a text of exactly so many cells.
func padded(text string, width int) string {
	text = clip(text, width)
	return text + strings.Repeat(" ", max(0, width-cells(text)))
}

// right is padded on the left.
func right(text string, width int) string {
	text = clip(text, width)
	return strings.Repeat(" ", max(0, width-cells(text))) + text
}

// fit makes a line exactly so wide.
func (l line) fit(width int) line {
	var out line
	left := width
	for _, s := range l {
		if w := cells(s.text); w > left {
			s.text = clip(s.text, left)
		}
		left -= cells(s.text)
		out = append(out, s)
		if left <= 0 {
			return out
		}
	}
	return out.and(plain, strings.Repeat(" ", left))
}

// wrapped breaks a text at spaces into lines of at most so many cells.
func wrapped(text string, width int) []string {
	var out []string
	now := ""
	for _, word := range strings.Fields(text) {
		for cells(word) > width && width > 1 { // an address, say
			if now != "" {
				out, now = append(out, now), ""
			}
			head := strings.TrimSuffix(clip(word, width), "…")
			out, word = append(out, head), word[len(head):]
		}
		switch {
		case now == "":
			now = word
		case cells(now)+1+cells(word) <= width:
			now += " " + word
		default:
			out, now = append(out, now), word
		}
	}
	if now != "" {
		out = append(out, now)
	}
	return out
}

// count writes a number with its thousands apart.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// size writes a number of bytes.
func size(n int64) string {
	v, unit := float64(n), 0
	for ; v >= 1024 && unit < 5; unit++ {
		v /= 1024
	}
	digits := 0
	if unit > 0 && v < 100 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, v, [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}[unit])
}

// lasting writes how long something took or is ago.
func lasting(d time.Duration) string {
	s := max(0, d).Seconds()
	switch {
	case s < 60:
		return fmt.Sprintf("%.0f s", s)
	case s < 3600:
		return fmt.Sprintf("%.0f min", s/60)
	case s < 36000:
		return fmt.Sprintf("%.1f h", s/3600)
	case s < 172800:
		return fmt.Sprintf("%.0f h", s/3600)
	}
	return fmt.Sprintf("%.0f d", s/86400)
}

func clock(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// plural is "1 call" or "2 calls".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(int64(n)) + " " + what + "s"
}
