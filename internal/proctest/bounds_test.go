//go:build unix

package proctest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// bounds run commands with what the README says they need, and with less.
type bounds struct {
	*guarded
	words map[string]grants
	runs  int
	began []refused
}

// tolerated is the right that a worker runs without, though it complains.
const tolerated = "try"

// refused is a command that has one right less than it needs.
type refused struct {
	*child
	command, less string
}

// begin starts a command that may do what have says and is told of what tell
// names.
func (b *bounds) begin(c trial, tell, have needs) *child {
	b.t.Helper()
	args := slices.Clone(c.args)
	if c.more != nil {
		args = append(args, c.more()...)
	}
	if len(tell.kafka) > 0 {
		args = append(args, b.kafkaUser(have.kafka)...)
	}
	if len(tell.bucket) > 0 {
		text := must(json.Marshal(policyOf(b.t, b.words, have.bucket)))
		args = append(args, b.bucketUser(string(text))...)
	}
	b.runs++
	return spawn(b.t, b.dir, fmt.Sprintf("command-%d", b.runs), binary(), args...)
}

// forbid begins a command with each of its rights less that it cannot do
// without.
func (b *bounds) forbid(name string, c trial, n needs) {
	b.t.Helper()
	all := n.without()
	for _, less := range slices.Sorted(maps.Keys(all)) {
		if less == tolerated {
			continue
		}
		p := b.begin(c, n, all[less])
		b.began = append(b.began, refused{p, name, less})
		if less == "mark" { // else it finds the mark of one that may not remove
			p.exit()
		}
	}
}

// refusals waits until everything that was forbidden has told what it lacks.
func (b *bounds) refusals() {
	b.t.Helper()
	for _, r := range b.began {
		want := regexp.MustCompile(lacks(r.command, r.less))
		waits := r.less == "Read on group" // a worker goes on as soon as it has it
		if waits {
			await(b.t, func() string { return r.tail(12) }, func() bool { return r.ended() || want.MatchString(r.tail(12)) })
			r.kill()
		}
		if code := r.exit(); code == 0 {
			b.t.Errorf("%s needs no %s", r.command, r.less)
		} else if !want.MatchString(r.tail(1)) {
			b.t.Errorf("%s without %s: %q is not in\n%s", r.command, r.less, want, r.tail(1))
		}
	}
	b.began = nil
}

// allow runs a command with what it needs.
func (b *bounds) allow(name string, c trial, n needs) {
	b.t.Helper()
	p := b.begin(c, n, n)
	code := p.exit()
	if refusal := strings.Contains(p.tail(1000), "AccessDenied"); code != 0 || refusal {
		b.t.Errorf("%s with %v and %v: exit code %d\n%s", name, n.kafka, n.bucket, code, p.tail(12))
	} else if c.achieved != nil {
		c.achieved()
	}
	less, has := n.without()[tolerated]
	if !has {
		return
	}
	p = b.begin(c, n, less)
	if want := regexp.MustCompile(lacks(name, tolerated)); p.exit() != 0 || !want.MatchString(p.tail(1000)) {
		b.t.Errorf("%s without %s: exit code %d, or %q is not in\n%s", name, tolerated, p.code, want, p.tail(12))
	}
}
