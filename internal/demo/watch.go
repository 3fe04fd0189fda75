package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"flowgraph/internal/archive"
)

// Errors of this package, to be tested with errors.Is.
var (
	// ErrWorker: a worker ended before it was asked to.
	ErrWorker = errors.New("a worker ended when it should not have")
	// ErrNoMoment: all was replayed before anything was persisted.
	ErrNoMoment = errors.New("the worker persisted nothing while the traffic ran")
)

// lookEvery is how often the bucket is read while something is awaited.
const lookEvery = 20 * time.Millisecond

// await reads the bucket until reached says so, the worker ends, or ctx does.
func (s *show) await(ctx context.Context, w *worker, reached func(*archive.Archive) (bool, error)) (*archive.Archive, error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		a, err := archive.Open(ctx, s.bucket)
		if err != nil {
			return nil, err
		}
		if done, err := reached(a); done || err != nil {
			return a, err
		}
		select {
		case <-ticker.C:
		case <-w.done:
			if ctx.Err() == nil {
				return nil, w.ended()
			}
			return nil, context.Cause(ctx)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// worthKilling says whether now is the moment to kill: well inside the
// traffic, and a restart must read again what is persisted. If that moment
// does not come, any after the first rows are persisted is taken.
func (s *show) worthKilling(a *archive.Archive) (bool, error) {
	written := float64(s.written.Load()) / float64(s.traffic.records)
	persisted, again := false, false
	for _, v := range a.VChannels() {
		if v.Err != nil {
			return false, v.Err
		}
		for _, seg := range v.Doc.Segments {
			persisted = persisted || seg.Rows > 0
			again = again || seg.Rows > 0 && v.Doc.ReadFrom.Offset <= seg.Start.Offset
		}
	}
	if written >= 1 && !persisted {
		return false, ErrNoMoment
	}
	return written >= 0.4 && again || written >= 0.8 && persisted, nil
}

// atEnd says whether everything that was replayed is persisted.
func (s *show) atEnd(a *archive.Archive) (bool, error) {
	for name, end := range s.traffic.ends {
		v := a.VChannel(name)
		if v == nil || v.Err == nil && v.Doc.Seek.Offset < end {
			return false, nil
		}
		if v.Err != nil {
			return false, v.Err
		}
	}
	return true, nil
}

// counter asks a worker for one of its counters.
func (w *worker) counter(ctx context.Context, name string) (int64, error) {
	var address string
	select {
	case address = <-w.log.address:
		w.log.address <- address // for the next who asks
	case <-w.done:
		return 0, w.ended()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", w.name, err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			return int64(n), err
		}
	}
	return 0, fmt.Errorf("metrics of %s: there is no %s", w.name, name)
}
