//go:build unix

package proctest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"flowgraph/flows"
)

// worker is one process of the built program.
type worker struct {
	*child
	address string // of its metrics, once it has logged it
}

// quick are settings that make much happen in a short life.
func quick() []string {
	return []string{
		"--flush-bytes=64KiB", "--flush-delete-bytes=8KiB", "--flush-age=300ms", "--memory-budget=64MiB",
		"--segment-bytes=512KiB", "--successor-seal=2s", "--idle-seal=1m",
	}
}

// worker starts a worker.
func (w *world) worker(name string, args ...string) *worker {
	w.t.Helper()
	all := append([]string{
		"run", "--brokers=" + w.toBroker, "--s3-endpoint=" + w.toStore, "--s3-bucket=" + bucketName, "--listen=127.0.0.1:0",
		"--s3-access-key=" + access, "--s3-secret-key=" + access,
	}, args...)
	p := &worker{child: spawn(w.t, w.dir, fmt.Sprintf("%s-%d", name, w.number()), binary(), all...)}
	w.began = append(w.began, p)
	return p
}

// get asks the worker's HTTP server; false while it does not answer.
func (p *worker) get(path string, read func(*http.Response) error) bool {
	if p.address == "" && !p.findAddress() {
		return false
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + p.address + path)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return read(resp) == nil
}

func (p *worker) findAddress() bool {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		var entry struct{ Message, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Message == "metrics and health" {
			p.address = entry.Address
			return true
		}
	}
	return false
}

// running are the vchannels that the worker has claimed and reads.
func (p *worker) running() []string {
	var names []string
	var all []flows.FlowStatus
	p.get("/api/vchannels", func(r *http.Response) error { return json.NewDecoder(r.Body).Decode(&all) })
	for _, f := range all {
		if f.State == "running" {
			names = append(names, f.VChannel)
		}
	}
	return names
}

// metric is the value of a metric without labels, -1 while it has none.
func (p *worker) metric(name string) float64 {
	value := -1.0
	p.get("/metrics", func(r *http.Response) error {
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
				v, err := strconv.ParseFloat(rest, 64)
				value = v
				return err
			}
		}
		return nil
	})
	return value
}
