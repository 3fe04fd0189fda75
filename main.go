// Command flowgraph turns a Kafka log of Milvus messages into immutable
// segments of binlogs in a bucket, exactly once.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"flowgraph/internal/cli"
)

// version is the release's, written by the linker (-X main.version=v1.2.3); it
// can write into nothing but a variable.
var version string

func main() { os.Exit(run()) }

func run() int {
	kill, killed := context.WithCancelCause(context.Background())
	stop, stopped := context.WithCancelCause(kill)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		heed(signals, done, stopped, killed)
		// A third signal ends the process at once, in case something does not
		// heed its context.
		signal.Stop(signals)
	}()
	err := cli.Main(cli.Process{
		Args: os.Args[1:], Environ: os.Environ(), Version: version,
		Stdout: os.Stdout, Stderr: os.Stderr,
		Stop: stop, Kill: kill,
	})
	close(done)
	<-watched
	return cli.ExitCode(err)
}

// heed stops on the first signal and kills on the second; it returns then, or
// when done is closed.
func heed(signals <-chan os.Signal, done <-chan struct{}, stop, kill context.CancelCauseFunc) {
	for _, end := range []func(os.Signal){
		func(s os.Signal) { stop(errors.New("stopped by signal: " + s.String())) },
		func(s os.Signal) { kill(errors.New("killed by a second signal: " + s.String())) },
	} {
		select {
		case s := <-signals:
			end(s)
		case <-done:
			return
		}
	}
}
