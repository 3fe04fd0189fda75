package cli_test

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flowgraph/internal/cli"
	"flowgraph/internal/devstack"
	"flowgraph/internal/testpki"
)

const password = "pass-word-7c1e"

// authority makes certificates for 127.0.0.1.
func authority(t *testing.T, name string) (*testpki.Authority, testpki.Pair) {
	t.Helper()
	a, err := testpki.New(t.TempDir(), name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.Issue("server", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return a, p
}

// secured starts a broker that asks something of its clients.
func secured(t *testing.T, s devstack.Security) string {
	t.Helper()
	b, err := devstack.StartBroker(devstack.BrokerConfig{Dir: t.TempDir(), Security: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b.Addr()
}

// store starts a bucket and returns the flags that lead to it.
func store(t *testing.T) (*devstack.Store, []string) {
	t.Helper()
	s, err := devstack.StartBucket(t.Context(), devstack.BucketConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, []string{"--s3-endpoint", s.Endpoint(), "--s3-access-key", "minioadmin", "--s3-secret-key", "minioadmin"}
}

func TestACommandForgetsToLogInToKafka(t *testing.T) {
	ca, server := authority(t, "ca")
	client, err := ca.Issue("client")
	if err != nil {
		t.Fatal(err)
	}
	secure, err := ca.Server(server, true)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := filepath.Abs("../../testdata/recordings/ddl/records.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	_, bucket := store(t)
	for _, sasl := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		t.Run(sasl, func(t *testing.T) {
			broker := secured(t, devstack.Security{TLS: secure, Users: []devstack.User{{Mechanism: strings.ToUpper(sasl), Name: "flow", Password: password, Super: true}}})
			secret := file(t, password+"\n")
			env := []string{
				"FLOWGRAPH_BROKERS=" + broker, "FLOWGRAPH_KAFKA_TLS=true", "FLOWGRAPH_KAFKA_CA_FILE=" + ca.File,
				"FLOWGRAPH_KAFKA_CERT_FILE=" + client.CertFile, "FLOWGRAPH_KAFKA_KEY_FILE=" + client.KeyFile,
				"FLOWGRAPH_KAFKA_SASL=" + sasl, "FLOWGRAPH_KAFKA_USER=flow", "FLOWGRAPH_KAFKA_PASSWORD_FILE=" + secret,
			}
			topics := []string{"--topics", "/by-dev-.*/"}
			root := append([]string{"--s3-root", sasl}, bucket...)
			for _, args := range [][]string{
				{"replay", recorded},
				append([]string{"record", "-o", filepath.Join(t.TempDir(), "copy.jsonl")}, topics...),
				append(append([]string{"run", "--until-end", "--listen", "", "--memory-budget", "64MiB"}, topics...), root...),
				append(append([]string{"verify", "--complete"}, topics...), root...),
				append([]string{"rewind", "--vchannel", vchannel0, "--beginning", "--yes"}, root...),
			} {
				if r := flowgraph(t, env, args...); r.code != 0 {
					t.Errorf("%s: exit code %d\n%s", args[0], r.code, r.err)
				}
			}
			r := flowgraph(t, env, append([]string{"accept-log", "--vchannel", vchannel0}, root...)...)
			if !strings.Contains(r.err, "same as before") {
				t.Errorf("accept-log: %s", r.err)
			}
		})
	}
}

func TestAWrongSettingOfKafkaIsATrialForEverOrASentenceWithoutItsName(t *testing.T) {
	ca, server := authority(t, "ca")
	other, elsewhere := authority(t, "other")
	secure, err := ca.Server(server, false)
	if err != nil {
		t.Fatal(err)
	}
	mutual, err := ca.Server(server, true)
	if err != nil {
		t.Fatal(err)
	}
	users := []devstack.User{
		{Mechanism: "SCRAM-SHA-512", Name: "flow", Password: password, Topics: []string{"mine"}},
		{Mechanism: "SCRAM-SHA-512", Name: "root", Password: password, Super: true},
	}
	plain := secured(t, devstack.Security{})
	tls := secured(t, devstack.Security{TLS: secure, Users: users, ACLs: true})
	mtls := secured(t, devstack.Security{TLS: mutual})
	login := secured(t, devstack.Security{Users: users})
	nobody := unused(t)
	trust := []string{"--kafka-tls", "--kafka-ca-file", ca.File}
	user := []string{"--kafka-sasl", "scram-sha-512", "--kafka-user", "flow", "--kafka-password"}
	_, bucket := store(t)
	// Without an answer the worker waits for ever, as it should; record does not.
	waits := func(broker string, more ...string) []string {
		return append([]string{"record", "--topics", "mine", "-o", "-", "--brokers", broker}, more...)
	}
	// The embedded broker ends the connection of whoever it does not let in.
	run := func(broker string, more ...string) []string {
		return append(append([]string{"run", "--listen", "", "--memory-budget", "64MiB", "--topics", "mine", "--brokers", broker}, more...), bucket...)
	}
	explained(t, map[string]refused{
		"nobody there":        {waits(nobody), []string{"Kafka cannot be reached", "--brokers", nobody}},
		"no such host":        {waits("no-such-host.invalid:9092"), []string{"no-such-host.invalid is not known", "--brokers"}},
		"plain on a TLS port": {waits(tls), []string{"it may speak TLS on this port", "--kafka-tls"}},
		"TLS on a plain port": {waits(plain, trust...), []string{"it may not speak TLS on this port", "--kafka-tls"}},
		"unknown authority":   {run(tls, "--kafka-tls"), []string{"--kafka-ca-file", "signed"}},
		"wrong authority":     {run(tls, "--kafka-tls", "--kafka-ca-file", other.File), []string{"another authority", "--kafka-ca-file"}},
		"wrong name":          {run(tls, append(trust, "--kafka-server-name", "kafka.example")...), []string{"another name", "--kafka-server-name"}},
		"no certificate":      {run(mtls, trust...), []string{"client certificate", "--kafka-cert-file"}},
		"wrong certificate":   {run(mtls, append(trust, "--kafka-cert-file", elsewhere.CertFile, "--kafka-key-file", elsewhere.KeyFile)...), []string{"--kafka-cert-file", "signed"}},
		"wrong password":      {waits(tls, append(append(trust, user...), "wrong")...), []string{"--kafka-user", "--kafka-password"}},
		"other mechanism":     {waits(tls, append(trust, "--kafka-sasl", "plain", "--kafka-user", "flow", "--kafka-password", password)...), []string{"--kafka-sasl"}},
		"no login":            {waits(login), []string{"--kafka-sasl"}},
		"topic without ACL":   {run(tls, append(append(append(trust, user...), password), "--topics", "theirs")...), []string{"user flow", "theirs", "Read and Describe"}},
		"file not there":      {run(tls, "--kafka-tls", "--kafka-ca-file", "/nowhere.pem"), []string{"--kafka-ca-file", "/nowhere.pem"}},
	})
}

// refused is a command that fails, and words of its last line.
type refused struct{ args, want []string }

// explained runs all commands at once, since each of them waits for seconds.
func explained(t *testing.T, commands map[string]refused) {
	t.Helper()
	results := map[string]chan result{}
	for name, c := range commands {
		r := make(chan result, 1)
		results[name] = r
		go func() { r <- told(t, c.args...) }()
	}
	for name, c := range commands {
		r := <-results[name]
		t.Run(name, func(t *testing.T) {
			if r.code == 0 {
				t.Error("it did not fail")
			}
			if strings.Contains(r.err+r.out, password) {
				t.Error("the password is in the output")
			}
			last := lastLine(r.err)
			for _, want := range c.want {
				if !strings.Contains(last, want) {
					t.Errorf("%q is not in: %s", want, last)
				}
			}
			t.Log(r.err)
		})
	}
}

// told runs a command that is to end by itself, and soon.
func told(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	err := cli.Main(cli.Process{Args: args, Stdout: &out, Stderr: &errs, Stop: ctx, Kill: ctx, Patience: 2500 * time.Millisecond})
	if ctx.Err() != nil {
		t.Errorf("it does not end")
	}
	return result{out.String(), errs.String(), cli.ExitCode(err)}
}

// lastLine is the error that ended a command.
func lastLine(text string) string {
	_, after, _ := strings.Cut("\n"+text, "\nflowgraph: ")
	return after
}

// unused is an address where nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestALoginThatCannotWorkIsRefusedAtTheStart(t *testing.T) {
	for want, args := range map[string][]string{
		"--kafka-cert-file and --kafka-key-file belong together":     {"--kafka-tls", "--kafka-cert-file", "c"},
		"--kafka-ca-file has no effect without TLS: add --kafka-tls": {"--kafka-ca-file", "c"},
		"--kafka-server-name has no effect without TLS":              {"--kafka-server-name", "c"},
		"--kafka-user has no effect":                                 {"--kafka-user", "u"},
		"--kafka-sasl plain needs --kafka-password":                  {"--kafka-sasl", "plain", "--kafka-user", "u"},
		"--kafka-sasl scram-sha-512 needs --kafka-user":              {"--kafka-sasl", "scram-sha-512", "--kafka-password", password},
		"--kafka-sasl oauthbearer needs --kafka-oauth-client-secret": {"--kafka-sasl", "oauthbearer", "--kafka-oauth-token-url", "http://t", "--kafka-oauth-client-id", "c"},
		"--kafka-oauth-scope has no effect":                          {"--kafka-sasl", "plain", "--kafka-user", "u", "--kafka-password", password, "--kafka-oauth-scope", "s"},
		"logs in with a token":                                       {"--kafka-sasl", "oauthbearer", "--kafka-password", password},
		`"auth" is not NAME=VALUE`:                                   {"--kafka-oauth-extensions", "auth=x"},
		"--listen-guard-metrics needs --listen-token":                {"--listen-guard-metrics"},
		"--listen-cert-file and --listen-key-file belong together":   {"--listen-cert-file", "c"},
		"--s3-cert-file and --s3-key-file belong together":           {"--s3-cert-file", "c"},
		"--s3-ca-file and --s3-cert-file need TLS":                   {"--s3-ca-file", "c"},
	} {
		r := flowgraph(t, nil, valid(args...)...)
		if r.code != cli.ExitUsage || !strings.Contains(r.err, want) || strings.Contains(r.err, password) {
			t.Errorf("%v: exit code %d, %q is not in: %s", args, r.code, want, r.err)
		}
	}
}
