package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/sinks"
)

// operated is a broker and a bucket that a worker has read a recording into.
type operated struct {
	t      *testing.T
	env    []string
	kafka  *devstack.Broker
	broker string
	bucket *sinks.Bucket
	file   string
}

const vchannel0, vchannel1 = "by-dev-rootcoord-dml_0-0", "by-dev-rootcoord-dml_1-0"

func newOperated(t *testing.T) *operated {
	t.Helper()
	file, err := filepath.Abs("../../testdata/recordings/ddl/records.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	b := embeddedBroker(t)
	o := &operated{t: t, kafka: b, broker: b.Addr(), file: file}
	o.bucket, o.env = aBucket(t)
	o.env = append(o.env, "FLOWGRAPH_BROKERS="+o.broker, "FLOWGRAPH_TOPICS=/by-dev-.*/", "FLOWGRAPH_LISTEN=", "FLOWGRAPH_MEMORY_BUDGET=64MiB")
	o.done("replay", file)
	o.done("run", "--until-end")
	return o
}

// done runs a command that must work.
func (o *operated) done(args ...string) string {
	o.t.Helper()
	r := flowgraph(o.t, o.env, args...)
	if r.code != 0 {
		o.t.Fatalf("%v: exit code %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// refused runs a command that must fail with this sentence.
func (o *operated) refused(want string, args ...string) string {
	o.t.Helper()
	r := flowgraph(o.t, o.env, args...)
	if r.code == 0 || !strings.Contains(r.err, want) {
		o.t.Fatalf("%v: exit code %d, %q is not in\n%s%s", args, r.code, want, r.out, r.err)
	}
	return r.out
}

// verified is the report of a verify that must find nothing wrong.
func (o *operated) verified(args ...string) (report archive.Report) {
	o.t.Helper()
	if err := json.Unmarshal([]byte(o.done(append([]string{"verify", "--json"}, args...)...)), &report); err != nil {
		o.t.Fatal(err)
	}
	return report
}

func (o *operated) document(vchannel string) *checkpoints.Document {
	o.t.Helper()
	d, _, err := checkpoints.Load(o.t.Context(), o.bucket, vchannel)
	if err != nil {
		o.t.Fatal(err)
	}
	return d
}

func TestARewoundVChannelIsReadAgainAndNothingDoubles(t *testing.T) {
	o := newOperated(t)
	before, doc := o.verified("--complete"), o.document(vchannel0)
	if before.Rows == 0 || before.Deletes == 0 || before.Records == 0 {
		t.Fatalf("%+v", before)
	}
	o.refused("either --beginning or --to", "rewind", "--vchannel", vchannel0)
	o.refused("there is no vchannel", "rewind", "--vchannel", "none-0", "--beginning")
	o.refused("not an offset from which a worker began", "rewind", "--vchannel", vchannel0, "--to", "7", "--yes")
	o.refused("cannot go forward", "rewind", "--vchannel", vchannel0, "--to", "100000", "--yes")
	shown := o.refused("nothing was changed", "rewind", "--vchannel", vchannel0, "--beginning")
	if d := o.document(vchannel0); d.Epoch != doc.Epoch || !strings.Contains(shown, "A worker that runs now loses") {
		t.Errorf("epoch %d after %d: %s", d.Epoch, doc.Epoch, shown)
	}
	o.done("rewind", "--vchannel", vchannel0, "--beginning", "--yes")
	if d := o.document(vchannel0); d.Seek.Offset != 0 || d.ReadFrom.Offset != 0 || d.Epoch != doc.Epoch+1 {
		t.Errorf("rewound to %+v", d)
	}
	o.verified() // what is behind the positions now is stored, and not missed
	o.done("run", "--until-end")
	if d := o.document(vchannel0); d.Seek.Offset != doc.Seek.Offset {
		t.Errorf("read up to %d, before to %d", d.Seek.Offset, doc.Seek.Offset)
	}
	after := o.verified("--complete")
	if after.Rows != before.Rows || after.Deletes != before.Deletes || after.Segments != before.Segments {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	// The positions of the starts are where it may go, with no broker asked.
	o.done("rewind", "--vchannel", vchannel0, "--to", "0", "--yes")
	o.done("run", "--until-end")
	if again := o.verified("--complete"); again.Rows != before.Rows {
		t.Errorf("before %+v\nafter %+v", before, again)
	}
}

func TestATopicMadeAnewIsAcceptedWithTheSameSegments(t *testing.T) {
	o := newOperated(t)
	before := o.verified("--complete")
	o.refused("the same as before", "accept-log", "--vchannel", vchannel0, "--yes")
	cl, err := kgo.NewClient(kgo.SeedBrokers(o.broker))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).DeleteTopics(t.Context(), "by-dev-rootcoord-dml_0", "by-dev-rootcoord-dml_1"); err != nil {
		t.Fatal(err)
	}
	o.done("replay", o.file)
	o.refused("not exact", "verify")
	old := o.document(vchannel0).TopicID
	shown := o.refused("nothing was changed", "accept-log", "--vchannel", vchannel0)
	if !strings.Contains(shown, old) || strings.Count(shown, "topic ID") != 2 || o.document(vchannel0).TopicID != old {
		t.Errorf("%s", shown)
	}
	for _, v := range []string{vchannel0, vchannel1} {
		o.done("accept-log", "--vchannel", v, "--yes")
	}
	if d := o.document(vchannel0); d.TopicID == old || d.Seek.Offset != 0 || len(d.Segments) != 0 {
		t.Errorf("%+v", d)
	}
	o.done("run", "--until-end")
	after := o.verified("--complete")
	if after.Rows != before.Rows || after.Deletes != before.Deletes || after.OtherLogs != before.Segments || after.Rerouted == 0 {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
}

func TestTheOperatorIsToldWhatIsWrongAndWhatIsLeftOver(t *testing.T) {
	o := newOperated(t)
	if out := o.done("gc", "--delete"); !strings.Contains(out, "There is nothing to remove") {
		t.Error(out)
	}
	meta := checkpoints.Meta(vchannel0, 1)
	orphan := checkpoints.InsertLogKey(1, 2, 3, 4, "100000010000099999")
	if _, err := o.bucket.Put(t.Context(), orphan, checkpoints.Object{Parts: [][]byte{[]byte("half")}, Meta: meta}, checkpoints.Condition{}); err != nil {
		t.Fatal(err)
	}
	if out := o.done("gc", "--keys"); !strings.Contains(out, "1 objects to which nothing refers stay") || strings.Contains(out, orphan) {
		t.Errorf("of the last epoch: %s", out)
	}
	o.done("run", "--until-end")
	if report := o.verified("--complete"); report.Unreferenced != 1 {
		t.Errorf("%+v", report)
	}
	if out := o.done("gc", "--keys", "--vchannel", vchannel0); !strings.Contains(out, "files/"+orphan) || !strings.Contains(out, "Nothing was changed") {
		t.Error(out)
	}
	if out := o.done("gc", "--json", "--delete"); !strings.Contains(out, `"deleted":true`) || strings.Count(out, "\n") != 2 {
		t.Error(out)
	}
	if report := o.verified("--complete"); report.Unreferenced != 0 {
		t.Errorf("%+v", report)
	}

	var lost string
	for info, err := range o.bucket.List(t.Context(), "insert_log/") {
		if err != nil {
			t.Fatal(err)
		}
		lost = info.Key
		break
	}
	if err := o.bucket.Remove(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	if out := o.refused("not exact", "verify"); !strings.Contains(out, lost) || !strings.Contains(out, "row IDs") {
		t.Error(out)
	}
	if out := o.refused("not exact", "verify", "--recording", o.file, "--limit", "1"); !strings.Contains(out, "more") {
		t.Error(out)
	}
	o.refused("--brokers is missing", "verify", "--brokers", "")
}
