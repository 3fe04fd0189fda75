package cli

import (
	"crypto/tls"
	"fmt"
	"net"

	"github.com/rs/zerolog"

	"flowgraph/internal/reread"
	"flowgraph/internal/web"
)

// ListenFlags say where the worker's page, API, metrics and health are, and
// for whom.
type ListenFlags struct {
	Listen             Address  `help:"Address of page, API, metrics, health and readiness; empty for none. If the default is taken a free port is chosen and logged." default:"127.0.0.1:9090" placeholder:"HOST:PORT" group:"Worker"`
	ListenToken        Secret   `help:"What page and API ask for: as a bearer token, or as the password of any user in a browser. Health, readiness and metrics stay open." placeholder:"TOKEN" group:"Worker"`
	ListenGuardMetrics bool     `help:"Ask for the token at /metrics too." group:"Worker"`
	ListenNames        []string `help:"Host names by which page and API may be asked without a token, besides localhost and IP addresses." placeholder:"NAME,..." group:"Worker"`
	ListenCertFile     string   `help:"PEM file of the certificate with which --listen speaks TLS; read again when it changes." placeholder:"FILE" group:"Worker"`
	ListenKeyFile      string   `help:"PEM file of its private key." placeholder:"FILE" group:"Worker"`
}

// Validate refuses settings without effect.
func (f ListenFlags) Validate() error {
	return broken(
		rule{f.ListenGuardMetrics && !f.ListenToken.IsSet(), "--listen-guard-metrics needs --listen-token: there is nothing to ask for"},
		rule{(f.ListenCertFile == "") != (f.ListenKeyFile == ""), "--listen-cert-file and --listen-key-file belong together: give both"},
	)
}

// access says who may ask what is served. The log is warned of what everybody
// may.
func (f ListenFlags) access(log zerolog.Logger) (web.Access, error) {
	a := web.Access{Metrics: f.ListenGuardMetrics, Names: f.ListenNames}
	if f.ListenToken.IsSet() {
		a.Token = f.ListenToken.Source("listen-token", log)
	}
	if a.Token == nil && !f.loopback() {
		log.Warn().Str("address", string(f.Listen)).
			Msg("everybody who reaches this address can read page and API: set --listen-token, or listen on 127.0.0.1")
	}
	if f.ListenCertFile == "" {
		return a, nil
	}
	pair, err := reread.KeyPair(f.ListenCertFile, f.ListenKeyFile, func(err error) {
		if err != nil {
			log.Warn().Err(err).Msg("the new certificate of --listen cannot be used; the old one stays")
			return
		}
		log.Info().Str("file", f.ListenCertFile).Msg("the certificate of --listen was read again")
	})
	if err != nil {
		return a, usageError{fmt.Errorf("--listen-cert-file and --listen-key-file: %w", err)}
	}
	a.TLS = &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil },
	}
	return a, nil
}

// loopback says that only this machine reaches the address.
func (f ListenFlags) loopback() bool {
	host, _, err := net.SplitHostPort(string(f.Listen))
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
