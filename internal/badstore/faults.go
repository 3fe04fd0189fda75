package badstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// fault is one way to fail.
type fault struct {
	name  string
	only  func(*http.Request) bool // nil: any request
	spoil func(*Front, http.ResponseWriter, *http.Request)
}

func puts(r *http.Request) bool { return r.Method == http.MethodPut }
func lists(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Has("list-type")
}
func gets(r *http.Request) bool { return r.Method == http.MethodGet }
func conditional(r *http.Request) bool {
	return puts(r) && (r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != "")
}

var faults = []fault{
	// Nothing happened, and the store says so.
	{"500", nil, saying(500, "InternalError")},
	{"503", nil, saying(503, "SlowDown")},
	{"429", nil, saying(429, "TooManyRequests")},
	{"408", puts, saying(408, "RequestTimeout")},
	{"507", puts, saying(507, "XMinioStorageFull")},
	{"403", nil, saying(403, "AccessDenied")},
	{"skewed clock", nil, saying(403, "RequestTimeTooSkewed")},
	{"412 without reason", conditional, saying(412, "PreconditionFailed")},
	{"409 without reason", conditional, saying(409, "ConditionalRequestConflict")},
	{"reset before", nil, func(_ *Front, w http.ResponseWriter, _ *http.Request) { hangUp(w) }},
	{"no answer", nil, func(_ *Front, _ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}},

	// It happened, or will, and the client is told otherwise.
	{"reply lost", nil, func(f *Front, w http.ResponseWriter, r *http.Request) {
		f.pass(r)
		hangUp(w)
	}},
	{"500 afterwards", nil, func(f *Front, w http.ResponseWriter, r *http.Request) {
		f.pass(r)
		refuse(w, r, 500, "InternalError")
	}},
	{"504 afterwards", nil, func(f *Front, w http.ResponseWriter, r *http.Request) {
		f.pass(r)
		refuse(w, r, 504, "GatewayTimeout")
	}},
	{"done twice", puts, twice},
	{"done late", puts, late},

	// The reply is none.
	{"error in a 200", func(r *http.Request) bool { return puts(r) || lists(r) }, saying(200, "InternalError")},
	{"success, and nothing stored", puts, func(_ *Front, w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
	}},
	{"cut short", gets, func(f *Front, w http.ResponseWriter, r *http.Request) {
		k := f.pass(r)
		k.send(w, len(k.body)/2)
	}},
	{"slow", nil, func(f *Front, w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(f.between(time.Millisecond, 200*time.Millisecond))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
		f.pass(r).send(w, -1)
	}},
}

// saying answers without doing anything.
func saying(status int, code string) func(*Front, http.ResponseWriter, *http.Request) {
	return func(_ *Front, w http.ResponseWriter, r *http.Request) { refuse(w, r, status, code) }
}

func refuse(w http.ResponseWriter, r *http.Request, status int, code string) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>the front says so</Message></Error>`, code)
	}
}

// twice is a proxy that repeats what it got no reply to.
func twice(f *Front, w http.ResponseWriter, r *http.Request) {
	body, err := hold(r)
	if err != nil {
		hangUp(w)
		return
	}
	f.pass(r)
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.pass(r).send(w, -1)
}

// late is a request that waits somewhere while its client has given it up.
func late(f *Front, w http.ResponseWriter, r *http.Request) {
	if _, err := hold(r); err == nil {
		again := r.Clone(context.WithoutCancel(r.Context()))
		again.Body = r.Body
		wait := f.between(time.Millisecond, 300*time.Millisecond)
		f.late.Go(func() {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			<-timer.C
			f.pass(again)
		})
	}
	hangUp(w)
}
