package flows

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
	"flowgraph/stages"
)

// look is a picture of the one vchannel of a world.
func (l *life) look() (FlowStatus, []SegmentStatus) {
	l.t.Helper()
	p := l.Look(l.t.Context())
	if len(p.VChannels) != 1 {
		return FlowStatus{}, nil
	}
	return p.VChannels[0], p.Segments
}

// The one segment that holds the seek position back must be named, and be the
// right one, before and after a flush.
func TestThePictureNamesTheSegmentThatHoldsTheSeekPositionBack(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 100), insert(8, 2, 100), insert(7, 3, 100))
	l := w.start(func(c *Config) { c.Limits.FlushBytes = 2000 })
	var f FlowStatus
	var segments []SegmentStatus
	until(t, "both segments are buffered", func() bool {
		f, segments = l.look()
		return len(segments) == 2 && segments[0].BufferedRows == 2 && segments[1].BufferedRows == 1
	})
	first, second := segments[0], segments[1]
	if first.ID != "7" || !first.Pins || *first.Position != 1 || second.ID != "8" || second.Pins || *second.Position != 2 {
		t.Errorf("held back by %+v before %+v", first, second)
	}
	if f.Held == nil || f.Held.By != "buffer" || f.Held.Segment != "7" || f.Held.Offset != 1 {
		t.Errorf("the flow says %+v", f.Held)
	}
	if first.Collection != "c" || first.Partition != "_default" || first.Rows != 0 || first.PersistedEnd != nil || *first.BufferedEnd != 4 {
		t.Errorf("segment 7: %+v", first)
	}
	w.produce(0, insert(7, 4, 3000))
	until(t, "segment 7 is flushed and 8 holds the position back", func() bool {
		f, segments = l.look()
		return len(segments) == 2 && segments[0].ID == "8" && segments[1].LastFlush != nil && f.Seek == 2
	})
	if s := segments[1]; s.Rows != 3 || *s.PersistedEnd != 5 || s.Position != nil || s.BufferedRows != 0 || s.State != "normal" || s.LastFlush.Reason != "buffer_full" {
		t.Errorf("segment 7 after its flush: %+v", s)
	}
	if f.Held == nil || f.Held.Segment != "8" || f.LogEnd != 5 || f.Owner == "" || f.TopicID == "" {
		t.Errorf("the flow says %+v, held by %+v", f, f.Held)
	}
	l.stop()
}

func TestEventsTellFlushesAndWhyAFlowStopped(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 3000))
	l := w.start(func(c *Config) { c.StopOnBad = true; c.Limits.FlushBytes = 2000 }).until(0, 2)
	w.produce(0, []byte("this is no message"))
	l.has(0, "stopped")
	got := l.Events(0, 100)
	kinds := []string{}
	for _, e := range got.Events {
		kinds = append(kinds, e.Kind)
	}
	if want := []string{"running", "create_collection", "flush", "stopped"}; !slices.Equal(kinds, want) {
		t.Fatalf("events %v, want %v", kinds, want)
	}
	flush, stopped := got.Events[2], got.Events[3]
	if flush.Rows != 1 || flush.Reason != "buffer_full" || flush.Collection != "c" || flush.Bytes == 0 || *flush.Offset != 2 {
		t.Errorf("the flush: %+v", flush)
	}
	if stopped.Error == "" || stopped.Advice != Advice(stages.ErrBadRecord) {
		t.Errorf("the stop: %+v", stopped)
	}
	if s := l.status(0); s.Advice == "" || s.LastError == "" {
		t.Errorf("the status keeps no advice: %+v", s)
	}
	if again := l.Events(got.Last, 100); len(again.Events) != 0 || again.Missed {
		t.Errorf("told again: %+v", again)
	}
	l.kill()
}

// A thousand events must not keep a thousand records in memory, megabytes each
// and in no budget: one that points into its cut keeps all of it.
func TestAnEventHoldsBackNoRecord(t *testing.T) {
	f := NewMetrics(prometheus.NewRegistry(), NewBudget(1<<20)).join(checkpoints.VChannel{Topic: topic})
	cut := &stages.Cut{Bad: []stages.BadRecord{{Record: stages.Record{Offset: 5, Value: make([]byte, 1<<20)}}}}
	cut.Change.Event = &checkpoints.Event{Kind: checkpoints.CreatePartition, Offset: 6}
	cut.Change.Flush = &checkpoints.Flush{Segment: checkpoints.Segment{End: checkpoints.Position{Offset: 7}}}
	f.happened(sinks.Report{Cut: cut, Stored: true}, func(int64, int64) (string, string) { return "", "" })
	inside := []*int64{&cut.Bad[0].Record.Offset, &cut.Change.Event.Offset, &cut.Change.Flush.Segment.End.Offset}
	events := f.set.events.after(0, 10).Events
	if len(events) != len(inside) {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		if e.Offset == inside[i] || *e.Offset != int64(5+i) {
			t.Errorf("the event %s of offset %d points into its cut, or elsewhere", e.Kind, *e.Offset)
		}
	}
}

func TestOldEventsAreForgottenAndThatIsTold(t *testing.T) {
	var l eventLog
	for i := range eventsKept + 10 {
		l.add(Event{Rows: int64(i)})
	}
	all := l.after(0, 1<<30)
	if len(all.Events) != eventsKept || !all.Missed || all.Events[0].Rows != 10 || all.Last != eventsKept+10 {
		t.Errorf("%d events from %d on, last %d, missed %t", len(all.Events), all.Events[0].Rows, all.Last, all.Missed)
	}
	few := l.after(all.Last-3, 2)
	if len(few.Events) != 2 || !few.Missed || few.Events[1].Seq != all.Last {
		t.Errorf("of three events two: %+v", few)
	}
	if later := l.after(all.Last+5, 10); len(later.Events) != 0 || later.Last != all.Last {
		t.Errorf("after a restart: %+v", later)
	}
}

// What nobody looks at must cost nothing.
func TestABufferIsNotShownUnlessSomebodyAsks(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 100))
	l := w.start()
	until(t, "it is read", func() bool { return l.status(0).Read == 2 })
	f := l.metrics.list()[0]
	if f.views.last.Load() != nil {
		t.Error("the buffer was shown to nobody")
	}
	l.look()
	if f.views.last.Load() == nil {
		t.Error("the buffer was not shown when asked")
	}
	l.kill()
}

func TestEveryErrorThatStopsAVChannelHasAdvice(t *testing.T) {
	for _, err := range []error{
		ErrDataLoss, stages.ErrUnknownCollection, stages.ErrBadRecord, stages.ErrEncrypted, checkpoints.ErrTopicRecreated,
		checkpoints.ErrDocumentLost, checkpoints.ErrInvalid, checkpoints.ErrNewerVersion, checkpoints.ErrEpoch, checkpoints.ErrBackwards,
		checkpoints.ErrChange, checkpoints.ErrFenced, checkpoints.ErrRefused, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed,
		kerr.SaslAuthenticationFailed, syscall.ECONNREFUSED, &net.DNSError{Err: "no such host", Name: "kafka"},
	} {
		if a := Advice(fmt.Errorf("step: %w", err)); len(a) < 20 {
			t.Errorf("%v: %q", err, a)
		}
	}
	if a := Advice(errors.New("something else")); a != "" {
		t.Errorf("of what is not known: %q", a)
	}
	for _, code := range []string{"unreachable", "timeout", "NoSuchBucket", "AccessDenied", "SignatureDoesNotMatch", "XMinioStorageFull", "SlowDown", "Strange"} {
		if sinks.Advice(code) == "" {
			t.Errorf("no advice for %s", code)
		}
	}
}

// A sentence that names settings of a login is no failed login.
func TestABrokerThatHangsUpIsTakenForARefusedPassword(t *testing.T) {
	if a := Advice(fmt.Errorf("it may want a login (--kafka-sasl): %w", io.EOF)); !strings.Contains(a, "expects TLS") {
		t.Errorf("advice: %q", a)
	}
}

func TestTopicsThatAreMissedAreNamedAsNobodyWroteThem(t *testing.T) {
	for want, err := range map[string]error{
		"matches a.b,/dml_[0-9]+/": noneMatches(3, []string{`^(?:a\.b)$`, `^(?:dml_[0-9]+)$`}),
		"shows no topic at all":    noneMatches(0, []string{`^(?:t)$`}),
	} {
		if !errors.Is(err, errNoTopic) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestThatThereIsNothingToReadIsLoggedAtEachLook(t *testing.T) {
	var k kafkaHealth
	for i, err := range []error{errNoTopic, errNoTopic, nil, errNoTopic} {
		if news := k.noTopic(err); news != (i == 0 || i == 3) {
			t.Errorf("look %d: %v", i, news)
		}
	}
}

// An error must not stand for ever once a broker has answered; and before
// anybody is logged in nothing is an answer.
func TestTroubleWithKafkaEndsWithAnAnswer(t *testing.T) {
	var k kafkaHealth
	cfg := Config{Brokers: []string{"b:9092"}, Topics: []string{"t"}, Group: "g"}
	const versions, fetch = 18, 1
	k.trouble(fmt.Errorf("dial: %w", syscall.ECONNREFUSED))
	k.OnBrokerRead(kgo.BrokerMetadata{}, versions, 0, 0, 0, nil)
	if s := k.status(cfg, time.Now()); s.Error == "" || s.Advice == "" || s.Since == nil {
		t.Errorf("told: %+v", s)
	}
	until(t, "a millisecond has passed", func() bool { return time.Now().UnixMilli() > k.last.UnixMilli() })
	k.OnBrokerRead(kgo.BrokerMetadata{}, fetch, 0, 0, 0, nil)
	if s := k.status(cfg, time.Now()); s.Error != "" || s.Answered == nil {
		t.Errorf("told after an answer: %+v", s)
	}
	k.noTopic(errNoTopic)
	if s := k.status(cfg, time.Now()); s.Advice != Advice(errNoTopic) {
		t.Errorf("without a topic: %+v", s)
	}
}
