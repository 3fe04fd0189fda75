// Package kafka makes clients of Kafka: how they connect, encrypt and log in,
// and what their errors mean to whoever set them up.
package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"flowgraph/internal/reread"
)

// Mechanism is how a client logs in.
type Mechanism string

const (
	NoLogin     Mechanism = "none"
	Plain       Mechanism = "plain"
	ScramSHA256 Mechanism = "scram-sha-256"
	ScramSHA512 Mechanism = "scram-sha-512"
	OAuthBearer Mechanism = "oauthbearer"
)

// Config says where Kafka is and how to log in to it. The zero value of
// everything but Brokers is plaintext without a login.
type Config struct {
	Brokers []string

	TLS               bool
	CAFile            string // PEM certificates to trust besides the system's
	CertFile, KeyFile string // of the client; read again for new connections when replaced
	ServerName        string // in the brokers' certificates; "" is each broker's own

	SASL     Mechanism
	User     string
	Password func() string // asked at each login
	OAuth    OAuth

	Writes bool // topics are written and not read: what is to be allowed for that is told
}

// dialTimeout is how long a broker may take to answer a connection.
const dialTimeout = 5 * time.Second

// Options are those of every client, with the teller as its log. Files that do
// not exist or hold nothing of use are an error.
func (c Config) Options(t *Teller) ([]kgo.Opt, error) {
	log := t.log
	opts := []kgo.Opt{kgo.SeedBrokers(c.Brokers...), kgo.ClientID("flowgraph"), kgo.DialTimeout(dialTimeout)}
	var secure *tls.Config
	if c.TLS {
		var err error
		if secure, err = c.tls(log); err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(secure))
	}
	mechanism, err := c.mechanism(log)
	if err != nil {
		return nil, err
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return append(opts, kgo.WithLogger(t), kgo.WithHooks(t)), nil
}

func (c Config) tls(log zerolog.Logger) (*tls.Config, error) {
	out, err := reread.Trusting(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("--kafka-ca-file: %w", err)
	}
	out.ServerName = c.ServerName
	if c.CertFile == "" {
		return out, nil
	}
	pair, err := reread.KeyPair(c.CertFile, c.KeyFile, func(err error) {
		if err != nil {
			log.Warn().Err(err).Msg("the new client certificate for Kafka cannot be used; the old one stays")
			return
		}
		log.Info().Str("file", c.CertFile).Msg("the client certificate for Kafka was read again")
	})
	if err != nil {
		return nil, fmt.Errorf("--kafka-cert-file and --kafka-key-file: %w", err)
	}
	out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.Get(), nil }
	return out, nil
}

// mechanism is nil where nobody logs in.
func (c Config) mechanism(log zerolog.Logger) (sasl.Mechanism, error) {
	switch c.SASL {
	case "", NoLogin:
		return nil, nil
	case Plain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			return plain.Auth{User: c.User, Pass: c.Password()}, nil
		}), nil
	case ScramSHA256:
		return scram.Sha256(c.scram), nil
	case ScramSHA512:
		return scram.Sha512(c.scram), nil
	case OAuthBearer:
		tokens, err := newTokens(c.OAuth, c.CAFile, log)
		if err != nil {
			return nil, err
		}
		return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			token, err := tokens.get(ctx)
			return oauth.Auth{Token: token, Extensions: c.OAuth.Extensions}, err
		}), nil
	}
	return nil, fmt.Errorf("login by %q: allowed are none, plain, scram-sha-256, scram-sha-512 and oauthbearer", c.SASL)
}

func (c Config) scram(context.Context) (scram.Auth, error) {
	return scram.Auth{User: c.User, Pass: c.Password()}, nil
}
