package web_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

var (
	chromium = flag.String("chromium", "", "browser for the tests of the page; looked for when empty")
	shared   headless
)

// headless is the one browser of all tests: starting one takes longer than
// most of them.
type headless struct {
	sync.Mutex
	ctx  context.Context // nil until a test wants it
	ends []func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	for i := len(shared.ends) - 1; i >= 0; i-- {
		shared.ends[i]()
	}
	os.Exit(code)
}

// browser starts the browser unless it runs, or skips the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := find(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.ctx != nil {
		return shared.ctx
	}
	dir, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(dir))...)
	ctx, quit := chromedp.NewContext(ctx)
	shared.ends = append(shared.ends, func() { os.RemoveAll(dir) }, cancel, quit)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	shared.ctx = ctx
	return ctx
}

// find returns the browser, or skips the test.
func find(t *testing.T) string {
	t.Helper()
	if *chromium != "" {
		return *chromium
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no chromium here: install it, or name one with -chromium")
	return ""
}
