package cli_test

import (
	"strings"
	"testing"

	"flowgraph/internal/cli"
)

// A script must get a whole frame, of what a real worker says, and an exit
// code where there is no worker.
func TestTopPrintsAFrameOfARealWorker(t *testing.T) {
	o := newOperated(t)
	log, end := o.working("--listen", "127.0.0.1:0", "--listen-token", "right")
	at := log.heard(t, `"address":"([^"]+)"`)[1]
	log.heard(t, `"message":"claimed".*\n.*"message":"claimed"`)
	r := flowgraph(t, nil, "top", "--worker", at, "--token", "right", "--vchannel", vchannel1)
	if r.code != 0 {
		t.Fatal(r.err)
	}
	for _, want := range []string{
		"http://" + at + "  running", "VCHANNELS 2", "> " + vchannel1, "  " + vchannel0 + " no lag",
		"Everything that was read is stored", "seek position", "█ persisted", "SEGMENTS", "claimed", "Kafka " + o.broker,
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	if strings.ContainsAny(r.out, "\x1b\r") {
		t.Errorf("not plain: %q", r.out)
	}
	r = flowgraph(t, nil, "top", "--worker", at, "--token", "wrong", "--once")
	if r.code != cli.ExitFailed || !strings.Contains(r.out, "refuses the token") || !strings.Contains(r.err, "no worker answers") {
		t.Errorf("a wrong token: %d\n%s%s", r.code, r.out, r.err)
	}
	end()
	if r = flowgraph(t, nil, "top", "--worker", at, "--worker", "https://127.0.0.1:1", "--token", "right"); r.code != cli.ExitFailed || strings.Count(r.out, "does not answer since") != 2 ||
		strings.Contains(r.out, "no partition is assigned") || !strings.Contains(r.out, "not known: no worker has answered") {
		t.Errorf("nobody there: %d\n%s%s", r.code, r.out, r.err)
	}
	if r = flowgraph(t, nil, "top", "--worker", "ftp://x"); r.code != cli.ExitUsage {
		t.Errorf("no address of a worker: %d %s", r.code, r.err)
	}
}
