package sinks_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
)

// first answers the first n requests that are meant, and lets others pass.
func (g *gateway) first(n int64, meant func(*http.Request) bool, answer http.HandlerFunc) *atomic.Int64 {
	var seen atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if meant(r) && seen.Add(1) <= n {
			answer(w, r)
			return
		}
		g.proxy.ServeHTTP(w, r)
	}
	return &seen
}

func isList(r *http.Request) bool { return r.URL.Query().Has("list-type") }
func isPut(r *http.Request) bool  { return r.Method == http.MethodPut }
func isCopy(r *http.Request) bool { return r.Header.Get("x-amz-copy-source") != "" }

// cut announces more than it sends.
func cut(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", fmt.Sprint(len(text)+1000))
	w.WriteHeader(status)
	io.WriteString(w, text)
}

// An empty list would make every object of a closed segment look as if nothing
// referred to it.
func TestAListingThatIsNoneIsNoEmptyOne(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an error inside a reply of success": func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, 200, "InternalError") },
		"an empty reply of success":          func(w http.ResponseWriter, r *http.Request) {},
		"cut short": func(w http.ResponseWriter, r *http.Request) {
			cut(w, 200, "<?xml version=\"1.0\"?>\n<ListBucketResult><IsTruncated>false</IsTruncated>")
		},
		"an error cut short": func(w http.ResponseWriter, r *http.Request) { cut(w, 503, "<?xml version=\"1.0\"?><Error><Code>Slow") },
		"a page of a proxy": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "<!DOCTYPE html>\n<html><body><br>Please log in.</body></html>")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.store("files/a", []byte("x"))
			g.store("files/b", []byte("x"))
			seen := g.first(2, isList, answer)
			if got := keys(t, newBucket(t, g.config()), ""); !slices.Equal(got, []string{"a", "b"}) || seen.Load() != 3 {
				t.Errorf("%d requests list %q", seen.Load(), got)
			}
		})
	}
}

func TestAProxyInTheWayIsNamedInTheEnd(t *testing.T) {
	g := newGateway(t)
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "<html><body>Please log in.</body></html>")
	}
	var last error
	for _, err := range newBucket(t, g.config()).List(t.Context(), "segments/") {
		last = err
	}
	if !errors.Is(last, checkpoints.ErrRefused) || !strings.Contains(last.Error(), `"html"`) {
		t.Fatalf("ended with %v", last)
	}
}

func TestACopyThatTheStoreDidNotMakeIsMadeAgain(t *testing.T) {
	result := `<CopyObjectResult><ETag>"0"</ETag><LastModified>2024-01-01T00:00:00.000Z</LastModified></CopyObjectResult>`
	for name, s := range map[string]struct {
		before string // what is under the key already
		answer http.HandlerFunc
	}{
		"an error inside a reply of success": {"", func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, 200, "InternalError") }},
		"success, and no object":             {"", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, result) }},
		"success, and another object":        {"something else", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, result) }},
		"cut short":                          {"", func(w http.ResponseWriter, r *http.Request) { cut(w, 200, result[:20]) }},
		"503":                                {"", func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, 503, "SlowDown") }},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			from := newBucket(t, g.config())
			if _, err := from.Put(t.Context(), "a", object("the source"), checkpoints.Condition{}); err != nil {
				t.Fatal(err)
			}
			if s.before != "" {
				g.store("files/b", []byte(s.before))
			}
			seen := g.first(2, isCopy, s.answer)
			n, err := newBucket(t, g.config()).CopyFrom(t.Context(), from, "a", "b")
			if err != nil || n != int64(len("the source")) || g.file("b") != "the source" || seen.Load() != 3 {
				t.Errorf("after %d requests the copy is %q: %d, %v", seen.Load(), g.file("b"), n, err)
			}
		})
	}
}

func TestARemovalThatFailedInsideAReplyOfSuccessIsMadeAgain(t *testing.T) {
	g := newGateway(t)
	g.store("files/k", []byte("x"))
	seen := g.first(2, func(r *http.Request) bool { return r.Method == http.MethodDelete },
		func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, 200, "InternalError") })
	if err := newBucket(t, g.config()).Remove(t.Context(), "k"); err != nil || g.file("k") != "" || seen.Load() != 3 {
		t.Errorf("after %d requests there is %q: %v", seen.Load(), g.file("k"), err)
	}
}

// A condition that the store says has failed, although it holds, is no conflict.
func TestAConditionThatFailsWithoutReasonIsTriedAgain(t *testing.T) {
	for code, status := range map[string]int{"PreconditionFailed": 412, "ConditionalRequestConflict": 409} {
		forChecksums(t, func(t *testing.T, c sinks.Checksum) {
			g := newGateway(t)
			cfg := g.config()
			cfg.Checksum = c
			b := newBucket(t, cfg)
			refusal := func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, status, code) }
			g.first(2, isPut, refusal)
			first, err := b.Put(t.Context(), "k", object("one"), checkpoints.Condition{Refusals: 1})
			if err != nil || g.file("k") != "one" {
				t.Fatalf("%d to a creation: %v", status, err)
			}
			g.first(2, isPut, refusal)
			if _, err := b.Put(t.Context(), "k", object("two"), checkpoints.Condition{ETag: first.ETag, Refusals: 1}); err != nil || g.file("k") != "two" {
				t.Fatalf("%d to a replacement: %v", status, err)
			}
		})
	}
}
