package sinks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
)

func TestAListingGoesBeyondThePageAndStoreErrors(t *testing.T) {
	g := newGateway(t)
	dir := filepath.Join(g.dir, "a-bucket", "files", "segments")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 2001 {
		want = append(want, fmt.Sprintf("segments/%04d", i))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d", i)), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g.store("files/other", []byte("x"))
	g.store("elsewhere/segments/1", []byte("x"))
	var seen atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1)%2 == 1 {
			refuseWith(w, r, 503, "SlowDown")
			return
		}
		g.proxy.ServeHTTP(w, r)
	}
	got := keys(t, newBucket(t, g.config()), "segments/")
	if !slices.Equal(got, want) {
		t.Fatalf("%d keys, want %d", len(got), len(want))
	}
}

func TestKeysComeInOrderAndWithoutTheRoot(t *testing.T) {
	g := newGateway(t)
	want := []string{"a", "b-c", "b.c", "b/a/z", "b/c", "b0"}
	for _, k := range want {
		g.store("files/"+k, []byte("x"))
	}
	b := newBucket(t, g.config())
	if got := keys(t, b, ""); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := keys(t, b, "b/"); !slices.Equal(got, []string{"b/a/z", "b/c"}) {
		t.Errorf("below b/: %v", got)
	}
	if err := b.Remove(t.Context(), "b/c"); err != nil {
		t.Fatal(err)
	}
	if err := b.Remove(t.Context(), "b/c"); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
	if got := keys(t, b, "b/"); !slices.Equal(got, []string{"b/a/z"}) {
		t.Errorf("after removal: %v", got)
	}
}

// A listing in circles must be an error: a short list would lose segments, and
// an endless one would hang.
func TestAListingThatLosesItsPlaceIsAnError(t *testing.T) {
	content := func(key string) string {
		return "<Contents><Key>" + key + "</Key><Size>1</Size><ETag>e</ETag><LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
	}
	for name, page := range map[string]string{
		"the same page for ever":      content("files/a") + content("files/b") + "<NextContinuationToken>t</NextContinuationToken>",
		"empty pages, the same token": "<NextContinuationToken>t</NextContinuationToken>",
		"no token":                    content("files/a"),
		"out of order":                content("files/b") + content("files/a") + "<NextContinuationToken>t</NextContinuationToken>",
		"keys of others":              content("elsewhere/a") + "<NextContinuationToken>t</NextContinuationToken>",
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, "<ListBucketResult><IsTruncated>true</IsTruncated>%s</ListBucketResult>", page)
			}))
			defer s.Close()
			var last error
			for _, err := range newBucket(t, fastConfig(s.URL)).List(t.Context(), "") {
				last = err
			}
			if !errors.Is(last, checkpoints.ErrRefused) {
				t.Fatalf("ended with %v", last)
			}
		})
	}
}

func TestAListingBeforeTheRegionIsKnownFails(t *testing.T) {
	cfg := newGateway(t).config()
	cfg.Region = ""
	if got := keys(t, newBucket(t, cfg), ""); len(got) > 0 {
		t.Errorf("listed %v", got)
	}
}

func TestAnEndedContextIsNoEndOfTheListing(t *testing.T) {
	g := newGateway(t)
	g.store("files/a", []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range newBucket(t, g.config()).List(ctx, "") {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Fatalf("ended with %v", last)
	}
}

func keys(t *testing.T, b *sinks.Bucket, prefix string) []string {
	t.Helper()
	var keys []string
	for info, err := range b.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(info.Key, "/") {
			t.Errorf("a directory is listed: %s", info.Key)
		}
		keys = append(keys, info.Key)
	}
	return keys
}
