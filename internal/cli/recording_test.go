package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flowgraph/internal/cli"
	"flowgraph/internal/devstack"
	"flowgraph/internal/testlog"
)

func broker(t *testing.T) string { return embeddedBroker(t).Addr() }

func embeddedBroker(t *testing.T) *devstack.Broker {
	t.Helper()
	b, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestAReplayedTopicRecordsAsTheSameFile(t *testing.T) {
	addr := broker(t)
	source := "../../testdata/recordings/ddl/records.jsonl.gz"
	if r := flowgraph(t, nil, "replay", source, "--brokers", addr); r.code != 0 || !strings.Contains(r.out, "into 2 topics: ") {
		t.Fatalf("%s%s", r.out, r.err)
	}
	r := flowgraph(t, nil, "replay", source, "--brokers", addr)
	if r.code != cli.ExitFailed || !strings.Contains(r.err, "not empty") || !strings.Contains(r.err, "--append") {
		t.Errorf("replayed twice: %d %s", r.code, r.err)
	}
	// Topic after topic is the order of the file.
	var again []byte
	for _, topics := range []string{"by-dev-rootcoord-dml_0:0", "/.*_1/"} {
		copied := filepath.Join(t.TempDir(), "copy.gz")
		if r := flowgraph(t, nil, "record", "--brokers", addr, "--topics", topics, "-o", copied); r.code != 0 {
			t.Fatal(r.err)
		}
		again = append(again, testlog.Unzipped(t, copied)...)
	}
	if !bytes.Equal(again, testlog.Unzipped(t, source)) {
		t.Error("the recording of the replayed topics is not the recording that was replayed")
	}
}

func TestRecordingToStandardOutputIsNothingButRecords(t *testing.T) {
	addr := broker(t)
	source := "../../testdata/recordings/upsert/records.jsonl.gz"
	if r := flowgraph(t, nil, "replay", source, "--brokers", addr); r.code != 0 {
		t.Fatal(r.err)
	}
	r := flowgraph(t, nil, "record", "--brokers", addr, "--topics", "/.*/", "-o", "-")
	if got, want := strings.Count(r.out, "\n"), bytes.Count(testlog.Unzipped(t, source), []byte("\n")); r.code != 0 || got != want {
		t.Errorf("%d lines, want %d: %s", got, want, r.err)
	}
}

func TestAFailedRecordingLeavesNoFile(t *testing.T) {
	addr := broker(t)
	dir := t.TempDir()
	for topics, want := range map[string]string{
		"missing": "topic missing does not exist", "/no.*/": "no topic matches", "missing:0": "missing-0",
	} {
		r := flowgraph(t, nil, "record", "--brokers", addr, "--topics", topics, "-o", filepath.Join(dir, "r.gz"))
		if r.code != cli.ExitFailed || !strings.Contains(r.err, want) {
			t.Errorf("%s: %d %s", topics, r.code, r.err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%d files left", len(left))
	}
}
