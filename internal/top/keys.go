package top

import (
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"
)

// page is how far PgUp and PgDn go.
const page = 10

// key does what a key asks for; true: quit.
func (v *view) key(e *tcell.EventKey) bool {
	switch {
	case e.Key() == tcell.KeyCtrlC:
		return true
	case v.help:
		v.help = false
		return false
	case v.typing:
		v.typed(e)
		return false
	case v.doubt != nil:
		if e.Key() == tcell.KeyRune && e.Rune() == 'y' {
			v.wanted = v.doubt
		}
		v.doubt = nil
		return false
	}
	v.notice = ""
	switch e.Key() {
	case tcell.KeyUp:
		v.move(-1)
	case tcell.KeyDown:
		v.move(1)
	case tcell.KeyHome:
		v.move(-1 << 20)
	case tcell.KeyEnd:
		v.move(1 << 20)
	case tcell.KeyPgUp:
		v.scroll = max(0, v.scroll-page)
	case tcell.KeyPgDn:
		if _, one := v.one(); one != nil {
			v.scroll = max(0, min(v.scroll+page, len(one.Segments)-1))
		}
	case tcell.KeyTab, tcell.KeyBacktab:
		v.events = !v.events
	case tcell.KeyEscape:
		v.filter = ""
		v.settle()
	case tcell.KeyRune:
		return v.letter(e.Rune())
	}
	return false
}

func (v *view) letter(r rune) bool {
	switch r {
	case 'q':
		return true
	case '?', 'h':
		v.help = true
	case '/':
		v.typing = true
	case 'k':
		v.move(-1)
	case 'j':
		v.move(1)
	case 's':
		v.order = (v.order + 1) % (byName + 1)
	case 'z':
		v.tail = !v.tail
	case 'a':
		v.all = !v.all
	case 'f', 'p', 'r':
		v.want(r)
	}
	return false
}

// typed changes the filter.
func (v *view) typed(e *tcell.EventKey) {
	switch e.Key() {
	case tcell.KeyEnter:
		v.typing = false
	case tcell.KeyEscape:
		v.typing, v.filter = false, ""
	case tcell.KeyUp:
		v.move(-1)
		return
	case tcell.KeyDown:
		v.move(1)
		return
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		_, n := utf8.DecodeLastRuneInString(v.filter)
		v.filter = v.filter[:len(v.filter)-n]
	case tcell.KeyCtrlU:
		v.filter = ""
	case tcell.KeyRune:
		v.filter += string(e.Rune())
	}
	v.settle()
}
