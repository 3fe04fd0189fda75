//go:build unix

package proctest

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"flowgraph/internal/devstack"
)

// stack is a broker and an object store that can be taken away and come back
// with what they had stored.
type stack interface {
	broker() string // host:port
	store() string  // host:port
	killBroker()
	startBroker()
	killStore()
	startStore()
}

// newStack starts what the option names; it ends with the test. The broker
// sends its clients to the advertised address, if that is not empty.
func newStack(t *testing.T, advertise string) stack {
	t.Helper()
	switch options.stack {
	case "embedded":
		return newEmbedded(t, advertise)
	case "real":
		return newReal(t, advertise)
	}
	t.Fatalf("-stack %s: it is embedded or real", options.stack)
	return nil
}

// embedded are broker and store in this process.
type embedded struct {
	t       *testing.T
	dir     string
	kafka   *devstack.Broker
	s3      *devstack.Store
	brokers string
	stores  string
	told    string // by the broker of itself; "": its address
}

func newEmbedded(t *testing.T, advertise string) *embedded {
	e := &embedded{t: t, told: advertise, dir: t.TempDir(), brokers: freeAddress(t), stores: freeAddress(t)}
	t.Cleanup(func() {
		e.killBroker()
		e.killStore()
	})
	e.startBroker()
	e.startStore()
	return e
}

func (e *embedded) broker() string { return e.brokers }
func (e *embedded) store() string  { return e.stores }

func (e *embedded) startBroker() {
	b, err := devstack.StartBroker(devstack.BrokerConfig{
		Dir: filepath.Join(e.dir, "kafka"), Listen: e.brokers, Advertise: e.told, ConsumerSession: 2 * time.Second,
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.kafka = b
}

func (e *embedded) killBroker() {
	if e.kafka != nil {
		e.kafka.Close()
		e.kafka = nil
	}
}

func (e *embedded) startStore() {
	s, err := devstack.StartBucket(e.t.Context(), devstack.BucketConfig{Dir: filepath.Join(e.dir, "s3"), Listen: e.stores})
	if err != nil {
		e.t.Fatal(err)
	}
	e.s3 = s
}

func (e *embedded) killStore() {
	if e.s3 != nil {
		if err := e.s3.Close(); err != nil {
			e.t.Error(err)
		}
		e.s3 = nil
	}
}

// freeAddress is one that nobody listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
