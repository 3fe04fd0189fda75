package recording

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Writer writes a recording. Nothing stands under its name before Commit, so a
// file that is there is whole.
type Writer struct {
	path    string
	file    *os.File // nil when written to a stream
	buf     *bufio.Writer
	packer  io.WriteCloser // of the compressed stream; nil when plain
	lines   *json.Encoder
	records int64
	bytes   int64 // of keys, values and headers
}

// Create starts a recording; its name's ending says how it is compressed.
func Create(path string) (*Writer, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, file: f, buf: bufio.NewWriterSize(f, 1<<20)}
	if err := w.compress(compression(path)); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return w, nil
}

// NewWriter writes a recording to a stream, uncompressed. What was written
// stays there when it is aborted.
func NewWriter(out io.Writer) *Writer {
	w := &Writer{buf: bufio.NewWriterSize(out, 1<<20)}
	w.encodeTo(w.buf)
	return w
}

func (w *Writer) compress(kind string) (err error) {
	switch kind {
	case gzipped:
		w.packer = gzip.NewWriter(w.buf)
	case zstandard:
		if w.packer, err = zstd.NewWriter(w.buf, zstd.WithEncoderConcurrency(1)); err != nil {
			return err
		}
	default:
		w.encodeTo(w.buf)
		return nil
	}
	w.encodeTo(w.packer)
	return nil
}

func (w *Writer) encodeTo(out io.Writer) {
	w.lines = json.NewEncoder(out)
	w.lines.SetEscapeHTML(false) // the same record is the same line everywhere
}

// Write appends one record.
func (w *Writer) Write(r Record) error {
	if r.Headers == nil {
		r.Headers = []Header{}
	}
	w.records++
	w.bytes += int64(r.Size())
	return w.lines.Encode(r)
}

// Records is how many were written.
func (w *Writer) Records() int64 { return w.records }

// Bytes is how many bytes of keys, values and headers were written.
func (w *Writer) Bytes() int64 { return w.bytes }

// Commit ends the recording and gives the file its name.
func (w *Writer) Commit() error {
	err := w.finish()
	if w.file == nil {
		return err
	}
	err = errors.Join(err, w.file.Chmod(0o644), w.file.Sync())
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.file.Close(); err != nil {
		return errors.Join(err, os.Remove(w.file.Name()))
	}
	return os.Rename(w.file.Name(), w.path)
}

func (w *Writer) finish() error {
	if w.packer != nil {
		if err := w.packer.Close(); err != nil {
			return err
		}
	}
	return w.buf.Flush()
}

// Abort removes what was written to a file and leaves an older file of the
// same name as it was.
func (w *Writer) Abort() error {
	if w.file == nil {
		return nil
	}
	return errors.Join(w.file.Close(), os.Remove(w.file.Name()))
}
