package cli_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"flowgraph/internal/devstack"
)

// before is a store that answers some requests by itself.
func before(t *testing.T, s *devstack.Store, secure *tls.Config, answers func(w http.ResponseWriter, r *http.Request) bool) *httptest.Server {
	t.Helper()
	behind, err := url.Parse(s.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	// The Host header, which is signed, passes as it is.
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = behind.Scheme, behind.Host, r.In.Host
	}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	if secure != nil {
		server.TLS = secure
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

func refusing(status int, code string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>m</Message></Error>", code)
		return true
	}
}

func TestAWrongSettingOfTheStoreIsATrialForEverOrASentenceWithoutItsName(t *testing.T) {
	ca, server := authority(t, "ca")
	other, _ := authority(t, "other")
	secure, err := ca.Server(server, false)
	if err != nil {
		t.Fatal(err)
	}
	s, keys := store(t)
	passes := func(http.ResponseWriter, *http.Request) bool { return false }
	readonly := before(t, s, nil, refusing(http.StatusForbidden, "AccessDenied"))
	full := before(t, s, nil, refusing(http.StatusInsufficientStorage, "XMinioStorageFull"))
	encrypted := before(t, s, secure, passes)
	broker := secured(t, devstack.Security{})
	run := func(more ...string) []string {
		return append(append([]string{"run", "--until-end", "--listen", "", "--memory-budget", "64MiB", "--topics", "t", "--brokers", broker}, keys...), more...)
	}
	inspect := func(more ...string) []string { return append(append([]string{"inspect"}, keys...), more...) }
	explained(t, map[string]refused{
		"nobody there":        {run("--s3-endpoint", "http://"+unused(t)), []string{"cannot be reached", "s3-endpoint"}},
		"nobody to inspect":   {inspect("--s3-endpoint", "http://"+unused(t)), []string{"cannot be reached", "s3-endpoint"}},
		"no such host":        {inspect("--s3-endpoint", "http://no-such-host.invalid"), []string{"no-such-host.invalid is not known", "s3-endpoint"}},
		"no bucket":           {run("--s3-bucket", "missing-bucket"), []string{`no bucket "missing-bucket"`, "s3-bucket"}},
		"nothing to inspect":  {inspect("--s3-bucket", "missing-bucket"), []string{`no bucket "missing-bucket"`, "s3-bucket"}},
		"wrong key":           {run("--s3-access-key", "nobody"), []string{"keys are not valid", "s3-access-key"}},
		"wrong secret":        {inspect("--s3-secret-key", "wrong-wrong"), []string{"keys are not valid", "s3-secret-key"}},
		"read-only":           {run("--s3-endpoint", readonly.URL), []string{"may not write", "PutObject"}},
		"full":                {run("--s3-endpoint", full.URL), []string{"the store is full"}},
		"unknown authority":   {run("--s3-endpoint", encrypted.URL), []string{"signed", "s3-ca-file"}},
		"wrong authority":     {inspect("--s3-endpoint", encrypted.URL, "--s3-ca-file", other.File), []string{"another authority", "s3-ca-file"}},
		"plain on a TLS port": {run("--s3-endpoint", strings.Replace(encrypted.URL, "https", "http", 1)), []string{"speaks TLS", "s3-endpoint"}},
		"TLS on a plain port": {inspect("--s3-endpoint", "https://"+s.Addr()), []string{"does not speak TLS", "s3-endpoint"}},
	})
}

// The store accepts one key after another, as after a rotation; and wants a
// certificate of its clients.
func TestAReplacedKeyOrCertificateOfTheStoreNeedsARestart(t *testing.T) {
	ca, server := authority(t, "ca")
	client, err := ca.Issue("client")
	if err != nil {
		t.Fatal(err)
	}
	secure, err := ca.Server(server, true)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := store(t)
	secret := file(t, "expired-secret\n")
	var refused atomic.Int64
	proxy := before(t, s, secure, func(w http.ResponseWriter, r *http.Request) bool {
		if refused.Add(1) == 1 { // whoever was refused first puts the right key there
			if err := os.WriteFile(secret, []byte("minioadmin\n"), 0o600); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>ExpiredToken</Code><Message>m</Message></Error>")
			return true
		}
		return false
	})
	env := []string{"FLOWGRAPH_S3_ACCESS_KEY=minioadmin", "FLOWGRAPH_S3_SECRET_KEY_FILE=" + secret, "FLOWGRAPH_S3_ENDPOINT=" + proxy.URL,
		"FLOWGRAPH_S3_CA_FILE=" + ca.File, "FLOWGRAPH_S3_CERT_FILE=" + client.CertFile, "FLOWGRAPH_S3_KEY_FILE=" + client.KeyFile}
	r := flowgraph(t, env, "inspect")
	if r.code != 0 || !strings.Contains(r.err, "a secret was read again") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}
