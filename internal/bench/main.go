// Command bench measures flowgraph beside what any worker has to do at least:
// one input, made once, read by each program in turn, several rounds. It
// prints medians with their ranges and the ratios; only ratios mean anything
// on another machine.
//
//	go run ./internal/bench
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"flowgraph/internal/devstack"
	"flowgraph/internal/nullstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	input
	rounds int
	budget string
	flush  string
	child  string // which baseline this process is
	broker string
	total  int64
}

func run(ctx context.Context) error {
	var o options
	flag.IntVar(&o.messages, "messages", 2000, "inserts over all partitions")
	flag.IntVar(&o.rows, "rows", 1000, "rows of an insert")
	flag.IntVar(&o.dim, "dim", 128, "dimension of the vectors")
	flag.IntVar(&o.partitions, "partitions", 8, "partitions of the topic")
	flag.BoolVar(&o.integers, "integers", false, "vectors of small whole numbers instead of gaussian ones")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds, after one that is not counted")
	flag.StringVar(&o.budget, "budget", "256MiB", "memory budget of the worker")
	flag.StringVar(&o.flush, "flush", "16MiB", "flush size of the worker")
	flag.StringVar(&o.child, "child", "", "for the processes that this one starts")
	flag.StringVar(&o.broker, "broker", "", "the same")
	flag.Int64Var(&o.total, "total", 0, "the same")
	flag.Parse()
	switch o.child {
	case "consume":
		return consume(ctx, o.broker, topic)
	case "encode":
		return encode(o.input, o.total)
	case "memcpy":
		move(o.total)
		return nil
	}
	return measure(ctx, o)
}

const topic = "bench"

// measure makes the input and runs every program in turn.
func measure(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "flowgraph-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	worker := filepath.Join(dir, "flowgraph")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", worker, "flowgraph").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	broker, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		return err
	}
	defer broker.Close()
	s, err := nullstore.Start(false)
	if err != nil {
		return err
	}
	defer s.Close()
	bytes, err := o.produce(ctx, topic, broker.Client())
	if err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	fmt.Printf("%d inserts of %d rows with %d-dim vectors, %.2f GB, %d partitions; budget %s, %d rounds\n\n",
		o.messages, o.rows, o.dim, float64(bytes)/1e9, o.partitions, o.budget, o.rounds)

	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := func(kind string) func(int) *exec.Cmd {
		return func(int) *exec.Cmd {
			return exec.CommandContext(ctx, self, "-child", kind, "-broker", broker.Addr(),
				"-total", strconv.FormatInt(bytes, 10), "-dim", strconv.Itoa(o.dim))
		}
	}
	programs := []*program{
		{name: "flowgraph", command: func(round int) *exec.Cmd {
			name := "round-" + strconv.Itoa(round)
			return exec.CommandContext(ctx, worker, "run", "--brokers", broker.Addr(), "--topics", topic, "--group", name,
				"--s3-endpoint", s.Endpoint(), "--s3-bucket", "bench", "--s3-root", name, "--s3-access-key", "bench", "--s3-secret-key", "benchbench",
				"--until-end", "--listen=", "--log-level", "warn", "--memory-budget", o.budget, "--flush-bytes", o.flush)
		}},
		{name: "consume and discard", command: child("consume")},
		{name: "encode only", command: child("encode")},
		{name: "memcpy", command: child("memcpy")},
	}
	for round := range o.rounds + 1 {
		for _, p := range programs {
			before := s.Counts()
			if err := p.run(round); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if p.name == "flowgraph" {
				p.store = s.Counts().Less(before)
			}
		}
	}
	report(programs, float64(bytes)/1e9)
	return nil
}

// program is one that is measured, and its rounds.
type program struct {
	name           string
	command        func(round int) *exec.Cmd
	cpu, wall, rss []float64        // s, s, MB; the first round is left out
	store          nullstore.Counts // of the last round
}

func (p *program) run(round int) error {
	cmd := p.command(round)
	cmd.Stderr = os.Stderr
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	peak := make(chan float64)
	exited := make(chan struct{})
	go func() { peak <- watchMemory(cmd.Process.Pid, exited) }()
	err := cmd.Wait()
	close(exited)
	mb := <-peak
	if err != nil || round == 0 {
		return err
	}
	p.wall = append(p.wall, time.Since(begun).Seconds())
	p.cpu = append(p.cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	p.rss = append(p.rss, mb)
	return nil
}

// watchMemory returns a process' peak resident memory in MB, 0 where /proc
// does not tell. What wait reports would be the peak of this process, from
// before the exec.
func watchMemory(pid int, exited <-chan struct{}) (mb float64) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-exited:
			return mb
		case <-ticker.C:
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
			var kb float64
			if _, err := fmt.Sscan(after, &kb); err == nil {
				mb = max(mb, kb/1000)
			}
		}
	}
}

func report(programs []*program, gb float64) {
	fmt.Printf("%-20s %-28s %-26s %s\n", "", "CPU s/GB (least-most)", "wall s (least-most)", "peak MB")
	for _, p := range programs {
		fmt.Printf("%-20s %-28s %-26s %.0f\n", p.name, spread(p.cpu, gb), spread(p.wall, 1), median(p.rss))
	}
	worker, floor := programs[0], programs[1]
	fmt.Printf("\nflowgraph / consume and discard: CPU %s, wall %s\n", ratio(worker.cpu, floor.cpu), ratio(worker.wall, floor.wall))
	fmt.Printf("flowgraph stored %.2f bytes a byte read with %.0f puts a GB; documents were %.3f %% of the bytes\n",
		float64(worker.store.Stored)/gb/1e9, float64(worker.store.Puts)/gb, 100*float64(worker.store.DocumentBytes)/float64(worker.store.Stored))
}

func spread(v []float64, per float64) string {
	return fmt.Sprintf("%.2f (%.2f-%.2f)", median(v)/per, slices.Min(v)/per, slices.Max(v)/per)
}

// ratio is the median of the rounds' ratios, with their range.
func ratio(a, b []float64) string {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return spread(r, 1)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}
