package sinks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/rs/zerolog"

	"flowgraph/sinks"
)

func TestTheProbeAcceptsAGoodStoreAndLeavesNothingBehind(t *testing.T) {
	forChecksums(t, func(t *testing.T, c sinks.Checksum) {
		g := newGateway(t)
		cfg := g.config()
		cfg.Checksum = c
		if err := newBucket(t, cfg).Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := filepath.Glob(filepath.Join(g.dir, "a-bucket", "files", "checkpoints", ".probe-*"))
		if err != nil || len(left) > 0 {
			t.Fatalf("left behind: %v, %v", left, err)
		}
	})
}

// withoutCondition stores what is put as a store does that does not know the
// header, or behind a proxy that drops it.
func (g *gateway) withoutCondition(header string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut || r.Header.Get(header) == "" {
			g.proxy.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			g.t.Error(err)
		}
		w.Header().Set("ETag", `"`+g.store(strings.TrimPrefix(r.URL.Path, "/a-bucket/"), body)+`"`)
	}
}

func TestTheProbeSaysWhatToDo(t *testing.T) {
	for _, s := range []struct {
		name  string
		fault func(g *gateway) http.HandlerFunc
		cfg   func(c *sinks.BucketConfig)
		want  []string
	}{
		{"If-None-Match is ignored", func(g *gateway) http.HandlerFunc { return g.withoutCondition("If-None-Match") }, nil,
			[]string{"ignores If-None-Match", "conditional writes"}},
		{"If-Match is ignored", func(g *gateway) http.HandlerFunc { return g.withoutCondition("If-Match") }, nil,
			[]string{"ignores If-Match", "conditional writes"}},
		{"no such bucket", nil, func(c *sinks.BucketConfig) { c.Bucket = "nowhere" },
			[]string{`no bucket "nowhere"`, "create it"}},
		{"wrong secret", nil, func(c *sinks.BucketConfig) { c.SecretKey = "wrong" },
			[]string{"keys are not valid", "secret-key"}},
		{"unknown key", nil, func(c *sinks.BucketConfig) { c.AccessKey = "unknown" },
			[]string{"keys are not valid", "access-key"}},
		{"may not write", refuseAll(403, "AccessDenied"), nil,
			[]string{"may not write", "PutObject"}},
		{"full", refuseAll(507, "XMinioStorageFull"), nil,
			[]string{"full"}},
		{"clock", refuseAll(403, "RequestTimeTooSkewed"), nil,
			[]string{"clock"}},
		{"checksum unknown to the store", func(g *gateway) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("x-amz-checksum-crc32c") != "" {
					refuseWith(w, r, 400, "InvalidArgument")
					return
				}
				g.proxy.ServeHTTP(w, r)
			}
		}, nil, []string{`checksum "crc32c"`, "md5", "none"}},
		{"checksum dropped by the store", func(g *gateway) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				g.proxy.ServeHTTP(dropHeader{w, "X-Amz-Checksum-Crc32c"}, r)
			}
		}, nil, []string{"does not keep it", "md5"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			g := newGateway(t)
			if s.fault != nil {
				g.fault = s.fault(g)
			}
			cfg := g.config()
			cfg.ProbeTries = 2
			if s.cfg != nil {
				s.cfg(&cfg)
			}
			err := newBucket(t, cfg).Probe(t.Context())
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range append(s.want, g.front.URL) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// Each try has a key of its own, and a store may name it.
func TestWhatRefusesAStoreIsAnotherSentenceAtEachTry(t *testing.T) {
	g := newGateway(t)
	g.fault = refuseAll(403, "AccessDenied")(g)
	b := newBucket(t, g.config())
	var told [2]string
	for i := range told {
		var known interface{ Sentence() string }
		if err := b.Probe(t.Context()); !errors.As(err, &known) {
			t.Fatalf("no sentence in %v", err)
		}
		told[i] = known.Sentence()
	}
	if told[0] != told[1] || !strings.Contains(told[0], "PutObject") {
		t.Errorf("told %q", told)
	}
}

func TestTheProbeOfAnUnreachableStoreEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	cfg := fastConfig("http://" + l.Addr().String())
	cfg.ProbeTries = 2
	var log bytes.Buffer
	b, err := sinks.NewBucket(cfg, zerolog.New(&log), sinks.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	err = b.Probe(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cannot be reached") || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Fatalf("got %v", err)
	}
	// Its error says it all, and no call waits on.
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
}

func TestTheProbeRemovesItsObjectWhenItIsCancelled(t *testing.T) {
	g := newGateway(t)
	ctx, cancel := context.WithCancel(t.Context())
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && g.puts.Load() == 2 {
			cancel()
			return // sent on, it might land behind the removal
		}
		g.proxy.ServeHTTP(w, r)
	}
	if err := newBucket(t, g.config()).Probe(ctx); err == nil {
		t.Fatal("no error")
	}
	for o := range g.direct.ListObjectsIter(t.Context(), "a-bucket", minio.ListObjectsOptions{Recursive: true}) {
		t.Errorf("left behind: %s", o.Key)
	}
}

func TestAnInvalidConfigurationSaysWhatIsAllowed(t *testing.T) {
	for want, change := range map[string]func(c *sinks.BucketConfig){
		"http://host:port":                     func(c *sinks.BucketConfig) { c.Endpoint = "minio" },
		"unknown scheme":                       func(c *sinks.BucketConfig) { c.Endpoint = "s3://bucket" },
		"only scheme, host and port":           func(c *sinks.BucketConfig) { c.Endpoint = "https://host/bucket" },
		"3 to 63 characters":                   func(c *sinks.BucketConfig) { c.Bucket = "bucket/files" },
		"give both":                            func(c *sinks.BucketConfig) { c.SecretKey = "" },
		"crc32c, md5, sha256 and none":         func(c *sinks.BucketConfig) { c.Checksum = "crc64" },
		"auto, path and virtual-host":          func(c *sinks.BucketConfig) { c.Addressing = "dns" },
		"without . and ..":                     func(c *sinks.BucketConfig) { c.Root = "../files" },
		"attempt-rate: must be greater than 0": func(c *sinks.BucketConfig) { c.AttemptRate = 0 },
		"ca-file":                              func(c *sinks.BucketConfig) { c.CAFile = os.DevNull },
	} {
		cfg := fastConfig("127.0.0.1:9000")
		change(&cfg)
		if _, err := sinks.NewBucket(cfg, noLog(), sinks.Hooks{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", fmt.Sprint(err), want)
		}
	}
}

func refuseAll(status int, code string) func(*gateway) http.HandlerFunc {
	return func(*gateway) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { refuseWith(w, r, status, code) }
	}
}

// dropHeader leaves a header out of the reply.
type dropHeader struct {
	http.ResponseWriter
	name string
}

func (d dropHeader) WriteHeader(status int) {
	d.Header().Del(d.name)
	d.ResponseWriter.WriteHeader(status)
}
