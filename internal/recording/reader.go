package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxLine bounds a line, so that a file without line breaks is an error and
// not all of the memory. Base64 of the largest batch Kafka takes fits.
const maxLine = 1 << 30

// Reader reads a recording record by record.
type Reader struct {
	name    string
	file    *os.File
	read    counter
	size    int64
	release func()
	lines   *bufio.Reader
	line    int
	buf     []byte
	last    map[partition]int64 // offset of the last record read of each
}

type partition struct {
	topic string
	id    int32
}

// counter counts the bytes read from the file, which is all that is known of
// how far a compressed recording has been read.
type counter struct {
	r io.Reader
	n atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// Open opens a recording; its name's ending says how it is compressed.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{name: path, file: f, release: func() {}, last: map[partition]int64{}}
	r.read.r = f
	if info, err := f.Stat(); err == nil {
		r.size = info.Size()
	}
	plain, err := r.decompress(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	r.lines = bufio.NewReaderSize(plain, 1<<20)
	return r, nil
}

func (r *Reader) decompress(path string) (io.Reader, error) {
	switch compression(path) {
	case gzipped:
		return gzip.NewReader(&r.read)
	case zstandard:
		// One decoder goroutine less to own, and records are read in order anyway.
		d, err := zstd.NewReader(&r.read, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		r.release = d.Close
		return d, nil
	}
	return &r.read, nil
}

// Close releases the file.
func (r *Reader) Close() error {
	r.release()
	return r.file.Close()
}

// Progress tells how many bytes of the file were read, and how many it has
// (0 where that is unknown).
func (r *Reader) Progress() (read, size int64) { return r.read.n.Load(), r.size }

// All yields the records up to the last, or to the first error, which names the
// file and the line; a recording that breaks off is one.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			rec, err := r.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				err = fmt.Errorf("%s line %d: %w", r.name, r.line, err)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// next returns the next record, or io.EOF after the last.
func (r *Reader) next() (Record, error) {
	line, err := r.nextLine()
	if err != nil {
		return Record{}, err
	}
	rec, err := parse(line)
	if err == nil {
		err = r.inOrder(rec)
	}
	return rec, err
}

// nextLine returns the next line that is not blank. The bytes are valid until
// the next call.
func (r *Reader) nextLine() ([]byte, error) {
	for {
		r.line++
		r.buf = r.buf[:0]
		for {
			part, err := r.lines.ReadSlice('\n')
			r.buf = append(r.buf, part...)
			if len(r.buf) > maxLine {
				return nil, fmt.Errorf("longer than %d bytes: this is no recording", maxLine)
			}
			if err == nil || (err == io.EOF && len(bytes.TrimSpace(r.buf)) > 0) {
				break
			}
			if err == io.ErrUnexpectedEOF {
				return nil, fmt.Errorf("the compressed file breaks off here: %w", err)
			}
			if err != bufio.ErrBufferFull {
				return nil, err
			}
		}
		if line := bytes.TrimSpace(r.buf); len(line) > 0 {
			return line, nil
		}
	}
}

func parse(line []byte) (Record, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	// A misspelt key would silently read as null.
	d.DisallowUnknownFields()
	rec := Record{Partition: -1, Offset: -1, Timestamp: -1}
	if err := d.Decode(&rec); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return Record{}, errors.New("the line breaks off")
		}
		return Record{}, err
	}
	if d.More() {
		return Record{}, errors.New("more than one object in the line")
	}
	for _, missing := range []struct {
		key string
		is  bool
	}{{"topic", rec.Topic == ""}, {"partition", rec.Partition < 0}, {"offset", rec.Offset < 0}, {"timestamp", rec.Timestamp < 0}} {
		if missing.is {
			return Record{}, fmt.Errorf("%q is missing or negative", missing.key)
		}
	}
	return rec, nil
}

// inOrder refuses a record that stands after a later one of its partition:
// replayed, it would make another log than the one recorded.
func (r *Reader) inOrder(rec Record) error {
	p := partition{rec.Topic, rec.Partition}
	if last, ok := r.last[p]; ok && rec.Offset <= last {
		return fmt.Errorf("offset %d of %s stands after offset %d: a recording is in offset order", rec.Offset, rec.vchannel(), last)
	}
	r.last[p] = rec.Offset
	return nil
}

const (
	uncompressed = ""
	gzipped      = "gzip"
	zstandard    = "zstd"
)

func compression(path string) string {
	switch {
	case strings.HasSuffix(path, ".gz"):
		return gzipped
	case strings.HasSuffix(path, ".zst"), strings.HasSuffix(path, ".zstd"):
		return zstandard
	}
	return uncompressed
}
