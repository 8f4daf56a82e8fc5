package terminal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal returns both ends of a terminal: what a person types into, and what a
// program reads from.
func pseudoTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return person, program // a read that was left behind may hold program, so it stays open
}

func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// TestInterruptedPrompt: an interrupt ends a question at once, and the terminal shows
// again what is typed.
func TestInterruptedPrompt(t *testing.T) {
	stop := errors.New("interrupted")
	for name, ask := range map[string]func(*Terminal, context.Context) error{
		"secret":  func(a *Terminal, ctx context.Context) error { _, err := a.PromptSecret(ctx, "Key: "); return err },
		"confirm": func(a *Terminal, ctx context.Context) error { return a.Confirm(ctx, "Delete it?") },
	} {
		t.Run(name, func(t *testing.T) {
			_, program := pseudoTerminal(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				for name == "secret" && echoes(t, program) { // until it reads
					runtime.Gosched()
				}
				cancel(stop)
			}()
			if err := ask(&Terminal{In: program, Err: new(bytes.Buffer)}, ctx); !errors.Is(err, stop) {
				t.Errorf("%v, want %v", err, stop)
			}
			if !echoes(t, program) {
				t.Error("the terminal does not show what is typed")
			}
		})
	}
}

// TestPrompt: what a person types is the answer.
func TestPrompt(t *testing.T) {
	person, program := pseudoTerminal(t)
	a := &Terminal{In: program, Err: new(bytes.Buffer)}
	if _, err := person.WriteString("let-me-in\ny\n"); err != nil {
		t.Fatal(err)
	}
	if key, err := a.PromptSecret(t.Context(), "Key: "); err != nil || key.Reveal() != "let-me-in" {
		t.Errorf("%q, %v", key.Reveal(), err)
	}
	if err := a.Confirm(t.Context(), "Delete it?"); err != nil {
		t.Error(err)
	}
}
