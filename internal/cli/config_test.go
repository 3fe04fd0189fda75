package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"flowgraph/internal/cli"
)

// shownConfig is the commented file, and each of its settings.
func shownConfig(t *testing.T) (text string, active, commented map[string]string) {
	t.Helper()
	r := flowgraph(t, nil, "config")
	if r.code != 0 {
		t.Fatal(r.err)
	}
	active, commented = map[string]string{}, map[string]string{}
	for _, line := range strings.Split(r.out, "\n") {
		name, value, ok := strings.Cut(line, ": ")
		switch {
		case !ok || strings.HasPrefix(line, "# "):
		case strings.HasPrefix(line, "#"):
			commented[name[1:]] = value
		default:
			active[name] = value
		}
	}
	return r.out, active, commented
}

func TestThePrintedDefaultsAreOthersThanThoseInForce(t *testing.T) {
	text, active, commented := shownConfig(t)
	without := flowgraph(t, nil, valid("--print-config")...)
	with := flowgraph(t, nil, valid("--print-config", "--config", file(t, text))...)
	if with.code != 0 || with.out != without.out {
		t.Errorf("%s%s\nwithout the file:\n%s", with.err, with.out, without.out)
	}
	var effective map[string]any
	if err := yaml.Unmarshal([]byte(without.out), &effective); err != nil {
		t.Fatal(err)
	}
	for name := range effective {
		if _, ok := active[name]; ok == (commented[name] != "") {
			t.Errorf("%s does not stand there once", name)
		}
	}
	if len(effective) != len(active)+len(commented) || len(active) < 20 || len(commented) < 20 {
		t.Errorf("%d settings in force, %d with a default and %d without are printed", len(effective), len(active), len(commented))
	}
	if !strings.Contains(text, "FLOWGRAPH_S3_SECRET_KEY_FILE") || active["s3-secret-key"] != "" {
		t.Error("the way to give a secret is not shown")
	}
}

func TestOnlyTheFirstFaultOfAFileIsTold(t *testing.T) {
	path := file(t, `brokers: k:9092
topic: t
flush-agee: 1m
flush-age: 10
memory-budget: 32MiB
on-gap: ignore
kafka-user: flow
until-end: perhaps
stage-endpoint: s3://x
s3-access-key: MARKER-key-5f1c
s3-secret-key:
  nested: MARKER-key-5f1c
group:
`)
	r := flowgraph(t, []string{"FLOWGRAPH_GROPU=x", "FLOWGRAPH_S3_ENDPOINT=nothing"}, "config", "check", path)
	if r.code != cli.ExitUsage {
		t.Errorf("exit code %d", r.code)
	}
	shown(t, "config check", r.out+r.err)
	want := []string{
		`line 2: unknown key "topic", did you mean "topics"?`,
		`line 3: unknown key "flush-agee", did you mean "flush-age"?`,
		`line 4: "flush-age": "10" has no unit`,
		`line 5: --flush-bytes 64MiB is more than --memory-budget 32MiB`,
		`line 6: "on-gap" must be one of "stop", "continue"`,
		`line 7: --kafka-user has no effect with this --kafka-sasl`,
		`line 8: "until-end"`,
		`line 9: "stage-endpoint": the scheme must be http or https`,
		`line 10: --s3-access-key and --s3-secret-key belong together`,
		`line 11: "s3-secret-key" is a value or a list of values, not a mapping`,
		`line 13: "group" has no value`,
		`environment variable FLOWGRAPH_GROPU is unknown, did you mean "FLOWGRAPH_GROUP"?`,
		`environment variable FLOWGRAPH_S3_ENDPOINT: not the address of a store`,
		`--topics is missing`,
	}
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if len(lines) != len(want) {
		t.Errorf("%d faults are told, want %d:\n%s", len(lines), len(want), r.out)
	}
	for i, w := range want {
		if !strings.Contains(r.out, w) {
			t.Errorf("%q is not told in\n%s", w, r.out)
		}
		if i < 11 && i < len(lines) && !strings.Contains(lines[i], w) {
			t.Errorf("told in another order: %s", lines[i])
		}
	}
}

func TestTheCheckRefusesWhatTheWorkerTakes(t *testing.T) {
	path := file(t, "brokers: [k]\ntopics: t\ns3-endpoint: http://s:9000\nuntil-end: yes\nstage-root: x\n")
	if r := flowgraph(t, nil, "config", "check", path); r.code != 0 || !strings.Contains(r.out, "Nothing is wrong") {
		t.Errorf("%s%s", r.out, r.err)
	}
	if r := flowgraph(t, []string{"FLOWGRAPH_CONFIG=" + path}, "config", "check"); r.code != 0 || !strings.Contains(r.out, path) {
		t.Errorf("the file that the environment names is not checked: %s%s", r.out, r.err)
	}
	for want, args := range map[string][]string{
		"/nowhere.yaml":    {"/nowhere.yaml"},
		"did not find":     {file(t, "group: [a\n")},
		"schema-file":      {file(t, "brokers: k\ntopics: t\ns3-endpoint: s:1\nschema-file: /nowhere.json\n")},
		"--kafka-ca-file":  {file(t, "brokers: k\ntopics: t\ns3-endpoint: s:1\nkafka-tls: true\nkafka-ca-file: /nowhere.pem\n")},
		"ca-file":          {file(t, "brokers: k\ntopics: t\ns3-endpoint: https://s\ns3-ca-file: /nowhere.pem\n")},
		"below 16 MiB":     {file(t, "brokers: k\ntopics: t\ns3-endpoint: s:1\nmemory-budget: 1MiB\nflush-bytes: 1MiB\nflush-delete-bytes: 1MiB\n")},
		"--kafka-password": {file(t, "brokers: k\ntopics: t\ns3-endpoint: s:1\nkafka-sasl: plain\nkafka-user: u\n")},
	} {
		r := flowgraph(t, nil, append([]string{"config", "check"}, args...)...)
		if r.code != cli.ExitUsage || !strings.Contains(r.out, want) {
			t.Errorf("exit code %d, %q is not in: %s%s", r.code, want, r.out, r.err)
		}
	}
	// A broken file does not keep anybody from looking up how to write it.
	if r := flowgraph(t, []string{"FLOWGRAPH_CONFIG=/nowhere.yaml", "FLOWGRAPH_X=1"}, "config"); r.code != 0 {
		t.Error(r.err)
	}
}

// schemaOf is the schema that the program prints.
func schemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	r := flowgraph(t, nil, "config", "schema")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(r.out))
	if err != nil {
		t.Fatalf("%v\n%s", err, r.err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4) // not the one that the schema names
	if err := c.AddResource("flowgraph.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("flowgraph.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate holds a YAML text against the schema.
func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestTheSchemaAndTheProgramJudgeDifferently(t *testing.T) {
	s := schemaOf(t)
	text, _, _ := shownConfig(t)
	least := "brokers: k\ntopics: t\ns3-endpoint: s:1\n"
	right := []string{
		text, "brokers: [a, b]\n", "topics: [\"/a{1,2}/\", b]\n", "memory-budget: 0\n", "memory-budget: 1.5 GiB\nflush-bytes: 64MB\n",
		"flush-age: 1h30m\n", "flush-age: 30d\n", "stall-after: 0s\n", "stall-after: 0\n", "until-end: true\n", "group: 12\n", "kafka-sasl: none\n",
		"listen: \"\"\n", "listen-names: [a, b]\n", "limit: 5\n", "rate: 1.5\n", "s3-access-key: k\ns3-secret-key: \"12\"\n",
	}
	wrong := []string{
		"topic: t\n", "flush-age: 10\n", "flush-age: ten\n", "flush-age: -10s\n", "flush-bytes: 64\n", "flush-bytes: 64mb\n", "flush-bytes: 64MB/s\n", "until-end: perhaps\n",
		"on-gap: ignore\n", "group:\n", "group: {a: b}\n", "listen: localhost\n", "rate: many\n", "s3-secret-key: (hidden)\ns3-access-key: k\n",
		"print-config: true\n", "connect: true\n", "config: x\n", "brokers: [{a: b}]\n",
	}
	for want, documents := range map[bool][]string{true: right, false: wrong} {
		for _, d := range documents {
			if err := validate(t, s, d); (err == nil) != want {
				t.Errorf("the schema says %v of\n%s", err, d)
			}
			for _, line := range strings.Split(least, "\n") { // where it does not stand there
				if name, _, _ := strings.Cut(line, ":"); line != "" && !strings.Contains("\n"+d, "\n"+name+":") {
					d += line + "\n"
				}
			}
			if r := flowgraph(t, nil, "config", "check", file(t, d)); (r.code == 0) != want {
				t.Errorf("the program says %s of\n%s", r.out, d)
			}
		}
	}
}
