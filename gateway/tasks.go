package gateway

import (
	"errors"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/task"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// JSON-RPC error codes of what concerns tasks.
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
)

// task finds what a request about a task is for: the tool that made it, which its caller must
// still be permitted to call. sess is that of a client of 2025-11-25.
func (x *request) task(id string, owner task.Owner, called bool) (mcp.Tool, error) {
	found, ok, err := x.caller().Tasks().Find(id, owner, called)
	if p, ok := errors.AsType[*problem.Error](err); ok {
		return nil, &mcp.Error{Code: codeInternal, Message: p.Detail + ": " + p.Remedy}
	}
	if err != nil || !ok {
		return nil, err // nil: there is no such task
	}
	x.key, x.about = found.Name, found
	if x.tool, err = x.ts.Tool([]byte(found.Tool)); err != nil || x.tool == nil || !x.pass.Sees(found.Tool) {
		return nil, err
	}
	if called && !x.tool.MayTask() || !called && !x.tool.MakesTasks() || x.tool.Binding.Name != found.Server {
		return nil, nil //nolint:nilnil // as above
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

// taskOwner is whose the tasks of a request are.
func (x *request) taskOwner(p *mcp.CallParams) task.Owner {
	return task.OwnerOf(x.ts.ID, x.pass.Principal().Key(), p.SessionKey())
}

// beginTask refuses a call that is to be a task and cannot be, and names tasks for its stream.
func (x *request) beginTask(p *mcp.CallParams) error {
	if len(p.Task) > 0 {
		switch {
		case x.tool == nil || !x.tool.MayTask():
			return &mcp.Error{Code: codeMethodNotFound, Message: "this tool cannot run as a task: call it without the parameter task"}
		case !x.caller().Tasks().Room(x.taskOwner(p)):
			return &mcp.Error{Code: codeInternal, Message: "too many tasks are kept here: wait until some are over"}
		}
	}
	if p.Stream == nil || x.tool == nil || !x.tool.MayTask() {
		return nil
	}
	names := x.caller().Tasks().Names(x.taskOwner(p), x.tool.Binding.Name)
	if p.Method == mcp.MethodTasksResult && x.about.Token != "" {
		p.Reported = x.about.OwnToken
		p.Stream.OfTasks(names, x.about.OwnToken, []byte(x.about.Token))
	} else {
		p.Stream.OfTasks(names, 0, nil)
	}
	return nil
}

// noTask is the error of a call that was to be a task and failed before it was one: clients expect
// a task or an error. members are those of the result.
func noTask(members []byte) error {
	e := &mcp.Error{Code: codeInternal, Message: "the call failed"}
	result := jsonscan.Trusted(append(append([]byte{'{'}, members...), '}'))
	for it := result.Get("content").Elements(); it.Next(); {
		if text := it.Value().Get("text"); text.Kind() == jsonscan.String {
			e.Message = string(text.AppendText(nil))
			break
		}
	}
	return e
}

// listTasks appends a page of the caller's tasks, each as its server says now.
func (x *request) listTasks(p *mcp.CallParams, dst []byte) (out, meta []byte, err error) {
	var cursor string
	switch c := p.Params.Get("cursor"); c.Kind() {
	case jsonscan.Missing, jsonscan.Null:
	case jsonscan.String:
		cursor = string(c.AppendText(nil))
	default:
		cursor = "none"
	}
	owner := x.taskOwner(p)
	ids, next, ok := x.caller().Tasks().Page(owner, cursor)
	if !ok {
		return nil, nil, &mcp.Error{Code: codeInvalidParams, Message: "unknown cursor: ask for the first page again"}
	}
	out = append(dst, `"tasks":[`...)
	mark := len(out)
	for _, id := range ids {
		tool, err := x.task(id, owner, true)
		if err != nil {
			return nil, nil, err
		}
		if tool == nil || !x.permits(x.tool.Name) {
			continue
		}
		get := mcp.CallParams{
			ID: p.ID, Method: mcp.MethodTasksGet, Meta: p.Meta, Version: p.Version, Session: p.Session,
			Params: jsonscan.Trusted(append(jsonscan.AppendStringOf([]byte(`{"taskId":`), id), '}')),
		}
		said, _, err := x.Call(&get, nil)
		if _, known := errors.AsType[*mcp.Error](err); known {
			continue // the server forgot it, or does not say
		}
		if err != nil {
			return nil, nil, err
		}
		if len(out) > mark {
			out = append(out, ',')
		}
		out = append(append(append(out, '{'), said...), '}')
	}
	out = append(out, ']')
	if next != "" {
		out = jsonscan.AppendStringOf(append(out, `,"nextCursor":`...), next)
	}
	return out, nil, nil
}
