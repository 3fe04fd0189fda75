// Package nullstore is an object store over HTTP that reads and forgets
// binlogs and keeps everything else, so that what is measured beside it is the
// worker. It honours the conditions of puts, checks their CRC32C, and counts
// what it is asked; signatures are not checked.
package nullstore

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Store listens on an address of its own until it is closed. It has every
// bucket that it is asked for.
type Store struct {
	listener net.Listener
	server   http.Server
	versions atomic.Int64
	keepAll  bool

	mu      sync.Mutex
	counts  Counts
	objects map[string]object // by bucket/key
	sorted  []string          // their keys, nil once one was added or removed
}

type object struct {
	etag, crc string
	size      int64
	body      []byte
	meta      http.Header // the user's metadata
	at        time.Time
}

// Counts is what the store was asked so far.
type Counts struct {
	Puts, Gets, Stats, Lists, Deletes int64
	Stored                            int64 // bytes of all puts
	Documents, DocumentBytes          int64 // of the puts, those of checkpoint documents
	Read                              int64 // bytes of all gets
}

// Less are the counts since c was taken earlier.
func (c Counts) Less(earlier Counts) Counts {
	return Counts{
		Puts: c.Puts - earlier.Puts, Gets: c.Gets - earlier.Gets, Stats: c.Stats - earlier.Stats,
		Lists: c.Lists - earlier.Lists, Deletes: c.Deletes - earlier.Deletes, Stored: c.Stored - earlier.Stored,
		Documents: c.Documents - earlier.Documents, DocumentBytes: c.DocumentBytes - earlier.DocumentBytes, Read: c.Read - earlier.Read,
	}
}

// Requests is the number of requests of all kinds.
func (c Counts) Requests() int64 { return c.Puts + c.Gets + c.Stats + c.Lists + c.Deletes }

// Start starts a store. keepAll: binlogs are kept too, for those that read
// them again.
func Start(keepAll bool) (*Store, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Store{listener: l, objects: map[string]object{}, keepAll: keepAll}
	s.server.Handler = s
	go s.server.Serve(l) // ends with Close
	return s, nil
}

// Endpoint is the store's URL.
func (s *Store) Endpoint() string { return "http://" + s.listener.Addr().String() }

// Close ends the store and all connections.
func (s *Store) Close() error { return s.server.Close() }

// Counts returns what it was asked so far.
func (s *Store) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Set stores an object under bucket/key without a request.
func (s *Store) Set(key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(key, object{body: body, size: int64(len(body)), crc: checksum(crc32.Checksum(body, castagnoli()))})
}

// set gives an object its version. The lock is held.
func (s *Store) set(key string, o object) object {
	o.etag, o.at = fmt.Sprintf("%032x", s.versions.Add(1)), time.Now()
	if _, exists := s.objects[key]; !exists {
		s.sorted = nil
	}
	s.objects[key] = o
	return o
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func checksum(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// ServeHTTP answers one request.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.Trim(r.URL.Path, "/")
	switch query := r.URL.Query(); {
	case query.Has("location"):
		fmt.Fprint(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	case r.Method == http.MethodPut:
		s.put(w, r, key)
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		delete(s.objects, key)
		s.sorted = nil
		s.counts.Deletes++
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case query.Has("list-type"):
		s.list(w, key+"/", query)
	case !strings.Contains(key, "/"): // the bucket
	default:
		s.get(w, r, key)
	}
}

func (s *Store) put(w http.ResponseWriter, r *http.Request, key string) {
	hash := crc32.New(castagnoli())
	var body []byte
	var size int64
	var err error
	if s.forgotten(key) {
		size, err = io.Copy(hash, r.Body)
	} else if body, err = io.ReadAll(r.Body); err == nil {
		size = int64(len(body))
		hash.Write(body)
	}
	sum := checksum(hash.Sum32())
	if want := r.Header.Get("x-amz-checksum-crc32c"); err != nil || want != "" && want != sum {
		fail(w, http.StatusBadRequest, "BadDigest")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Puts++
	old, exists := s.objects[key]
	if r.Header.Get("If-None-Match") == "*" && exists {
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	if match := strings.Trim(r.Header.Get("If-Match"), `"`); match != "" && (!exists || match != old.etag) {
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	o := s.set(key, object{crc: sum, size: size, body: body, meta: metadata(r.Header)})
	s.counts.Stored += size
	if strings.Contains(key, "/checkpoints/") {
		s.counts.Documents++
		s.counts.DocumentBytes += size
	}
	w.Header().Set("ETag", strconv.Quote(o.etag))
	w.Header().Set("x-amz-checksum-crc32c", sum)
}

func metadata(h http.Header) http.Header {
	meta := http.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, "X-Amz-Meta-") {
			meta[name] = values
		}
	}
	return meta
}

// forgotten says whether only the size of an object is kept.
func (s *Store) forgotten(key string) bool {
	return !s.keepAll && strings.Contains(key, "/insert_log/") // statistics are read again when a segment is sealed
}

func (s *Store) get(w http.ResponseWriter, r *http.Request, key string) {
	s.mu.Lock()
	o, ok := s.objects[key]
	if r.Method == http.MethodHead {
		s.counts.Stats++
	} else {
		s.counts.Gets++
		s.counts.Read += int64(len(o.body))
	}
	s.mu.Unlock()
	if !ok {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", strconv.Quote(o.etag))
	w.Header().Set("Last-Modified", o.at.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.FormatInt(o.size, 10))
	w.Header().Set("x-amz-checksum-crc32c", o.crc)
	maps.Copy(w.Header(), o.meta)
	if r.Method == http.MethodGet {
		w.Write(o.body)
	}
}

func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `<Error><Code>%s</Code><Message>%s</Message></Error>`, code, code)
}
