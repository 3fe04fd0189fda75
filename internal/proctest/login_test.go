//go:build unix

package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/testpki"
)

const kafkaPassword = "pass-word-90b2"

// fortress is an Apache Kafka with a listener for each way to log in, and a
// MinIO that speaks TLS.
type fortress struct {
	*real
	ca                           *testpki.Authority
	client                       testpki.Pair
	scram, plain, mutual, bearer string // listeners
	tokens                       *issuer
	admin                        *kadm.Client // by the listener without any
}

func newFortress(t *testing.T) *fortress {
	if options.stack != "real" {
		t.Skip("this is about an Apache Kafka and a MinIO: -stack real")
	}
	f := &fortress{scram: freeAddress(t), plain: freeAddress(t), mutual: freeAddress(t), bearer: freeAddress(t)}
	dir := t.TempDir()
	f.ca = must(testpki.New(dir, "ca"))
	server := must(f.ca.Issue("server", "127.0.0.1"))
	f.client = must(f.ca.Issue("client"))
	f.tokens = newTokenIssuer(t)
	f.real = newRealWith(t, "", func(r *real) {
		kafka, minio := filepath.Join(r.dir, "kafka"), filepath.Join(r.dir, "minio")
		stored(t, filepath.Join(kafka, "server.pem"), contents(t, server.KeyFile)+contents(t, server.CertFile))
		stored(t, filepath.Join(kafka, "more.properties"), f.properties(r, filepath.Join(kafka, "server.pem")))
		stored(t, filepath.Join(kafka, "format.args"), "--add-scram\nSCRAM-SHA-512=[name=flow,password="+kafkaPassword+"]\n")
		stored(t, filepath.Join(kafka, "java.args"), "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="+f.tokens.URL+"/keys\n")
		if err := os.Mkdir(filepath.Join(minio, "certs"), 0o700); err != nil {
			t.Fatal(err)
		}
		stored(t, filepath.Join(minio, "certs", "public.crt"), contents(t, server.CertFile))
		stored(t, filepath.Join(minio, "certs", "private.key"), contents(t, server.KeyFile))
		r.roots = f.ca.File
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(f.broker()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	f.admin = kadm.NewClient(client)
	return f
}

// properties add the listeners to a broker's configuration.
func (f *fortress) properties(r *real, server string) string {
	const module = "org.apache.kafka.common.security."
	return strings.Join([]string{
		fmt.Sprintf("listeners=CLIENTS://%s,QUORUM://%s,SCRAM://%s,PLAIN://%s,MUTUAL://%s,BEARER://%s", r.brokers, r.controller, f.scram, f.plain, f.mutual, f.bearer),
		fmt.Sprintf("advertised.listeners=CLIENTS://%s,SCRAM://%s,PLAIN://%s,MUTUAL://%s,BEARER://%s", r.brokers, f.scram, f.plain, f.mutual, f.bearer),
		"listener.security.protocol.map=CLIENTS:PLAINTEXT,QUORUM:PLAINTEXT,SCRAM:SASL_SSL,PLAIN:SASL_SSL,MUTUAL:SSL,BEARER:SASL_SSL",
		"ssl.keystore.type=PEM", "ssl.keystore.location=" + server,
		"ssl.truststore.type=PEM", "ssl.truststore.location=" + f.ca.File,
		"listener.name.mutual.ssl.client.auth=required",
		"listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-512",
		"listener.name.scram.scram-sha-512.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
		"listener.name.plain.sasl.enabled.mechanisms=PLAIN",
		"listener.name.plain.plain.sasl.jaas.config=" + module + `plain.PlainLoginModule required user_flow="` + kafkaPassword + `";`,
		"listener.name.bearer.sasl.enabled.mechanisms=OAUTHBEARER",
		"listener.name.bearer.oauthbearer.sasl.jaas.config=" + module + "oauthbearer.OAuthBearerLoginModule required;",
		"listener.name.bearer.oauthbearer.sasl.server.callback.handler.class=" + module + "oauthbearer.OAuthBearerValidatorCallbackHandler",
		"listener.name.bearer.oauthbearer.sasl.oauthbearer.jwks.endpoint.url=" + f.tokens.URL + "/keys",
		"listener.name.bearer.oauthbearer.sasl.oauthbearer.expected.audience=kafka",
		"listener.name.bearer.oauthbearer.sasl.oauthbearer.expected.issuer=" + f.tokens.URL,
		// Short, so that connections log in again while the test looks on.
		"listener.name.bearer.oauthbearer.connections.max.reauth.ms=3000",
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS", "",
	}, "\n")
}

// allow lets everybody who is logged in read a topic in the default group.
func (f *fortress) allow(topic string) {
	f.t.Helper()
	acls := kadm.NewACLs().Allow("User:flow", "User:CN=client").AllowHosts().
		Topics(topic).Groups("flowgraph").ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpRead, kadm.OpDescribe)
	results, err := f.admin.CreateACLs(f.t.Context(), acls)
	if err == nil {
		for _, r := range results {
			if r.Err != nil {
				err = r.Err
			}
		}
	}
	if err != nil {
		f.t.Fatalf("make ACLs: %v", err)
	}
}

// command runs the built program against the fortress.
func (f *fortress) command(name string, args ...string) *child {
	return spawn(f.t, f.dir, name, binary(), args...)
}

func (f *fortress) bucketFlags(root string) []string {
	return []string{
		"--s3-endpoint=https://" + f.store(), "--s3-ca-file=" + f.ca.File, "--s3-bucket=" + bucketName, "--s3-root=" + root,
		"--s3-access-key=" + access, "--s3-secret-key=" + access,
	}
}

func (f *fortress) logins() map[string][]string {
	password := filepath.Join(f.dir, "password")
	stored(f.t, password, kafkaPassword+"\n")
	trust := []string{"--kafka-tls", "--kafka-ca-file=" + f.ca.File}
	user := []string{"--kafka-user=flow", "--kafka-password=" + kafkaPassword}
	with := func(broker string, more ...string) []string {
		return append(append([]string{"--brokers=" + broker}, trust...), more...)
	}
	return map[string][]string{
		"scram":  append(with(f.scram, "--kafka-sasl=scram-sha-512"), user...),
		"plain":  append(with(f.plain, "--kafka-sasl=plain"), user...),
		"mutual": with(f.mutual, "--kafka-cert-file="+f.client.CertFile, "--kafka-key-file="+f.client.KeyFile),
		"bearer": with(f.bearer, "--kafka-sasl=oauthbearer", "--kafka-oauth-token-url="+f.tokens.URL+"/token",
			"--kafka-oauth-client-id=flow", "--kafka-oauth-client-secret="+kafkaPassword, "--kafka-oauth-scope=kafka", "--kafka-oauth-extensions=traceId=abc"),
	}
}

func TestRealKafkaAndMinIOLetTheWorkerInByEveryLogin(t *testing.T) {
	f := newFortress(t)
	recorded := filepath.Join(options.root, "testdata/recordings/ddl/records.jsonl.gz")
	f.command("replay", "replay", recorded, "--brokers="+f.broker()).exits(0)
	topics := []string{"by-dev-rootcoord-dml_0", "by-dev-rootcoord-dml_1"}
	for _, topic := range topics {
		f.allow(topic)
	}
	for name, login := range f.logins() {
		args := append(append(login, "--topics="+strings.Join(topics, ",")), f.bucketFlags(name)...)
		f.command("run-"+name, append([]string{"run", "--until-end", "--listen=", "--memory-budget=64MiB"}, args...)...).exits(0)
		f.command("verify-"+name, append([]string{"verify", "--complete"}, args...)...).exits(0)
	}
	// The ways to confirm an upload go over TLS otherwise than in clear.
	for _, sum := range []string{"none", "md5", "sha256"} {
		args := append(f.bucketFlags("sum-"+sum), "--s3-checksum="+sum, "--s3-addressing=path", "--brokers="+f.broker(), "--topics="+topics[1])
		f.command("run-"+sum, append([]string{"run", "--until-end", "--listen=", "--memory-budget=64MiB"}, args...)...).exits(0)
	}
	f.refusals(recorded)
	f.tokenIsRenewed(topics)
}

// refusals are what an operator sees first of a wrong setting.
func (f *fortress) refusals(recorded string) {
	logins := f.logins()
	other := must(testpki.New(f.t.TempDir(), "other"))
	stranger := must(other.Issue("stranger"))
	bucket := f.bucketFlags("refused")
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"password":        {append(logins["scram"], "--kafka-password=wrong"), []string{"--kafka-password", `user "flow"`}},
		"plain-password":  {append(logins["plain"], "--kafka-password=wrong"), []string{"--kafka-password", `user "flow"`}},
		"mechanism":       {append(logins["plain"], "--kafka-sasl=scram-sha-512"), []string{"--kafka-sasl scram-sha-512"}},
		"token":           {append(logins["bearer"], "--kafka-oauth-scope=elsewhere"), []string{"refuses the token", "--kafka-oauth-scope"}},
		"secret":          {append(logins["bearer"], "--kafka-oauth-client-secret=wrong"), []string{"invalid_client", "--kafka-oauth-client-secret"}},
		"authority":       {append(logins["scram"], "--kafka-ca-file="+other.File), []string{"another authority", "--kafka-ca-file"}},
		"plaintext":       {[]string{"--brokers=" + f.scram}, []string{"TLS on this port", "--kafka-tls"}},
		"certificate":     {[]string{"--brokers=" + f.mutual, "--kafka-tls", "--kafka-ca-file=" + f.ca.File}, []string{"client certificate", "--kafka-cert-file"}},
		"own-certificate": {append(logins["mutual"], "--kafka-cert-file="+stranger.CertFile, "--kafka-key-file="+stranger.KeyFile), []string{"--kafka-cert-file"}},
		"acl":             {append(logins["scram"], "--topics=forbidden"), []string{"user flow", "forbidden", "Read and Describe"}},
		"s3-authority":    {append(logins["scram"], "--s3-ca-file="+other.File), []string{"another authority", "s3-ca-file"}},
		"s3-plain":        {append(logins["scram"], "--s3-ca-file=", "--s3-endpoint=http://"+f.store()), []string{"speaks TLS", "s3-endpoint"}},
		"s3-key":          {append(logins["scram"], "--s3-secret-key=wrong-wrong"), []string{"keys are not valid", "s3-secret-key"}},
		"s3-bucket":       {append(logins["scram"], "--s3-bucket=no-such-bucket"), []string{`no bucket "no-such-bucket"`, "s3-bucket"}},
	} {
		args := append([]string{"run", "--until-end", "--listen=", "--memory-budget=64MiB", "--topics=by-dev-rootcoord-dml_0"}, bucket...)
		p := f.command("refused-"+name, append(args, c.args...)...)
		p.endsSaying(c.want...)
	}
	p := f.command("refused-tls", "replay", recorded, "--brokers="+f.broker(), "--kafka-tls", "--kafka-ca-file="+f.ca.File)
	p.endsSaying("--kafka-tls")
}

// endsSaying waits until the process fails, with a sentence as its last word.
func (c *child) endsSaying(words ...string) {
	c.t.Helper()
	if c.exit() == 0 {
		c.t.Errorf("%s did not fail", c.name)
	}
	for _, w := range words {
		if last := c.tail(1); !strings.Contains(last, w) {
			c.t.Errorf("%s: %q is not in: %s", c.name, w, last)
		}
	}
}

// tokenIsRenewed runs a worker beyond the life of its tokens.
func (f *fortress) tokenIsRenewed(topics []string) {
	before := f.tokens.given.Load()
	args := append(append(f.logins()["bearer"], "--topics="+strings.Join(topics, ","), "--listen=127.0.0.1:0", "--memory-budget=64MiB"), f.bucketFlags("renewed")...)
	p := f.command("renewed", append([]string{"run"}, args...)...)
	await(f.t, saying("no new token was asked for"), func() bool { return p.ended() || f.tokens.given.Load() >= before+3 })
	if p.ended() {
		f.t.Errorf("it ended: %s", p.tail(5))
	}
	for _, word := range []string{`"level":"error"`, "refuses"} {
		if p.logged(word) {
			f.t.Errorf("%s is in %s", word, p.tail(10))
		}
	}
}

// must is for what fails only where nothing works.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func stored(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
