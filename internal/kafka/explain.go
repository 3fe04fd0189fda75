package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Errors by which Explain sorts what it knows, to be tested with errors.Is.
var (
	// ErrRefused: Kafka answers and will not have this client as it is set up.
	// Trying again cannot help before somebody changes something.
	ErrRefused = errors.New("refused")
	// ErrAway: there is no answer; it may come back by itself.
	ErrAway = errors.New("no answer")
)

// explained is an error with the sentence that says what to do.
type explained struct {
	kind     error
	sentence string
	cause    error
}

func (e *explained) Error() string   { return e.sentence + ": " + e.cause.Error() }
func (e *explained) Unwrap() []error { return []error{e.kind, e.cause} }

// Sentence is what it means and what to do, the same at each try.
func (e *explained) Sentence() string { return e.sentence }

// Explain puts before an error of a Kafka client what it means and which
// setting to look at. What it does not know it returns as it is.
func (c Config) Explain(err error) error {
	var known *explained
	if err == nil || errors.As(err, &known) {
		return err
	}
	if sentence := c.refusal(err); sentence != "" {
		return &explained{ErrRefused, sentence, err}
	}
	if sentence := c.absence(err); sentence != "" {
		return &explained{ErrAway, sentence, err}
	}
	return err
}

// refusal is the sentence for an answer that will stay the same, "" for none.
func (c Config) refusal(err error) string {
	if s := c.certificates(err); s != "" {
		return s
	}
	switch {
	case errors.Is(err, ErrToken):
		return "no token to log in to Kafka with: check --kafka-oauth-token-url, --kafka-oauth-client-id and --kafka-oauth-client-secret"
	case errors.Is(err, kerr.SaslAuthenticationFailed), strings.Contains(err.Error(), "server sent authentication error"):
		return c.loginFailed()
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Sprintf("Kafka does not offer the login --kafka-sasl %s on this port: choose one that it offers, or another port", c.SASL)
	case errors.Is(err, kerr.IllegalSaslState):
		return "Kafka wants another login on this port: check --kafka-sasl"
	case errors.Is(err, kerr.TopicAuthorizationFailed) && c.Writes:
		return fmt.Sprintf("%s may not write to the topic: allow the operations Create and Write on it", c.who())
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fmt.Sprintf("%s may not read the topic: allow the operations Read and Describe on it", c.who())
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return fmt.Sprintf("%s may not use the consumer group: allow the operation Read on the group that --group names", c.who())
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fmt.Sprintf("%s may not do this in the Kafka cluster: allow it by an ACL", c.who())
	case strings.Contains(err.Error(), "appear to be a tls alert"):
		return "Kafka speaks TLS on this port: add --kafka-tls, or give the plaintext port in --brokers"
	}
	return ""
}

// denied says that Kafka knows the user and forbids something.
func denied(err error) bool {
	return errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.GroupAuthorizationFailed) ||
		errors.Is(err, kerr.ClusterAuthorizationFailed)
}

func (c Config) certificates(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	var alert *net.OpError
	switch {
	case errors.Is(err, ErrToken):
		return ""
	case errors.As(err, &unknown) && c.CAFile == "":
		return "nobody known here has signed Kafka's certificate: give the certificate of its authority as --kafka-ca-file"
	case errors.As(err, &unknown):
		return "Kafka's certificate is signed by another authority than those in --kafka-ca-file: give the right file"
	case errors.As(err, &name):
		return "Kafka's certificate is for another name: give a name that stands in it in --brokers, or as --kafka-server-name"
	case errors.As(err, &invalid):
		return "Kafka's certificate is not valid: renew it there, and check this machine's clock"
	case errors.As(err, &plain):
		return "Kafka does not speak TLS on this port: remove --kafka-tls, or give the TLS port in --brokers"
	case !errors.As(err, &alert) || alert.Op != "remote error": // of TLS
		return ""
	case c.CertFile == "":
		return "Kafka refuses the TLS connection: it may want a client certificate, give --kafka-cert-file and --kafka-key-file"
	}
	return "Kafka refuses the TLS connection: check that an authority that it knows has signed --kafka-cert-file, and that it has not expired"
}

func (c Config) loginFailed() string {
	if c.SASL == OAuthBearer {
		return "Kafka refuses the token: check that its issuer, audience and scope (--kafka-oauth-scope) are those that the broker expects"
	}
	return fmt.Sprintf("Kafka refuses user %q by %s: check --kafka-user and --kafka-password, and that the user has a password for this --kafka-sasl", c.User, c.SASL)
}

// who is how Kafka knows this client, as far as that is known here.
func (c Config) who() string {
	switch {
	case c.User != "" && c.SASL != OAuthBearer:
		return "Kafka's user " + c.User
	case c.OAuth.ClientID != "":
		return "Kafka's user (OAuth client " + c.OAuth.ClientID + ")"
	case c.CertFile != "":
		return "Kafka's user of the client certificate"
	}
	return "Kafka's user ANONYMOUS"
}

// absence is the sentence for what may pass.
func (c Config) absence(err error) string {
	var closed *kgo.ErrFirstReadEOF
	var dns *net.DNSError
	var network *net.OpError
	brokers := strings.Join(c.Brokers, ",")
	switch {
	case errors.As(err, &closed):
		return "Kafka ends the connection at once: " + c.otherPort()
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "Kafka ends the connection: " + c.otherPort()
	case errors.As(err, &dns):
		return fmt.Sprintf("Kafka's host %s is not known: check --brokers", dns.Name)
	case errors.As(err, &network) && network.Op == "dial", strings.Contains(err.Error(), "unable to dial"):
		return fmt.Sprintf("Kafka cannot be reached: check --brokers (%s) and that it runs", brokers)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("Kafka does not answer: check --brokers (%s); %s", brokers, c.otherPort())
	}
	return ""
}

// otherPort lists what makes a broker say nothing that a client understands.
func (c Config) otherPort() string {
	why := "it may speak TLS on this port (add --kafka-tls)"
	if c.TLS {
		why = "it may not speak TLS on this port (--kafka-tls)"
	}
	if c.SASL == "" || c.SASL == NoLogin {
		return why + ", or want a login (--kafka-sasl)"
	}
	return why + ", or refuse the login (--kafka-sasl, --kafka-user, --kafka-password)"
}
