package web_test

import (
	"fmt"
	"testing"
	"time"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/internal/web/webtest"
)

// crowd is a worker with many vchannels.
type crowd struct{ *webtest.Worker }

// serve returns the address of the crowd's page.
func (c *crowd) serve(t *testing.T) string {
	t.Helper()
	return c.Serve(t, web.Options{})
}

// newCrowd makes vchannels with so many segments in all.
func newCrowd(vchannels, segments int) *crowd {
	c, now := &crowd{webtest.New()}, time.Now()
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
		c.Now.Segments = append(c.Now.Segments, s)
	}
	c.Now.VChannels = append(c.Now.VChannels, f)
}

func at(n int64) *int64 { return &n }
func ptr[T any](v T) *T { return &v }
