package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"flowgraph/flows"
	"flowgraph/sinks"
)

// observed is what health is judged by.
type observed struct {
	flows []flows.FlowStatus
	store sinks.Waiting
	kafka flows.KafkaStatus
	now   time.Time

	refused error // why it cannot start
	since   time.Time
}

// kafkaPatience is how long no broker may have answered before that is told.
const kafkaPatience = 30 * time.Second

// judge says whether a worker is in good health, and what there is to tell,
// ill or not. It is ill while a vchannel is stopped, or does not move though
// it has something to do and waits for nothing outside. That the store or
// Kafka is away is told, but is no ill health: a restart would not bring them
// back, and would throw away what is in memory.
func judge(o observed) (healthy bool, lines []string) {
	healthy = true
	for i := range o.flows {
		f := &o.flows[i]
		switch {
		case f.State == "stopped":
			healthy = false
			lines = append(lines, fmt.Sprintf("%s stopped since %s: %s", f.VChannel, stamp(f.Since), f.Error))
		case f.Stuck:
			healthy = false
			lines = append(lines, fmt.Sprintf("%s makes no progress since %s: %s", f.VChannel, stamp(f.Stalled), stalled(f)))
		case f.State == "paused":
			lines = append(lines, fmt.Sprintf("%s is paused since %s, as asked for by %s", f.VChannel, stamp(f.Pause.Since), cmp.Or(f.Pause.By, "somebody")))
		case f.State == "waiting":
			lines = append(lines, fmt.Sprintf("%s waits since %s: %s", f.VChannel, stamp(f.Since), f.Error))
		}
		// A restart would read the same tick.
		if text := f.LeftOutText(); text != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", f.VChannel, text))
		}
	}
	return healthy, append(outside(o), lines...)
}

// outside tells what is amiss around the worker.
func outside(o observed) (lines []string) {
	if o.refused != nil {
		lines = append(lines, fmt.Sprintf("the worker cannot start since %s: %s", stamp(o.since), o.refused))
	}
	if o.store.Calls > 0 {
		what := "calls wait"
		if o.store.Calls == 1 {
			what = "call waits"
		}
		lines = append(lines, fmt.Sprintf("%d %s for the store %s since %s: %s",
			o.store.Calls, what, o.store.Store, stamp(o.store.Since), o.store.Reason))
	}
	switch k := o.kafka; {
	case k.Error != "" && k.Since != nil:
		lines = append(lines, fmt.Sprintf("Kafka is in trouble since %s: %s", stamp(*k.Since), k.Error))
	case k.Error != "":
		lines = append(lines, "Kafka: "+k.Error)
	case k.Answered != nil && o.now.Sub(*k.Answered) > kafkaPatience:
		lines = append(lines, fmt.Sprintf("Kafka has not answered since %s", stamp(*k.Answered)))
	}
	var waits []string
	for i := range o.flows {
		// Of one that is paused the line of its own tells more.
		if w := o.flows[i].WaitsFor; w != "" && o.flows[i].State != "paused" && !slices.Contains(waits, w) {
			waits = append(waits, w)
		}
	}
	for _, w := range waits {
		n, first := 0, ""
		for i := range o.flows {
			if o.flows[i].WaitsFor == w {
				if n++; n == 1 {
					first = o.flows[i].VChannel
				}
			}
		}
		lines = append(lines, fmt.Sprintf("%d vchannels, the first is %s, wait for %s", n, first, w))
	}
	return lines
}

// stalled says what a flow does not do.
func stalled(f *flows.FlowStatus) string {
	if f.State == "claiming" {
		return "it is not claimed, though store and Kafka answer"
	}
	return fmt.Sprintf("the log ends at %d, read is up to %d, though store and Kafka answer; %d bytes are buffered, %d are being flushed",
		f.LogEnd, f.Read, f.Buffered, f.Flushing)
}

func stamp(t time.Time) string { return t.Format(time.RFC3339) }

// health answers 503 when the worker is ill.
func health(rw http.ResponseWriter, o observed) {
	healthy, lines := judge(o)
	if !healthy {
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
	if len(lines) == 0 {
		lines = append(lines, "ok")
	}
	for _, l := range lines {
		fmt.Fprintln(rw, l)
	}
}

// ready fails until every vchannel of the first assignment is claimed, with
// its document loaded, and says which are not.
func ready(rw http.ResponseWriter, w Worker) {
	if w.Ready() {
		fmt.Fprintln(rw, "ready")
		return
	}
	rw.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintln(rw, "waiting for the first assignment and its claims")
	for _, f := range w.Status() {
		if f.State == "claiming" {
			fmt.Fprintf(rw, "%s is being claimed since %s\n", f.VChannel, stamp(f.Since))
		}
	}
}
