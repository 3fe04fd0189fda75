package cli

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"flowgraph/internal/kafka"
)

// LoginFlags say how to log in to Kafka.
type LoginFlags struct {
	KafkaTLS        bool   `name:"kafka-tls" help:"Speak TLS with Kafka." group:"Kafka"`
	KafkaCAFile     string `name:"kafka-ca-file" help:"PEM file of certificates to trust besides the system's." placeholder:"FILE" group:"Kafka"`
	KafkaCertFile   string `name:"kafka-cert-file" help:"PEM file of this client's certificate, for brokers that want one; read again when it changes." placeholder:"FILE" group:"Kafka"`
	KafkaKeyFile    string `name:"kafka-key-file" help:"PEM file of its private key." placeholder:"FILE" group:"Kafka"`
	KafkaServerName string `name:"kafka-server-name" help:"Name in the brokers' certificates, where it is not that in --brokers." placeholder:"NAME" group:"Kafka"`

	KafkaSASL     string `name:"kafka-sasl" help:"How to log in: ${enum}." enum:"none,plain,scram-sha-256,scram-sha-512,oauthbearer" default:"none" placeholder:"MECHANISM" group:"Kafka"`
	KafkaUser     string `name:"kafka-user" help:"User, for plain and scram." placeholder:"NAME" group:"Kafka"`
	KafkaPassword Secret `name:"kafka-password" help:"Password, for plain and scram. Better given as a file or in the environment than as a flag." placeholder:"PASSWORD" group:"Kafka"`

	KafkaOAuthTokenURL     string     `name:"kafka-oauth-token-url" help:"Where an authorization server gives tokens for client credentials, for oauthbearer." placeholder:"URL" group:"Kafka"`
	KafkaOAuthClientID     string     `name:"kafka-oauth-client-id" help:"Client ID for it." placeholder:"ID" group:"Kafka"`
	KafkaOAuthClientSecret Secret     `name:"kafka-oauth-client-secret" help:"Client secret for it." placeholder:"SECRET" group:"Kafka"`
	KafkaOAuthScope        string     `name:"kafka-oauth-scope" help:"Scope to ask for; the server's default when empty." placeholder:"SCOPE" group:"Kafka"`
	KafkaOAuthExtensions   Extensions `name:"kafka-oauth-extensions" help:"SASL extensions to send with the token, as logicalCluster=lkc-1,identityPoolId=pool-1." placeholder:"NAME=VALUE,..." group:"Kafka"`
}

// Validate refuses settings that have no effect beside each other, or lack
// another.
func (f LoginFlags) Validate() error {
	return errors.Join(f.validateTLS(), f.validateSASL())
}

func (f LoginFlags) validateTLS() error {
	const add = " has no effect without TLS: add --kafka-tls"
	return broken(
		rule{(f.KafkaCertFile == "") != (f.KafkaKeyFile == ""), "--kafka-cert-file and --kafka-key-file belong together: give both"},
		rule{!f.KafkaTLS && f.KafkaCertFile != "" && f.KafkaKeyFile != "", "--kafka-cert-file" + add},
		rule{!f.KafkaTLS && f.KafkaServerName != "", "--kafka-server-name" + add},
		// The authorization server may need the file where Kafka does not.
		rule{!f.KafkaTLS && f.KafkaCAFile != "" && f.KafkaSASL != string(kafka.OAuthBearer), "--kafka-ca-file" + add},
	)
}

func (f LoginFlags) validateSASL() error {
	if u, err := url.Parse(f.KafkaOAuthTokenURL); err != nil || u.User != nil {
		return errors.New("--kafka-oauth-token-url must be a URL without a user or password in it: the secret belongs into --kafka-oauth-client-secret")
	}
	oauth := []given{
		{"--kafka-oauth-token-url", f.KafkaOAuthTokenURL != ""}, {"--kafka-oauth-client-id", f.KafkaOAuthClientID != ""},
		{"--kafka-oauth-client-secret", f.KafkaOAuthClientSecret.IsSet()}, {"--kafka-oauth-scope", f.KafkaOAuthScope != ""},
		{"--kafka-oauth-extensions", len(f.KafkaOAuthExtensions) > 0},
	}
	password := []given{{"--kafka-user", f.KafkaUser != ""}, {"--kafka-password", f.KafkaPassword.IsSet()}}
	switch mechanism := kafka.Mechanism(f.KafkaSASL); mechanism {
	case kafka.NoLogin, "":
		return errors.Join(none(password, "add --kafka-sasl plain, scram-sha-256 or scram-sha-512"), none(oauth, "add --kafka-sasl oauthbearer"))
	case kafka.OAuthBearer:
		return errors.Join(none(password, "oauthbearer logs in with a token: remove it, or choose another --kafka-sasl"), all(oauth[:3], f.KafkaSASL))
	default:
		return errors.Join(none(oauth, "it belongs to --kafka-sasl oauthbearer: remove it, or choose that"), all(password, f.KafkaSASL))
	}
}

// given tells whether a flag was.
type given struct {
	flag string
	is   bool
}

func none(flags []given, otherwise string) error {
	var rules []rule
	for _, f := range flags {
		rules = append(rules, rule{f.is, fmt.Sprintf("%s has no effect with this --kafka-sasl: %s", f.flag, otherwise)})
	}
	return broken(rules...)
}

func all(flags []given, mechanism string) error {
	var rules []rule
	for _, f := range flags {
		rules = append(rules, rule{!f.is, fmt.Sprintf("--kafka-sasl %s needs %s", mechanism, f.flag)})
	}
	return broken(rules...)
}

// config is the configuration of clients of brokers. The log is told when
// secrets are read again, and of what travels in clear.
func (f LoginFlags) config(brokers Brokers, log zerolog.Logger) kafka.Config {
	c := kafka.Config{
		Brokers: brokers,
		TLS:     f.KafkaTLS, CAFile: f.KafkaCAFile, CertFile: f.KafkaCertFile, KeyFile: f.KafkaKeyFile, ServerName: f.KafkaServerName,
		SASL: kafka.Mechanism(f.KafkaSASL), User: f.KafkaUser, Password: f.KafkaPassword.Source("kafka-password", log),
		OAuth: kafka.OAuth{
			TokenURL: f.KafkaOAuthTokenURL, ClientID: f.KafkaOAuthClientID, Scope: f.KafkaOAuthScope,
			ClientSecret: f.KafkaOAuthClientSecret.Source("kafka-oauth-client-secret", log), Extensions: f.KafkaOAuthExtensions,
		},
	}
	if !c.TLS && (c.SASL == kafka.Plain || c.SASL == kafka.OAuthBearer) {
		log.Warn().Msgf("--kafka-sasl %s without --kafka-tls: everybody on the way can read what logs in to Kafka", c.SASL)
	}
	return c
}

// Extensions are names and values that go with a token.
type Extensions map[string]string

// UnmarshalText reads NAME=VALUE separated by commas.
func (e *Extensions) UnmarshalText(text []byte) error {
	out := Extensions{}
	for _, part := range strings.Split(string(text), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" || value == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || name == "auth" {
			return fmt.Errorf("%q is not NAME=VALUE: a name is letters, other than auth", name)
		}
		out[name] = value
	}
	*e = out
	return nil
}

// String writes what UnmarshalText reads.
func (e Extensions) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		parts = append(parts, name+"="+e[name])
	}
	return strings.Join(parts, ",")
}
