package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flowgraph/internal/cli"
)

type result struct {
	out, err string
	code     int
}

func flowgraph(t *testing.T, env []string, args ...string) result {
	t.Helper()
	var out bytes.Buffer
	var errs both // of all flows
	err := cli.Main(cli.Process{
		Args: args, Environ: env, Stdout: &out, Stderr: &errs, Stop: t.Context(), Kill: t.Context(),
	})
	return result{out.String(), errs.String(), cli.ExitCode(err)}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flowgraph.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// valid is the least that run needs.
func valid(more ...string) []string {
	return append([]string{"run", "--brokers", "k:9092", "--topics", "t", "--s3-endpoint", "http://s:9000"}, more...)
}

func TestTheNearerSettingWins(t *testing.T) {
	path := file(t, "group: from-file\ninstance-id: from-file\nflush-age: 1m\nbrokers: [a, \"b:1\"]\ntopics:\n- x\n- /y{1,2}/\ns3-endpoint: http://s:9000\nuntil-end: true\n")
	env := []string{"FLOWGRAPH_CONFIG=/nowhere", "FLOWGRAPH_GROUP=from-env", "FLOWGRAPH_INSTANCE_ID=from-env", "OTHER=1"}
	r := flowgraph(t, env, "run", "--config", path, "--group", "from-flag", "--print-config")
	if r.code != 0 {
		t.Fatal(r.err)
	}
	for _, want := range []string{
		"group: from-flag\n",      // flag over environment over file
		"instance-id: from-env\n", // environment over file
		"flush-age: 1m\n",         // file over default
		"flush-bytes: 64MiB\n",    // default
		"brokers: a:9092,b:1\n",
		"topics: x,/y{1,2}/\n",
		"until-end: true\n",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
}

func TestAPrintedConfigurationIsReadBackTheSame(t *testing.T) {
	first := flowgraph(t, nil, valid("--flush-bytes", "1500B", "--idle-seal", "90m", "--listen", "", "--print-config")...)
	if first.code != 0 {
		t.Fatal(first.err)
	}
	again := flowgraph(t, nil, "run", "--config", file(t, first.out), "--print-config")
	if again.out != first.out {
		t.Errorf("%s%s\nprinted first:\n%s", again.err, again.out, first.out)
	}
}

func TestBadSettingsAreRefusedByNameAtStart(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		yaml string
		args []string
		want []string
	}{
		{"misspelt flag", nil, "", valid("--flush-byte", "1MiB"), []string{"--flush-byte", `did you mean "--flush-bytes"`}},
		{"misspelt key", nil, "group: g\nflush-agee: 1m\n", valid(), []string{"line 2", `unknown key "flush-agee"`, `did you mean "flush-age"`}},
		{"misspelt variable", []string{"FLOWGRAPH_S3_ENDPOINTS=x"}, "", valid(), []string{"FLOWGRAPH_S3_ENDPOINTS", "FLOWGRAPH_S3_ENDPOINT"}},
		{"wrong unit in the file", nil, "\nflush-age: 10\n", valid(), []string{"--flush-age", "line 2", `"10" has no unit`, "10s"}},
		{"wrong unit in the environment", []string{"FLOWGRAPH_FLUSH_BYTES=64"}, "", valid(), []string{"FLOWGRAPH_FLUSH_BYTES", `"64" has no unit`, "64MiB"}},
		{"unknown unit", nil, "", valid("--flush-bytes", "64MB/s"), []string{"--flush-bytes", "is not a size"}},
		{"negative size", nil, "", valid("--flush-bytes=-1MiB"), []string{"--flush-bytes", "is negative"}},
		{"negative duration", nil, "", valid("--flush-age=-10s"), []string{"--flush-age", "is negative"}},
		{"zero flush", nil, "", valid("--flush-bytes", "0"), []string{"--flush-bytes", "larger than 0"}},
		{"flush over the budget", nil, "", valid("--memory-budget", "32MiB"), []string{"--flush-bytes 64MiB", "--memory-budget 32MiB"}},
		{"grace too short", nil, "", valid("--grace-period", "0s"), []string{"--grace-period", "at least 1s"}},
		{"not a choice", nil, "on-gap: ignore\n", valid(), []string{"--on-gap", `"stop"`, `"continue"`}},
		{"key twice", nil, "group: a\ngroup: b\n", valid(), []string{"line 2", `"group" stands twice`}},
		{"key without value", nil, "group:\n", valid(), []string{"line 1", `"group" has no value`}},
		{"nested key", nil, "group:\n  a: b\n", valid(), []string{`"group"`, "not a mapping"}},
		{"no mapping", nil, "- group\n", valid(), []string{"not a mapping of settings"}},
		{"two documents", nil, "group: a\n---\ngroup: b\n", valid(), []string{"more than one YAML document"}},
		{"a flag that is no setting", nil, "print-config: true\n", valid(), []string{`unknown key "print-config"`}},
		{"file not there", nil, "", valid("--config", "/nowhere.yaml"), []string{"--config", "/nowhere.yaml"}},
		{"one key alone", nil, "", valid("--s3-access-key", "k"), []string{"--s3-access-key", "--s3-secret-key"}},
		{"no broker", nil, "", []string{"run", "--topics", "t", "--s3-endpoint", "http://s:9000"}, []string{"--brokers is missing"}},
		{"broker with scheme", nil, "", valid("--brokers", "kafka://k:9092"), []string{"--brokers", "without a scheme"}},
		{"listen without port", nil, "", valid("--listen", "localhost"), []string{"--listen", "HOST:PORT"}},
		{"bad expression", nil, "", valid("--topics", "/a(/"), []string{"--topics", "a("}},
		{"mixed topics", nil, "", valid("--topics", "a,b:0"), []string{"--topics", "cannot be mixed"}},
		{"not a topic", nil, "", valid("--topics", "a b"), []string{"--topics", `"a b"`}},
		{"negative rate", nil, "", []string{"replay", "f", "--brokers", "k", "--rate=-1"}, []string{"--rate"}},
	} {
		args := c.args
		if c.yaml != "" {
			args = append(args, "--config", file(t, c.yaml))
		}
		r := flowgraph(t, c.env, args...)
		if r.code != cli.ExitUsage {
			t.Errorf("%s: exit code %d, want %d\n%s", c.name, r.code, cli.ExitUsage, r.err)
		}
		for _, want := range c.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("%s: %q is not in: %s", c.name, want, r.err)
			}
		}
	}
}

func TestAFaultOfTheFileIsBlamedOnAFlag(t *testing.T) {
	misspelt, open := file(t, "group: g\ngrop: g\n"), file(t, "{")
	for path, want := range map[string]string{
		misspelt:        misspelt + ` line 2: unknown key "grop"`,
		open:            open + ": yaml: ",
		"/nowhere.yaml": "--config: open /nowhere.yaml: ",
	} {
		r := flowgraph(t, nil, valid("--config", path)...)
		if !strings.HasPrefix(r.err, "flowgraph: "+want) {
			t.Errorf("want %q: %s", want, r.err)
		}
	}
}

func TestVariablesOfAKubernetesServiceAreNotMisspeltSettings(t *testing.T) {
	env := []string{"FLOWGRAPH_SERVICE_HOST=10.0.0.1", "FLOWGRAPH_PORT_9090_TCP_ADDR=10.0.0.1", "FLOWGRAPH_PORT=tcp://10.0.0.1:9090", "FLOWGRAPH_KAFKA_SERVICE_PORT=1"}
	if r := flowgraph(t, env, valid("--print-config")...); r.code != 0 {
		t.Error(r.err)
	}
}

func TestOneFileServesSeveralCommands(t *testing.T) {
	path := file(t, "brokers: k:9092\nflush-bytes: 1MiB\ns3-listen: 127.0.0.1:1\n")
	r := flowgraph(t, nil, "replay", "f", "--config", path, "--print-config")
	if r.code != 0 || !strings.Contains(r.out, "brokers: k:9092") || strings.Contains(r.out, "flush-bytes") {
		t.Errorf("%s%s", r.err, r.out)
	}
}

func TestSecretsAreShownNowhere(t *testing.T) {
	const marker = "MARKER-5f1c"
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(marker+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := []string{"--s3-access-key", marker, "--s3-secret-key", marker, "--s3-session-token", marker}
	for name, run := range map[string]func() result{
		"printed":           func() result { return flowgraph(t, nil, valid(append(keys, "--print-config")...)...) },
		"help":              func() result { return flowgraph(t, []string{"FLOWGRAPH_S3_SECRET_KEY=" + marker}, "run", "--help") },
		"error beside":      func() result { return flowgraph(t, nil, valid(append(keys, "--flush-age", "1")...)...) },
		"misspelt flag":     func() result { return flowgraph(t, nil, valid("--s3-secret-kye="+marker)...) },
		"misspelt key":      func() result { return flowgraph(t, nil, valid("--config", file(t, "s3-secret-kye: "+marker))...) },
		"misspelt variable": func() result { return flowgraph(t, []string{"FLOWGRAPH_S3_SECRET_KYE=" + marker}, valid()...) },
		"broken file": func() result {
			return flowgraph(t, nil, valid("--config", file(t, "s3-secret-key: "+marker+"\n\tx"))...)
		},
		"password in the URL":   func() result { return flowgraph(t, nil, valid("--s3-endpoint", "http://u:"+marker+"@s:9000")...) },
		"password without http": func() result { return flowgraph(t, nil, valid("--s3-endpoint", "u:"+marker+"@s:9000")...) },
		"password in a bad URL": func() result { return flowgraph(t, nil, valid("--s3-endpoint", "http://u:"+marker+"@s:x y")...) },
		"both ways": func() result {
			return flowgraph(t, []string{"FLOWGRAPH_S3_SECRET_KEY=" + marker, "FLOWGRAPH_S3_SECRET_KEY_FILE=" + secret}, valid()...)
		},
		"password in the token URL": func() result {
			return flowgraph(t, nil, valid("--kafka-sasl", "oauthbearer", "--kafka-oauth-client-id", "i", "--kafka-oauth-client-secret", marker,
				"--kafka-oauth-token-url", "https://u:"+marker+"@idp/token", "--print-config")...)
		},
		"broker with a password": func() result { return flowgraph(t, nil, valid("--brokers", "u:"+marker+"@k:9092")...) },
	} {
		r := run()
		if strings.Contains(r.out+r.err, marker) {
			t.Errorf("%s: the secret is in\n%s%s", name, r.out, r.err)
		}
	}
	s := cli.NewSecret(marker)
	inside := struct {
		Shown  cli.Secret
		hidden cli.Secret
	}{s, s}
	if text := fmt.Sprintf("%v %+v %#v %s %q", inside, inside, inside, s, s); strings.Contains(text, marker) {
		t.Errorf("the secret is in %s", text)
	}
	if s.Reveal() != marker {
		t.Error("the secret is lost")
	}
}

func TestASecretIsTakenFromAFile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"FLOWGRAPH_S3_ACCESS_KEY=k", "FLOWGRAPH_S3_SECRET_KEY_FILE=" + secret}
	if r := flowgraph(t, env, valid("--print-config")...); !strings.Contains(r.out, "s3-secret-key: (hidden)") {
		t.Errorf("%s%s", r.err, r.out)
	}
	printed := file(t, "s3-access-key: k\ns3-secret-key: (hidden)\n")
	if r := flowgraph(t, nil, valid("--config", printed)...); r.code != cli.ExitUsage || !strings.Contains(r.err, "--print-config") {
		t.Errorf("a hidden secret was taken for a secret: %s", r.err)
	}
}

func TestExitCodesTellFencingFromFailure(t *testing.T) {
	for err, want := range map[error]int{
		nil:                               0,
		os.ErrNotExist:                    1,
		context.Canceled:                  1,
		fmt.Errorf("x: %w", cli.ErrUsage): 2,
		fmt.Errorf("x: %w", cli.ErrOwnershipLost): 3,
	} {
		if got := cli.ExitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
