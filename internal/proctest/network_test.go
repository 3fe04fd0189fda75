//go:build unix

package proctest

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// network is what workers reach broker and store through.
type network struct{ broker, store *line }

// line is the way to one of them.
type line struct {
	t     *testing.T
	name  string
	proxy *toxiproxy.Proxy
}

// newNetwork starts a stack whose workers reach it through lines that a test
// can spoil; this process goes past them.
func newNetwork(t *testing.T) (*world, *network) {
	t.Helper()
	// Before the broker starts, which sends its clients there.
	toBroker := freeAddress(t)
	s := newStack(t, toBroker)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	n := &network{
		broker: newLine(t, server, "broker", toBroker, s.broker()),
		store:  newLine(t, server, "store", freeAddress(t), s.store()),
	}
	return worldOn(t, s, toBroker, n.store.proxy.Listen), n
}

func newLine(t *testing.T, server *toxiproxy.ApiServer, name, listen, upstream string) *line {
	t.Helper()
	l := &line{t: t, name: name, proxy: toxiproxy.NewProxy(server, name, listen, upstream)}
	l.mend()
	t.Cleanup(l.proxy.Stop)
	return l
}

// cut ends all connections; new ones are refused.
func (l *line) cut() { l.proxy.Stop() }

// mend accepts connections again.
func (l *line) mend() {
	l.t.Helper()
	if err := l.proxy.Start(); err != nil {
		l.t.Fatalf("the line to the %s: %v", l.name, err)
	}
}

// toxic is what happens to the bytes of one direction of a line's connections.
type toxic struct {
	Type       string           `json:"type"`
	Stream     string           `json:"stream"`   // upstream or downstream
	Toxicity   float32          `json:"toxicity"` // share of the connections, each drawn by chance
	Attributes map[string]int64 `json:"attributes"`
}

// poison begins one; only one of a type and direction can be.
func (l *line) poison(x toxic) {
	l.t.Helper()
	spec, err := json.Marshal(x)
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.proxy.Toxics.AddToxicJson(bytes.NewReader(spec)); err != nil {
		l.t.Fatalf("%s on the line to the %s: %v", spec, l.name, err)
	}
}

// cure ends all of them. Connections whose bytes were lost are closed.
func (l *line) cure() { l.proxy.Toxics.ResetToxics(context.Background()) }
