package sinks_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"flowgraph/checkpoints"
)

// Trouble that passes is waited for, however few refusals a call bears.
func TestTroubleThatPassesDoesNotEndACommit(t *testing.T) {
	for _, s := range []struct {
		code   string
		status int
	}{
		{"SlowDown", 503}, {"InternalError", 500}, {"BadGateway", 502}, {"TooManyRequests", 429}, {"RequestTimeout", 408},
		{"XMinioStorageFull", 507}, {"XMinioStorageFull", 500}, {"ExpiredToken", 400}, {"InvalidAccessKeyId", 403},
		{"RequestTimeTooSkewed", 403}, {"SlowDown", 400}, {"ConditionalRequestConflict", 409},
	} {
		t.Run(s.code, func(t *testing.T) {
			g := newGateway(t)
			var seen atomic.Int64
			g.fault = func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut && seen.Add(1) <= 3 {
					refuseWith(w, r, s.status, s.code)
					return
				}
				g.proxy.ServeHTTP(w, r)
			}
			b := newBucket(t, g.config())
			if _, err := b.Put(t.Context(), "k", object("one"), checkpoints.Condition{Refusals: 1}); err != nil {
				t.Fatal(err)
			}
			if g.file("k") != "one" || seen.Load() != 4 {
				t.Errorf("stored %q after %d puts", g.file("k"), seen.Load())
			}
		})
	}
}

func TestARefusedCommitEndsWithTheStoresWords(t *testing.T) {
	for _, s := range []struct {
		code   string
		status int
	}{{"AccessDenied", 403}, {"InvalidRequest", 400}, {"NoSuchBucket", 404}, {"NotImplemented", 501}} {
		t.Run(s.code, func(t *testing.T) {
			g := newGateway(t)
			g.fault = func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, s.status, s.code) }
			b := newBucket(t, g.config())
			_, err := b.Put(t.Context(), "checkpoints/rows-0.json", object("one"), checkpoints.Condition{Refusals: 10})
			if !errors.Is(err, checkpoints.ErrRefused) {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{"checkpoints/rows-0.json", s.code, "words of the store"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if g.puts.Load() != 11 { // the first and ten more
				t.Errorf("%d puts", g.puts.Load())
			}
		})
	}
}

func TestARefusedUploadGoesOnUntilItIsAllowed(t *testing.T) {
	g := newGateway(t)
	var seen atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1) <= 30 {
			refuseWith(w, r, 403, "AccessDenied")
			return
		}
		g.proxy.ServeHTTP(w, r)
	}
	b := newBucket(t, g.config())
	if _, err := b.Put(t.Context(), "k", object("one"), checkpoints.Condition{}); err != nil {
		t.Fatal(err)
	}
}

// Keys that come from outside are replaced while the worker runs.
func TestNewKeysArePickedUpWithoutARestart(t *testing.T) {
	g := newGateway(t)
	file := filepath.Join(t.TempDir(), "credentials")
	keys := func(access string) {
		text := "[default]\naws_access_key_id = " + access + "\naws_secret_access_key = minioadmin\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	keys("gone")
	for _, v := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "MINIO_ROOT_USER", "MINIO_ACCESS_KEY", "AWS_PROFILE"} {
		t.Setenv(v, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	var puts atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && puts.Add(1) == 3 {
			keys("minioadmin")
		}
		g.proxy.ServeHTTP(w, r)
	}
	cfg := g.config()
	cfg.AccessKey, cfg.SecretKey = "", ""
	b := newBucket(t, cfg)
	if _, err := b.Put(t.Context(), "k", object("one"), checkpoints.Condition{Refusals: 1}); err != nil {
		t.Fatal(err)
	}
	if g.file("k") != "one" || puts.Load() < 4 {
		t.Fatalf("stored %q after %d puts", g.file("k"), puts.Load())
	}
}

func TestADocumentThatCannotBeReadIsNoAbsentOne(t *testing.T) {
	g := newGateway(t)
	g.store("files/k", []byte("document"))
	b := newBucket(t, g.config())
	for name, fault := range map[string]http.HandlerFunc{
		"forbidden": func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, 403, "AccessDenied") },
		"no bucket": func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, 404, "NoSuchBucket") },
	} {
		g.fault = fault
		if _, _, err := b.Get(t.Context(), "k"); !errors.Is(err, checkpoints.ErrRefused) || errors.Is(err, checkpoints.ErrNotExist) {
			t.Errorf("get, %s: %v", name, err)
		}
		if _, err := b.Stat(t.Context(), "k"); !errors.Is(err, checkpoints.ErrRefused) || errors.Is(err, checkpoints.ErrNotExist) {
			t.Errorf("stat, %s: %v", name, err)
		}
		for _, err := range b.List(t.Context(), "") {
			if !errors.Is(err, checkpoints.ErrRefused) {
				t.Errorf("list, %s: %v", name, err)
			}
		}
	}
	g.fault = nil
	if _, _, err := b.Get(t.Context(), "absent"); !errors.Is(err, checkpoints.ErrNotExist) {
		t.Errorf("an absent one: %v", err)
	}
	if _, err := b.Stat(t.Context(), "absent"); !errors.Is(err, checkpoints.ErrNotExist) {
		t.Errorf("an absent one: %v", err)
	}
}

func TestBytesThatDoNotFitTheirChecksumAreNotReturned(t *testing.T) {
	g := newGateway(t)
	b := newBucket(t, g.config())
	if _, err := b.Put(t.Context(), "k", object("document"), checkpoints.Condition{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.dir, "a-bucket", "files", "k"), []byte("DOCUMENT"), 0o644); err != nil {
		t.Fatal(err)
	}
	data, _, err := b.Get(t.Context(), "k")
	if !errors.Is(err, checkpoints.ErrRefused) || data != nil {
		t.Fatalf("got %q, %v", data, err)
	}
}

func TestAReplyCutShortIsReadAgain(t *testing.T) {
	g := newGateway(t)
	g.store("files/k", []byte("document"))
	var seen atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && seen.Add(1) == 1 {
			w.Header().Set("Content-Length", "8")
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			io.WriteString(w, "docu")
			return
		}
		g.proxy.ServeHTTP(w, r)
	}
	data, _, err := newBucket(t, g.config()).Get(t.Context(), "k")
	if err != nil || string(data) != "document" {
		t.Fatalf("got %q, %v", data, err)
	}
}
