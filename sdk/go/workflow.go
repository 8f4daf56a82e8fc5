package sluice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ToolCall is a call of a tool that a workflow makes. Tool is one of the names that
// capabilities.tools of its manifest has.
type ToolCall struct {
	Tool      string `json:"tool"`
	Arguments any    `json:"arguments,omitempty"` // becomes a JSON object
}

// Result is what became of a call: an answer in Value or Text, or a failure in Error.
type Result struct {
	Status int             `json:"status"`          // HTTP status of the upstream; 0: there was no answer
	Value  json.RawMessage `json:"value,omitempty"` // a JSON answer
	Text   string          `json:"text,omitempty"`  // any other
	Error  string          `json:"error,omitempty"` // what an agent would read; "" when the call went well
}

// Into reads a JSON answer into what v points to. A call that failed, or whose answer is
// no JSON, is an error.
func (r *Result) Into(v any) error {
	switch {
	case r.Error != "":
		return errors.New(r.Error)
	case r.Value == nil:
		return errors.New("the answer is not JSON")
	}
	return json.Unmarshal(r.Value, v)
}

// Call calls a tool. A call that fails is a Result with an Error; what breaks a rule of
// the contract, such as a tool that the manifest does not name, ends the plugin's call.
func (c *Context) Call(tool string, arguments any) *Result {
	return c.CallAll(ToolCall{tool, arguments})[0]
}

// CallAll makes several calls at once and returns their results in their order.
func (*Context) CallAll(calls ...ToolCall) []*Result {
	if len(calls) == 0 {
		return nil
	}
	var lines []byte
	for i := range calls {
		line, err := json.Marshal(&calls[i])
		if err != nil {
			panic(fmt.Sprintf("sluice: the arguments of %s are not JSON: %v", calls[i].Tool, err))
		}
		lines = append(append(lines, line...), '\n')
	}
	results := make([]*Result, len(calls))
	for i, line := range bytes.Split(callTools(lines), []byte("\n")) {
		results[i] = new(Result)
		if err := json.Unmarshal(line, results[i]); err != nil {
			panic("sluice: the gateway gave a result that is not JSON")
		}
	}
	return results
}

// work answers one call of a workflow. It is a variable so that plugins of other kinds
// do not carry what it needs.
var work func() ([]byte, error)

var errNoWorkflow = errors.New("the plugin did not call sluice.Workflow in init")

// Workflow makes f the plugin: kind workflow. Its arguments are a JSON object that its
// tool's input schema allows; what it returns is the tool's answer, and the text of its
// error is for the agent. Call it from init.
func Workflow(f func(c *Context, arguments []byte) ([]byte, error)) {
	work = func() ([]byte, error) { return f(&Context{}, input()) }
}

// runWorkflow answers one call.
func runWorkflow() error {
	if work == nil {
		return errNoWorkflow
	}
	out, err := work()
	if err != nil {
		return err
	}
	output(out)
	return nil
}
