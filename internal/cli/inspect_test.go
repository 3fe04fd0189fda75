package cli_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/sinks"

	"github.com/rs/zerolog"
)

// archived runs a recording into a bucket and returns what a command needs to
// read it.
func archived(t *testing.T, recording string) (env []string, bucket *sinks.Bucket) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../testdata/recordings", recording, "records.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	broker := broker(t)
	bucket, env = aBucket(t)
	for _, args := range [][]string{
		{"replay", path, "--brokers", broker},
		{"run", "--brokers", broker, "--topics", "/by-dev-.*/", "--until-end", "--listen", "", "--memory-budget", "64MiB"},
	} {
		if r := flowgraph(t, env, args...); r.code != 0 {
			t.Fatalf("%s: %s", args[0], r.err)
		}
	}
	return env, bucket
}

// aBucket starts a store and returns a client of its bucket, and the
// environment that leads a command to it.
func aBucket(t *testing.T) (bucket *sinks.Bucket, env []string) {
	t.Helper()
	s, _ := store(t)
	cfg, s3 := sinks.Default(), s.Config()
	cfg.Endpoint, cfg.Bucket, cfg.AccessKey, cfg.SecretKey = s.Endpoint(), s3.Bucket, s3.AccessKey, s3.SecretKey
	bucket, err := sinks.NewBucket(cfg, zerolog.Nop(), sinks.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bucket.Close)
	return bucket, []string{"FLOWGRAPH_S3_ENDPOINT=" + s.Endpoint(), "FLOWGRAPH_S3_ACCESS_KEY=" + s3.AccessKey, "FLOWGRAPH_S3_SECRET_KEY=" + s3.SecretKey}
}

func TestInspectTellsWhatTheBucketHolds(t *testing.T) {
	env, bucket := archived(t, "ddl")

	t.Run("tables", func(t *testing.T) {
		r := flowgraph(t, env, "inspect")
		for _, want := range []string{"by-dev-rootcoord-dml_0-0", "9 normal, 4 dropped", "p2", "at offset 38", "gone", "seek position", "L0"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q is not in\n%s%s", want, r.out, r.err)
			}
		}
	})

	t.Run("JSON", func(t *testing.T) {
		var got struct {
			Segments []struct {
				ID, VChannel, State, Level string
				Rows                       int64
				CollectionName             string `json:"collection_name"`
			}
			VChannels []struct {
				VChannel      string
				Rows, Deletes int64
				Seek          checkpoints.Position `json:"seek_position"`
			}
		}
		r := flowgraph(t, env, "inspect", "--json", "--vchannel", "by-dev-rootcoord-dml_1-0")
		if err := json.Unmarshal([]byte(r.out), &got); err != nil {
			t.Fatalf("%v\n%s%s", err, r.out, r.err)
		}
		rows := int64(0)
		for _, s := range got.Segments {
			if s.Level == "L1" {
				rows += s.Rows
			}
			if s.ID == "" || s.CollectionName == "" || s.VChannel != "by-dev-rootcoord-dml_1-0" {
				t.Errorf("%+v", s)
			}
		}
		if len(got.VChannels) != 1 || got.VChannels[0].Rows != rows || rows == 0 || got.VChannels[0].Seek.Offset != 193 {
			t.Errorf("%d rows in the segments, %+v", rows, got.VChannels)
		}
	})

	t.Run("objects", func(t *testing.T) {
		var all []string
		for info, err := range bucket.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, "files/"+info.Key)
		}
		got := strings.Fields(flowgraph(t, env, "inspect", "--objects").out)
		slices.Sort(got)
		if !slices.Equal(all, got) {
			t.Errorf("printed:\n%s\nthere are:\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
		}
		key := got[slices.IndexFunc(got, func(k string) bool { return strings.Contains(k, "insert_log") })]
		for _, name := range []string{key, strings.TrimPrefix(key, "files/")} {
			if r := flowgraph(t, env, "binlog", name); r.code != 0 || !strings.Contains(r.out, "insert log") {
				t.Errorf("binlog %s: %s%s", name, r.out, r.err)
			}
		}
	})

	t.Run("a document that is lost", func(t *testing.T) {
		if err := bucket.Remove(t.Context(), checkpoints.DocumentKey("by-dev-rootcoord-dml_0-0")); err != nil {
			t.Fatal(err)
		}
		r := flowgraph(t, env, "inspect")
		if r.code != 1 || !strings.Contains(r.err, "document is gone") || !strings.Contains(r.out, "241") || !strings.Contains(r.out, "whose document cannot be read") {
			t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
		}
		if r := flowgraph(t, env, "inspect", "--objects"); r.code != 1 {
			t.Errorf("--objects: exit code %d", r.code)
		}
	})

	if r := flowgraph(t, env, "inspect", "--vchannel", "by-dev-rootcoord-dml_0-1"); r.code != 1 || !strings.Contains(r.err, "did you mean") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}
