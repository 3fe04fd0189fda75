//go:build unix

package proctest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"flowgraph/checkpoints"
)

// trial is a command of the README as the test runs it.
type trial struct {
	args              []string        // but where Kafka and the bucket are
	more              func() []string // arguments that are known only then
	prepare, achieved func()          // before, and after it ended well
}

const (
	firstTopic  = "by-dev-rootcoord-dml_0"
	secondTopic = "by-dev-rootcoord-dml_1"
	litterLog   = "100000010000009999" // log ID of epoch 1 that no document refers to
)

// phases are the commands in an order in which each finds something to do:
// those of a phase are refused together, then allowed one by one.
var phases = [][]string{
	{"replay"},
	{"run in a group", "run with topic:partition"},
	{"verify", "record"},
	{
		"inspect", "binlog", "collections", "export", "restore --dry-run", "gc", "gc --expire-dropped --delete",
		"rewind --to", "rewind --beginning", "accept-log of a topic made anew",
	},
	{"gc --delete"},
	{"accept-document"},
	{"accept-log of a log that was cut back"},
}

// trials are all commands, by the names that the README gives them.
func (b *bounds) trials() map[string]trial {
	out := b.t.TempDir()
	both := "--topics=" + firstTopic + "," + secondTopic
	run := func(args ...string) trial {
		return trial{args: append([]string{"run", "--until-end", "--listen=", "--memory-budget=64MiB"}, args...)}
	}
	return map[string]trial{
		"replay":                       {args: []string{"replay", filepath.Join(options.root, "testdata/recordings/ddl/records.jsonl.gz")}},
		"run in a group":               run("--group="+guardedGroup, "--topics=/by-dev-.*/"),
		"run with topic:partition":     run("--topics=" + firstTopic + ":0," + secondTopic + ":0"),
		"verify":                       {args: []string{"verify", "--complete", both}},
		"record":                       {args: []string{"record", both, "--output=" + filepath.Join(out, "again.jsonl")}},
		"inspect":                      {args: []string{"inspect", "--objects"}},
		"binlog":                       {args: []string{"binlog", "checkpoints/" + firstTopic + "-0.json"}},
		"collections":                  {args: []string{"collections"}},
		"export":                       {args: []string{"export", "ddl", "--out=" + filepath.Join(out, "rows")}},
		"restore --dry-run":            {args: []string{"restore", "--dry-run", "--collection=ddl"}},
		"gc":                           {args: []string{"gc"}, prepare: b.litter, achieved: func() { b.holds(true) }},
		"gc --expire-dropped --delete": {args: []string{"gc", "--expire-dropped=1s", "--delete"}, achieved: b.expired},
		"gc --delete":                  {args: []string{"gc", "--delete"}, prepare: b.litter, achieved: func() { b.holds(false) }},
		"rewind --to":                  {args: []string{"rewind", "--vchannel=" + firstTopic + "-0", "--yes"}, more: b.held},
		"rewind --beginning":           {args: []string{"rewind", "--vchannel=" + firstTopic + "-0", "--beginning", "--yes"}},
		"accept-document":              {args: []string{"accept-document", "--vchannel=" + firstTopic + "-0", "--yes"}, prepare: b.older, achieved: b.agrees},
		"accept-log of a topic made anew": {
			args: []string{"accept-log", "--vchannel=" + secondTopic + "-0", "--yes"}, prepare: func() { b.remade(secondTopic) },
		},
		"accept-log of a log that was cut back": {
			args: []string{"accept-log", "--vchannel=" + firstTopic + "-0", "--yes"}, prepare: b.cutBack, achieved: b.goesOn,
		},
	}
}

// garbage is one object of each kind that gc removes.
func garbage() []string {
	return []string{
		checkpoints.InsertLogKey(1, 2, 3, 100, litterLog), checkpoints.ChunkKey(1, 2, 3, litterLog), checkpoints.DocumentPrefix + ".probe-OLD",
		strings.Replace(checkpoints.InsertLogKey(1, 2, 3, 100, litterLog), "insert_log", "stats_log", 1),
	}
}

func (b *bounds) litter() {
	for _, key := range garbage() {
		b.left(key, checkpoints.Meta(firstTopic+"-0", 1), 48*time.Hour)
	}
}

func (b *bounds) holds(want bool) {
	b.t.Helper()
	for _, key := range garbage() {
		if there := len(b.keys(key)) > 0; there != want {
			b.t.Errorf("%s is there: %t", key, there)
		}
	}
}

// held is an offset to which may be rewound.
func (b *bounds) held() []string {
	return []string{fmt.Sprintf("--to=%d", b.document().ReadFrom.Offset)}
}

// expired holds that dropped collections are gone, and marked as that.
func (b *bounds) expired() {
	b.t.Helper()
	marks := b.keys("expired/")
	if len(marks) == 0 {
		b.t.Error("no collection has expired")
	}
	for _, mark := range marks {
		collection := strings.TrimSuffix(filepath.Base(mark), ".json")
		if rows := b.keys("insert_log/" + collection + "/"); len(rows) > 0 {
			b.t.Errorf("of collection %s there is still %s", collection, rows)
		}
	}
}

// lacks are the words with which a command that has a right less tells of it.
func lacks(command, less string) string {
	const refused = `\S+: (.*: )?refused by the store .*403 AccessDenied`
	switch less {
	case "Read on topics":
		if command == "run in a group" { // Kafka shows it no topic at all
			return "no topic matches .* Describe"
		}
		return "may not read the topic: .* Read and Describe"
	case "Describe on topics":
		return "may not read the topic: .* Read and Describe"
	case "Create on topics", "Write on topics":
		return "may not write to the topic: .* Create and Write"
	case "Read on group":
		return "may not use the consumer group: .* Read on the group"
	case "list":
		return "(list|stat) " + refused
	case "get":
		return "(get|stat) " + refused
	case "put", "remove":
		return less + " " + refused
	case "take out":
		return "remove " + refused
	case "mark":
		return "put expired/" + refused
	case "try":
		return "the probe's object could not be removed"
	}
	return fmt.Sprintf("nobody says how %s is missed", less)
}

func TestRightsThatTheREADMENamesAreTooFewOrTooMany(t *testing.T) {
	if options.stack != "real" {
		t.Skip("this is about an Apache Kafka and a MinIO: -stack real")
	}
	text := section(t)
	lines := map[string]needs{}
	for _, n := range tableOfNeeds(t, text) {
		for _, name := range n.commands {
			lines[name] = n
		}
	}
	b := &bounds{guarded: newGuarded(t, firstTopic, secondTopic), words: tableOfWords(t, text)}
	all, done := b.trials(), 0
	for _, phase := range phases {
		for _, name := range phase {
			if prepare := all[name].prepare; prepare != nil {
				prepare()
			}
		}
		for _, name := range phase {
			b.forbid(name, all[name], lines[name])
		}
		b.refusals()
		for _, name := range phase {
			b.allow(name, all[name], lines[name])
			done++
		}
	}
	if done != len(lines) || done != len(all) {
		t.Errorf("the README names %d commands, %d are known here, %d were run", len(lines), len(all), done)
	}
	n := lines["run in a group"]
	spawn(t, b.dir, "example", binary(), slices.Concat(all["run in a group"].args, b.kafkaUser(n.kafka), b.bucketUser(examplePolicy(t, text)),
		[]string{"--group-protocol=consumer", "--s3-region="})...).exits(0)
}
