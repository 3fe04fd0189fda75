package web_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestAPageOfAWorkerElsewhereCanBePictured(t *testing.T) {
	if *screens == "" {
		t.Skip("pictures are not asked for with -screens")
	}
	for _, width := range []int64{400, 1280, 2560} {
		b := open(t, newCrowd(12, 90).serve(t), width, 1000)
		b.until("there is a figure", "document.querySelectorAll('.bar').length > 3")
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.do(chromedp.Sleep(200_000_000))
			b.picture(fmt.Sprintf("crowd-%d-%s", width, scheme))
		}
	}
}

func TestAPageOfARunningWorkerCanBePictured(t *testing.T) {
	if *screens == "" || *running == "" {
		t.Skip("pictures are not asked for with -screens and -running")
	}
	for _, width := range []int64{400, 1280, 2560} {
		b := open(t, *running, width, 900)
		b.missing = true
		b.until("there is an answer", "document.querySelector('#phase').textContent !== 'connecting'")
		b.do(chromedp.Sleep(2_500_000_000))
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.do(chromedp.Sleep(200_000_000))
			b.picture(fmt.Sprintf("running-%d-%s", width, scheme))
		}
	}
}
