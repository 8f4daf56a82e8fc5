package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	// ErrBusy means that the script waited too long to begin, or for its turns beside others.
	ErrBusy = errors.New("too many scripts and plugins run at once")
	// ErrDeadline means that the script was stopped because it used up its own time.
	ErrDeadline = errors.New("the script was stopped: it computed for too long by itself")
	// ErrMemory means that the engine ran out of memory, or of stack, in a way that it could not
	// tell the script.
	ErrMemory = errors.New("the script was stopped: it used too much memory")
	// ErrClosed means that the engine was closed.
	ErrClosed = errors.New("the script engine is closed")
)

// Error is an error of a script: what it threw, or why it could not be compiled. Its
// texts are the script's, and untrusted.
type Error struct {
	Message      string // such as "TypeError: not a function"; valid UTF-8, at most 4 KB
	Line, Column int    // in the script, from 1; 0: not known
	Stack        string // the frames in the script, a line each; at most 4 KB
}

// Error is the message with its place.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return e.Message + " (line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column) + ")"
}

// bigInts tells a model whose arithmetic met an identifier what it is.
const bigInts = " (whole numbers beyond 2^53 are BigInts and keep their digits: write 1n beside them, sort them by < and >, or take Number(x) where digits do not matter)"

// scriptFile is the name that stack frames have for the script; frames of the prelude are
// not the script's.
const scriptFile = "script.js"

// newError reads a message and a stack of QuickJS, whose frames are
// "    at NAME (script.js:LINE:COLUMN)" and count the lines that stand before the script.
func newError(message, stack string, before, lines int) *Error {
	e := &Error{Message: clip(message, maxMessage)}
	if strings.HasPrefix(message, "TypeError: ") && strings.Contains(message, "BigInt") && len(message)+len(bigInts) <= maxMessage {
		e.Message += bigInts
	}
	var frames strings.Builder
	for line := range strings.Lines(stack) {
		at, place, ok := strings.Cut(line, scriptFile+":")
		l, c := position(place)
		if l -= before; !ok || l < 1 { // the prelude, or what wraps the script
			continue
		}
		if l > lines { // QuickJS names the token behind the last one
			l, c = lines, 1
		}
		if e.Line == 0 {
			e.Line, e.Column = l, c
		}
		fmt.Fprintf(&frames, "%s%s:%d:%d)\n", at, scriptFile, l, c)
	}
	e.Stack = clip(strings.TrimRight(frames.String(), "\n"), maxStack)
	return e
}

// position reads "LINE:COLUMN".
func position(s string) (line, column int) {
	s = strings.TrimRight(s, ")\n")
	l, c, _ := strings.Cut(s, ":")
	line, err := strconv.Atoi(l)
	if err != nil || line < 0 {
		return 0, 0
	}
	if column, err = strconv.Atoi(c); err != nil {
		column = 0
	}
	return line, column
}

// clip shortens a text to n bytes of valid UTF-8.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// A ToolError is what a call of a tool fails with. The script can catch it: its message,
// tool and status are members there.
type ToolError struct {
	Tool    string
	Status  int // of the upstream's answer; 0: none
	Message string
}

// Error is the message.
func (e *ToolError) Error() string { return e.Message }
