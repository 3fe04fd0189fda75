package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/sinks"
)

// crowd is a worker made up of numbers.
type crowd struct {
	mu     sync.Mutex
	now    flows.Picture
	events []flows.Event
	store  sinks.Waiting
	looks  int
}

func (c *crowd) Status() []flows.FlowStatus  { return c.Look(context.Background()).VChannels }
func (c *crowd) Ready() bool                 { return true }
func (c *crowd) Refused() (time.Time, error) { return time.Time{}, nil }
func (c *crowd) Kafka() flows.KafkaStatus    { return c.Look(context.Background()).Worker.Kafka }

func (c *crowd) Look(context.Context) *flows.Picture {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	p := c.now
	p.At = time.Now()
	return &p
}

func (c *crowd) Events(after uint64, limit int) flows.Events {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := flows.Events{Events: []flows.Event{}, Last: uint64(len(c.events))}
	for _, e := range c.events {
		if e.Seq > after && len(out.Events) < limit {
			out.Events = append(out.Events, e)
		}
	}
	return out
}

func (c *crowd) Waiting() sinks.Waiting {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store
}

// change alters the crowd between two looks.
func (c *crowd) change(f func(*crowd)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Pictures that were handed out share these.
	c.now.VChannels = append([]flows.FlowStatus{}, c.now.VChannels...)
	c.now.Segments = append([]flows.SegmentStatus{}, c.now.Segments...)
	f(c)
}

// serve returns the address of the crowd's page.
func (c *crowd) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(web.Handler(web.Options{
		Worker: c, Store: c, Metrics: prometheus.NewRegistry(), Log: zerolog.Nop(),
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// behindSwitch is serve with a server that can be away.
func (c *crowd) behindSwitch(t *testing.T) (*atomic.Bool, string) {
	t.Helper()
	away := &atomic.Bool{}
	next := web.Handler(web.Options{Worker: c, Store: c, Metrics: prometheus.NewRegistry(), Log: zerolog.Nop()})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(rw, "nobody is here", http.StatusBadGateway)
			return
		}
		next.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	return away, server.URL + "/"
}

// newCrowd makes vchannels with so many segments in all.
func newCrowd(vchannels, segments int) *crowd {
	c := &crowd{store: sinks.Waiting{Store: "http://127.0.0.1:9000/a-bucket"}}
	now := time.Now()
	answered := now
	c.now.Worker = flows.WorkerStatus{
		Started: now.Add(-time.Hour), Ready: true, Phase: "running", MemoryBudget: 1 << 30, MemoryUsed: 300 << 20,
		Kafka: flows.KafkaStatus{Brokers: []string{"127.0.0.1:9092"}, Group: "flowgraph", Topics: []string{"by-dev.*"}, Answered: &answered},
	}
	for v := range vchannels {
		n := segments / vchannels
		if v < segments%vchannels {
			n++
		}
		c.add(v, n, now)
	}
	return c
}

// add makes one vchannel with n segments.
func (c *crowd) add(v, n int, now time.Time) {
	base := int64(1000 * (v + 1))
	f := flows.FlowStatus{
		VChannel: fmt.Sprintf("by-dev-rootcoord-dml_%d-0", v), State: "running", Since: now.Add(-time.Hour), Epoch: int64(1 + v%5), Owner: "OWNER",
		LogStart: 0, ReadFrom: base + 20, Seek: base + 40, Read: base + 900, LogEnd: base + 960, Lag: 920,
		Segments: n, Buffered: 1 << 20, LastCommit: now.Add(-2 * time.Second), SeekTime: now.Add(-8 * time.Second),
	}
	for i := range n {
		s := flows.SegmentStatus{
			VChannel: f.VChannel, ID: fmt.Sprint(470799708227000000 + v*1000 + i), Collection: fmt.Sprintf("collection_%d", (v+i)%40),
			Partition: "_default", PartitionID: "1", Level: "L1", State: "normal", Rows: int64(1000 + 37*i + v), Bytes: int64(64 << (10 + i%8)),
			BufferedRows: 100, BufferedBytes: 1 << 15,
			Start: at(base - int64(i)), PersistedEnd: at(base + 40 + int64(10*i)), BufferedEnd: at(base + 900), Position: at(base + 40 + int64(10*i)),
			FirstRow: ptr(now.Add(-time.Duration(i+1) * time.Minute)), LastRow: ptr(now), BufferedSince: ptr(now.Add(-time.Minute)),
			LastFlush: &flows.LastFlush{At: now.Add(-time.Duration(i) * time.Second), Reason: "buffer_stale", Rows: 10, Bytes: 2000, TookMS: 12},
		}
		if i == 0 {
			s.Pins = true
			f.Held = &flows.Held{By: "buffer", Segment: s.ID, Offset: *s.Position, Text: "it has rows in the buffer"}
		}
		if i%5 == 4 {
			s.Level, s.Partition, s.PartitionID = "L0", "(all)", "-1"
		}
		c.now.Segments = append(c.now.Segments, s)
	}
	c.now.VChannels = append(c.now.VChannels, f)
}

func at(n int64) *int64 { return &n }
func ptr[T any](v T) *T { return &v }
