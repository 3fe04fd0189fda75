package web_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

var (
	screens = flag.String("screens", "", "folder for pictures of the page")
	running = flag.String("running", "", "address of a worker whose page is to be pictured")
)

// tab is one page of a headless browser.
type tab struct {
	t    *testing.T
	ctx  context.Context
	host string
	// What may not have happened by the end of the test.
	console, outside func() []string
	// missing says that the server may be away, of which a console tells.
	missing bool
}

// open shows a page in a tab of its own.
func open(t *testing.T, address string, width, height int64) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser(t))
	t.Cleanup(cancel)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx); err != nil { // a context with an end would end the tab with it
		t.Fatal(err)
	}
	b := &tab{t: t, ctx: ctx, host: u.Host}
	b.do(chromedp.EmulateViewport(width, height))
	b.watch()
	b.do(chromedp.Navigate(address))
	t.Cleanup(b.verify)
	return b
}

// watch collects what the page says on the console and whom it asks.
func (b *tab) watch() {
	said, asked := make(chan string, 10_000), make(chan string, 10_000)
	messages := chromedp.Console(b.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			said <- fmt.Sprintf("%s: %s", m.Type, m.Text)
		}
	}()
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		b.t.Fatal(err)
	}
	requests := chromedp.Events(b.ctx, network.RequestWillBeSent)
	go func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			if u, err := url.Parse(r.Request.URL); err != nil || u.Host != b.host && u.Scheme != "data" {
				asked <- r.Request.URL
			}
		}
	}()
	b.console, b.outside = drained(said), drained(asked)
}

func drained(c chan string) func() []string {
	return func() (all []string) {
		for {
			select {
			case s := <-c:
				all = append(all, s)
			default:
				return all
			}
		}
	}
}

// verify is the end of every test of the page.
func (b *tab) verify() {
	for _, m := range b.console() {
		if !b.missing || !strings.Contains(m, "Failed to load resource") {
			b.t.Errorf("the page says on the console: %s", m)
		}
	}
	for _, u := range b.outside() {
		b.t.Errorf("the page asks for %s", u)
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value evaluates JavaScript.
func value[T any](b *tab, js string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// until waits for a condition in JavaScript.
func (b *tab) until(what, js string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](js, chromedp.WithPollingInterval(30*time.Millisecond))); err != nil {
		b.t.Fatalf("waited in vain until %s: %v\n%s", what, err, value[string](b, "document.body.innerText.slice(0, 3000)"))
	}
}

// text is what an element says.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return value[string](b, fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector))
}

// scheme chooses light or dark.
func (b *tab) scheme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// picture keeps a picture of the page if those are asked for.
func (b *tab) picture(name string) {
	b.t.Helper()
	if *screens == "" {
		return
	}
	b.keep(name, chromedp.FullScreenshot(100))
}

// view is a picture of what can be seen without scrolling.
func (b *tab) view(name string) {
	b.t.Helper()
	b.keep(name, chromedp.CaptureScreenshot())
}

func (b *tab) keep(name string, take chromedp.Action[[]byte]) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, take)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screens, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
