// Package badstore is an object store that misbehaves in the ways in which
// real ones do, for tests: a front before a good one.
package badstore

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Config says how a front behaves.
type Config struct {
	Store *url.URL // the good one
	Seed  uint64   // of what goes wrong
	Share float64  // of the requests that meet a fault, 0 to 1
}

// Front is a handler that passes requests on to a store and spoils some of
// them.
type Front struct {
	cfg       Config
	transport *http.Transport
	late      sync.WaitGroup // requests that reach the store after their connection is gone

	mu      sync.Mutex
	rng     *rand.Rand
	counts  map[string]int
	expired bool // the keys
}

// New returns a front; Close ends it.
func New(cfg Config) *Front {
	return &Front{
		cfg: cfg, transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		rng: rand.New(rand.NewPCG(cfg.Seed, 3)), counts: map[string]int{},
	}
}

// Close waits for what is still on its way to the store.
func (f *Front) Close() {
	f.late.Wait()
	f.transport.CloseIdleConnections()
}

// Expire says whether all keys are refused as expired from now on.
func (f *Front) Expire(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expired = on
}

// Faults counts what went wrong so far, by its name.
func (f *Front) Faults() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.isExpired() {
		refuse(w, r, 403, "ExpiredToken")
		return
	}
	if x := f.draw(r); x != nil {
		x.spoil(f, w, r)
		return
	}
	f.pass(r).send(w, -1)
}

func (f *Front) isExpired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.expired {
		f.counts["expired keys"]++
	}
	return f.expired
}

// draw is what goes wrong with a request, nil for nothing.
func (f *Front) draw(r *http.Request) *fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rng.Float64() >= f.cfg.Share {
		return nil
	}
	fits := slices.DeleteFunc(slices.Clone(faults), func(x fault) bool { return x.only != nil && !x.only(r) })
	x := fits[f.rng.IntN(len(fits))]
	f.counts[x.name]++
	return &x
}

// between is a time drawn by chance.
func (f *Front) between(least, most time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return least + time.Duration(f.rng.Int64N(int64(most-least)))
}

// pass lets the store do it and returns its answer.
func (f *Front) pass(r *http.Request) *reply {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = f.cfg.Store.Scheme, f.cfg.Store.Host, ""
	resp, err := f.transport.RoundTrip(out)
	if err != nil {
		return &reply{status: http.StatusBadGateway}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return &reply{status: http.StatusBadGateway}
	}
	return &reply{status: resp.StatusCode, header: resp.Header, body: body}
}

// reply is a store's answer that a client may or may not get.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// send gives the client the first n bytes of the body, all for -1.
func (k *reply) send(w http.ResponseWriter, n int) {
	maps.Copy(w.Header(), k.header)
	if n < 0 {
		n = len(k.body)
	} else {
		w.Header().Set("Content-Length", fmt.Sprint(len(k.body))) // the server cuts the connection then
	}
	w.WriteHeader(k.status)
	w.Write(k.body[:n])
}

// hangUp ends the connection without a word.
func hangUp(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		c.Close()
	}
}

// hold reads a request's body, so that it can be sent more than once.
func hold(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}
