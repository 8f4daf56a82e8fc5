package extism

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/sys"
)

var (
	// ErrClosed means that the host or the plugin was closed.
	ErrClosed = errors.New("plugin is closed")
	// ErrBusy means that the call waited too long, or found too many waiting: for a slot of
	// the plugin, for its turns beside other calls of its share, or for a host that it
	// asked. It is no fault of the plugin's.
	ErrBusy = errors.New("plugin is busy")
	// ErrDeadline means that the plugin was stopped because it used up its processor time, or
	// because its caller gave up.
	ErrDeadline = errors.New("plugin was stopped at its deadline")
	// ErrNotStarted is the ErrDeadline of a plugin that had not started in the time for that.
	ErrNotStarted = fmt.Errorf("%w: it was not started", ErrDeadline)
	// ErrTooLarge means that the input does not fit the plugin's memory, or the output is past
	// its limit.
	ErrTooLarge = errors.New("plugin's input or output is too large")
	// ErrNoExport means that the plugin has no such function, or it takes parameters.
	ErrNoExport = errors.New("plugin has no such function")
)

// A PluginError is what a plugin says went wrong: by error_set, or by a result that
// is not zero. The instance stays usable.
type PluginError struct {
	Code    uint32
	Message string // at most 4 KB; untrusted
}

// Error is the message of the plugin.
func (e *PluginError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("plugin returned code %d", int32(e.Code)) // an i32, as its author wrote it
	}
	return e.Message
}

// A TrapError is a plugin that crashed or broke the rules of the ABI.
type TrapError struct {
	Reason string
	Denied bool // it used what was not granted to it
	Start  bool // when it was started, before its first call
	Rule   bool // it broke a rule of the ABI or of a host function
}

// Error says that the plugin crashed, and why.
func (e *TrapError) Error() string { return "plugin crashed: " + e.Reason }

// An ExitError is a plugin that ended its program (WASI proc_exit).
type ExitError struct{ Code uint32 }

// Error names the code.
func (e *ExitError) Error() string { return fmt.Sprintf("plugin exited with code %d", e.Code) }

// denied is what a host function panics with when it refuses; its text is for the
// plugin's author.
type denied struct {
	reason string
	grant  bool // it was not granted
}

func (d *denied) Error() string { return d.reason }

func deny(format string, args ...any) { panic(&denied{fmt.Sprintf(format, args...), false}) }

// withhold is deny, for what a binding could have granted.
func withhold(format string, args ...any) { panic(&denied{fmt.Sprintf(format, args...), true}) }

// failure turns wazero's error into ours. Stopped says that wazero was to interrupt
// the plugin: it does so with exit codes that a plugin can also exit with.
func failure(err error, stopped bool) error {
	var exit *sys.ExitError
	var d *denied
	switch {
	case errors.As(err, &exit):
		if c := exit.ExitCode(); !stopped || c != sys.ExitCodeContextCanceled && c != sys.ExitCodeDeadlineExceeded {
			return &ExitError{c}
		}
		return ErrDeadline
	case errors.Is(err, ErrBusy):
		return ErrBusy
	case errors.Is(err, ErrDeadline), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ErrDeadline
	case errors.As(err, &d):
		return &TrapError{Reason: d.reason, Denied: d.grant, Rule: !d.grant}
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	reason = strings.TrimPrefix(reason, "wasm error: ")
	reason = strings.TrimSuffix(reason, " (recovered by wazero)")
	return &TrapError{Reason: clip(reason, maxError)}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// nameShown is how much of a name of a module is shown.
const nameShown = 100

// shown is a name of a module for people: it may have line breaks, or megabytes.
func shown(name string) string {
	name = clip(name, nameShown)
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return strconv.QuoteToASCII(name)
	}
	return name
}

// beforeCall says of an error that it came while an instance was started, for which it has
// a time of its own.
func beforeCall(err error, within time.Duration) error {
	var trap *TrapError
	switch {
	case errors.As(err, &trap):
		return &TrapError{Reason: trap.Reason + ", while it was started", Denied: trap.Denied, Start: true, Rule: trap.Rule}
	case errors.Is(err, ErrDeadline):
		return fmt.Errorf("%w within %s of processor time", ErrNotStarted, within)
	}
	return err
}
