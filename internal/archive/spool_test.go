package archive

import (
	"encoding/binary"
	"os"
	"testing"
)

func TestRecordsAreLostOrExchangedOnTheirWayThroughTheFile(t *testing.T) {
	const n = 20_000
	dir := t.TempDir()
	s, err := newSpool(12, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for i := range uint64(n) {
		binary.LittleEndian.PutUint64(s.slot(i%3), i)
	}
	if s.end == 0 {
		t.Fatal("nothing went to the file")
	}
	for part := range uint64(3) {
		next := part
		err := s.each(int(part), func(b []byte) {
			if got := binary.LittleEndian.Uint64(b); got != next {
				t.Fatalf("part %d: record %d where %d belongs", part, got, next)
			}
			next += 3
		})
		if err != nil || next < n {
			t.Errorf("part %d ends before %d: %v", part, next, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d files are left behind", len(left))
	}
}
