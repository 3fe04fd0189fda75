//go:build unix

package proctest

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// crowd is up to three workers of one group to which anything may happen.
type crowd struct {
	*world
	args    []string
	members [3]*worker
	paused  [3]bool
	events  map[string]int
}

// Workers of one group are started, killed, paused, continued and stopped in
// an order drawn by chance, so that rebalances meet crashes and zombies.
func TestCrowdLosesOrDoublesRows(t *testing.T) {
	if options.kills < 100 {
		t.Skip("only in the long form, with -kills 100 or more")
	}
	w := newWorld(t)
	writer := w.writing(w.generated(map[string]int32{"by-dev-traffic-dml_0": 1, "traffic": 15}), 150)
	c := &crowd{
		world: w, args: append(quick(), "--topics="+everything, "--group=crowd", "--session-timeout=2s"),
		events: map[string]int{},
	}
	for range options.kills {
		c.happen(w.rng.IntN(len(c.members)))
		pause(time.Duration(w.rng.IntN(1500)) * time.Millisecond)
		w.follow()
	}
	writer.end()
	for i := range c.members {
		c.stop(i)
	}
	w.follow()
	t.Logf("%v survived, %d records written:\n%s", c.events, writer.sent.Load(), w.finish(c.args...))
}

// happen does one thing to one member.
func (c *crowd) happen(i int) {
	c.t.Helper()
	m := c.members[i]
	if m != nil && m.ended() {
		c.t.Fatalf("%s ended by itself with exit code %d:\n%s", m.name, m.code, m.tail(25))
	}
	switch n := c.rng.IntN(10); {
	case m == nil:
		c.events["starts"]++
		c.members[i] = c.worker(fmt.Sprintf("member%d", i), c.args...)
	case c.paused[i] && n < 7:
		c.paused[i] = false
		m.signal(syscall.SIGCONT)
	case n < 5:
		c.events["kills"]++
		m.kill()
		c.members[i], c.paused[i] = nil, false
	case n < 8:
		c.events["pauses"]++
		c.paused[i] = true
		m.signal(syscall.SIGSTOP)
	default:
		c.events["stops"]++
		c.stop(i)
	}
}

// stop ends a member orderly.
func (c *crowd) stop(i int) {
	c.t.Helper()
	m := c.members[i]
	if m == nil {
		return
	}
	m.signal(syscall.SIGCONT)
	// Before that it does not heed signals.
	await(c.t, saying("%s does not start", m.name), func() bool { return m.ended() || m.logged("worker starts") })
	m.signal(syscall.SIGTERM)
	m.exits(0)
	c.members[i], c.paused[i] = nil, false
}
