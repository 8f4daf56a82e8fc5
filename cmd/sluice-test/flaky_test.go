package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A package whose second run waits to be interrupted, and whose fourth fails.
const interrupted = `package m

import (
	"os"
	"testing"
	"time"
)

func TestX(t *testing.T) {
	f, err := os.OpenFile("runs", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(".")
	_ = f.Close()
	b, err := os.ReadFile("runs")
	if err != nil {
		t.Fatal(err)
	}
	if len(b) == 2 {
		for {
			if _, err := os.Stat("end"); err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	if len(b) == 4 {
		t.Error("the fourth")
	}
}
`

// TestFlakyGoesOn: an interrupted search counts the runs that ended, goes on behind them, tells
// the failures of all, and begins again with another test binary, without the output of before.
func TestFlakyGoesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "go.mod", "module m\n\ngo 1.26\n")
	write(t, "x_test.go", interrupted)
	dir := t.TempDir()
	search := func(ctx context.Context) (said string, err error) {
		var out bytes.Buffer
		err = (&flaky{out: &out, dir: dir, rounds: 3}).run(ctx, nil)
		return out.String(), err
	}
	runs := func() int {
		b, _ := os.ReadFile("runs") // there is none before the first
		return len(b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for runs() < 2 && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // another process writes it
		}
		cancel()
		_ = os.WriteFile("end", nil, 0o600)
	}()
	if _, err := search(ctx); err == nil || !strings.Contains(err.Error(), "m: context canceled: the same command goes on from here") || runs() != 2 {
		t.Fatalf("interrupted in the second run: %v, %d runs", err, runs())
	}
	log := filepath.Join(dir, "m.3.log")
	for range 2 { // the second time nothing is left to do
		_, err := search(t.Context())
		if err == nil || !strings.Contains(err.Error(), "m, run 3 of 3 ("+log+"):\n    TestX") || runs() != 4 {
			t.Errorf("gone on: %v, %d runs", err, runs())
		}
	}
	if b, err := os.ReadFile(log); err != nil || !bytes.Contains(b, []byte("the fourth")) {
		t.Errorf("the output of a failed run: %q, %v", b, err)
	}
	write(t, "x_test.go", strings.Replace(interrupted, "len(b) == 4", "len(b) == 40", 1))
	if said, err := search(t.Context()); err != nil || !strings.Contains(said, "m: 3 runs, 0 failed") || runs() != 7 {
		t.Errorf("another test binary: %s, %v, %d runs", said, err, runs())
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("the output of another test binary is left")
	}
}
