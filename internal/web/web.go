// Package web serves what operators and their systems ask a worker over HTTP.
package web

import (
	"context"
	"encoding/json"
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
}

// Store is what the server shows of the object store.
type Store interface {
	Waiting() sinks.Waiting
}

// Server answers /metrics, /healthz, /readyz, /api/vchannels and Go's
// profiles under /debug/pprof/.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan error
}

// shutdownGrace is what running requests get when the server closes.
const shutdownGrace = 2 * time.Second

// Start listens on address and serves until Close.
func Start(address string, w Worker, store Store, metrics prometheus.Gatherer, log zerolog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		http:     &http.Server{Handler: handler(w, store, metrics, log), ReadHeaderTimeout: 10 * time.Second},
		listener: listener, done: make(chan error, 1),
	}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

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

func handler(w Worker, store Store, metrics prometheus.Gatherer, log zerolog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { health(rw, w.Status(), store.Waiting()) })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		if !w.Ready() {
			http.Error(rw, "waiting for the first assignment and its claims", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(rw, "ready")
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /api/vchannels", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(rw).Encode(w.Status()); err != nil {
			log.Debug().Err(err).Msg("status not sent")
		}
	})
	return mux
}

// health fails while a vchannel is stopped, and says which and why. Waiting
// for the store or for a claim is told, but is not ill health: restarting
// would not help.
func health(rw http.ResponseWriter, status []flows.FlowStatus, store sinks.Waiting) {
	code, lines := http.StatusOK, []string{}
	if store.Calls > 0 {
		lines = append(lines, fmt.Sprintf("%d calls wait for the store %s since %s: %s",
			store.Calls, store.Store, store.Since.Format(time.RFC3339), store.Reason))
	}
	for _, f := range status {
		switch f.State {
		case "stopped":
			code = http.StatusServiceUnavailable
			lines = append(lines, fmt.Sprintf("%s stopped since %s: %s", f.VChannel, f.Since.Format(time.RFC3339), f.Error))
		case "waiting":
			lines = append(lines, fmt.Sprintf("%s waits since %s: %s", f.VChannel, f.Since.Format(time.RFC3339), f.Error))
		}
	}
	rw.WriteHeader(code)
	if len(lines) == 0 {
		lines = append(lines, "ok")
	}
	for _, l := range lines {
		fmt.Fprintln(rw, l)
	}
}
