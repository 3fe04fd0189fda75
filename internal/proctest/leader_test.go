//go:build unix

package proctest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/devstack"
)

// Partitions move between three brokers while a worker reads, and while it is
// killed; with real ones the group's coordinator does too.
func TestALeaderThatMovesLosesOrDoublesRows(t *testing.T) {
	s, move := newCluster(t)
	w := worldOn(t, s, s.broker(), s.store())
	writer := w.writing(w.generated(map[string]int32{"traffic": 6}), 150)
	args := append(quick(), "--topics=traffic", "--session-timeout=2s")
	p := w.worker("worker", args...)
	w.shared(p)
	moves, kills := 0, 0
	for i := range 2 + options.kills/10 {
		if options.stack == "real" && i == 2+options.kills/50 {
			break // a broker takes seconds to come back
		}
		writer.written(50)
		moves += move()
		writer.written(50)
		w.follow()
		if i%2 == 1 {
			if options.stack == "embedded" { // it may keep a member for ever that is killed while it joins
				w.shared(p)
			}
			p.kill()
			kills++
			p = w.worker("worker", args...)
		}
	}
	w.shared(p)
	writer.end()
	p.signal(syscall.SIGTERM)
	p.exits(0)
	w.follow()
	t.Logf("%d moves of leaders, %d kills, %d records written:\n%s", moves, kills, writer.sent.Load(), w.finish(args...))
}

// newCluster starts three brokers. move makes leaders move and says how many.
func newCluster(t *testing.T) (s stack, move func() int) {
	t.Helper()
	if options.stack == "real" {
		return newRealCluster(t)
	}
	b, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	e := &embedded{t: t, dir: t.TempDir(), kafka: b, brokers: b.Addr(), stores: freeAddress(t)}
	t.Cleanup(func() {
		e.killBroker()
		e.killStore()
	})
	e.startStore()
	for range 2 {
		if _, _, err := b.Cluster().AddNode(-1, 0); err != nil {
			t.Fatal(err)
		}
	}
	return e, func() (moved int) {
		before := map[int32]int32{}
		for id := range int32(6) {
			before[id] = b.Cluster().LeaderFor("traffic", id)
		}
		b.Cluster().ShufflePartitionLeaders()
		for id, leader := range before {
			if b.Cluster().LeaderFor("traffic", id) != leader {
				moved++
			}
		}
		return moved
	}
}

// newRealCluster starts three nodes. Those but the first are killed in turn,
// and come back: they lead some of the partitions each time.
func newRealCluster(t *testing.T) (stack, func() int) {
	id := make([]byte, 16)
	rand.Read(id)
	var nodes [3]*child
	start := func(int) {}
	r := newRealWith(t, "", func(r *real) {
		listens, controllers := []string{r.brokers, freeAddress(t), freeAddress(t)}, []string{r.controller, freeAddress(t), freeAddress(t)}
		var voters []string
		for i, c := range controllers {
			voters = append(voters, fmt.Sprintf("%d@%s", i+1, c))
		}
		dirs := []string{filepath.Join(r.dir, "kafka"), filepath.Join(r.dir, "kafka-2"), filepath.Join(r.dir, "kafka-3")}
		for i, dir := range dirs {
			more := fmt.Sprintf("node.id=%d\ncontroller.quorum.voters=%s\n", i+1, strings.Join(voters, ",")) +
				"default.replication.factor=3\nmin.insync.replicas=2\noffsets.topic.replication.factor=3\n" +
				"broker.session.timeout.ms=4000\nbroker.heartbeat.interval.ms=500\n"
			err := os.MkdirAll(dir, 0o755)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "more.properties"), []byte(more), 0o644)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "format.args"), []byte("-t\n"+base64.RawURLEncoding.EncodeToString(id)+"\n"), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		start = func(i int) {
			nodes[i] = spawn(t, r.dir, fmt.Sprintf("kafka-broker-%d", i+1), filepath.Join(r.scripts, "kafka"), "run", dirs[i], port(listens[i]), port(controllers[i]))
		}
		start(1)
		start(2)
	})
	c, err := kgo.NewClient(kgo.SeedBrokers(r.broker()), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	client := kadm.NewClient(c)
	live := func(want int) func() bool {
		return func() bool {
			brokers, err := client.ListBrokers(t.Context())
			return err == nil && len(brokers) == want
		}
	}
	await(t, saying("the nodes do not find each other"), live(3))
	next := 1
	return r, func() int {
		topics, err := client.ListTopics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		led := 0
		for _, p := range topics["traffic"].Partitions {
			if p.Leader == int32(next+1) {
				led++
			}
		}
		nodes[next].kill()
		await(t, saying("the node is not missed"), live(2))
		start(next)
		await(t, saying("the node does not come back"), func() bool {
			topics, err := client.ListTopics(t.Context())
			if err != nil || !live(3)() {
				return false
			}
			for _, p := range topics["traffic"].Partitions {
				if len(p.ISR) < 3 {
					return false
				}
			}
			return true
		})
		next = 3 - next
		return led
	}
}
