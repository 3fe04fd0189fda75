package top

import "strings"

// canvas is one line of single cells that are drawn over one another.
type canvas struct {
	cells []rune
	marks []mark
}

func newCanvas(width int, r rune, m mark) canvas {
	c := canvas{cells: make([]rune, width), marks: make([]mark, width)}
	c.fill(0, width, r, m)
	return c
}

// fill draws over the cells [a, b).
func (c canvas) fill(a, b int, r rune, m mark) {
	for i := max(0, a); i < min(b, len(c.cells)); i++ {
		c.cells[i], c.marks[i] = r, m
	}
}

// span draws over the cells of the offsets [from, to).
func (c canvas) span(s scale, from, to int64, r rune, m mark) {
	a, b := s.cover(from, to)
	c.fill(a, b, r, m)
}

// free tells whether nothing was written from a on, with a cell between.
func (c canvas) free(a, length int) bool {
	if a < 0 || a+length > len(c.cells) {
		return false
	}
	for i := max(0, a-1); i < min(a+length+1, len(c.cells)); i++ {
		if c.cells[i] != ' ' {
			return false
		}
	}
	return true
}

// write puts a text of single cells at a, if there it is free.
func (c canvas) write(a int, text string, m mark) bool {
	runes := []rune(text)
	if !c.free(a, len(runes)) {
		return false
	}
	for i, r := range runes {
		c.cells[a+i], c.marks[a+i] = r, m
	}
	return true
}

// line joins neighbours of one mark.
func (c canvas) line() line {
	var out line
	for a := 0; a < len(c.cells); {
		b := a
		for b < len(c.cells) && c.marks[b] == c.marks[a] {
			b++
		}
		out = out.and(c.marks[a], string(c.cells[a:b]))
		a = b
	}
	return out
}

func (c canvas) blank() bool { return strings.TrimSpace(string(c.cells)) == "" }
