package terminal

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// maxMessages of a command that are kept for its outcome; what "logs --follow" and a node
// say is not kept.
const maxMessages = 100

// Outcome is the result, for machines, of a command that has no result of its own: it
// changed something, or there was nothing to do.
type Outcome struct {
	Done     bool     `json:"done"`
	Messages []string `json:"messages"` // what people are told, line by line
}

// Wrote is the result of a command that wrote files: their paths, a line each, and for
// machines an object with them.
func (t *Terminal) Wrote(paths ...string) error {
	if t.Format == "name" {
		return t.WriteResult([]byte(strings.Join(paths, "\n") + "\n"))
	}
	return t.Object(map[string][]string{"files": paths}, func(w io.Writer) { _, _ = io.WriteString(w, strings.Join(paths, "\n")+"\n") })
}

// Streams says that the command writes to the standard output itself, or nothing at all:
// it gets no [Outcome].
func (t *Terminal) Streams() { t.answered = true }

// keep remembers what people are told, where machines may have to be told it too.
func (t *Terminal) keep(message string) {
	if t.machine() && !t.answered && len(t.messages) < maxMessages {
		t.messages = append(t.messages, strings.TrimSpace(strings.TrimPrefix(message, "✓ ")))
	}
}

// machine reports whether the output is for programs.
func (t *Terminal) machine() bool {
	return slices.Contains([]string{"json", "jsonl", "yaml"}, t.Format)
}

// Finish ends a command: machines always get an answer on the standard output, the
// command's own, an [Outcome] or the problem that err is. People read err.
func (t *Terminal) Finish(err error) {
	silent, isSilent := errors.AsType[exit.SilentError](err)
	switch {
	case err != nil && !isSilent:
		t.Report(err)
	case t.answered || !t.machine():
	case isSilent:
		t.Report(exit.Reason(silent, strings.Join(t.messages, "; ")))
	default:
		if t.messages == nil {
			t.messages = []string{}
		}
		if err := t.Object(Outcome{Done: true, Messages: t.messages}, func(io.Writer) {}); err != nil {
			t.Report(err)
		}
	}
}

// Report reports an error: problem details on stdout for machines, text on
// stderr for people.
func (t *Terminal) Report(err error) {
	if !t.machine() {
		var b bytes.Buffer
		exit.WriteError(&b, err) // which may quote what an upstream wrote
		_, _ = t.Err.Write(textfilter.Append(nil, b.Bytes()))
		return
	}
	t.Fields = nil
	if werr := t.Object(exit.DocumentOf(err), func(io.Writer) {}); werr != nil {
		_, _ = io.WriteString(t.Err, werr.Error()+"\n") // nowhere else is left to tell
	}
}
