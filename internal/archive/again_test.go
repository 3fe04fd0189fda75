package archive_test

import (
	"slices"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// everything lists the keys of all objects.
func everything(t *testing.T, b checkpoints.Bucket) []string {
	t.Helper()
	var keys []string
	for info, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func references(t *testing.T, b checkpoints.Bucket) []string {
	t.Helper()
	var keys []string
	for key, err := range open(t, b).References(t.Context(), func(string) bool { return true }) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func TestRunningAgainAddsNothing(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, name)
			before := references(t, r.bucket)
			r.work(t)
			if after := references(t, r.bucket); !slices.Equal(before, after) {
				t.Errorf("referenced before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			// What is referred to is all there is, each once: a copy of it is
			// the archive.
			if all := everything(t, r.bucket); !slices.Equal(before, all) {
				t.Errorf("referenced:\n%s\nthere are:\n%s", strings.Join(before, "\n"), strings.Join(all, "\n"))
			}
			if report := check(t, r.bucket, r.expected(t), archive.CheckOptions{}); report.Err() != nil {
				t.Errorf("%s", report)
			}
		})
	}
}

func TestWhatWasDroppedIsMarked(t *testing.T) {
	for name, want := range map[string]struct{ collections, partitions, segments int }{
		"ddl":        {collections: 1, partitions: 1, segments: 8},
		"concurrent": {partitions: 1, segments: 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, name)
			a := open(t, r.bucket)
			if err := a.LoadHistory(t.Context()); err != nil {
				t.Fatal(err)
			}
			collections, partitions := map[int64]bool{}, map[int64]bool{}
			for _, v := range a.VChannels() {
				for id, c := range v.Doc.Collections {
					if c.Dropped != nil {
						collections[id] = true
					}
					for pid, p := range c.Partitions {
						if p.Dropped != nil {
							partitions[pid] = true
						}
					}
				}
			}
			if len(collections) != want.collections || len(partitions) != want.partitions {
				t.Errorf("dropped collections %v and partitions %v, want %d and %d", collections, partitions, want.collections, want.partitions)
			}
			dropped := 0
			for _, s := range allSegments(t, a) {
				if gone := collections[s.Collection] || partitions[s.Partition]; gone != (s.State == checkpoints.Dropped) {
					t.Errorf("segment %d: state %d, its place is dropped: %v", s.ID, s.State, gone)
				} else if gone {
					dropped++
				}
				if s.CollectionName == "" || s.PartitionName == "" && s.Partition != -1 {
					t.Errorf("segment %d of %d/%d has no names: %q, %q", s.ID, s.Collection, s.Partition, s.CollectionName, s.PartitionName)
				}
			}
			if dropped != want.segments {
				t.Errorf("%d segments are dropped, want %d", dropped, want.segments)
			}
		})
	}
}
