package sinks_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"flowgraph/checkpoints"
)

// What a reply says of its size must neither take all memory nor end the
// process.
func TestASizeThatAStoreClaimsIsBelieved(t *testing.T) {
	for _, size := range []string{"9223372036854775807", "1125899906842624"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", size)
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			w.Header().Set("ETag", `"e"`)
			io.WriteString(w, "x")
		}))
		_, _, err := newBucket(t, fastConfig(s.URL)).Get(t.Context(), "k")
		s.Close()
		if !errors.Is(err, checkpoints.ErrRefused) || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("%s bytes: %v", size, err)
		}
	}
}

// A listing or an error without end is cut off, and no listing.
func TestAReplyWithoutEndTakesAllMemory(t *testing.T) {
	var sent atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<ListBucketResult><IsTruncated>false</IsTruncated>")
		filler := "<Name>" + strings.Repeat("x", 1<<20) + "</Name>"
		for sent.Store(0); sent.Load() < 200; sent.Add(1) {
			if _, err := io.WriteString(w, filler); err != nil {
				return
			}
		}
		fmt.Fprint(w, "</ListBucketResult>")
	}))
	defer s.Close()
	cfg := fastConfig(s.URL)
	cfg.ReadRefusals = 1
	var last error
	for _, err := range newBucket(t, cfg).List(t.Context(), "") {
		last = err
	}
	if !errors.Is(last, checkpoints.ErrRefused) || sent.Load() >= 200 {
		t.Errorf("%d MiB were taken, and it ended with %v", sent.Load(), last)
	}
}
