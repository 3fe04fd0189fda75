package web

import (
	"errors"
	"strings"
	"testing"
	"time"

	"flowgraph/flows"
	"flowgraph/sinks"
	"flowgraph/stages"
)

// A probe that fails for what a restart cannot cure kills workers in a circle;
// one that does not fail for a stuck flow leaves it stuck for ever.
func TestHealthFailsForAStuckFlowAndForNothingOutside(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	running := flows.FlowStatus{VChannel: "a-0", State: "running", Since: *ago(time.Hour), Epoch: 1, Read: 9, LogEnd: 9}
	with := func(edit func(*flows.FlowStatus)) []flows.FlowStatus {
		f := running
		f.VChannel = "b-0"
		edit(&f)
		return []flows.FlowStatus{running, f}
	}
	for _, c := range []struct {
		name    string
		o       observed
		healthy bool
		says    string // "": nothing to tell
	}{
		{"all moves", observed{flows: []flows.FlowStatus{running}}, true, ""},
		{"nothing is assigned", observed{}, true, ""},
		{"idle for a day", observed{flows: with(func(f *flows.FlowStatus) { f.SeekMoved = *ago(24 * time.Hour) })}, true, ""},
		{"slow, within its time", observed{flows: with(func(f *flows.FlowStatus) { f.Read, f.Stalled = 5, *ago(time.Minute) })}, true, ""},
		{"stuck", observed{flows: with(func(f *flows.FlowStatus) { f.Read, f.Stalled, f.Stuck = 5, *ago(10 * time.Minute), true })}, false,
			"b-0 makes no progress since 2026-01-02T02:54:05Z: the log ends at 9, read is up to 5"},
		{"stuck before it is claimed", observed{flows: with(func(f *flows.FlowStatus) { f.State, f.Stalled, f.Stuck = "claiming", *ago(10 * time.Minute), true })}, false,
			"b-0 makes no progress since 2026-01-02T02:54:05Z: it is not claimed"},
		{"somebody has paused one", observed{flows: with(func(f *flows.FlowStatus) {
			f.State, f.Read, f.Pause, f.WaitsFor = "paused", 5, &flows.Pause{Since: *ago(time.Minute), By: "192.0.2.1"}, "somebody to resume them"
		})}, true, "b-0 is paused since 2026-01-02T03:03:05Z, as asked for by 192.0.2.1"},
		{"stopped", observed{flows: with(func(f *flows.FlowStatus) { f.State, f.Error = "stopped", "data loss" })}, false, "b-0 stopped since 2026-01-02T02:04:05Z: data loss"},
		{"a time tick is wrong", observed{flows: with(func(f *flows.FlowStatus) {
			f.LeftOut = &stages.LeftOut{Tick: 1 << 59, TickOffset: 4, First: 5, Since: 1000, Until: 91000, Records: 300}
		})}, true, "b-0: 300 records from offset 5 on, 1m30s of the log, are below the time tick 576460752303423488 (2039-"},
		{"starts again soon", observed{flows: with(func(f *flows.FlowStatus) { f.State, f.Error = "waiting", "fetch: broken" })}, true, "b-0 waits since 2026-01-02T02:04:05Z: fetch: broken"},
		{"the store is away", observed{store: sinks.Waiting{Store: "http://s/b", Calls: 3, Since: *ago(2 * time.Hour), Reason: "connection refused"},
			flows: with(func(f *flows.FlowStatus) { f.Read, f.WaitsFor = 5, "the object store" })}, true,
			"3 calls wait for the store http://s/b since 2026-01-02T01:04:05Z: connection refused\n1 vchannels, the first is b-0, wait for the object store"},
		{"Kafka is away", observed{kafka: flows.KafkaStatus{Answered: ago(3 * time.Hour), Error: "no route to host", Since: ago(time.Hour)}}, true, "Kafka is in trouble since 2026-01-02T02:04:05Z: no route to host"},
		{"the store refuses it at the start", observed{refused: errors.New("there is no bucket"), since: *ago(time.Minute)}, true, "the worker cannot start since 2026-01-02T03:03:05Z: there is no bucket"},
		{"Kafka is silent", observed{kafka: flows.KafkaStatus{Answered: ago(time.Minute)}}, true, "Kafka has not answered since 2026-01-02T03:03:05Z"},
		{"Kafka answers", observed{kafka: flows.KafkaStatus{Answered: ago(time.Second)}}, true, ""},
		{"no topic", observed{kafka: flows.KafkaStatus{Answered: ago(time.Second), Error: "no topic to read"}}, true, "Kafka: no topic to read"},
	} {
		c.o.now = now
		healthy, lines := judge(c.o)
		if healthy != c.healthy {
			t.Errorf("%s: healthy %t", c.name, healthy)
		}
		if text := strings.Join(lines, "\n"); !strings.HasPrefix(text, c.says) || c.says == "" && text != "" {
			t.Errorf("%s: says %q, want %q", c.name, text, c.says)
		}
	}
}
