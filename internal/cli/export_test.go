package cli_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flowgraph/internal/cli"
)

// tree lists the files below a folder.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != dir {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

func TestExportMakesAFolderOrNothing(t *testing.T) {
	env, bucket := archived(t, "ddl")
	dir := filepath.Join(t.TempDir(), "out")

	r := flowgraph(t, env, "export", "ddl", "--out", dir)
	if r.code != 0 || strings.Contains(r.err, "warning") || !regexp.MustCompile(`(?m)^p2 +\d+ .*p2\.parquet$`).MatchString(r.out) || !strings.Contains(r.out, "complete up to") {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	made := tree(t, dir)
	if !slices.Equal(made[:2], []string{"ddl", "ddl/_default.parquet"}) {
		t.Errorf("made %v", made)
	}
	r = flowgraph(t, env, "export", "ddl", "--out", dir)
	if r.code != cli.ExitFailed || !strings.Contains(r.err, "--replace") || !slices.Equal(tree(t, dir), made) {
		t.Errorf("over what is there: exit code %d, %s, %v", r.code, r.err, tree(t, dir))
	}
	r = flowgraph(t, env, "export", "ddl", "--out", dir, "--replace", "--partition", "_default", "--with-system-columns")
	if r.code != 0 || !slices.Equal(tree(t, dir), []string{"ddl", "ddl/_default.parquet"}) {
		t.Errorf("exit code %d, %s, %v", r.code, r.err, tree(t, dir))
	}

	t.Run("a moment that is not complete", func(t *testing.T) {
		r := flowgraph(t, env, "export", "ddl", "--out", t.TempDir(), "--until", "2100-01-01T00:00:00")
		if r.code != 0 || !strings.Contains(r.err, "warning: the archive is complete only up to") {
			t.Errorf("exit code %d\n%s", r.code, r.err)
		}
	})

	t.Run("names", func(t *testing.T) {
		for _, c := range []struct{ args, want string }{
			{"gon", `did you mean "gone"?`},
			{"ddl --partition p9", "has no partition p9"},
			{"gone --until 2020-01-01T00:00:00Z", "there were: 470799435324857061"},
			{"470799435324857061", "is not alive"},
		} {
			out := filepath.Join(t.TempDir(), "out")
			r := flowgraph(t, env, append(strings.Fields("export "+c.args), "--out", out)...)
			if r.code != cli.ExitFailed || !strings.Contains(r.err, c.want) || len(tree(t, out)) > 0 {
				t.Errorf("%s: exit code %d: %s", c.args, r.code, r.err)
			}
		}
	})

	t.Run("damage", func(t *testing.T) {
		out := t.TempDir()
		keys := strings.Fields(flowgraph(t, env, "inspect", "--objects").out)
		for _, key := range keys { // the last log of the last partition
			if strings.Contains(key, "insert_log") {
				if err := bucket.Remove(t.Context(), strings.TrimPrefix(key, "files/")); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := flowgraph(t, env, "export", "ddl", "--out", out)
		if r.code != cli.ExitFailed || len(tree(t, out)) > 0 {
			t.Errorf("exit code %d, left %v\n%s", r.code, tree(t, out), r.err)
		}
	})
}

func TestInspectSpeaksToMilvusTools(t *testing.T) {
	env, _ := archived(t, "ddl")
	const vchannel = "by-dev-rootcoord-dml_0-0"
	r := flowgraph(t, env, "inspect", "--vchannel", vchannel, "--format", "milvus")
	collections := map[string]bool{}
	for line := range strings.Lines(r.out) {
		var info struct {
			CollectionID string `json:"collectionID"`
			ChannelName  string `json:"channelName"`
		}
		err := json.Unmarshal([]byte(line), &info)
		// Of a dropped collection the name that Milvus gave the shard is gone.
		milvus := "by-dev-rootcoord-dml_0_" + info.CollectionID + "v0"
		if dropped := strings.Contains(line, "dropped_segmentIds") && !strings.Contains(line, "unflushedSegmentIds"); dropped {
			milvus = vchannel
		}
		if err != nil || info.ChannelName != milvus {
			t.Errorf("%v in %s, want channel %s", err, line, milvus)
		}
		collections[info.CollectionID] = true
	}
	if r.code != 0 || len(collections) != 3 {
		t.Errorf("exit code %d, collections %v\n%s", r.code, collections, r.err)
	}
	r = flowgraph(t, env, "inspect", "--vchannel", vchannel, "--format", "milvus", "--binary")
	if !strings.Contains(r.err, "3 VchannelInfo, each behind its length") {
		t.Errorf("told %q", r.err)
	}
	messages := 0
	for data := bytes.NewBufferString(r.out); data.Len() > 0; messages++ {
		n, err := binary.ReadUvarint(data)
		if err != nil || int(n) > data.Len() {
			t.Fatalf("%d bytes, %v", n, err)
		}
		data.Next(int(n))
	}
	if messages != 3 {
		t.Errorf("%d messages", messages)
	}
	for _, args := range [][]string{{"--binary"}, {"--format", "milvus"}, {"--format", "milvus", "--vchannel", "v", "--json"}} {
		if r := flowgraph(t, env, append([]string{"inspect"}, args...)...); r.code != cli.ExitUsage {
			t.Errorf("%v: exit code %d", args, r.code)
		}
	}
}

func TestMomentsAreTimesOrHybridTimestamps(t *testing.T) {
	for text, want := range map[string]uint64{
		"470799435287049736":              470799435287049736,
		"2023-11-14T22:13:20Z":            1700000000000 << 18,
		"2023-11-14T22:13:20":             1700000000000 << 18,
		"2023-11-14 22:13:20.5":           1700000000500 << 18,
		"2023-11-14T23:13:20+01:00":       1700000000000 << 18,
		"2023-11-14T22:13:20.000999999Z":  1700000000000 << 18,
		" 2023-11-14T22:13:20.001000000Z": 1700000000001 << 18,
	} {
		var m cli.Moment
		if err := m.UnmarshalText([]byte(text)); err != nil || uint64(m) != want {
			t.Errorf("%q: %d, %v; want %d", text, m, err, want)
		}
	}
	for _, text := range []string{"", "1700000000", "1700000000000", "2023-11-14", "yesterday", "-1", "18446744073709551615"} {
		var m cli.Moment
		if err := m.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken for %d", text, m)
		}
	}
}
