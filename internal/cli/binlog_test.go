package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	deltaLog  = "../../testdata/golden/v1-delta/json-varchar/delta_log/445566/-1/445650/445900111"
	insertLog = "../../testdata/golden/v1-streamwriter/insert_log/445566/445567/445600/100/445960100"
)

func TestALocalBinlogNeedsNoBucket(t *testing.T) {
	for _, path := range []string{deltaLog, insertLog} {
		r := flowgraph(t, nil, "binlog", path)
		if r.code != 0 || !strings.Contains(r.out, "collection") || !strings.Contains(r.out, "445566") || !strings.Contains(r.out, "\nROW") {
			t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
		}
	}
	if r := flowgraph(t, nil, "binlog", "nowhere"); r.code != 2 || !strings.Contains(r.err, "no file nowhere") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	if r := flowgraph(t, nil, "binlog", file(t, "no binlog at all")); r.code != 1 || !strings.Contains(r.err, "corrupt binlog") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

// jsonLines decodes every line of an output.
func jsonLines(t *testing.T, out string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for _, text := range strings.Split(strings.TrimSpace(out), "\n") {
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestEveryRowOfABinlogIsALineOfJSON(t *testing.T) {
	for _, path := range []string{deltaLog, insertLog} {
		r := flowgraph(t, nil, "binlog", "--json", path)
		lines := jsonLines(t, r.out)
		rows := lines[0]["header"].(map[string]any)["rows"].(float64)
		if len(lines) != int(rows)+1 || rows == 0 {
			t.Errorf("%d lines for %v rows", len(lines), rows)
		}
		limited := jsonLines(t, flowgraph(t, nil, "binlog", "--json", "--limit", "1", path).out)
		if len(limited) != 2 {
			t.Errorf("%d lines with --limit 1", len(limited))
		}
	}
}

func TestABlockedFilterIsSaidToHaveNoBits(t *testing.T) {
	for kind, want := range map[string]string{"BlockedBloomFilter": "512 bits, ", "BasicBloomFilter": "44 bits, "} {
		files, err := filepath.Glob("../../testdata/golden/v1-*" + kind + "/stats_log/*/*/*/*/*")
		if err != nil || len(files) == 0 {
			t.Fatalf("%v, %d files of a %s", err, len(files), kind)
		}
		if r := flowgraph(t, nil, "binlog", files[0]); !strings.Contains(r.out, want) {
			t.Errorf("%s: %s%s", files[0], r.out, r.err)
		}
	}
}

// Every file of the golden set is one that a Milvus component wrote.
func TestEveryKindOfBinlogCanBeShown(t *testing.T) {
	files, err := filepath.Glob("../../testdata/golden/v1-*/*_log/*/*/*/*/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	deltas, err := filepath.Glob("../../testdata/golden/v1-*/*/*_log/*/*/*/*")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := filepath.Glob("../../testdata/golden/bm25/*/*/*/*/*/*")
	if err != nil || len(tokens) != 1 {
		t.Fatalf("%v, %d files", err, len(tokens))
	}
	for _, path := range slices.Concat(files, deltas, tokens) {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		if r := flowgraph(t, nil, "binlog", path); r.code != 0 || r.out == "" {
			t.Errorf("%s: %s", path, r.err)
		}
		if r := flowgraph(t, nil, "binlog", "--json", path); r.code != 0 {
			t.Errorf("%s: %s", path, r.err)
		} else if !strings.Contains(path, "stats_log") {
			jsonLines(t, r.out)
		}
	}
}

// Milvus' loaders name bits and hashes of a filter when they refuse it.
func TestStatisticsAreShownForWhatTheyAre(t *testing.T) {
	stats := "../../testdata/golden/v1-insertcodec-%sBloomFilter/stats_log/445566/445567/%s"
	for path, want := range map[string]string{
		fmt.Sprintf(stats, "Blocked", "445600/100/1"):                              "100    10            30           blocked, 512 bits, 119 hashes\n",
		fmt.Sprintf(stats, "Basic", "445600/100/445900079"):                        "100    -20           0            basic, 44 bits, 11 hashes\n",
		fmt.Sprintf(stats, "Blocked", "445601/100/1"):                              `"id-000000"`,
		"../../testdata/golden/bm25/bm25_stats/445566/445567/445600/115/445900115": "tokens  4, of 1 kinds\n\nTOKEN  ROWS\n42     2\n",
	} {
		if r := flowgraph(t, nil, "binlog", path); r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("%s: exit code %d, want %q in\n%s%s", path, r.code, want, r.out, r.err)
		}
	}
}
