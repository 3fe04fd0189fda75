package binlog

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestStatisticsOfTokensThatMilvusWroteAreRead(t *testing.T) {
	found := 0
	for key, b := range goldenFiles(t, "bm25") {
		if !strings.Contains(key, "/bm25_stats/") {
			continue
		}
		found++
		s, err := ReadTokenStats(b)
		if err != nil {
			t.Fatal(err)
		}
		if s.Rows != 2 || s.Tokens != 4 || !slices.Equal(s.Counts, []TokenCount{{42, 2}}) {
			t.Errorf("%s: %+v", key, s)
		}
		for n := range len(b) {
			if s, err := ReadTokenStats(b[:n]); n != tokenHead && !errors.Is(err, ErrCorrupt) {
				t.Errorf("cut to %d bytes: %+v, %v", n, s, err)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d files", found)
	}
	if binlogs := goldenLogs(t, "v1-delta"); len(binlogs) == 0 || AreTokenStats(binlogs[0].bytes) {
		t.Error("a binlog is taken for statistics of tokens")
	}
}
