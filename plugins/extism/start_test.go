package extism

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// startModule is a module whose start function has this body, and an export echo that
// returns 0.
func startModule(body string) []byte {
	code := "\x00asm\x01\x00\x00\x00" + // types () -> i32 and () -> (); a function of each
		"\x01\x08\x02\x60\x00\x01\x7f\x60\x00\x00" + "\x03\x03\x02\x00\x01" + "\x07\x08\x01\x04echo\x00\x00" + "\x08\x01\x01"
	bodies := "\x02\x04\x00\x41\x00\x0b" + string(rune(len(body)+1)) + "\x00" + body
	return []byte(code + "\x0a" + string(rune(len(bodies))) + bodies)
}

// TestStartFails: what goes wrong before the first call says so, and its bound.
func TestStartFails(t *testing.T) {
	h := newHost(t, Options{})
	for want, body := range map[string]string{
		"unreachable, while it was started": "\x00\x0b",
		"it was not started within":         "\x03\x40\x0c\x00\x0b\x0b",
		"":                                  "\x0b",
	} {
		p := load(t, h, Spec{Name: "start", Code: startModule(body), Limits: Limits{Deadline: 50 * time.Millisecond}})
		_, err := p.Call(t.Context(), nil, Call{Export: "echo"})
		for begin := time.Now(); errors.Is(err, ErrBusy) && time.Since(begin) < time.Minute; {
			_, err = p.Call(t.Context(), nil, Call{Export: "echo"}) // the machine has too much to do
		}
		switch {
		case want == "":
			if err != nil {
				t.Errorf("a start function that does nothing: %v", err)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("got %v, want %q", err, want)
		}
		if deadline := strings.Contains(want, "within"); errors.Is(err, ErrDeadline) != deadline {
			t.Errorf("%v is a deadline: %v", err, !deadline)
		}
	}
	if got := (&PluginError{Code: 0xfffffff9}).Error(); got != "plugin returned code -7" {
		t.Error(got)
	}
}
