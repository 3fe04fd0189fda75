package manpage

import "strings"

// roff gathers a document. What it takes as text may hold anything; what it
// takes as a line is roff already.
type roff struct{ b strings.Builder }

func (r *roff) line(s string) {
	r.b.WriteString(s)
	r.b.WriteByte('\n')
}

// macro writes a request with its arguments, each as one word.
func (r *roff) macro(name string, args ...string) {
	line := "." + name
	for _, a := range args {
		line += ` "` + strings.ReplaceAll(text(a), `"`, `\(dq`) + `"`
	}
	r.line(line)
}

// paragraphs writes text whose paragraphs are parted by empty lines.
func (r *roff) paragraphs(s string) {
	for i, p := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			r.macro("PP")
		}
		r.line(guarded(text(strings.Join(strings.Fields(p), " "))))
	}
}

// term writes a head, which is roff, and its meaning indented below it.
func (r *roff) term(head, meaning string) {
	r.macro("TP")
	r.line(head)
	r.line(guarded(text(meaning)))
}

// text keeps the signs that roff would take for its own: backslashes, and
// hyphens, quotes, carets and tildes, which are typographic unless escaped.
func text(s string) string {
	return strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, `^`, `\(ha`, `~`, `\(ti`, "`", `\(ga`).Replace(s)
}

// guarded keeps a line that begins with a dot from being a request.
func guarded(s string) string {
	if strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}
