package mcp

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestAppendPassed: what a client says to the protocol or to this gateway is not passed on, however
// its name is written.
func TestAppendPassed(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"b/c":{"progressToken":2}}`: `"a":1,"b/c":{"progressToken":2}`,
		`{"io.modelcontextprotocol\/clientCapabilities":{"roots":{}},"b\/c":1}`:                       `"b\/c":1`,
		`{"\u0069o.modelcontextprotocol/protocolVersion":"x","io\u002emodelcontextprotocol/y":2}`:     ``,
		`{"dev.sluice\/trace":true,"d\u0065v.sluice/x":1,"dev.sluice/y":1}`:                           ``,
		`{"progressToken":1,"progress\u0054oken":2}`:                                                  ``,
		`{"io.modelcontextprotocol":1,"dev.sluicegate/x":2}`:                                          `"io.modelcontextprotocol":1,"dev.sluicegate/x":2`,
		``: ``,
	} {
		if got := string(AppendPassed(nil, jsonscan.Trusted([]byte(in)))); got != want {
			t.Errorf("%s: passed on %s, want %s", in, got, want)
		}
	}
}

// TestTaskNames: what belongs to a task is said to be of that which the client knows, and of none
// when it knows none; a client's answer names none to the server.
func TestTaskNames(t *testing.T) {
	names := TaskNames(func(own string) (string, bool) { return "ours", own == "own" })
	for _, c := range []struct {
		names          TaskNames
		params, want   string
		status, wanted string
	}{
		{names, `{"a":1}`, `{"a":1}`, "", ""},
		{
			names, `{"_meta":{"x":1,"io.modelcontextprotocol/related-task":{"taskId":"own","y":2}},"a":1}`,
			`{"_meta":{"x":1,"io.modelcontextprotocol/related-task":{"taskId":"ours"}},"a":1}`, "", "",
		},
		{names, `{"_meta":{"io.modelcontextprotocol\/related-task":{"taskId":"other"}}}`, `{"_meta":{}}`, "", ""},
		{names, `{"_meta":{"io.modelcontextprotocol/related-task":7,"x":1}}`, `{"_meta":{"x":1}}`, "", ""},
		{nil, `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"own"}}}`, `{"_meta":{}}`, "", ""},
		{names, `{}`, `{}`, `{"taskId":"own","status":"working"}`, `{"taskId":"ours","status":"working"}`},
		{names, `{}`, `{}`, `{"taskId":"other","status":"working"}`, ""},
		{nil, `{}`, `{}`, `{"taskId":"own","status":"working"}`, ""},
	} {
		if got := string(c.names.rename(jsonscan.Trusted([]byte(c.params))).Raw()); got != c.want {
			t.Errorf("%s is %s, want %s", c.params, got, c.want)
		}
		if c.status == "" {
			continue
		}
		s := &Stream{wake: make(chan struct{}, 1)}
		s.OfTasks(c.names, 0, nil)
		s.Relay(taskStatus, jsonscan.Trusted([]byte(c.status)))
		if got := string(s.pending); (got == "") != (c.wanted == "") || !strings.Contains(got, c.wanted) {
			t.Errorf("%s is told as %s, want %s", c.status, got, c.wanted)
		}
	}
}

// TestTaskToken: progress of a task is told under the token of the call that made it, and that of
// nothing else.
func TestTaskToken(t *testing.T) {
	s := &Stream{wake: make(chan struct{}, 1)}
	s.OfTasks(nil, 7, []byte(`"mine"`))
	s.Relay("notifications/progress", jsonscan.Trusted([]byte(`{"progressToken":8,"progress":1}`)))
	if len(s.pending) > 0 {
		t.Errorf("another call's: %s", s.pending)
	}
	s.Relay("notifications/progress", jsonscan.Trusted([]byte(`{"progressToken":7,"progress":2}`)))
	if !strings.Contains(string(s.pending), `{"progressToken":"mine","progress":2}`) {
		t.Errorf("told %s", s.pending)
	}
}
