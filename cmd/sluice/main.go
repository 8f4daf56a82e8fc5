package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/gateway/process"
)

func main() {
	if process.Keep(os.Args) {
		return
	}
	os.Exit(run())
}

// run is main without the exit, so that tests can start the very program.
func run() int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	a := &app{mainProcess: firstProcess}
	a.Env, a.Version = config.ReadEnvironment(os.Getenv), version
	a.In, a.Out, a.Err = os.Stdin, os.Stdout, os.Stderr
	return a.execute(ctx, os.Args[1:])
}

// interruptible returns a context that ends at the first interrupt, SIGTERM or SIGHUP; a
// second one ends the process at once, with 130 as a shell expects. A terminal that is closed
// may send SIGHUP twice, and under nohup it is ignored.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case s := <-signals:
				if n > 0 && s != syscall.SIGHUP {
					os.Exit(exit.Interrupted)
				}
				cancel(exit.ErrInterrupted)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
