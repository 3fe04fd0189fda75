package sinks

import (
	"net/http"
	"sync/atomic"
	"time"
)

// dated notes the date of the store's last answer, to compare clocks by.
type dated struct {
	next http.RoundTripper
	last *atomic.Pointer[dating]
}

type dating struct {
	date string // as the store wrote it
	at   time.Time
}

func (d *dated) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(req)
	if err == nil && resp.Header.Get("Date") != "" {
		d.last.Store(&dating{resp.Header.Get("Date"), time.Now()})
	}
	return resp, err
}

// Ahead is how much the store's clock is ahead of the one here, to a second
// or two; not ok while no answer had a date.
func (b *Bucket) Ahead() (ahead time.Duration, ok bool) {
	last := b.dated.Load()
	if last == nil {
		return 0, false
	}
	date, err := http.ParseTime(last.date)
	if err != nil {
		return 0, false
	}
	// A date is cut to whole seconds: on average it is half a second old.
	return date.Add(time.Second / 2).Sub(last.at), true
}
