package cli_test

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"flowgraph/checkpoints"
	"flowgraph/internal/devstack"
)

// losesEnd has a broker say that a log's first leader wrote no further than
// to an offset: what lies behind is of another one. The client's own questions
// are answered rightly, and all once right is called.
func losesEnd(b *devstack.Broker, topic string, end int64) (right func()) {
	var over atomic.Bool
	b.Cluster().ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.Cluster().KeepControl()
		asked := req.(*kmsg.OffsetForLeaderEpochRequest).Topics[0]
		if over.Load() || asked.Topic != topic || asked.Partitions[0].CurrentLeaderEpoch >= 0 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		p.Partition, p.LeaderEpoch, p.EndOffset = asked.Partitions[0].Partition, asked.Partitions[0].LeaderEpoch, end
		resp.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{{Topic: asked.Topic, Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{p}}}
		return resp, nil, true
	})
	return func() { over.Store(true) }
}

// exported is how many rows of a collection are alive.
func (o *operated) exported(collection string, more ...string) (rows int64) {
	o.t.Helper()
	out := o.done(append([]string{"export", collection, "--out", o.t.TempDir()}, more...)...)
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 2 && words[1] == "partitions" {
			rows, _ = strconv.ParseInt(words[2], 10, 64)
		}
	}
	return rows
}

// A log lost its end, and its producers sent all of that once more: it is read
// and stored again, beside what is there, and counts once.
func TestALogThatWasCutBackIsGoneOnWith(t *testing.T) {
	o := newOperated(t)
	before, doc := o.verified("--complete"), o.document(vchannel0)
	at := int64(40)
	rows := o.exported("ddl")
	right := losesEnd(o.kafka, doc.Topic, at)
	o.refused("cut back", "run", "--until-end")

	shown := o.refused("nothing was changed", "accept-log", "--vchannel", vchannel0)
	for _, want := range []string{"SEGMENT", "it holds other records", "All of it stays"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	if d := o.document(vchannel0); d.Seek != doc.Seek || len(d.CutBacks) > 0 {
		t.Errorf("it was done without --yes: %+v", d)
	}
	o.done("accept-log", "--vchannel", vchannel0, "--yes")
	d := o.document(vchannel0)
	if d.Seek.Offset > at || d.Version != checkpoints.Version+1 || d.Generation() != 1 {
		t.Errorf("accepted as %+v", d)
	}
	o.refused("was accepted in epoch", "accept-log", "--vchannel", vchannel0, "--yes")
	if out := o.done("inspect"); !strings.Contains(out, "cut back") {
		t.Error(out)
	}
	o.done("run", "--until-end")
	after := o.verified("--complete")
	if after.Rows != before.Rows || after.Deletes != before.Deletes || after.CutOff == 0 {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	if n := o.exported("ddl"); n != rows || rows == 0 {
		t.Errorf("%d rows are alive, before the log was cut back %d were", n, rows)
	}
	right() // its records are of the first leader again
	o.done("gc", "--delete")
	o.done("rewind", "--vchannel", vchannel0, "--beginning", "--yes")
	o.done("run", "--until-end")
	if again := o.verified("--complete"); again.Rows != after.Rows || again.CutOff != after.CutOff {
		t.Errorf("before the rewind %+v\nafter %+v", after, again)
	}
}
