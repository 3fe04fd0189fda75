package nullstore

import (
	"encoding/xml"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pageSize is how many keys one answer to a list request holds, as in S3.
const pageSize = 1000

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

type listed struct {
	Key, ETag    string
	Size         int64
	LastModified time.Time
}

// list answers with one page of the bucket's keys under a prefix, in order.
func (s *Store) list(w http.ResponseWriter, bucket string, query url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Lists++
	if s.sorted == nil {
		s.sorted = slices.Sorted(maps.Keys(s.objects))
	}
	prefix := bucket + query.Get("prefix")
	from, _ := slices.BinarySearch(s.sorted, prefix)
	if after := max(query.Get("continuation-token"), query.Get("start-after")); after != "" {
		behind, found := slices.BinarySearch(s.sorted, bucket+after)
		if found {
			behind++
		}
		from = max(from, behind)
	}
	var l listing
	for _, key := range s.sorted[from:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		if len(l.Contents) == pageSize {
			l.IsTruncated, l.NextContinuationToken = true, l.Contents[pageSize-1].Key
			break
		}
		o := s.objects[key]
		l.Contents = append(l.Contents, listed{strings.TrimPrefix(key, bucket), strconv.Quote(o.etag), o.size, o.at.UTC()})
	}
	xml.NewEncoder(w).Encode(l)
}

// Has is how many objects there are under a prefix of bucket/key.
func (s *Store) Has(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.objects {
		if strings.HasPrefix(key, prefix) {
			n++
		}
	}
	return n
}

// Size is the size of the object under bucket/key in bytes, 0 if there is none.
func (s *Store) Size(key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].size
}

// Body is the object under bucket/key, nil if there is none or it is forgotten.
func (s *Store) Body(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].body
}

// Keys are all bucket/key under a prefix, in order.
func (s *Store) Keys(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.objects)), func(key string) bool { return !strings.HasPrefix(key, prefix) })
}
