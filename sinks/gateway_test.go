package sinks_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/internal/devstack"
	"flowgraph/sinks"
)

// gateway is a real store with a front in which tests put faults.
type gateway struct {
	t      *testing.T
	dir    string // of the objects
	proxy  *httputil.ReverseProxy
	front  *httptest.Server
	fault  http.HandlerFunc // nil: none; set before the first request
	direct *minio.Client    // past the front, for faults that store something
	puts   atomic.Int64     // that reached the front
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{t: t, dir: filepath.Join(t.TempDir(), "objects")}
	s, err := devstack.StartBucket(context.WithoutCancel(t.Context()), devstack.BucketConfig{Dir: g.dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(s.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	g.proxy = httputil.NewSingleHostReverseProxy(u)
	transport := &http.Transport{}
	g.proxy.Transport = transport
	g.proxy.ErrorLog = nil
	g.front = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(func() { g.front.Close(); transport.CloseIdleConnections() })
	if g.direct, err = minio.New(s.Addr(), &minio.Options{Creds: credentials.NewStaticV4("minioadmin", "minioadmin", ""), Region: "us-east-1"}); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *gateway) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		g.puts.Add(1)
	}
	if g.fault != nil {
		g.fault(w, r)
		return
	}
	g.proxy.ServeHTTP(w, r)
}

// lose forwards a request and drops the connection instead of the reply.
func (g *gateway) lose(r *http.Request) {
	g.proxy.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// store puts an object past the front and all conditions.
func (g *gateway) store(key string, body []byte) string {
	info, err := g.direct.PutObject(g.t.Context(), "a-bucket", key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
	if err != nil {
		g.t.Error(err)
	}
	return info.ETag
}

// file is the object as the store keeps it; "" if there is none.
func (g *gateway) file(key string) string {
	data, err := os.ReadFile(filepath.Join(g.dir, "a-bucket", "files", key))
	if err != nil && !os.IsNotExist(err) {
		g.t.Fatal(err)
	}
	return string(data)
}

// config is the default with short pauses, so that tests do not wait.
func (g *gateway) config() sinks.BucketConfig { return fastConfig(g.front.URL) }

func fastConfig(endpoint string) sinks.BucketConfig {
	cfg := sinks.Default()
	cfg.Endpoint, cfg.Bucket, cfg.Region = endpoint, "a-bucket", "us-east-1"
	cfg.AccessKey, cfg.SecretKey = "minioadmin", "minioadmin"
	cfg.BackoffFirst, cfg.BackoffWait, cfg.BackoffRefusal = time.Millisecond, 4*time.Millisecond, 2*time.Millisecond
	return cfg
}

func newBucket(t *testing.T, cfg sinks.BucketConfig, hooks ...sinks.Hooks) *sinks.Bucket {
	t.Helper()
	var h sinks.Hooks
	if len(hooks) > 0 {
		h = hooks[0]
	}
	b, err := sinks.NewBucket(cfg, zerolog.New(zerolog.NewTestWriter(t)), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// refuseWith answers as a store does when it will not or cannot.
func refuseWith(w http.ResponseWriter, r *http.Request, status int, code string) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>words of the store</Message></Error>`, code)
}

func object(parts ...string) checkpoints.Object {
	o := checkpoints.Object{Meta: map[string]string{"epoch": "3"}}
	for _, p := range parts {
		o.Parts = append(o.Parts, []byte(p))
	}
	return o
}

// forChecksums runs a test with every way of protecting an upload.
func forChecksums(t *testing.T, test func(t *testing.T, c sinks.Checksum)) {
	for _, c := range []sinks.Checksum{sinks.CRC32C, sinks.MD5, sinks.SHA256, sinks.None} {
		t.Run(string(c), func(t *testing.T) { test(t, c) })
	}
}
