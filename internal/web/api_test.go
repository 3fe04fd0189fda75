package web_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"flowgraph/flows"
)

type listed struct {
	Segments []flows.SegmentStatus `json:"segments"`
	Offset   int                   `json:"offset"`
	Matched  int                   `json:"matched"`
	Total    int                   `json:"total"`
}

func TestSegmentsAreChosenSortedAndCutOut(t *testing.T) {
	address := newCrowd(20, 300).serve(t)
	all := ask[listed](t, address+"api/segments")
	if len(all.Segments) != 100 || all.Matched != 300 || all.Total != 300 {
		t.Errorf("without a question: %d segments, %d of %d", len(all.Segments), all.Matched, all.Total)
	}
	few := ask[listed](t, address+"api/segments?vchannel=by-dev-rootcoord-dml_3-0&level=L1&sort=rows&desc=1&offset=2&limit=3")
	if len(few.Segments) != 3 || few.Matched != 12 || few.Offset != 2 {
		t.Errorf("%d segments from %d on, %d match", len(few.Segments), few.Offset, few.Matched)
	}
	for i, s := range few.Segments {
		if s.Level != "L1" || s.VChannel != "by-dev-rootcoord-dml_3-0" || i > 0 && s.Rows > few.Segments[i-1].Rows {
			t.Errorf("%d: %+v", i, s)
		}
	}
	if past := ask[listed](t, address+"api/segments?offset=1000"); len(past.Segments) != 0 || past.Segments == nil {
		t.Errorf("behind the end: %v", past.Segments)
	}
}

// What has nothing to compare must not hide what has.
func TestSegmentsWithoutAFlushComeLastBothWays(t *testing.T) {
	c := newCrowd(1, 4)
	c.Change(func() { c.Now.Segments[0].LastFlush, c.Now.Segments[0].Position = nil, nil })
	address := c.serve(t)
	for _, sort := range []string{"sort=last_flush", "sort=last_flush&desc=1", "sort=position", "sort=position&desc=1"} {
		got := ask[listed](t, address+"api/segments?"+sort).Segments
		if last := got[len(got)-1]; last.ID != c.Now.Segments[0].ID {
			t.Errorf("%s: the last is %+v", sort, last)
		}
	}
}

func TestAQuestionThatMakesNoSenseIsRefusedWithASentence(t *testing.T) {
	address := newCrowd(1, 3).serve(t)
	for path, want := range map[string]string{
		"api/segments?sort=colour": "is not one of age buffered_bytes", "api/segments?limit=-1": "limit",
		"api/segments?offset=x": "offset", "api/events?after=x": "after", "api/vchannels/none": "no vchannel",
	} {
		r, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != http.StatusBadRequest && r.StatusCode != http.StatusNotFound || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s", path, r.StatusCode, body)
		}
	}
}

// What looking costs must not grow with those who look.
func TestManyWhoLookAtOnceShareOnePicture(t *testing.T) {
	c := newCrowd(1, 3)
	address := c.serve(t)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if r, err := http.Get(address + "api/worker"); err == nil {
				r.Body.Close()
			}
		})
	}
	all.Wait()
	c.Change(func() {
		if c.Looks > 25 {
			t.Errorf("50 questions cost %d looks", c.Looks)
		}
	})
}

func TestThePageMayLoadNothingFromElsewhere(t *testing.T) {
	address := newCrowd(1, 3).serve(t)
	for _, path := range []string{"", "page.js", "control.js", "figure.js", "kit.js", "table.js", "page.css", "icon.svg"} {
		r, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if p := r.Header.Get("Content-Security-Policy"); r.StatusCode != 200 || !strings.HasPrefix(p, "default-src 'none'") || strings.Contains(p, "unsafe") {
			t.Errorf("/%s: %d, policy %q", path, r.StatusCode, p)
		}
		if text := strings.ReplaceAll(string(body), "http://www.w3.org/2000/svg", ""); strings.Contains(text, "http://") || strings.Contains(text, "https://") || strings.Contains(text, "innerHTML") {
			t.Errorf("/%s names an address elsewhere, or writes markup", path)
		}
	}
}
