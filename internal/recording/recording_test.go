package recording_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"flowgraph/internal/recording"
	"flowgraph/internal/testlog"
)

func readAll(path string) ([]recording.Record, error) {
	r, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []recording.Record
	for rec, err := range r.All() {
		if err != nil {
			return all, err
		}
		all = append(all, rec)
	}
	return all, nil
}

func writeAll(t *testing.T, path string, records []recording.Record) {
	t.Helper()
	w, err := recording.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestNullIsNotEmptyAfterARoundTrip(t *testing.T) {
	records := []recording.Record{
		{Topic: "t", Offset: 0, Timestamp: 1, Key: nil, Value: []byte{}, Headers: []recording.Header{}},
		{Topic: "t", Offset: 7, Timestamp: 2, Key: []byte{}, Value: nil, Headers: []recording.Header{
			{Name: "n", Value: nil}, {Name: "n", Value: []byte{}}, {Name: "<é>", Value: []byte{0, 255}},
		}},
		{Topic: "u", Partition: 3, Offset: 0, Timestamp: 0, Key: []byte("k"), Value: bytes.Repeat([]byte{0xab}, 2<<20), Headers: []recording.Header{}},
	}
	for _, name := range []string{"r.jsonl", "r.jsonl.gz", "r.jsonl.zst"} {
		path := filepath.Join(t.TempDir(), name)
		writeAll(t, path, records)
		got, err := readAll(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, records) {
			t.Errorf("%s: records changed on the way through the file", name)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
			t.Errorf("%s: %d files left in the folder, want the recording alone", name, len(left))
		}
	}
}

func plainLines(t *testing.T, path string) []string {
	t.Helper()
	var lines []string
	for text := range bytes.Lines(testlog.Unzipped(t, path)) {
		var line bytes.Buffer // one of the recordings has spaces between its tokens
		if err := json.Compact(&line, text); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line.String())
	}
	return lines
}

func TestRealRecordingsAreWrittenBackLineForLine(t *testing.T) {
	for _, name := range []string{"all_types", "concurrent", "ddl", "upsert", "varchar_pk"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("../../testdata/recordings", name, "records.jsonl.gz")
			records, err := readAll(path)
			if err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(t.TempDir(), "copy.gz")
			writeAll(t, copied, records)
			want, got := plainLines(t, path), plainLines(t, copied)
			for i := range min(len(want), len(got)) {
				if want[i] != got[i] {
					t.Fatalf("line %d\n%.300s\n%.300s", i+1, got[i], want[i])
				}
			}
			if len(want) == 0 || len(got) != len(want) {
				t.Errorf("%d lines written for %d lines read", len(got), len(want))
			}
		})
	}
}

func TestABrokenRecordingIsRefusedByLine(t *testing.T) {
	good := `{"topic":"t","partition":0,"offset":0,"timestamp":1,"key":null,"value":"aGk=","headers":[]}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"not JSON", good + "what\n", "line 2: invalid character"},
		{"line cut", good + `{"topic":"t","par`, "line 2: the line breaks off"},
		{"misspelt key", good + `{"topic":"t","partition":0,"offset":1,"timestamp":1,"vlaue":"aGk="}`, `line 2: json: unknown field "vlaue"`},
		{"no topic", `{"partition":0,"offset":1,"timestamp":1}`, `line 1: "topic" is missing`},
		{"no partition", `{"topic":"t","offset":1,"timestamp":1}`, `line 1: "partition" is missing`},
		{"no timestamp", `{"topic":"t","partition":0,"offset":1}`, `line 1: "timestamp" is missing`},
		{"not base64", `{"topic":"t","partition":0,"offset":1,"timestamp":1,"value":"*"}`, "line 1: illegal base64"},
		{"header of three", `{"topic":"t","partition":0,"offset":1,"timestamp":1,"headers":[["a","","b"]]}`, "line 1: a header is a pair"},
		{"two in a line", strings.TrimSpace(good) + good, "line 1: more than one object"},
		{"offset repeated", good + "\n" + good, "line 3: offset 0 of t-0 stands after offset 0"},
	} {
		path := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readAll(path)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestATruncatedFileIsNotTakenForAWholeOne(t *testing.T) {
	var records []recording.Record
	for i := range 500 {
		records = append(records, recording.Record{Topic: "t", Offset: int64(i), Value: []byte(strings.Repeat("x", i))})
	}
	for _, name := range []string{"r.gz", "r.zst"} {
		path := filepath.Join(t.TempDir(), name)
		writeAll(t, path, records)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{1, 8, len(whole) / 2} {
			if err := os.WriteFile(path, whole[:len(whole)-cut], 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := readAll(path)
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "line ") {
				t.Errorf("%s without its last %d bytes: %v", name, cut, err)
			}
		}
	}
}

func TestAnAbortedRecordingLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	writeAll(t, path, []recording.Record{{Topic: "old"}})
	w, err := recording.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(recording.Record{Topic: "new"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(path)
	if err != nil || len(got) != 1 || got[0].Topic != "old" {
		t.Errorf("got %v, %v; want the old recording", got, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files left in the folder", len(left))
	}
}
