package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/plugins/guest"
)

// Call is a call that a workflow makes in a case, with its recorded answer: one of
// Value, Text and Error.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object; compared as JSON
	Status    int             `json:"status,omitempty"`    // default: 200, of an error 0
	Value     json.RawMessage `json:"value,omitempty"`
	Text      *string         `json:"text,omitempty"`
	Error     string          `json:"error,omitempty"`
}

func (c *Call) check() error {
	n := 0
	for _, has := range []bool{c.Value != nil, c.Text != nil, c.Error != ""} {
		if has {
			n++
		}
	}
	if c.Tool == "" || n != 1 {
		return errors.New(`it needs "tool", and exactly one of "value", "text" and "error"`)
	}
	return nil
}

func (c *Call) arguments() json.RawMessage {
	if c.Arguments == nil {
		return json.RawMessage("{}")
	}
	return c.Arguments
}

func (c *Call) result() guest.ToolResult {
	r := guest.ToolResult{Status: c.Status, Value: c.Value, Error: c.Error}
	if c.Text != nil {
		r.Text = *c.Text
	}
	if r.Status == 0 && r.Error == "" {
		r.Status = 200
	}
	return r
}

// player answers the calls of a workflow from a case.
type player struct {
	calls []Call

	mu      sync.Mutex
	made    []int    // how often each was made; guarded by mu
	unknown []string // calls without an answer; guarded by mu
}

var _ guest.ToolCaller = (*player)(nil)

// CallTool implements [guest.ToolCaller]. Of equal calls the answers come in their
// order, the last one again and again.
func (p *player) CallTool(_ context.Context, call guest.ToolCall) (guest.ToolResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := -1
	for i := range p.calls {
		c := &p.calls[i]
		if c.Tool != call.Tool || !sameJSON(c.arguments(), call.Arguments) {
			continue
		}
		if last = i; p.made[i] == 0 {
			break
		}
	}
	if last < 0 {
		p.unknown = append(p.unknown, fmt.Sprintf("%s %s", call.Tool, call.Arguments))
		return guest.ToolResult{Error: "the golden case has no answer for this call"}, nil
	}
	p.made[last]++
	return p.calls[last].result(), nil
}

// fault says which calls the workflow made without an answer in the case, and which it
// did not make; "" for none.
func (p *player) fault() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out strings.Builder
	for _, u := range p.unknown {
		fmt.Fprintf(&out, "+ it calls %.1000s, for which \"calls\" has no answer\n", u)
	}
	for i := range p.calls {
		if p.made[i] == 0 {
			fmt.Fprintf(&out, "- it does not call %s %s\n", p.calls[i].Tool, p.calls[i].arguments())
		}
	}
	return out.String()
}
