package cli_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"flowgraph/internal/cli"
)

// aloud is a log that is read while it is written.
type aloud struct{ both }

// heard waits until the log says something, and returns its groups.
func (a *aloud) heard(t *testing.T, expr string) []string {
	t.Helper()
	e, ticker := regexp.MustCompile(expr), time.NewTicker(5*time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		if m := e.FindStringSubmatch(a.String()); m != nil {
			return m
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %q:\n%s", expr, a)
		}
	}
}

// working runs a worker beside the test and returns its log and its end.
func (o *operated) working(args ...string) (log *aloud, end func() int) {
	stop, drain := context.WithCancel(context.Background())
	log, ended := &aloud{}, make(chan int, 1)
	go func() {
		err := cli.Main(cli.Process{
			Args: append([]string{"run", "--log-format", "json"}, args...), Environ: o.env, Stdout: log, Stderr: log, Stop: stop, Kill: context.Background(),
		})
		ended <- cli.ExitCode(err)
	}()
	end = sync.OnceValue(func() int {
		drain()
		return <-ended
	})
	o.t.Cleanup(func() { end() })
	return log, end
}

func TestARunningWorkerIsSteeredFromTheShell(t *testing.T) {
	more, err := filepath.Abs("../../testdata/recordings/all_types/records.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	o := newOperated(t)
	log, end := o.working("--listen", "127.0.0.1:0", "--listen-token", "right")
	at := log.heard(t, `"address":"([^"]+)"`)[1]
	for _, v := range []string{vchannel0, vchannel1} {
		log.heard(t, `"vchannel":"`+v+`".*"claimed"`)
	}
	to := func(args ...string) []string { return append(args, "--worker", at, "--token", "right") }

	o.refused("refuses the token", "flush", "--all", "--worker", at)
	o.refused("refuses the token", "log-level", "--worker", at, "--token", "wrong")
	o.refused("or give --all", to("flush")...)
	o.refused("or give --all", to("seal", "--all", "--vchannel", vchannel0)...)
	o.refused("or give --all", to("pause")...)
	o.refused("does not have other-0", to("seal", "--vchannel", "other-0")...)
	o.refused("knows the collection", to("flush", "--collection", "none")...)
	o.refused("connection refused", "flush", "--all", "--worker", "127.0.0.1:1")

	if out := o.done(to("pause", "--all")...); !strings.Contains(out, vchannel0+" paused\n") || !strings.Contains(out, vchannel1+" paused\n") {
		t.Error(out)
	}
	o.done("replay", "--append", more)
	if out := o.done(to("resume", "--vchannel", vchannel0, "--vchannel", vchannel1)...); !strings.Contains(out, vchannel0+" resumed\n") {
		t.Error(out)
	}
	// It is read within seconds; what is read then is what is flushed.
	flushed := regexp.MustCompile(regexp.QuoteMeta(vchannel0) + ` +[1-9][0-9]* +[1-9][0-9]* .*committed`)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !flushed.MatchString(o.done(to("flush", "--all", "--wait", "20s")...)) {
		if ctx.Err() != nil {
			t.Fatal("nothing is flushed")
		}
	}
	if out := o.done(to("seal", "--collection", "all_types", "--wait", "20s")...); !strings.Contains(out, "committed") {
		t.Error(out)
	}

	if out := o.done(to("log-level")...); out != "info\n" {
		t.Errorf("the level is %s", out)
	}
	o.refused("none of the levels", to("log-level", "loud")...)
	if out := o.done(to("log-level", "error")...); out != "error\n" {
		t.Errorf("the level is %s", out)
	}
	o.done(to("pause", "--all")...)
	if regexp.MustCompile(`(?s)asked over HTTP.*"/api/seal".*paused on request`).MatchString(log.String()) {
		t.Error("it logs on what it was told to log no more")
	}
	if out := o.done(to("log-level", "debug")...); out != "debug\n" {
		t.Errorf("the level is %s", out)
	}
	if code := end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	log.heard(t, "drained")
	o.verified("--complete")
}
