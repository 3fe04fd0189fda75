package flows

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A vchannel that leaves out everything looks like one in which nothing
// happens, and its lag is 0: the wrong tick says that all is complete.
func TestAVChannelThatLeavesOutEverythingLooksWell(t *testing.T) {
	w := newWorld(t, 1)
	start := time.Now().Add(-time.Hour)
	walTick := func(ts uint64, after time.Duration) {
		headers := []kgo.RecordHeader{{Key: "_v", Value: []byte("1")}, {Key: "_t", Value: []byte("1")}, {Key: "_tt", Value: []byte(strconv.FormatUint(ts, 36))}}
		if err := w.client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Timestamp: start.Add(after), Headers: headers}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	now := uint64(start.UnixMilli()) << 18
	walTick(now, 0)
	walTick(now<<1, time.Second) // decades ahead
	walTick(now+1, 2*time.Second)
	walTick(now+2, 30*time.Second)
	l := w.start().until(0, 4)
	if n := l.metric("flowgraph_vchannel_left_out_seconds"); n != 0 || l.log.has("the tick is wrong") {
		t.Errorf("told after half a minute: %v", n)
	}
	walTick(now+3, 63*time.Second)
	walTick(now+4, 70*time.Second)
	l.until(0, 6)
	until(t, "it is told", func() bool { return l.metric("flowgraph_vchannel_left_out_seconds") == 68 })
	text := l.Status()[0].LeftOutText()
	for _, want := range []string{"4 records", "from offset 2 on", "1m8s", "at offset 1", strconv.FormatUint(now<<1, 10)} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in: %s", want, text)
		}
	}
	if !l.log.has("the tick is wrong") {
		t.Error("it is not logged")
	}
	l.stop()
	walTick(now<<1+1, 80*time.Second)
	l = w.start().until(0, 7)
	until(t, "it is over", func() bool {
		return l.metric("flowgraph_vchannel_left_out_seconds") == 0 && l.Status()[0].LeftOut == nil
	})
	l.stop()
}
