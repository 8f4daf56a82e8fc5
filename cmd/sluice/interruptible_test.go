package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/exit"
)

// TestHangup: a terminal that is closed, which may say so twice, ends a node as an interrupt
// does: it lets running calls end.
func TestHangup(t *testing.T) {
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
		<-ctx.Done()
	}
	if err := context.Cause(ctx); !errors.Is(err, exit.ErrInterrupted) {
		t.Error(err)
	}
}
