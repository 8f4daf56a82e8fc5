package gateway

import (
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/task"
)

// task finds what a request about a task is for: the tool that made it, which its caller must
// still be permitted to call.
func (x *request) task(id string) (mcp.Tool, error) {
	name, own, ok := x.caller().Task(id, task.Owner{Toolset: x.ts.ID, Principal: x.pass.Principal().Key()})
	if !ok {
		return nil, nil //nolint:nilnil // there is no such task
	}
	var err error
	x.key = own
	if x.tool, err = x.ts.Tool([]byte(name)); err != nil || x.tool == nil || !x.tool.MakesTasks() || !x.pass.Sees(name) {
		return nil, err
	}
	if _, err := x.tool.Load(); err != nil {
		return nil, err
	}
	return x, nil
}

// caller makes the calls of the request.
func (x *request) caller() *call.Caller {
	if x.preview != nil {
		return x.preview
	}
	return x.s.opts.Caller
}
