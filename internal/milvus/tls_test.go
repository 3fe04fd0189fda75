package milvus_test

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"flowgraph/internal/milvus"
)

func TestAPasswordGoesOnlyToAMilvusWithATrustedCertificate(t *testing.T) {
	web := httptest.NewUnstartedServer(nil) // for its certificate
	web.StartTLS()
	defer web.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &server{database: "default", schema: shown(false, 100), login: "root:Milvus"}
	secure := grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: web.TLS.Certificates, NextProtos: []string{"h2"}}))
	client := s.start(t, milvus.Config{Token: s.login, TLS: true, CAFile: file}, secure)
	if _, err := client.Lookup(t.Context(), 7); err != nil {
		t.Error(err)
	}
	client = s.start(t, milvus.Config{Token: s.login, TLS: true}, secure)
	if _, err := client.Lookup(t.Context(), 7); !errors.Is(err, milvus.ErrMilvus) {
		t.Errorf("without its certificate: %v", err)
	}
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := milvus.Dial(milvus.Config{TLS: true, CAFile: file}); !errors.Is(err, milvus.ErrMilvus) {
		t.Errorf("of a file without one: %v", err)
	}
}
