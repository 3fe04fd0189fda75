package archive_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
)

// verify compares a bucket with all topics of a broker.
func verify(t *testing.T, broker *devstack.Broker, b checkpoints.Bucket, o archive.VerifyOptions) *archive.Report {
	t.Helper()
	client := []kgo.Opt{kgo.SeedBrokers(broker.Addr())}
	parts := map[string][]int32{}
	for _, v := range open(t, b).VChannels() {
		if v.Doc != nil {
			parts[v.Doc.Topic] = []int32{v.Doc.Partition}
		}
	}
	ids, err := flows.TopicIDs(t.Context(), client, slices.Sorted(maps.Keys(parts)))
	if err != nil {
		t.Fatal(err)
	}
	o.Log, o.TopicIDs, o.Dir = recording.CaptureOptions{Partitions: parts, Client: client}, ids, t.TempDir()
	report, err := archive.Verify(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestVerifyFindsFaultsWhereThereAreNone(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, name)
			want := r.expected(t)
			for _, o := range []archive.VerifyOptions{{}, {Complete: true}, {Complete: true, AtOnce: 1}} {
				told := map[string]int64{}
				o.Progress = func(stage string, done, _ int64) { told[stage] = done }
				report := verify(t, r.broker, r.bucket, o)
				if told["stored rows"] != report.Rows+report.Deletes || told["listed objects"] < report.Objects {
					t.Errorf("told of %v, the report of %d objects: %s", told, report.Objects, report)
				}
				o.Progress = nil // it is no text for a failure
				if report.Err() != nil || report.Rows != want.Rows || report.Deletes != want.Deletes || report.Unread != 0 || report.Pending != 0 {
					t.Errorf("%+v, expected %d rows and %d deletes: %s", o, want.Rows, want.Deletes, report)
				}
			}
		})
	}
}

// atRest are damages that cannot be told from a worker at work.
var atRest = []string{"an object of the last epoch beside a segment's", "a seek position before the log's end"}

func TestVerifyFindsEveryDamage(t *testing.T) {
	r := recorded(t, "ddl")
	for _, d := range damages() {
		if slices.Contains(atRest, d.name) {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			m := copyOf(t, r.bucket)
			if d.name == "a document gone" { // the others' logs are compared nevertheless
				d.want = "document is gone"
			}
			d.do(t, m)
			report := verify(t, r.broker, m, archive.VerifyOptions{MaxProblems: 1000})
			if d.name == "an end too high" {
				d.want = "ends at"
			}
			if !slices.ContainsFunc(report.Problems, func(p string) bool { return strings.Contains(p, d.want) }) || report.Err() == nil {
				t.Errorf("no problem says %q: %s", d.want, report)
			}
		})
	}
}

func TestVerifyNamesTheRowsThatAreWrong(t *testing.T) {
	r := recorded(t, "ddl")
	var s *archive.Segment
	for _, c := range []struct {
		kind archive.FaultKind
		do   func(m *membucket.Bucket)
		all  bool // rows of the segment
	}{
		{archive.Lost, func(m *membucket.Bucket) {
			editDoc(t, m, s.VChannel, func(d *checkpoints.Document) { delete(d.Segments, s.ID) })
		}, true},
		{archive.Doubled, func(m *membucket.Bucket) { addFlush(t, m, s) }, false},
		{archive.OutOfRange, func(m *membucket.Bucket) {
			edit(t, m, s, func(s *checkpoints.Segment) { s.End.Offset = s.Start.Offset + 1 })
		}, false},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			m := copyOf(t, r.bucket)
			s = pick(t, m, func(s *archive.Segment) bool { return withRows(s) && !s.InManifest })
			c.do(m)
			report := verify(t, r.broker, m, archive.VerifyOptions{MaxProblems: 1000})
			rows := int64(0)
			for _, f := range report.Faults {
				if f.Kind != c.kind {
					continue
				}
				rows += f.Count
				if f.Segment != s.ID || f.Collection != s.Collection || f.Partition != s.Partition || f.VChannel != s.VChannel ||
					int64(len(f.RowIDs)) != min(f.Count, 20) || c.kind != archive.Doubled && f.Offset < s.Start.Offset {
					t.Errorf("%+v", f)
				}
			}
			if rows == 0 || c.all && rows != s.Rows {
				t.Errorf("%d of %d rows are named: %s", rows, s.Rows, report)
			}
		})
	}
}

func TestATopicMadeAnewIsNotComparedWithOldPositions(t *testing.T) {
	r := recorded(t, "ddl")
	m := copyOf(t, r.bucket)
	v := open(t, m).VChannels()[0]
	editDoc(t, m, v.Name, func(d *checkpoints.Document) { d.TopicID, d.Manifests = "another", nil })
	report := verify(t, r.broker, m, archive.VerifyOptions{})
	if report.Wrong != 1 || !strings.Contains(report.Problems[0], "created anew") {
		t.Errorf("%s", report)
	}
}
