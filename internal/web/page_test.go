package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"flowgraph/flows"
)

// rowsShown are the segments in the table, by what one column says.
func rowsShown(b *tab, column string) []string {
	b.t.Helper()
	return value[[]string](b, fmt.Sprintf(`(() => {
		const i = [...document.querySelectorAll("#table thead th")].findIndex((th) => th.dataset.key === %q);
		return [...document.querySelectorAll("#table tbody tr.data")].map((tr) => tr.cells[i].textContent);
	})()`, column))
}

// sortBy clicks a column's head.
func sortBy(b *tab, column string) {
	b.t.Helper()
	b.do(chromedp.Click(fmt.Sprintf(`#table thead th[data-key=%s] button`, column)))
}

// choose gives a field a value as its user would.
func choose(b *tab, selector, text string) {
	b.t.Helper()
	value[bool](b, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.value = %q;
		return e.dispatchEvent(new Event("input", { bubbles: true }));
	})()`, selector, text))
}

func TestTheTableSortsAndFiltersAsTheWorkerDoes(t *testing.T) {
	b := open(t, newCrowd(20, 300).serve(t), 1280, 900)
	b.until("all segments are counted", `document.querySelector("#segments-count").textContent === "300"`)
	sortBy(b, "rows")
	b.until("the most rows come first", `document.querySelector("#table tbody tr.data td:nth-child(5)").textContent === "1,537"`)
	sortBy(b, "rows")
	b.until("the fewest rows come first", `document.querySelector("#table tbody tr.data td:nth-child(5)").textContent === "1,000"`)
	if s := value[string](b, `document.querySelector("#table thead th[data-key=rows]").getAttribute("aria-sort")`); s != "ascending" {
		t.Errorf("the column says that it is sorted %s", s)
	}
	b.do(chromedp.SendKeys("#segments-filter", "collection_7 _3-0"))
	b.until("the filter is obeyed", `document.querySelector("#segments-count").textContent === "1 of 300"`)
	if got := rowsShown(b, "vchannel"); len(got) != 1 || got[0] != "by-dev-rootcoord-dml_3-0" {
		t.Errorf("shown: %v", got)
	}
	choose(b, "#segments-filter", "")
	choose(b, "#segments-level", "L0")
	b.until("only deletes are shown", `document.querySelector("#segments-count").textContent === "60 of 300"`)
	for _, level := range rowsShown(b, "level") {
		if level != "L0" {
			t.Errorf("a segment of level %s is shown", level)
		}
	}
}

func TestThePageIsUsedWithTheKeyboardAlone(t *testing.T) {
	b := open(t, newCrowd(30, 120).serve(t), 1280, 900)
	b.until("there is a figure", `document.querySelectorAll(".bar").length > 2`)
	reached := map[string]bool{}
	for range 40 {
		b.do(chromedp.KeyEvent(kb.Tab))
		reached[value[string](b, `(document.activeElement.id || document.activeElement.closest("th,[data-zoom]")?.dataset.key || document.activeElement.dataset.zoom || "")`)] = true
	}
	for _, id := range []string{"channels-filter", "channels-order", "channels-list", "tail", "bars", "events-list", "events-all", "segments-filter", "segments-state", "segments-mine", "segments-scroll", "rows"} {
		if !reached[id] {
			t.Errorf("the Tab key does not reach %s", id)
		}
	}
	b.do(chromedp.Focus("#channels-list"), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	b.until("the third vchannel is shown", `document.querySelector("#figure-title").textContent === "by-dev-rootcoord-dml_2-0"`)
	b.do(chromedp.KeyEvent(kb.End))
	b.until("the last vchannel is shown", `document.querySelector("#figure-title").textContent === "by-dev-rootcoord-dml_29-0"`)
	if n := value[int](b, `document.querySelectorAll("#channels-list [aria-selected=true]").length`); n != 1 {
		t.Errorf("%d vchannels are marked as selected", n)
	}
}

// Whoever writes to Milvus chooses names; they must stay text.
func TestNamesAndErrorsThatAreMarkupStayText(t *testing.T) {
	c := newCrowd(2, 6)
	evil := `<img src=x onerror="window.caught=1"><script>window.caught=1</script>`
	c.Change(func() {
		for i := range c.Now.Segments {
			c.Now.Segments[i].Collection, c.Now.Segments[i].Partition = evil, evil
		}
		c.Now.VChannels[0].State, c.Now.VChannels[0].Error, c.Now.VChannels[0].Advice = "stopped", evil, evil
		c.Now.Worker.Kafka.Error = evil
		c.Stored.Calls, c.Stored.Reason, c.Stored.Code = 1, evil, evil
		c.Tell(flows.Event{Kind: evil, VChannel: "by-dev-rootcoord-dml_0-0", Collection: evil, Reason: evil, Error: evil})
	})
	b := open(t, c.serve(t), 1280, 900)
	b.until("the names are shown", `document.querySelector(".bar .label span")?.textContent.includes("<img")`)
	b.until("the event is shown", `document.querySelector("#events-list").textContent.includes("<script>")`)
	if n := value[int](b, `document.querySelectorAll("main img, main script, #problems img").length + (window.caught || 0)`); n != 0 {
		t.Error("a name became part of the document")
	}
}

func TestAWorkerThatEndsAndComesBackIsTold(t *testing.T) {
	c := newCrowd(2, 6)
	c.Change(func() {
		c.Stored.Calls, c.Stored.Reason, c.Stored.Code, c.Stored.Since = 3, "403 AccessDenied: no", "AccessDenied", time.Now()
	})
	address := c.serve(t)
	b := open(t, address, 1280, 900)
	b.missing = true
	b.until("the store's trouble is told", `document.querySelector("#problems").textContent.includes("AccessDenied")`)
	c.Away.Store(true)
	b.until("it is told that the worker is away", `document.querySelector("#problems").textContent.includes("does not answer")`)
	if text := b.text("#problems"); !strings.Contains(text, "AccessDenied") {
		t.Errorf("its last words are gone: %s", text)
	}
	c.Change(func() { c.Stored.Calls = 0 })
	c.Away.Store(false)
	b.until("all is well again", `document.querySelector("#problems").textContent === "" && document.querySelector("#phase").textContent === "running"`)
}

// A busy page must stay one: no frame may hold up whoever types.
func TestFiveHundredVChannelsAndFiveThousandSegmentsStayUsable(t *testing.T) {
	c := newCrowd(512, 5000)
	b := open(t, c.serve(t), 1280, 900)
	b.until("everything is counted", `document.querySelector("#segments-count").textContent === "5,000" && document.querySelector("#channels-count").textContent === "512"`)
	b.do(chromedp.Evaluate[chromedp.Void](`window.long = []; new PerformanceObserver((l) => window.long.push(...l.getEntries().map((e) => e.duration))).observe({ type: "longtask" })`))
	b.do(chromedp.SendKeys("#channels-filter", "dml_5"))
	b.until("vchannels are filtered", `document.querySelector("#channels-count").textContent === "23 of 512"`)
	b.do(chromedp.SendKeys("#segments-filter", "collection_39"))
	b.until("segments are filtered", `document.querySelector("#segments-count").textContent === "119 of 5,000"`)
	choose(b, "#segments-filter", "")
	b.until("all are back", `document.querySelector("#segments-count").textContent === "5,000"`)
	sortBy(b, "bytes")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#segments-scroll").scrollTop = 1e9`))
	b.until("the end of the table is drawn", `document.querySelector("#table tbody tr:last-child").getAttribute("aria-rowindex") === "5001"`)
	if n := value[int](b, `document.querySelectorAll("#table tbody tr, .channel, .bar").length`); n > 300 {
		t.Errorf("%d rows are in the document: all of them instead of those that can be seen", n)
	}
	if long := value[[]float64](b, `window.long.filter((d) => d > 1000)`); len(long) > 3 {
		t.Errorf("tasks of these milliseconds held up the page: %v", long)
	}
}

func TestTheFigureFitsEveryWidth(t *testing.T) {
	c := newCrowd(12, 90)
	for _, width := range []int64{400, 1280, 2560} {
		b := open(t, c.serve(t), width, 1000)
		b.until("there is a figure", `document.querySelectorAll(".bar").length > 3`)
		if over := value[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("at %d pixels the page is %d pixels too wide", width, over)
		}
		if w := value[float64](b, `document.querySelector(".bar .lane").clientWidth / document.querySelector("#figure").clientWidth`); w < 0.4 {
			t.Errorf("at %d pixels the bars get %.0f %% of the figure", width, 100*w)
		}
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			if r := value[float64](b, contrast); r < 4.5 {
				t.Errorf("text on the page has a contrast of %.1f in %s colours", r, scheme)
			}
			b.picture(fmt.Sprintf("crowd-%d-%s", width, scheme))
		}
	}
}

// contrast is the smallest one of texts whose background is that of their panel.
const contrast = `(() => {
	const rgb = (c) => c.match(/[\d.]+/g).slice(0, 3).map(Number);
	const light = (c) => { const [r, g, b] = rgb(c).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const panel = light(getComputedStyle(document.querySelector("#figure")).backgroundColor);
	return Math.min(...[...document.querySelectorAll("#figure h2, #figure dt, #figure dd, #figure-says, #figure-says b, .bar small, #legend li, #events-list .dim")].map((e) => {
		const t = light(getComputedStyle(e).color);
		return (Math.max(t, panel) + 0.05) / (Math.min(t, panel) + 0.05);
	}));
})()`

func TestAPageOfARunningWorkerCanBePictured(t *testing.T) {
	if *screens == "" || *running == "" {
		t.Skip("pictures are not asked for with -screens and -running")
	}
	for _, width := range []int64{400, 1280, 2560} {
		b := open(t, *running, width, 900)
		b.missing = true
		b.until("there is an answer", `document.querySelector("#updated").textContent !== ""`)
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.picture(fmt.Sprintf("running-%d-%s", width, scheme))
			b.view(fmt.Sprintf("view-%d-%s", width, scheme))
		}
	}
}
