package sinks_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"flowgraph/checkpoints"
)

// Over TLS the bytes take another way to the wire.
func TestAnUploadOverTLSSendsItsBytesUnsignedAndChecked(t *testing.T) {
	o, want := randomObject(3 << 20)
	var got atomic.Pointer[http.Request]
	var body string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body = string(data)
		got.Store(r)
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("x-amz-checksum-crc32c", r.Header.Get("x-amz-checksum-crc32c"))
	}))
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := fastConfig(s.URL)
	cfg.CAFile = ca
	if _, err := newBucket(t, cfg).Put(t.Context(), "k", o, checkpoints.Condition{}); err != nil {
		t.Fatal(err)
	}
	r := got.Load()
	if body != want || r.ContentLength != int64(len(want)) {
		t.Fatalf("%d bytes arrived, length %d, put were %d", len(body), r.ContentLength, len(want))
	}
	for name, want := range map[string]string{
		"X-Amz-Content-Sha256": "UNSIGNED-PAYLOAD",
		"If-None-Match":        "*",
		"X-Amz-Meta-Epoch":     "3",
		"X-Amz-Trailer":        "", // many stores know no trailers
		"Expect":               "",
	} {
		if v := r.Header.Get(name); v != want {
			t.Errorf("header %s is %q, want %q", name, v, want)
		}
	}
	if len(r.TransferEncoding) > 0 {
		t.Errorf("transfer encoding %s", fmt.Sprint(r.TransferEncoding))
	}
}
