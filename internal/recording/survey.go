package recording

import (
	"context"
)

// Survey is what a recording needs of the topics that it is replayed into.
type Survey struct {
	Partitions map[string]int32 // by topic: the partitions it must have
	Largest    int              // bytes of the largest record's key, value and headers
	Records    int64
	Bytes      int64 // of all keys, values and headers
}

// scan reads a whole recording. It is done before a replay, so that a broken
// line is found before anything is produced. Unless told is nil, it tells how
// many bytes of the file were read of how many.
func scan(ctx context.Context, path string, told func(done, of int64)) (Survey, error) {
	s := Survey{Partitions: map[string]int32{}}
	r, err := Open(path)
	if err != nil {
		return s, err
	}
	defer r.Close()
	for rec, err := range r.All() {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return s, err
		}
		s.Partitions[rec.Topic] = max(s.Partitions[rec.Topic], rec.Partition+1)
		s.Largest = max(s.Largest, rec.Size())
		s.Records++
		s.Bytes += int64(rec.Size())
		if told != nil && s.Records%1000 == 0 {
			told(r.Progress())
		}
	}
	return s, nil
}
