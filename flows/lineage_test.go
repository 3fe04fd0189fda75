package flows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/stages"
)

// epochsEnd has the broker answer that what leaders wrote ends there. The
// client's own questions are answered rightly.
func (w *world) epochsEnd(end int64) {
	w.cluster.ControlKey(23, func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		asked := req.(*kmsg.OffsetForLeaderEpochRequest).Topics[0]
		if asked.Partitions[0].CurrentLeaderEpoch >= 0 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		p.LeaderEpoch, p.EndOffset = asked.Partitions[0].LeaderEpoch, end
		resp.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{{Topic: asked.Topic, Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{p}}}
		return resp, nil, true
	})
}

// A log that was cut back by an unclean election and has grown again holds new
// rows at offsets that count as persisted: dropped unread, nobody would miss
// them.
func TestALogCutBackAndGrownAgainLosesItsNewRows(t *testing.T) {
	for _, end := range []int64{1, 2, -1} { // -1: it does not know the epoch
		t.Run(fmt.Sprint("epoch ends at ", end), func(t *testing.T) {
			w := newWorld(t, 1)
			w.produce(0, createCollection(collectionID), insert(7, 1, 10))
			w.start().until(0, 2).stop()
			d := w.document(0)
			if d.Seek.LeaderEpoch < 0 {
				t.Fatal("the position has no leader epoch")
			}
			w.epochsEnd(end)
			l := w.start()
			if end != 1 {
				l.until(0, 2).stop()
				w.exact(archive.CheckOptions{})
				return
			}
			if s := l.has(0, "stopped"); !strings.Contains(s.Error, "cut back") || !strings.Contains(s.Error, "ends at 1") {
				t.Errorf("the error is %q", s.Error)
			}
			l.stop()
		})
	}
}

// A quiet segment may be stored far ahead of the seek position: a log that
// ends between the two would have its next rows dropped as persisted.
func TestALogThatEndsBelowAStoredSegmentLosesItsNextRows(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), insert(0, 2, 10), insert(0, 3, 10))
	w.start().until(0, 4).stop()
	d := w.document(0)
	d.Seek.Offset, d.ReadFrom.Offset, d.Sequence = 1, 1, d.Sequence+1
	d.Collections[collectionID].Partitions[partitionID].AutoEnd = 50
	w.store(d)
	l := w.start(func(c *Config) { c.GapGoOn = true })
	if s := l.has(0, "stopped"); !strings.Contains(s.Error, "below 50") || !strings.Contains(s.Error, "ends at 4") {
		t.Errorf("the error is %q", s.Error)
	}
	l.stop()
}

// An answer that is an error says nothing of the log: only the next one does.
func TestAnErrorIsTakenForALogWithoutEpochs(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.start().until(0, 2).stop()
	w.cluster.ControlKey(23, func(req kmsg.Request) (kmsg.Response, error, bool) { // once
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		p.ErrorCode = kerr.TopicAuthorizationFailed.Code
		resp.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{p}}}
		return resp, nil, true
	})
	w.epochsEnd(1)
	l := w.start()
	l.has(0, "stopped")
	if !l.log.has("Describe") && !l.log.has("TOPIC_AUTHORIZATION_FAILED") {
		t.Error("the error was not met")
	}
	l.stop()
}

// A log that is cut back while it is read again, above where it is read and
// below what is stored.
func TestALogCutBackWhileItIsReadAgainLosesItsNewRows(t *testing.T) {
	m, values := membucket.New(), [][]byte{createCollection(collectionID), insert(7, 1, 10), insert(7, 2, 10), insert(7, 3, 10)}
	if err := flowAlone(m, stages.DefaultLimits(), values).Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	d, _, err := checkpoints.Load(t.Context(), m, vchannel(0))
	if err != nil {
		t.Fatal(err)
	}
	d.Seek.Offset, d.ReadFrom.Offset, d.Sequence = 1, 1, d.Sequence+1
	data, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m.Set(checkpoints.DocumentKey(d.VChannel), data)
	f, asked := flowAlone(m, stages.DefaultLimits(), values), 0
	f.Lineage = func(context.Context, int32) (int64, error) {
		if asked++; asked == 1 { // at the claim
			return 4, nil
		}
		return 3, nil
	}
	f.Ready = func(_ checkpoints.Position, box *Mailbox) {
		box.Put(&stages.Raw{Records: []stages.Record{{Offset: 1, Value: values[1]}, {Offset: 2, Value: values[2]}}})
		box.Put(&stages.Raw{Records: []stages.Record{{Offset: 3, LeaderEpoch: 1, Value: insert(7, 33, 10)}}})
	}
	if err := f.Run(t.Context(), t.Context()); !errors.Is(err, ErrDataLoss) {
		t.Errorf("it ended with: %v", err)
	}
}

func TestADocumentWhoseEndHasNoEpochIsNotComparedAtAll(t *testing.T) {
	d := &checkpoints.Document{Seek: checkpoints.Position{Offset: 5, LeaderEpoch: 2}, Collections: map[int64]*checkpoints.Collection{
		1: {Partitions: map[int64]*checkpoints.Partition{2: {AutoEnd: 9}}}, // of an earlier release
	}}
	if p := furthest(d); p != d.Seek {
		t.Errorf("compared at %+v, want %+v", p, d.Seek)
	}
	d.Reached = checkpoints.Position{Offset: 12, LeaderEpoch: 3}
	if p := furthest(d); p != d.Reached {
		t.Errorf("compared at %+v, want %+v", p, d.Reached)
	}
}

// The owner before may read on between the question where the log ends and the
// claim: its positions are no data loss.
func TestAClaimIsHeldAgainstAnOldEndOfTheLog(t *testing.T) {
	m, values := membucket.New(), [][]byte{createCollection(collectionID), insert(7, 1, 10), insert(7, 2, 10)}
	if err := flowAlone(m, stages.DefaultLimits(), values).Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	f, asked := flowAlone(m, stages.DefaultLimits(), values), int64(0)
	f.Bounds = func(context.Context) (int64, int64, error) {
		asked++
		return 0, asked + 1, nil // 2, then 3
	}
	if err := f.Run(t.Context(), t.Context()); err != nil {
		t.Error(err)
	}
}

// A log that was cut back and has grown beyond all that is stored: the leader
// epochs tell, also of what is stored ahead of the seek position.
func TestALogCutBackBelowAStoredSegmentLosesItsNewRows(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), insert(0, 2, 10), insert(0, 3, 10))
	w.start().until(0, 4).stop()
	d := w.document(0)
	d.Seek.Offset, d.ReadFrom.Offset, d.Sequence = 1, 1, d.Sequence+1
	clear(d.Segments) // they have left with manifests
	w.store(d)
	w.epochsEnd(2)
	l := w.start()
	if s := l.has(0, "stopped"); !strings.Contains(s.Error, "up to offset 4") || !strings.Contains(s.Error, "ends at 2") {
		t.Errorf("the error is %q", s.Error)
	}
	l.stop()
}

// A broker that knows no leader epochs cannot be asked, and is read all the
// same.
func TestABrokerWithoutTheQuestionIsWaitedForForever(t *testing.T) {
	w := newWorld(t, 1)
	known, err := kmsg.NewPtrApiVersionsRequest().RequestWith(t.Context(), w.client)
	if err != nil {
		t.Fatal(err)
	}
	w.cluster.ControlKey(18, func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		for _, k := range known.ApiKeys {
			if k.ApiKey != int16(kmsg.OffsetForLeaderEpoch) {
				resp.ApiKeys = append(resp.ApiKeys, k)
			}
		}
		return resp, nil, true
	})
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.start().until(0, 2).stop()
	d := w.document(0)
	d.Seek.LeaderEpoch, d.Reached.LeaderEpoch, d.Sequence = 0, 0, d.Sequence+1 // as read of a broker that had them
	w.store(d)
	w.produce(0, insert(7, 2, 10))
	w.start().until(0, 3).stop()
	w.exact(archive.CheckOptions{})
}

// A log that is cut back while a flow reads it, and the client, which remembers little, sees
// nothing wrong.
func TestALogCutBackUnderAFlowIsReadOn(t *testing.T) {
	w := newWorld(t, 1)
	node, _, err := w.cluster.AddNode(-1, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	w.epochsEnd(1)
	if err := w.cluster.MoveTopicPartition(topic, 0, node); err != nil {
		t.Fatal(err)
	}
	w.produce(0, insert(7, 2, 10))
	if s := l.has(0, "stopped"); !strings.Contains(s.Error, "cut back") || !strings.Contains(s.Error, "ends at 1") {
		t.Errorf("the error is %q", s.Error)
	}
	l.drain()
	l.wait()
	if d := w.document(0); d.Seek.Offset > 2 {
		t.Errorf("records behind the cut moved the position to %d", d.Seek.Offset)
	}
}
