package sinks_test

import (
	"net/http"
	"strings"
	"testing"

	"flowgraph/sinks"
)

// Plain stores know neither trailers nor signed chunks, and libraries begin to
// send them with an update: no request of ours has any.
func TestAPlainStoreIsSentWhatItDoesNotKnow(t *testing.T) {
	forChecksums(t, func(t *testing.T, c sinks.Checksum) {
		g := newGateway(t)
		g.fault = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("x-amz-trailer") != "" || strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") ||
				strings.HasPrefix(r.Header.Get("x-amz-content-sha256"), "STREAMING") {
				refuseWith(w, r, 501, "NotImplemented")
				return
			}
			g.proxy.ServeHTTP(w, r)
		}
		cfg := g.config()
		cfg.Checksum, cfg.ProbeTries = c, 1
		if err := newBucket(t, cfg).Probe(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A locked bucket refuses an upload without a checksum: the probe says which
// setting helps, and with it all is well.
func TestALockedBucketWantsAChecksum(t *testing.T) {
	locked := func(g *gateway) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && r.Header.Get("Content-Md5") == "" &&
				r.Header.Get("x-amz-checksum-crc32c") == "" && r.Header.Get("x-amz-checksum-sha256") == "" {
				refuseWith(w, r, 400, "InvalidRequest")
				return
			}
			g.proxy.ServeHTTP(w, r)
		}
	}
	forChecksums(t, func(t *testing.T, c sinks.Checksum) {
		g := newGateway(t)
		g.fault = locked(g)
		cfg := g.config()
		cfg.Checksum, cfg.ProbeTries = c, 1
		err := newBucket(t, cfg).Probe(t.Context())
		if c != sinks.None {
			if err != nil {
				t.Error(err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), "checksum") || !strings.Contains(err.Error(), "md5") {
			t.Errorf("the error is %v", err)
		}
	})
}
