// Package web serves what operators and their systems ask a worker over HTTP:
// the page, the same as JSON, metrics and health.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"flowgraph/flows"
	"flowgraph/sinks"
)

// Worker is what the server shows of a worker.
type Worker interface {
	Status() []flows.FlowStatus
	Ready() bool
	Kafka() flows.KafkaStatus
	Refused() (since time.Time, err error) // why it cannot start
	// Look is a whole picture of the worker. It may wait up to 1.5 s for what
	// only a flow's own goroutine knows.
	Look(ctx context.Context) *flows.Picture
	// Events are those after a sequence number, oldest first.
	Events(after uint64, limit int) flows.Events
}

// Store is what the server shows of the object store.
type Store interface {
	Waiting() sinks.Waiting
}

// Options are what a server serves, and where.
type Options struct {
	Address string
	Worker  Worker
	Store   Store
	Metrics prometheus.Gatherer
	Log     zerolog.Logger
	Access  Access
	// Control and LogLevel obey requests; nil: there are none.
	Control  Control
	LogLevel LogLevel
}

// Server answers /, /api/, /metrics, /healthz, /readyz and Go's profiles
// under /debug/pprof/.
type Server struct {
	http     *http.Server
	listener net.Listener
	secure   bool // it speaks TLS
	done     chan error
}

// shutdownGrace is what running requests get when the server closes.
const shutdownGrace = 2 * time.Second

// Start listens on the address and serves until Close.
func Start(o Options) (*Server, error) {
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); ok {
		o.Access.Loopback = at.IP.IsLoopback()
	}
	listener = o.Access.listener(listener)
	s := &Server{
		http:     &http.Server{Handler: Handler(o), ReadHeaderTimeout: 10 * time.Second},
		listener: listener, secure: o.Access.TLS != nil, done: make(chan error, 1),
	}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is where the page is.
func (s *Server) URL() string {
	if s.secure {
		return "https://" + s.Addr() + "/"
	}
	return "http://" + s.Addr() + "/"
}

// Close stops serving.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Handler is everything that the server answers.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) {
		since, refused := o.Worker.Refused()
		health(rw, observed{flows: o.Worker.Status(), store: o.Store.Waiting(), kafka: o.Worker.Kafka(), refused: refused, since: since, now: time.Now()})
	})
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) { ready(rw, o.Worker) })
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	serveAPI(mux, o)
	servePage(mux)
	return o.Access.guard(mux)
}
