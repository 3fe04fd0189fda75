package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/flows"
	"flowgraph/internal/devstack"
	"flowgraph/internal/recording"
	"flowgraph/internal/web"
	"flowgraph/sinks"
)

// stack is a broker, a bucket behind a door that can be shut, and what a
// worker on them shows.
type stack struct {
	t      *testing.T
	home   string // of this package
	broker *devstack.Broker
	bucket *sinks.Bucket
	shut   atomic.Pointer[refusal] // what the store answers to puts; nil: they pass
}

// refusal is an answer of an S3 store.
type refusal struct {
	status int
	code   string
}

func newStack(t *testing.T, security devstack.Security) *stack {
	t.Helper()
	find(t)
	s := &stack{t: t}
	var err error
	if s.home, err = os.Getwd(); err != nil { // the embedded bucket goes elsewhere
		t.Fatal(err)
	}
	broker, err := devstack.StartBroker(devstack.BrokerConfig{Security: security})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Close() })
	store, err := devstack.StartBucket(t.Context(), devstack.BucketConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	target, err := url.Parse(store.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	door := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if no := s.shut.Load(); no != nil && r.Method == http.MethodPut {
			rw.Header().Set("Content-Type", "application/xml")
			rw.WriteHeader(no.status)
			fmt.Fprintf(rw, "<Error><Code>%s</Code><Message>as the test wants it</Message></Error>", no.code)
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(door.Close)
	cfg := sinks.Default()
	cfg.Endpoint, cfg.Bucket, cfg.AccessKey, cfg.SecretKey = door.URL, "a-bucket", "minioadmin", "minioadmin"
	cfg.BackoffRefusal, cfg.BackoffWait = 200*time.Millisecond, 200*time.Millisecond
	if s.bucket, err = sinks.NewBucket(cfg, zerolog.Nop(), sinks.Hooks{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.bucket.Close)
	s.broker = broker
	return s
}

// start runs a worker and returns its page's address.
func (s *stack) start(edits ...func(*flows.Config)) string {
	s.t.Helper()
	cfg := flows.DefaultConfig()
	cfg.Brokers, cfg.Topics = []string{s.broker.Addr()}, []string{"^by-dev-rootcoord-dml_[0-9]+$"}
	cfg.SessionTimeout, cfg.Grace = time.Second, time.Second
	cfg.Client = []kgo.Opt{kgo.FetchMaxWait(100 * time.Millisecond)}
	for _, edit := range edits {
		edit(&cfg)
	}
	registry := prometheus.NewRegistry()
	worker, err := flows.NewWorker(cfg, s.bucket, registry, zerolog.Nop())
	if err != nil {
		s.t.Fatal(err)
	}
	server := httptest.NewServer(web.Handler(web.Options{
		Worker: worker, Control: worker, Store: s.bucket, Metrics: registry, Log: zerolog.Nop(), Access: web.Access{Loopback: true},
	}))
	s.t.Cleanup(server.Close)
	ctx, kill := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = worker.Run(ctx, ctx) // a kill, whose error is expected
	}()
	s.t.Cleanup(func() { kill(); <-ended })
	return server.URL + "/"
}

// replay writes a recording to the broker.
func (s *stack) replay(name string) {
	s.t.Helper()
	path := filepath.Join(s.home, "../../testdata/recordings", name, "records.jsonl.gz")
	o := recording.ReplayOptions{Client: s.broker.Client(), Append: true}
	if _, err := recording.Replay(s.t.Context(), s.t.Context(), path, o); err != nil {
		s.t.Fatal(err)
	}
}

// produce writes one record.
func (s *stack) produce(topic string, data []byte) {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.broker.Addr()), kgo.AllowAutoTopicCreation())
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(s.t.Context(), &kgo.Record{Topic: topic, Value: data}).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}
