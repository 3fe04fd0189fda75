package archive_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
	"flowgraph/internal/testlog"
)

// verifyRecords compares a bucket with records.
func verifyRecords(t *testing.T, b checkpoints.Bucket, records []recording.Record, o archive.VerifyOptions) *archive.Report {
	t.Helper()
	o.Recording, o.Dir = testlog.Recording(t, records), t.TempDir()
	report, err := archive.Verify(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// between takes part of each log.
func between(records []recording.Record, from, to int64) (part []recording.Record) {
	for _, r := range records {
		if r.Offset >= from && r.Offset < to {
			part = append(part, r)
		}
	}
	return part
}

// The log is cut at every place: inside transactions, behind schemas and
// drops, between a message and its repeat.
func TestWhatIsGoneFromTheLogIsTakenForAFault(t *testing.T) {
	l := &walLog{t: t}
	l.create()
	for i := range int64(4) {
		l.bare(1, 0, 0)
		l.insert(0, 1001)
		l.bare(900, 7+i, never)
		l.insert(7+i, 1001+i)
		l.insert(0, 1002)
		l.delete(7+i, 5)
		l.bare(901, 7+i, never)
		l.delete(0, 6)
	}
	l.bare(1, 0, 0)
	m := membucket.New()
	l.run(m)
	if report := verifyRecords(t, m, l.records, archive.VerifyOptions{Complete: true}); report.Err() != nil || report.Unread != 0 {
		t.Fatalf("%s", report)
	}
	for from := range int64(len(l.records)) {
		report := verifyRecords(t, m, l.records[from:], archive.VerifyOptions{Complete: true})
		if report.Err() != nil || report.Rows+report.Deletes+report.Unread != l.rows+8 {
			t.Errorf("from %d: %d rows and 8 deletes are stored: %s", from, l.rows, report)
		}
		report = verifyRecords(t, m, l.records[:from+1], archive.VerifyOptions{})
		if report.Err() != nil {
			t.Errorf("up to %d: %s", from, report)
		}
	}
}

// straddled are the offsets behind a message that is sent again later.
func straddled(records []recording.Record) (offsets []int64) {
	first := map[string]int64{}
	for _, r := range records {
		key := r.Topic + string(r.Value)
		if at, again := first[key]; again && len(r.Value) > 200 {
			offsets = append(offsets, at+1)
		}
		first[key] = r.Offset
	}
	return offsets
}

func TestARetainedPartOfALogIsComparedExactly(t *testing.T) {
	path, total := generatedAt(t, 200*time.Millisecond, 5, 3000)
	broker := testlog.Broker(t, path)
	defer broker.Close()
	m := membucket.New()
	life(t, broker, m, 0, false)
	var records []recording.Record
	for r, err := range archive.Recorded(path) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	for from := int64(0); from < 1500; from += 499 {
		report := verifyRecords(t, m, between(records, from, 1<<62), archive.VerifyOptions{Complete: true})
		if report.Err() != nil || from > 0 && report.Unread == 0 {
			t.Errorf("from %d: %s", from, report)
		}
	}
	// Between a message and its repeat, which is none to who sees it alone.
	for _, cut := range straddled(records)[:12] {
		report := verifyRecords(t, m, between(records, cut, 1<<62), archive.VerifyOptions{Complete: true})
		if report.Err() != nil || report.Pending > 0 {
			t.Errorf("from %d: %s", cut, report)
		}
	}
	// The same with Kafka, and a row that is lost behind the log's beginning.
	cl, err := kgo.NewClient(broker.Client()...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	cut := kadm.Offsets{}
	for _, v := range open(t, m).VChannels() {
		cut.AddOffset(v.Doc.Topic, v.Doc.Partition, 200, -1)
	}
	if _, err := kadm.NewClient(cl).DeleteRecords(t.Context(), cut); err != nil {
		t.Fatal(err)
	}
	report := verify(t, broker, m, archive.VerifyOptions{Complete: true})
	if report.Err() != nil || report.Unread == 0 || report.Rows == 0 || report.Rows+report.Deletes+report.Unread != total.Rows+total.Deletes {
		t.Fatalf("%+v: %s", total, report)
	}
	for _, s := range allSegments(t, open(t, m)) {
		if manifested(s) && s.Start.Offset > 700 {
			m.Remove(s.ManifestKey())
		}
	}
	if report = verify(t, broker, m, archive.VerifyOptions{}); report.Lost == 0 {
		t.Errorf("%s", report)
	}
}

func TestRecordsDeletedBeforeTheyWereStoredAreAFault(t *testing.T) {
	r := recorded(t, "ddl")
	m := copyOf(t, r.bucket)
	v := open(t, m).VChannels()[0]
	at := v.Doc.Seek.Offset
	editDoc(t, m, v.Name, func(d *checkpoints.Document) { d.Seek.Offset, d.ReadFrom.Offset = 10, 10 })
	report := verify(t, r.broker, m, archive.VerifyOptions{})
	if report.Err() != nil {
		t.Errorf("a rewound vchannel: %s", report)
	}
	editDoc(t, m, v.Name, func(d *checkpoints.Document) { d.Seek.Offset, d.ReadFrom.Offset = at+1, at+1 })
	if report = verify(t, r.broker, m, archive.VerifyOptions{}); report.Err() == nil {
		t.Error("a seek position behind the log's end is not found")
	}
}
