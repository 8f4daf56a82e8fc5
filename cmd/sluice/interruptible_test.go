package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/exit"
)

// TestHangup: a terminal that is closed, which may say so twice, ends a node as an interrupt
// does: it lets running calls end.
func TestHangup(t *testing.T) {
	came := make(chan os.Signal, 2)
	signal.Notify(came, syscall.SIGHUP)
	defer signal.Stop(came)
	ctx, stop := interruptible(t.Context())
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-came // a signal on its way when the test ends would end the process
		<-ctx.Done()
	}
	if err := context.Cause(ctx); !errors.Is(err, exit.ErrInterrupted) {
		t.Error(err)
	}
}
