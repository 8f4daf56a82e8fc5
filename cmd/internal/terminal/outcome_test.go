package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/exit"
)

func TestFinish(t *testing.T) {
	f := func(format string, do func(*Terminal), err error, out, text string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		term := &Terminal{Out: &stdout, Err: &stderr, Format: format, Quiet: true}
		do(term)
		term.Finish(err)
		if stdout.String() != out || stderr.String() != text {
			t.Errorf("-o %s: got %q and %q, want %q and %q", format, stdout.String(), stderr.String(), out, text)
		}
	}
	nothing := func(*Terminal) {}
	said := func(t *Terminal) { t.Say("✓ %s is deleted", "demo") }
	result := func(t *Terminal) {
		t.Say("more")
		_ = t.Object(map[string]int{"a": 1}, func(io.Writer) {})
	}
	streams := func(t *Terminal) { t.Streams() }
	silent := exit.SilentError(exit.NotFound)
	f("jsonl", nothing, nil, `{"done":true,"messages":[]}`+"\n", "")
	f("jsonl", said, nil, `{"done":true,"messages":["demo is deleted"]}`+"\n", "")
	f("yaml", said, nil, "done: true\nmessages:\n  - demo is deleted\n", "")
	f("jsonl", result, nil, `{"a":1}`+"\n", "")
	f("jsonl", result, silent, `{"a":1}`+"\n", "")
	f("jsonl", streams, nil, "", "")
	f("jsonl", said, silent, `{"type":"https://github.com/sluicegate/sluice/blob/main/docs/admin-api.md#not_found","title":"Not found","status":404,"detail":"demo is deleted","code":"not_found"}`+"\n", "")
	f("table", said, nil, "", "")
	f("name", said, silent, "", "")
	f("table", nothing, errors.New("no"), "", "✗ no\n")
}

func TestFinishBound(t *testing.T) {
	var out bytes.Buffer
	term := &Terminal{Out: &out, Format: "json", Quiet: true}
	for range maxMessages + 1 {
		term.Say("more")
	}
	term.Finish(nil)
	var o Outcome
	if err := json.Unmarshal(out.Bytes(), &o); err != nil || len(o.Messages) != maxMessages {
		t.Errorf("got %d messages, %v; want %d", len(o.Messages), err, maxMessages)
	}
}
