//go:build unix

package proctest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"flowgraph/internal/archive"
	"flowgraph/sinks"
)

// archiveRoot is beside what Milvus has in the same bucket.
const archiveRoot = "archive"

// real Milvus, with its log in the stack's Kafka and its files in its MinIO.
type realMilvus struct {
	*real
	script string
	port   string
	rng    *rand.Rand
}

func newMilvus(t *testing.T) *realMilvus {
	if options.stack != "real" {
		t.Skip("no real Milvus: it is started with -stack real")
	}
	t.Logf("repeat with: go test ./internal/proctest -run '^%s$' -stack real -seed %d", t.Name(), options.seed)
	m := &realMilvus{script: filepath.Join(options.root, "testdata/real/milvus"), port: port(freeAddress(t)), rng: rand.New(rand.NewPCG(options.seed, 2))}
	out, err := exec.Command(m.script, "prepare").CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == absent {
		t.Skip(strings.TrimSpace(string(out)))
	}
	if err != nil {
		t.Fatalf("milvus prepare: %v\n%s", err, out)
	}
	m.real = newReal(t, "")
	c := spawn(t, m.dir, "milvus-server", m.script, "run", filepath.Join(m.dir, "milvus"), m.port, m.brokers, m.stores)
	t.Cleanup(func() { // it ends its own child when it is asked to
		c.signal(syscall.SIGTERM)
		<-c.done
	})
	await(t, func() string { return "Milvus does not begin:\n" + c.tail(20) }, func() bool { return !c.ended() && c.logged("ready "+m.port) })
	return m
}

// client runs the script that writes and compares.
func (m *realMilvus) client(name string, args ...string) *child {
	return spawn(m.t, m.dir, name, m.script, append([]string{"client", args[0], m.port}, args[1:]...)...)
}

// flowgraph runs the program on the bucket, with a root path of its own.
func (m *realMilvus) flowgraph(name string, args ...string) *child {
	return spawn(m.t, m.dir, name, binary(), append(args, "--s3-endpoint="+m.stores, "--s3-bucket="+bucketName, "--s3-root="+archiveRoot,
		"--s3-access-key="+access, "--s3-secret-key="+access)...)
}

// follow keeps a worker alive, killing it now and then, until the other child
// has ended and the archive is complete up to what that wrote down.
func (m *realMilvus) follow(writer *child) {
	run := func(n int) *child {
		return m.flowgraph(fmt.Sprintf("worker-%d", n), append([]string{"run", "--brokers=" + m.brokers, "--topics=/by-dev-rootcoord-dml_[0-9]+/", "--listen="}, quick()...)...)
	}
	n := 0
	for ; !writer.ended(); n++ {
		run(n).killAfter(time.Duration(1500+m.rng.IntN(4000)) * time.Millisecond)
	}
	writer.exits(0)
	worker := run(n)
	m.complete(worker, m.moments()[len(m.moments())-1].Until)
	m.t.Logf("the worker was killed %d times", n)
}

// complete waits until a worker has made the archive complete up to a moment.
func (m *realMilvus) complete(worker *child, until uint64) {
	bucket := m.bucket(archiveRoot)
	await(m.t, func() string { return "the archive does not become complete:\n" + worker.tail(20) }, func() bool {
		a, err := archive.Open(m.t.Context(), bucket)
		if err != nil {
			m.t.Fatal(err)
		}
		whole := len(a.VChannels()) > 0
		for _, v := range a.VChannels() {
			whole = whole && v.Doc != nil && v.Doc.Seek.Tick > until
		}
		return whole && !worker.ended()
	})
}

func (r *real) bucket(root string) *sinks.Bucket {
	cfg := sinks.Default()
	cfg.Endpoint, cfg.Bucket, cfg.Root, cfg.AccessKey, cfg.SecretKey = r.stores, bucketName, root, access, access
	b, err := sinks.NewBucket(cfg, zerolog.Nop(), sinks.Hooks{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(b.Close)
	return b
}

// noted is what the client saw at a moment.
type noted struct {
	Until       uint64                     `json:"until"`
	Collections map[string]json.RawMessage `json:"collections"`
}

func (m *realMilvus) notes() string { return filepath.Join(m.dir, "notes.json") }

func (m *realMilvus) moments() []noted {
	b, err := os.ReadFile(m.notes())
	if err != nil {
		m.t.Fatal(err)
	}
	var n struct {
		Moments []noted `json:"moments"`
	}
	if err := json.Unmarshal(b, &n); err != nil {
		m.t.Fatal(err)
	}
	return n.Moments
}

// restore begins to bring a collection back under a name with the suffix.
func (m *realMilvus) restore(collection, suffix string, until uint64) *child {
	return m.flowgraph("restore-"+collection+suffix, "restore", "--milvus=127.0.0.1:"+m.port, "--collection="+collection,
		"--as="+collection+suffix, fmt.Sprintf("--until=%d", until))
}

// Restored copies are compared by strongly consistent queries of all rows.
func TestARealMilvusGetsBackWhatItHadAtEachMoment(t *testing.T) {
	m := newMilvus(t)
	m.follow(m.client("writer", "write", m.notes(), fmt.Sprint(options.seed)))

	moments := m.moments()
	if len(moments) < 4 {
		t.Fatalf("%d moments were noted", len(moments))
	}
	for i, moment := range moments {
		suffix := fmt.Sprintf("_at%d", i)
		running := map[string]*child{}
		for name := range moment.Collections {
			running[name] = m.restore(name, suffix, moment.Until)
		}
		if i == 0 { // one of them is killed in the middle, and made again
			for name, c := range maps.All(running) {
				pause(time.Duration(200+m.rng.IntN(3000)) * time.Millisecond)
				c.kill()
				running[name] = m.restore(name, suffix, moment.Until)
				break
			}
		}
		for name, c := range running {
			code := c.exit()
			// The one that was killed may have been done: then its rows are in the way.
			if code != 0 && (i > 0 || !c.logged("has rows already")) {
				t.Errorf("restore of %s: exit code %d\n%s", name, code, c.tail(12))
			}
		}
		compared := m.client(fmt.Sprintf("compare-%d", i), "compare", m.notes(), fmt.Sprint(i), suffix)
		if code := compared.exit(); code != 0 {
			t.Errorf("moment %d, exit code %d:\n%s", i, code, compared.tail(60))
		}
		t.Logf("moment %d:\n%s", i, compared.tail(20))
	}
	for info, err := range m.bucket("flowgraph-restore").List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s was left on the stage", info.Key)
	}
}
