package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// store is an object store that reads and forgets binlogs and keeps
// everything else, so that what is measured is the worker. It honours the
// conditions of puts and checks their CRC32C; signatures are not checked.
type store struct {
	listener net.Listener
	server   http.Server
	puts     atomic.Int64
	bytes    atomic.Int64 // of all puts
	document atomic.Int64 // of them, of checkpoint documents
	versions atomic.Int64

	mu      sync.Mutex
	objects map[string]object
}

type object struct {
	etag, crc string
	size      int64
	body      []byte
	at        time.Time
}

func startStore() (*store, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &store{listener: l, objects: map[string]object{}}
	s.server.Handler = s
	go s.server.Serve(l) // ends with Close
	return s, nil
}

func (s *store) endpoint() string { return "http://" + s.listener.Addr().String() }

func (s *store) close() error { return s.server.Close() }

// counts returns the puts, their bytes, and the bytes of documents so far.
func (s *store) counts() (puts, bytes, document int64) {
	return s.puts.Load(), s.bytes.Load(), s.document.Load()
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.Trim(r.URL.Path, "/")
	switch query := r.URL.Query(); {
	case query.Has("location"):
		fmt.Fprint(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	case r.Method == http.MethodPut:
		s.put(w, r, key)
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		delete(s.objects, key)
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case query.Has("list-type"):
		s.list(w, key+"/", query.Get("prefix"))
	case !strings.Contains(key, "/"): // the bucket
	default:
		s.get(w, r, key)
	}
}

func (s *store) put(w http.ResponseWriter, r *http.Request, key string) {
	hash := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	var body []byte
	var size int64
	var err error
	if forgotten(key) {
		size, err = io.Copy(hash, r.Body)
	} else if body, err = io.ReadAll(r.Body); err == nil {
		size = int64(len(body))
		hash.Write(body)
	}
	sum := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, hash.Sum32()))
	if want := r.Header.Get("x-amz-checksum-crc32c"); err != nil || want != "" && want != sum {
		fail(w, http.StatusBadRequest, "BadDigest")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.objects[key]
	if r.Header.Get("If-None-Match") == "*" && exists {
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	if match := strings.Trim(r.Header.Get("If-Match"), `"`); match != "" && (!exists || match != old.etag) {
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	o := object{etag: fmt.Sprintf("%032x", s.versions.Add(1)), crc: sum, size: size, body: body, at: time.Now()}
	s.objects[key] = o
	s.puts.Add(1)
	s.bytes.Add(size)
	if strings.Contains(key, "/checkpoints/") {
		s.document.Add(size)
	}
	w.Header().Set("ETag", strconv.Quote(o.etag))
	w.Header().Set("x-amz-checksum-crc32c", sum)
}

// forgotten says whether only the size of an object is kept.
func forgotten(key string) bool {
	return strings.Contains(key, "/insert_log/") || strings.Contains(key, "/stats_log/") && !strings.HasSuffix(key, "/1")
}

func (s *store) get(w http.ResponseWriter, r *http.Request, key string) {
	s.mu.Lock()
	o, ok := s.objects[key]
	s.mu.Unlock()
	if !ok {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", strconv.Quote(o.etag))
	w.Header().Set("Last-Modified", o.at.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.FormatInt(o.size, 10))
	w.Header().Set("x-amz-checksum-crc32c", o.crc)
	if r.Method == http.MethodGet {
		w.Write(o.body)
	}
}

type listing struct {
	XMLName  xml.Name `xml:"ListBucketResult"`
	Contents []listed
}

type listed struct {
	Key, ETag    string
	Size         int64
	LastModified time.Time
}

func (s *store) list(w http.ResponseWriter, bucket, prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var l listing
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		name, ok := strings.CutPrefix(key, bucket)
		if ok && strings.HasPrefix(name, prefix) {
			o := s.objects[key]
			l.Contents = append(l.Contents, listed{name, strconv.Quote(o.etag), o.size, o.at.UTC()})
		}
	}
	xml.NewEncoder(w).Encode(l)
}

func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `<Error><Code>%s</Code><Message>%s</Message></Error>`, code, code)
}
