package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"flowgraph/internal/devstack"
)

// checklist runs config check --connect and returns its lines by what they
// are about.
func checklist(t *testing.T, env ...string) (map[string]string, result) {
	t.Helper()
	r := flowgraph(t, env, "config", "check", "--connect")
	lines := map[string]string{}
	for _, line := range strings.Split(r.out, "\n") {
		f := strings.Fields(line)
		if len(f) > 2 && (f[0] == "ok" || f[0] == "missing") {
			what := strings.TrimSpace(strings.TrimPrefix(line, f[0]))
			name, text, _ := strings.Cut(what, "  ")
			lines[name] = f[0] + " " + strings.TrimSpace(text)
		}
	}
	return lines, r
}

// expect holds a checklist against the lines that it should have, each the
// beginning and what else is in it.
func expect(t *testing.T, lines map[string]string, r result, want map[string][]string) {
	t.Helper()
	for name, parts := range want {
		if !strings.HasPrefix(lines[name], parts[0]) {
			t.Errorf("%s is %q, not %s", name, lines[name], parts[0])
		}
		for _, p := range parts[1:] {
			if !strings.Contains(lines[name], p) {
				t.Errorf("%s: %q is not in %q", name, p, lines[name])
			}
		}
	}
	for name, line := range lines {
		if _, ok := want[name]; !ok && strings.HasPrefix(line, "missing") {
			t.Errorf("%s is not expected to be %s", name, line)
		}
	}
	if t.Failed() {
		t.Log(r.out + r.err)
	}
}

// allowed are ACLs of one user.
func allowed(kind kmsg.ACLResourceType, name string, operations ...kmsg.ACLOperation) (acls []kfake.ACL) {
	for _, o := range operations {
		acls = append(acls, kfake.ACL{Resource: kind, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: o, Allow: true})
	}
	return acls
}

// record writes one record of a time.
func record(t *testing.T, broker, topic string, at time.Time, login ...kgo.Opt) {
	t.Helper()
	client, err := kgo.NewClient(append(login, kgo.SeedBrokers(broker))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x"), Timestamp: at}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// commit notes an offset of the group flowgraph.
func commit(t *testing.T, topic string, opts ...kgo.Opt) {
	t.Helper()
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, At: 0, LeaderEpoch: -1})
	if err := kadm.NewClient(client).CommitAllOffsets(t.Context(), "flowgraph", offsets); err != nil {
		t.Fatal(err)
	}
}

func TestWhatKafkaLacksIsNotToldBeforeTheWorkerStarts(t *testing.T) {
	read, describe, groups := kmsg.ACLOperationRead, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup
	user := func(name string, acls ...[]kfake.ACL) kfake.Opt {
		var all []kfake.ACL
		for _, a := range acls {
			all = append(all, a...)
		}
		return kfake.User("PLAIN", name, password, all...)
	}
	mine := allowed(kmsg.ACLResourceTypeTopic, "mine", read, describe)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(2, "mine"), kfake.SeedTopics(1, "theirs"),
		user("full", mine, allowed(groups, "flowgraph", read, describe)),
		user("no-group", mine),
		user("describes", allowed(kmsg.ACLResourceTypeTopic, "mine", describe), allowed(groups, "flowgraph", describe)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	// The embedded broker looks at a group's ACLs once there is a group.
	used := []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.SASL(plain.Auth{User: "full", Pass: password}.AsMechanism())}
	commit(t, "mine", used...)
	_, bucket := store(t)
	with := func(user string, more ...string) []string {
		return append(append([]string{"FLOWGRAPH_BROKERS=" + cluster.ListenAddrs()[0], "FLOWGRAPH_KAFKA_SASL=plain", "FLOWGRAPH_KAFKA_USER=" + user,
			"FLOWGRAPH_KAFKA_PASSWORD=" + password}, storeEnv(bucket)...), more...)
	}
	for name, c := range map[string]struct {
		env  []string
		want map[string][]string
	}{
		"all is there": {with("full", "FLOWGRAPH_TOPICS=/mi.*/"), map[string][]string{
			"brokers": {"ok", "1 of 1 brokers"}, "login": {"ok", "user full, by plain"}, "topics": {"ok", "1 topic with 2 partitions: mine (2)"},
			"describe": {"ok"}, "read": {"ok"}, "group": {"ok", "flowgraph may be used; it has offsets of 1"}, "bucket": {"ok"}, "list": {"ok"}, "put": {"ok"},
			"create-only put": {"ok"}, "conditional put": {"ok"}, "get": {"ok"}, "delete": {"ok"}, "store's clock": {"ok"},
		}},
		"consumer protocol": {with("full", "FLOWGRAPH_TOPICS=mine", "FLOWGRAPH_GROUP_PROTOCOL=consumer"), map[string][]string{"group protocol": {"ok"}}},
		"no topic matches": {with("full", "FLOWGRAPH_TOPICS=/by-dev-.*/"), map[string][]string{
			"topics": {"missing", "none of the 1 topics", "user full", "/by-dev-.*/", "--topics"}, "group": {"ok"},
		}},
		"no such topic":     {with("full", "FLOWGRAPH_TOPICS=theirs"), map[string][]string{"topics": {"missing", "theirs", "Read and Describe"}}},
		"no such partition": {with("full", "FLOWGRAPH_TOPICS=mine:7"), map[string][]string{"topics": {"missing", "2 partitions", "number 7"}}},
		"explicit list":     {with("no-group", "FLOWGRAPH_TOPICS=mine:1"), map[string][]string{"topics": {"ok", "1 topic with 1 partition"}, "read": {"ok"}}},
		"no group":          {with("no-group", "FLOWGRAPH_TOPICS=mine"), map[string][]string{"read": {"ok"}, "group": {"missing", "Read on the group", "user no-group"}}},
		"describe alone": {with("describes", "FLOWGRAPH_TOPICS=mine"), map[string][]string{
			"describe": {"ok"}, "read": {"missing", "mine", "Read and Describe"}, "group": {"missing", "Read on the group"},
		}},
		"wrong password": {with("full", "FLOWGRAPH_TOPICS=mine", "FLOWGRAPH_KAFKA_PASSWORD="+"wrong"), map[string][]string{"brokers": {"missing", "--kafka-password"}}},
		"nobody there":   {with("full", "FLOWGRAPH_TOPICS=mine", "FLOWGRAPH_BROKERS="+unused(t)), map[string][]string{"brokers": {"missing", "--brokers"}, "put": {"ok"}}},
	} {
		t.Run(name, func(t *testing.T) {
			lines, r := checklist(t, c.env...)
			expect(t, lines, r, c.want)
			missing := strings.Contains(r.out, "\nmissing")
			if r.code != map[bool]int{true: 1, false: 0}[missing] || strings.Contains(r.out+r.err, password) {
				t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
			}
		})
	}
}

// storeEnv are flags as environment.
func storeEnv(flags []string) (env []string) {
	for i := 0; i < len(flags); i += 2 {
		env = append(env, "FLOWGRAPH_"+strings.ToUpper(strings.ReplaceAll(flags[i][2:], "-", "_"))+"="+flags[i+1])
	}
	return env
}

func TestWhatTheBucketLacksIsNotToldBeforeTheWorkerStarts(t *testing.T) {
	s, bucket := store(t)
	broker := secured(t, devstack.Security{})
	record(t, broker, "t", time.Now().Add(3*time.Hour), kgo.AllowAutoTopicCreation())
	deny := func(what func(*http.Request) bool) string {
		return before(t, s, nil, func(w http.ResponseWriter, r *http.Request) bool {
			if !what(r) {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>AccessDenied</Code><Message>m</Message></Error>")
			return true
		}).URL
	}
	method := func(m string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Method == m && !r.URL.Query().Has("location") }
	}
	skewed := before(t, s, nil, func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<Error><Code>RequestTimeTooSkewed</Code><Message>m</Message></Error>")
		return true
	})
	for name, c := range map[string]struct {
		env  []string
		want map[string][]string
	}{
		"no bucket":  {[]string{"FLOWGRAPH_S3_BUCKET=missing-bucket"}, map[string][]string{"bucket": {"missing", "create it", "s3-bucket"}}},
		"wrong keys": {[]string{"FLOWGRAPH_S3_SECRET_KEY=wrong-wrong"}, map[string][]string{"bucket": {"missing", "keys are not valid"}}},
		"read-only":  {[]string{"FLOWGRAPH_S3_ENDPOINT=" + deny(method(http.MethodPut))}, map[string][]string{"bucket": {"ok"}, "list": {"ok"}, "put": {"missing", "PutObject"}}},
		"no list": {[]string{"FLOWGRAPH_S3_ENDPOINT=" + deny(func(r *http.Request) bool { return r.URL.Query().Has("list-type") })}, map[string][]string{
			"list": {"missing", "ListBucket"}, "put": {"ok"}, "get": {"ok"}, "delete": {"ok"}}},
		"no get":       {[]string{"FLOWGRAPH_S3_ENDPOINT=" + deny(method(http.MethodHead))}, map[string][]string{"put": {"ok"}, "get": {"missing", "GetObject"}, "delete": {"ok"}}},
		"no delete":    {[]string{"FLOWGRAPH_S3_ENDPOINT=" + deny(method(http.MethodDelete))}, map[string][]string{"get": {"ok"}, "delete": {"missing", "DeleteObject", ".probe-"}}},
		"clock":        {[]string{"FLOWGRAPH_S3_ENDPOINT=" + skewed.URL}, map[string][]string{"bucket": {"missing", "clock"}, "store's clock": {"missing", "1h0m", "behind", "NTP"}}},
		"nobody there": {[]string{"FLOWGRAPH_S3_ENDPOINT=http://" + unused(t)}, map[string][]string{"bucket": {"missing", "cannot be reached"}}},
	} {
		t.Run(name, func(t *testing.T) {
			env := append(append([]string{"FLOWGRAPH_BROKERS=" + broker, "FLOWGRAPH_TOPICS=t"}, storeEnv(bucket)...), c.env...)
			lines, r := checklist(t, env...)
			c.want["clocks"] = []string{"missing", "newest record of t", "ahead", "NTP"} // of the record from the future
			expect(t, lines, r, c.want)
			left, err := filepath.Glob(filepath.Join(s.Config().Dir, "a-bucket", "files", "checkpoints", ".probe-*"))
			if err != nil {
				t.Error(err)
			}
			if (len(left) > 0) != (name == "no delete") {
				t.Errorf("left behind: %v", left)
			}
			for _, path := range left {
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			}
			if r.code != 1 {
				t.Errorf("exit code %d", r.code)
			}
		})
	}
}
