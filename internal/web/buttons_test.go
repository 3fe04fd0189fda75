package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"flowgraph/internal/devstack"
)

// press clicks a button of the vchannel that is shown.
func press(b *tab, what string) {
	b.t.Helper()
	b.until(what+" can be pressed", `!document.querySelector("#actions [data-do=`+what+`]").disabled`)
	b.do(chromedp.Click("#actions [data-do=" + what + "]"))
}

func TestTheButtonsFlushSealPauseAndResume(t *testing.T) {
	s := newStack(t, devstack.Security{})
	s.replay("all_types")
	b := open(t, s.start()+"#"+channel, 1280, 900)
	b.until("rows are buffered", `[...document.querySelectorAll(".lane .buffered")].some((e) => !e.hidden)`)
	press(b, "flush")
	b.until("it is told", `/Flushed [0-9]+ segments, .* all is committed/.test(document.querySelector("#actions-say").textContent)`)
	b.until("its rows are shown as persisted", `[...document.querySelectorAll(".lane .persisted")].some((e) => !e.hidden && e.offsetWidth > 0)`)
	b.until("why is told", `document.querySelector("#events-list").textContent.includes("request")`)

	press(b, "pause")
	b.until("it is paused", `document.querySelector("#figure-state").textContent === "paused"`)
	if text := b.text("#actions [data-do=pause]"); text != "resume" {
		t.Errorf("the button says %s", text)
	}
	b.picture("paused")
	press(b, "pause")
	b.until("it is read again", `document.querySelector("#figure-state").textContent === "running"`)

	// Escape does not seal, nor does what has the focus at first.
	press(b, "seal")
	b.until("it is asked", `document.querySelector("#ask").open`)
	b.picture("seal")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("the question is gone", `!document.querySelector("#ask").open`)
	press(b, "seal")
	b.until("it is asked", `document.activeElement.dataset.choice === "cancel"`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("the question is gone", `!document.querySelector("#ask").open`)
	if text := b.text("#actions-say"); len(text) >= 6 && text[:6] == "Sealed" {
		t.Errorf("sealed unasked: %s", text)
	}
	// A collection's question is asked from the table, by keyboard.
	b.do(chromedp.Focus("#table tbody tr.data button"), chromedp.KeyEvent(kb.Enter))
	b.until("it is asked", `document.querySelector("#ask").open && document.querySelector("#ask-title").textContent.startsWith("Collection ")`)
	b.do(chromedp.Click("#ask [data-choice=seal]"))
	b.until("it is told", `/Sealed [1-9][0-9]* segments/.test(document.querySelector("#actions-say").textContent)`)
	b.until("it is shown", `document.querySelector("#events-list").textContent.includes("sealed")`)
}

func TestAWorkerThatMayNotBeAskedSaysSo(t *testing.T) {
	b := open(t, newCrowd(2, 6).serve(t), 1280, 900)
	b.until("the reason is told", `document.querySelector("#actions-say").textContent.includes("this server only shows")`)
	if enabled := value[int](b, `document.querySelectorAll("#actions button:not(:disabled)").length`); enabled != 0 {
		t.Errorf("%d buttons can be pressed", enabled)
	}
	b.do(chromedp.Focus("#table tbody tr.data button"), chromedp.KeyEvent(kb.Enter))
	b.until("it is asked", `document.querySelector("#ask").open`)
	if enabled := value[int](b, `document.querySelectorAll("#ask button:not(:disabled)").length`); enabled != 1 {
		t.Errorf("%d choices beside cancel can be made", enabled-1)
	}
}
