package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"flowgraph/flows"
	"flowgraph/internal/devstack"
)

// ask reads JSON from the API.
func ask[T any](t *testing.T, address string) T {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var v T
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

const channel = "by-dev-rootcoord-dml_0-0"

// one is what /api/vchannels/{name} answers.
type one struct {
	VChannel flows.FlowStatus      `json:"vchannel"`
	Segments []flows.SegmentStatus `json:"segments"`
}

func TestTheFigureShowsWhatTheAPISaysBeforeAndAfterAFlush(t *testing.T) {
	s := newStack(t, devstack.Security{})
	s.replay("all_types")
	s.shut.Store(nil)
	address := s.start(func(c *flows.Config) { c.Limits.FlushAge = 4 * time.Second })
	b := open(t, address+"#"+channel, 1280, 900)
	b.until("rows are buffered", `[...document.querySelectorAll(".lane .buffered")].some((e) => !e.hidden)`)
	said := ask[one](t, address+"api/vchannels/"+channel)
	var labels []string
	for _, g := range said.Segments {
		labels = append(labels, g.Collection+" / "+g.Partition)
	}
	shown := value[[]string](b, `[...document.querySelectorAll(".bar .label span:first-child")].map((e) => e.textContent)`)
	if !slices.Equal(shown, labels[:min(len(labels), len(shown))]) || len(shown) == 0 {
		t.Errorf("the figure shows %v, the API says %v", shown, labels)
	}
	if text := b.text("#figure-says"); said.VChannel.Held == nil || !strings.Contains(text, said.VChannel.Held.Segment) {
		t.Errorf("the page says %q, the API %+v", text, said.VChannel.Held)
	}
	if text := b.text("#axis .flag.seek"); text != fmt.Sprintf("seek position %d", said.VChannel.Seek) {
		t.Errorf("the flag says %q, the API %d", text, said.VChannel.Seek)
	}
	b.until("a flush is told", `document.querySelector("#events-list").textContent.includes("buffer_stale")`)
	b.until("its rows are shown as persisted", `[...document.querySelectorAll(".lane .persisted")].some((e) => !e.hidden && e.offsetWidth > 0)`)
	b.until("nothing holds the position back", `document.querySelector("#figure-says").textContent.startsWith("Everything that was read is stored")`)
	said = ask[one](t, address+"api/vchannels/"+channel)
	if said.VChannel.Held != nil || said.VChannel.Lag != 0 {
		t.Errorf("the API says %+v", said.VChannel)
	}
	b.picture("live")
}

func TestAStoreThatRefusesIsExplained(t *testing.T) {
	s := newStack(t, devstack.Security{})
	s.replay("all_types")
	b := open(t, s.start(func(c *flows.Config) { c.Limits.FlushAge = 2 * time.Second }), 1280, 900)
	b.until("it is claimed", `document.querySelector("#figure-title").textContent.startsWith("by-dev")`)
	for _, no := range []struct {
		refusal
		words string
	}{
		{refusal{403, "AccessDenied"}, "is the bucket read-only"},
		{refusal{404, "NoSuchBucket"}, "Create it"},
		{refusal{507, "XMinioStorageFull"}, "The store is full"},
	} {
		s.shut.Store(&no.refusal)
		s.replay("all_types")
		b.until("it is told that the store says "+no.code, fmt.Sprintf(`document.querySelector("#problems").textContent.includes(%q)`, no.code))
		if text := b.text("#problems"); !strings.Contains(text, "What to do: ") || !strings.Contains(text, no.words) {
			t.Errorf("no word of what to do: %s", text)
		}
		b.picture("store-" + no.code)
	}
	s.shut.Store(nil)
	b.until("the trouble is over", `document.querySelector("#problems").textContent === ""`)
}

func TestAVChannelThatStoppedAtABadRecordIsExplained(t *testing.T) {
	s := newStack(t, devstack.Security{})
	s.replay("all_types")
	b := open(t, s.start(func(c *flows.Config) { c.StopOnBad = true }), 1280, 900)
	b.until("it runs", `document.querySelector("#figure-state").textContent === "running"`)
	s.produce("by-dev-rootcoord-dml_0", []byte("poison"))
	b.until("it is told that it stopped", `document.querySelector("#problems .bad")?.textContent.includes("stopped")`)
	if text := b.text("#problems"); !strings.Contains(text, "--on-bad-record quarantine") || !strings.Contains(text, "bad record at offset") {
		t.Errorf("no word of what to do: %s", text)
	}
	b.until("the figure says so too", `document.querySelector("#axis .flag.bad")?.textContent.startsWith("stopped at")`)
	if phase := b.text("#phase"); phase != "1 stopped" {
		t.Errorf("the worker is shown as %s", phase)
	}
	b.picture("stopped")
}

func TestAKafkaThatCannotBeUsedIsExplained(t *testing.T) {
	s := newStack(t, devstack.Security{ACLs: true, Users: []devstack.User{
		{Mechanism: "PLAIN", Name: "admin", Password: "right", Super: true},
		{Mechanism: "PLAIN", Name: "loner", Password: "right", Topics: []string{"by-dev-rootcoord-dml_0"}},
		{Mechanism: "PLAIN", Name: "reader", Password: "right", Groups: []string{"flowgraph"}},
	}})
	login := func(user, password string) func(*flows.Config) {
		return func(c *flows.Config) {
			c.Client = append(c.Client, kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()))
		}
	}
	admin, err := kgo.NewClient(kgo.SeedBrokers(s.broker.Addr()), kgo.AllowAutoTopicCreation(), kgo.SASL(plain.Auth{User: "admin", Pass: "right"}.AsMechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.ProduceSync(t.Context(), &kgo.Record{Topic: "by-dev-rootcoord-dml_0", Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		edit  func(*flows.Config)
		words string
	}{
		"a broken address":    {func(c *flows.Config) { c.Brokers = []string{"127.0.0.1:1"} }, "Nothing listens at this address"},
		"an unknown name":     {func(c *flows.Config) { c.Brokers = []string{"kafka.invalid:9092"} }, "cannot be resolved"},
		"a wrong password":    {login("admin", "wrong"), "user name"},
		"a topic without ACL": {login("reader", "right"), "allow DESCRIBE and READ"},
		"an ACL that a list of partitions lacks": {func(c *flows.Config) {
			login("reader", "right")(c)
			c.Topics, c.Partitions = nil, map[string][]int32{"by-dev-rootcoord-dml_0": {0}}
		}, "may not read this topic"},
		"a group without ACL": {login("loner", "right"), "may not use this consumer group"},
	}
	pages := map[string]string{} // of workers that all try for some seconds before they tell
	for name, c := range cases {
		pages[name] = s.start(c.edit)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := open(t, pages[name], 1280, 900)
			b.until("it is told what to do", fmt.Sprintf(`document.querySelector("#problems").textContent.includes(%q)`, c.words))
			b.picture("kafka-" + strings.ReplaceAll(name, " ", "-"))
		})
	}
}
