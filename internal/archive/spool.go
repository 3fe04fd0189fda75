package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	// spoolParts is into how many parts entries are dealt. A part of a
	// thousand million entries is two million.
	spoolParts = 512
	// spoolChunk is how many bytes of a part are held before they go to the
	// file: 16 MiB of memory for all parts.
	spoolChunk = 32 << 10
)

// spool keeps records of one fixed size, dealt into parts by hash, so that
// however many there are one part at a time fits in memory. Within a part they
// stay in order. It is used by one goroutine.
type spool struct {
	size  int // of a record, in bytes
	parts []spoolPart
	file  *os.File // nil: everything stays in memory
	end   int64    // of the file
	err   error    // the first of a write; what came later is not kept
}

type spoolPart struct {
	tail   []byte  // records that are not in the file
	chunks []int64 // where the others are, spoolChunk bytes or a little less each
	count  int
}

// newSpool keeps records in memory, or with a directory in a file there that
// has no name: it is gone when the spool is closed or the process ends.
func newSpool(size int, dir string) (*spool, error) {
	s := &spool{size: size, parts: make([]spoolPart, spoolParts)}
	if dir == "" {
		return s, nil
	}
	f, err := os.CreateTemp(dir, "flowgraph-verify-")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("temporary file: %w", err), f.Close())
	}
	s.file = f
	return s, nil
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// slot is the place of the part's next record, to be filled at once.
func (s *spool) slot(hash uint64) []byte {
	p := &s.parts[hash%uint64(len(s.parts))]
	if s.file != nil && len(p.tail)+s.size > spoolChunk {
		s.store(p)
	}
	n := len(p.tail)
	p.tail = append(p.tail, make([]byte, s.size)...)
	p.count++
	return p.tail[n:]
}

func (s *spool) store(p *spoolPart) {
	if _, err := s.file.WriteAt(p.tail, s.end); err != nil && s.err == nil {
		s.err = fmt.Errorf("temporary file: %w", err)
	}
	p.chunks = append(p.chunks, s.end)
	s.end += int64(len(p.tail))
	p.tail = p.tail[:0]
}

// each hands over the records of a part in the order in which they came. They
// are valid during the call.
func (s *spool) each(part int, take func([]byte)) error {
	p := &s.parts[part]
	var chunk []byte
	if len(p.chunks) > 0 {
		chunk = make([]byte, spoolChunk/s.size*s.size)
	}
	for _, at := range p.chunks {
		if _, err := s.file.ReadAt(chunk, at); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("temporary file: %w", err)
		}
		s.split(chunk, take)
	}
	s.split(p.tail, take)
	return s.err
}

func (s *spool) split(records []byte, take func([]byte)) {
	for len(records) > 0 {
		take(records[:s.size])
		records = records[s.size:]
	}
}

// spread deals numbers that are near each other to different parts.
func spread(place int32, id int64) uint64 {
	h := (uint64(id) ^ uint64(place)<<48) * 0x9E3779B97F4A7C15
	return h ^ h>>32
}

// pack and unpack write and read the fields of records.
type pack struct{ b []byte }

func (p *pack) bytes(v []byte) { p.b = p.b[copy(p.b, v):] }
func (p *pack) int64(v int64) {
	binary.LittleEndian.PutUint64(p.b, uint64(v))
	p.b = p.b[8:]
}
func (p *pack) int32(v int32) {
	binary.LittleEndian.PutUint32(p.b, uint32(v))
	p.b = p.b[4:]
}
func (p *pack) byte(v byte) {
	p.b[0] = v
	p.b = p.b[1:]
}

type unpack struct{ b []byte }

func (u *unpack) bytes(v []byte) { u.b = u.b[copy(v, u.b):] }
func (u *unpack) int64() int64 {
	v := binary.LittleEndian.Uint64(u.b)
	u.b = u.b[8:]
	return int64(v)
}
func (u *unpack) int32() int32 {
	v := binary.LittleEndian.Uint32(u.b)
	u.b = u.b[4:]
	return int32(v)
}
func (u *unpack) byte() byte {
	v := u.b[0]
	u.b = u.b[1:]
	return v
}
