package demo

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/recording"
)

// traffic is the recording that the demo replays.
type traffic struct {
	path    string
	records int64
	ends    map[string]int64 // by vchannel: where its log ends once all is replayed
}

// assemble makes one recording of all those embedded, which are of one Milvus
// and one after the other.
func assemble(files fs.FS, dir string) (*traffic, error) {
	found, err := fs.Glob(files, "*/records.jsonl.gz")
	if err != nil {
		return nil, err
	}
	var recordings [][]recording.Record
	for _, name := range found {
		records, err := load(files, name, filepath.Join(dir, "part.jsonl.gz"))
		if err != nil {
			return nil, err
		}
		recordings = append(recordings, records)
	}
	if len(recordings) == 0 {
		return nil, errors.New("this build has no recordings")
	}
	slices.SortFunc(recordings, func(x, y []recording.Record) int { return cmp.Compare(x[0].Timestamp, y[0].Timestamp) })
	return merge(filepath.Join(dir, "traffic.jsonl.gz"), slices.Concat(recordings...))
}

// load reads an embedded recording by way of a file, which is what a
// recording is.
func load(files fs.FS, name, path string) (records []recording.Record, err error) {
	if err := unpack(files, name, path); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	for r, err := range archive.Recorded(path) {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s is empty", name)
	}
	return records, nil
}

func unpack(files fs.FS, name, path string) error {
	from, err := files.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// merge writes the records as they were written over all partitions: always
// the oldest of those that are next in their partition, so that the order
// inside a partition stays. Offsets are those of topics that were empty.
func merge(path string, records []recording.Record) (*traffic, error) {
	var names []string
	logs := map[string][]recording.Record{}
	for _, r := range records {
		name := checkpoints.VChannel{Topic: r.Topic, Partition: r.Partition}.Name()
		if logs[name] == nil {
			names = append(names, name)
		}
		logs[name] = append(logs[name], r)
	}
	out, err := recording.Create(path)
	if err != nil {
		return nil, err
	}
	t := &traffic{path: path, records: int64(len(records)), ends: map[string]int64{}}
	for range records {
		left := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return len(logs[n]) == 0 })
		next := slices.MinFunc(left, func(x, y string) int { return cmp.Compare(logs[x][0].Timestamp, logs[y][0].Timestamp) })
		r := logs[next][0]
		logs[next] = logs[next][1:]
		r.Offset = t.ends[next]
		t.ends[next] = checkpoints.After(r.Offset)
		if err := out.Write(r); err != nil {
			return nil, errors.Join(err, out.Abort())
		}
	}
	return t, out.Commit()
}
