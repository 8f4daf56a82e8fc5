package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
)

const (
	// MaxParallel is how many calls of one workflow run at once; the others of a batch
	// wait. An API that is asked more at once answers that it is too much.
	MaxParallel = 8
	// MaxCallBytes is the longest line that describes a call.
	MaxCallBytes = 1 << 20
	// MaxResultBytes is what all results of one workflow's call may hold. The exchange
	// memory of its class is the nearer bound for small classes.
	MaxResultBytes = 32 << 20
)

// ToolCall is a call of a tool that a workflow makes.
type ToolCall struct {
	Tool      string          // the workflow's own name of the tool
	Arguments json.RawMessage // an object
}

// ToolResult is what became of a call: an answer in Value or Text, or a failure in
// Error.
type ToolResult struct {
	Status int             // HTTP status of the upstream; 0: there was no answer
	Value  json.RawMessage // a JSON answer
	Text   string          // any other
	Error  string          // what an agent would read of the failure; "" when there is none
}

// A ToolCaller makes the calls of a workflow.
type ToolCaller interface {
	// CallTool makes one call. It is used by several goroutines at once. ctx is the
	// workflow's; an error ends the workflow.
	CallTool(ctx context.Context, call ToolCall) (ToolResult, error)
}

// Calls are the calls of tools of one call of a workflow. They are counted and
// bounded here; which tool a name stands for, and whether the caller may use it, is the
// [ToolCaller]'s to say. It belongs to one call.
type Calls struct {
	by     ToolCaller
	names  []string
	left   int
	bytes  int
	waited time.Duration
	ended  error
}

// NewCalls makes the calls of one call of a workflow.
func NewCalls(p *Package, by ToolCaller) *Calls {
	c := &Calls{by: by, left: manifest.DefaultCalls}
	if p.Manifest.Capabilities != nil {
		c.names = p.Manifest.Capabilities.Tools
	}
	if l := p.Manifest.Limits; l != nil && l.Calls > 0 {
		c.left = l.Calls
	}
	return c
}

// Waited is how long the workflow waited for its calls: no time of its own.
func (c *Calls) Waited() time.Duration {
	if c == nil {
		return 0
	}
	return c.waited
}

// Ended is the error with which the [ToolCaller] ended the workflow, which is no fault of the
// plugin; nil: it did not.
func (c *Calls) Ended() error {
	if c == nil {
		return nil
	}
	return c.ended
}

// read reads the lines that a workflow wrote; a refusal stops it.
func (c *Calls) read(in []byte) (calls []ToolCall, refusal string) {
	if c == nil {
		return nil, "it calls a tool, and is not a workflow"
	}
	for line := range bytes.SplitSeq(bytes.TrimRight(in, "\n"), []byte("\n")) {
		if len(calls) == c.left {
			return nil, "it calls tools more often than its manifest says"
		}
		if len(line) > MaxCallBytes {
			return nil, "it describes a call of more than " + strconv.Itoa(MaxCallBytes) + " bytes"
		}
		v, err := jsonscan.Parse(line, manifest.MaxDepth)
		if err != nil || v.Kind() != jsonscan.Object {
			return nil, "it calls a tool with a line that is not a JSON object"
		}
		call := ToolCall{Arguments: json.RawMessage("{}")}
		for it := v.Members(); it.Next(); {
			switch {
			case it.KeyEqual("tool") && it.Value().Kind() == jsonscan.String:
				call.Tool = string(it.Value().AppendText(nil))
			case it.KeyEqual("arguments") && it.Value().Kind() == jsonscan.Object:
				call.Arguments = bytes.Clone(it.Value().Raw())
			case it.KeyEqual("arguments") && it.Value().Kind() == jsonscan.Null:
			default:
				return nil, "it describes a call with something other than a tool's name and an object of arguments"
			}
		}
		if !slices.Contains(c.names, call.Tool) {
			return nil, "it calls the tool " + strconv.Quote(clip(call.Tool)) + ", which its manifest does not name"
		}
		calls = append(calls, call)
	}
	c.left -= len(calls)
	return calls, ""
}

// clip keeps what a plugin says short in a message.
func clip(s string) string { return s[:min(len(s), manifest.MaxToolName)] }

// run makes calls, up to MaxParallel at once, and returns their results in their order.
func (c *Calls) run(ctx context.Context, calls []ToolCall) ([]ToolResult, error) {
	begin := time.Now()
	defer func() { c.waited += time.Since(begin) }()
	results := make([]ToolResult, len(calls))
	if len(calls) == 1 {
		results[0], c.ended = c.by.CallTool(ctx, calls[0])
		return results, c.ended
	}
	errs := make([]error, len(calls))
	var running sync.WaitGroup
	slots := make(chan struct{}, MaxParallel)
	for i := range calls {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			results[i], errs[i] = c.by.CallTool(ctx, calls[i])
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			c.ended = err
			return nil, err
		}
	}
	return results, nil
}

// AppendJSON appends the result as a workflow reads it: {"status":200,"value":…}, or
// text or error, a string, in the place of value. It has no line breaks.
func (r *ToolResult) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"status":`...), int64(r.Status), 10)
	switch {
	case r.Error != "":
		dst = jsonscan.AppendStringOf(append(dst, `,"error":`...), r.Error)
	case r.Value != nil:
		dst = jsonscan.AppendMinified(append(dst, `,"value":`...), r.Value)
	default:
		dst = jsonscan.AppendStringOf(append(dst, `,"text":`...), r.Text)
	}
	return append(dst, '}')
}

// write writes results, one a line; a refusal stops the workflow.
func (c *Calls) write(results []ToolResult) (out []byte, refusal string) {
	for i := range results {
		if i > 0 {
			out = append(out, '\n')
		}
		if c.bytes+len(out)+len(results[i].Value)+len(results[i].Text) > MaxResultBytes {
			return nil, "the results of its calls have more than " + strconv.Itoa(MaxResultBytes) + " bytes"
		}
		out = results[i].AppendJSON(out)
	}
	c.bytes += len(out)
	return out, ""
}

// callFunction is the host function of workflows (docs/plugins/workflows.md).
const callFunction = "sluice_call"

// callTools is sluice_call: it takes calls, one a line, makes them in parallel and
// gives their results, one a line.
func callTools(c *extism.Caller, stack []uint64) {
	calls, _ := c.Data().(*Calls)
	var in []byte
	if stack[0] != 0 {
		in = c.Read(stack[0])
	}
	list, refusal := calls.read(in)
	if refusal != "" {
		c.Stop(refusal)
	}
	if stack[0] != 0 {
		c.Free(stack[0])
	}
	var results []ToolResult
	var err error
	c.Await(func(ctx context.Context) { results, err = calls.run(ctx, list) })
	if err != nil {
		c.Stop(err.Error())
	}
	out, refusal := calls.write(results)
	if refusal != "" {
		c.Stop(refusal)
	}
	stack[0] = c.Write(out)
}
