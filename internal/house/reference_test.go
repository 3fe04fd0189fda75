package house_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flowgraph/checkpoints"
)

// bucketKeys are the keys under the root path; each must be what the code
// makes of 1, 2, 3 and 4, a name and a log ID.
var bucketKeys = []struct{ key, made, what string }{
	{"insert_log/<collection>/<partition>/<segment>/<field>/<log>", checkpoints.InsertLogKey(1, 2, 3, 4, "5"), "one field of one flush of rows, binlog V1"},
	{"delta_log/<collection>/<partition>/<segment>/<log>", checkpoints.DeltaLogKey(1, 2, 3, "5"), "one flush of deletes: keys and timestamps"},
	{"stats_log/<collection>/<partition>/<segment>/<field>/<log>", checkpoints.StatsLogKey(1, 2, 3, 4, "5"), "statistics of the primary key of one flush"},
	{"stats_log/<collection>/<partition>/<segment>/<field>/1", checkpoints.StatsLogKey(1, 2, 3, 4, checkpoints.CompoundStats), "those of all flushes, once the segment is closed"},
	{"checkpoints/<vchannel>.json", checkpoints.DocumentKey("v"), "the [document](#document) of one partition: positions, open segments, schemas. The one kind of object that is replaced"},
	{"checkpoints/<vchannel>.born", checkpoints.BornKey("v"), "a mark: there was a document once. Without it a lost document would look like a first start"},
	{"segments/<collection>/<partition>/<segment>.json", checkpoints.ManifestKey(1, 2, 3), "the [manifest](#manifest) of a segment that will not change again"},
	{"segments/<collection>/<partition>/<segment>.<log>.json", checkpoints.ChunkKey(1, 2, 3, "5"), "a [chunk](#chunk) of flushes that became too many for the document"},
	{"ddl/<vchannel>/<topic ID>/<offset>.json", checkpoints.EventKey("v", "t", 6), "a [DDL event](#ddl-event): a collection or partition that was made, changed or dropped"},
	{"quarantine/<vchannel>/<topic ID>/<offset>.json", checkpoints.QuarantineKey("v", "t", 6), "a [record that could not be read](#quarantined-record), whole, with the reason"},
}

var sample = strings.NewReplacer("<collection>", "1", "<partition>", "2", "<segment>", "3", "<field>", "4", "<log>", "5",
	"<vchannel>", "v", "<topic ID>", "t", "<offset>", "00000000000000000006")

// titles are other names of types for people.
var titles = map[string]string{
	"manifestFile": "Manifest", "eventFile": "DDL event", "quarantined": "Quarantined record", "Expired": "Expired mark",
}

const bucketTop = `# What lies in the bucket

<!-- made from the code by go test ./internal/house -update -->

Under the root path (` + "`--s3-root`" + `). A vchannel is ` + "`<topic>-<partition>`" + `; a log is 18 digits, 1, seven of the epoch, ten of a sequence, the same for all
files of a flush; an offset has 20 digits. Every object but the document is written once and never again. Each carries the
metadata ` + "`vchannel` and `epoch`" + `, by which ` + "`gc`" + ` tells what nothing will ever refer to: a copy has to keep them.
[Concepts](../concepts.md) says what positions and ranges are for, [operations](../operations.md) how to copy and move a bucket.

| key | what |
|---|---|
`

// Who reads the bucket by a description that has drifted reads it wrong.
func TestTheReferenceTellsWhatLiesInTheBucket(t *testing.T) {
	var b strings.Builder
	b.WriteString(bucketTop)
	for _, k := range bucketKeys {
		if made := sample.Replace(k.key); made != k.made {
			t.Errorf("%s: the code makes %s, not %s", k.key, k.made, made)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.key, k.what)
	}
	fmt.Fprintf(&b, "| `expired/<collection>.json` | a [mark](#expired-mark): `gc --expire-dropped` may have removed the collection's data |\n")
	b.WriteString("\nOffsets are next offsets to read, ranges half-open: `[start, end)`. Timestamps are Milvus' hybrid ones, milliseconds << 18. A reader takes\n" +
		"the documents first, then the manifests; a segment in both counts once, and the manifest is right.\n" +
		"IDs and timestamps beyond 2^53 are in quotes, since many readers of JSON would round them.\n" +
		"A release reads versions up to its own (" + strconv.Itoa(checkpoints.Version) + ", and of documents whose log was cut back " + strconv.Itoa(checkpoints.Version+1) + ") and refuses a newer one.\n" +
		"Of a log that was cut back n times (its *generation*) events and bad records lie under `<topic ID>.n`.\n")
	doc := parsePackage(t, "checkpoints")
	for _, name := range []string{"Document", "Position", "Beginning", "CutBack", "Collection", "Partition", "Drop", "Segment", "Log", "manifestFile", "Chunk", "eventFile", "Event"} {
		b.WriteString(doc.section(t, name, titles[name]))
	}
	b.WriteString(parsePackage(t, "sinks").section(t, "quarantined", titles["quarantined"]))
	b.WriteString(parsePackage(t, "internal/archive").section(t, "Expired", titles["Expired"]))
	page(t, "bucket.md", linked(b.String()))
}

const httpTop = "# HTTP\n\n<!-- made from the code by go test ./internal/house -update -->\n\n" +
	"What `--listen` serves. [The worker's API](../api.md) tells how to ask, and the parameters.\n\n| request | answer |\n|---|---|\n"

// Who asks for what is no longer there, or reads a field under an old name,
// finds it out at night.
func TestTheReferenceTellsWhatAWorkerAnswers(t *testing.T) {
	web, flows := parsePackage(t, "internal/web"), parsePackage(t, "flows")
	var b strings.Builder
	b.WriteString(httpTop)
	for _, r := range routes(t, web) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r[0], r[1])
	}
	b.WriteString("\nTimes are RFC 3339. Offsets are next offsets to read.\n")
	for _, name := range []string{"Overview", "StoreStatus", "Totals", "Permission", "OneVChannel", "SomeSegments", "Request", "Level"} {
		b.WriteString(web.section(t, name, ""))
	}
	for _, name := range []string{"WorkerStatus", "KafkaStatus", "FlowStatus", "Held", "Pause", "SegmentStatus", "LastFlush", "Events", "Event", "Selector", "Outcome", "Asked"} {
		b.WriteString(flows.section(t, name, ""))
	}
	page(t, "http.md", linked(b.String()))
}

// linked takes away links to types that the page does not have.
func linked(text string) string {
	there := anchors(text)
	return regexp.MustCompile(`\[\w+\]\(#(\w+)\)`).ReplaceAllStringFunc(text, func(link string) string {
		if _, anchor, _ := strings.Cut(strings.TrimSuffix(link, ")"), "#"); there[anchor] {
			return link
		}
		return "object"
	})
}

// plain are the routes whose handlers have no comment of their own.
var plain = map[string]string{
	"GET /{$}":                 "the page",
	"GET /metrics":             "[metrics](metrics.md) for Prometheus",
	"GET /healthz":             "200, or 503 and which vchannels are stopped or stuck, since when and why",
	"GET /readyz":              "200 once all partitions of the first assignment are claimed; until then 503 and which are not",
	"POST /api/flush":          "what came of a [Request](#request) to flush buffered rows",
	"POST /api/seal":           "the same of one to close segments",
	"POST /api/pause":          "the same of one to read nothing for a while",
	"POST /api/resume":         "the same of one to read on",
	"GET /api/log-level":       "the least important [Level](#level) that is logged",
	"POST /api/log-level":      "the new one",
	"PUT /api/log-level":       "the new one",
	"GET /debug/pprof/":        "profiles of Go's runtime",
	"GET /debug/pprof/profile": "a profile of the processor's time",
	"GET /debug/pprof/trace":   "a trace of Go's runtime",
}

// routes are what internal/web hands to its mux, with what their handlers'
// comments say.
func routes(t *testing.T, web source) (all [][2]string) {
	t.Helper()
	for _, f := range web.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || fun.Sel.Name != "Handle" && fun.Sel.Name != "HandleFunc" {
				return true
			}
			lit, ok := call.Args[0].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true // the files of the page
			}
			route, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			says := plain[route]
			if h, ok := call.Args[1].(*ast.SelectorExpr); ok && says == "" {
				says = strings.TrimPrefix(web.docs["."+h.Sel.Name], h.Sel.Name+" answers with ")
			}
			if says == "" {
				t.Errorf("nothing says what %s is for: give its handler a comment, or it a line in plain", route)
			}
			all = append(all, [2]string{route, says})
			return true
		})
	}
	if len(all) < 10 {
		t.Fatalf("only %d routes", len(all))
	}
	slices.SortFunc(all, func(x, y [2]string) int { return strings.Compare(byPath(x[0]), byPath(y[0])) })
	return all
}

// byPath is a route with its method behind it.
func byPath(route string) string {
	method, path, _ := strings.Cut(route, " ")
	return path + " " + method
}
