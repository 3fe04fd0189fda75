package recording

import (
	"context"
	"io"
)

// Survey is what a recording needs of the topics that it is replayed into.
type Survey struct {
	Partitions map[string]int32 // by topic: the partitions it must have
	Largest    int              // bytes of the largest record's key, value and headers
	Records    int64
	Bytes      int64 // of all keys, values and headers
}

// Scan reads a whole recording. It is done before a replay, so that a broken
// line is found before anything is produced.
func Scan(ctx context.Context, path string) (Survey, error) { return scan(ctx, path, nil) }

// scan is Scan that tells, unless told is nil, how many bytes of the file were
// read of how many.
func scan(ctx context.Context, path string, told func(done, of int64)) (Survey, error) {
	s := Survey{Partitions: map[string]int32{}}
	r, err := Open(path)
	if err != nil {
		return s, err
	}
	defer r.Close()
	for ctx.Err() == nil {
		rec, err := r.Next()
		if err == io.EOF {
			return s, nil
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
	return s, context.Cause(ctx)
}
