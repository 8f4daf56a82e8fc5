package call

import (
	"bytes"
	"slices"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/task"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// Tasks are those that MCP servers made for callers.
func (c *Caller) Tasks() *task.Table { return &c.tasks }

func (x *exchange) taskOwner() task.Owner {
	return task.OwnerOf(x.ts.ID, x.principalKey, x.request.SessionKey())
}

// aboutTask reports whether the request is about a task that a tool made.
func (x *exchange) aboutTask() bool { return x.request != nil && x.request.Method.OfTask() }

// takesTask reports whether the server may answer with a task: its client can ask for it, and
// what has to see every byte of an answer would not see what comes later.
func (x *exchange) takesTask() bool {
	return x.request.DeclaresTasks() && x.tool.MakesTasks() && x.c.tasks.Room(x.taskOwner())
}

// prepareTask fills in a request about a task, in which the server's name of it takes the place
// of ours.
func (x *exchange) prepareTask() {
	x.call.Method, x.call.Tool, x.call.Repeatable = x.request.Method.String(), x.key, x.request.Method != mcp.MethodTasksCancel && x.request.Method != mcp.MethodTasksUpdate
	if x.request.Method == mcp.MethodTasksResult { // which waits until the task has ended
		x.deadline = x.latest
		x.call.Also = x.request.Reported
	}
	x.beside = jsonscan.AppendStringOf(append(x.beside[:0], `"taskId":`...), x.key)
	if answers := x.request.Params.Get("inputResponses"); answers.Exists() {
		x.beside = append(append(x.beside, `,"inputResponses":`...), answers.Raw()...)
	}
	x.call.Params = x.beside
	x.prepareClient()
	x.call.InputResponses, x.call.RequestState, x.call.Tasks = nil, nil, true
}

// taskStarted makes a task of the server the result of the call.
func (x *exchange) taskStarted(result jsonscan.Value) error {
	kept := task.Task{Owner: x.taskOwner(), Tool: x.tool.Name, Server: x.tool.Binding.Name, Called: len(x.call.AsTask) > 0, Session: x.request.SessionKey()}
	if kept.Called && x.call.Progress {
		kept.Token, kept.OwnToken = string(x.request.Meta.Get("progressToken").Raw()), x.mcp.ID()
	}
	var ok bool
	if x.written, ok = x.c.tasks.Start(x.written, kept, result); !ok {
		return problem.New(problem.UpstreamMalformed, "the MCP server answered with a task that is none, or too many tasks are open here").
			Fix("look at the log of the server, or wait until other tasks are over")
	}
	x.request.TaskStarted, x.out.Status = true, 200
	x.answer.text = x.written
	x.takeMeta(result.Get("_meta"))
	return nil
}

// taskMCP makes the members of the caller's result of what the server said of a task. What the
// tool answered in the end is a result as that of a call.
func (x *exchange) taskMCP(body []byte) error {
	whole := x.render(x.received)
	id := string(x.request.Params.Get("taskId").AppendText(nil))
	if f := x.server().Fault(); f != nil {
		whole.isError = true
		if x.refusal = x.faultOf(f); f.Code == codeInvalidParams && x.request.Method == mcp.MethodTasksGet {
			x.c.tasks.Forget(id, x.request.SessionKey())
		}
		return nil
	}
	if x.request.Method == mcp.MethodTasksResult {
		if err := x.contentMCP(body); err != nil {
			return err
		}
		x.meta = task.AppendRelated(slices.Clip(x.meta), id)
		return nil
	}
	said := jsonscan.Trusted(body)
	var inner []byte
	if x.request.Method == mcp.MethodTasksGet {
		if name, ok := task.Name(said); !ok || name != x.key {
			return badTask("taskId")
		}
		x.c.tasks.Keep(id, said)
		if result := said.Get("result"); result.Exists() {
			if kind := result.Get("resultType"); result.Kind() != jsonscan.Object || kind.Exists() && !kind.EqualText("complete") {
				return badTask("result")
			}
			if err := x.contentMCP(result.Raw()); err != nil {
				return err
			}
			inner = append(append(inner, '{'), x.members...)
			if len(x.meta) > 0 {
				inner = append(append(append(inner, `,"_meta":{`...), x.meta...), '}')
			}
			inner, x.meta = append(inner, '}'), nil
		}
	}
	x.written = task.AppendMembers(x.written[:0], said, id, "result")
	if inner != nil {
		x.written = jsonscan.AppendMember(x.written, 0, []byte("result"), inner)
	}
	x.out.Status = 200
	x.answer.text = bytes.Clone(x.written)
	x.takeMeta(said.Get("_meta"))
	return nil
}

func badTask(member string) error {
	return problem.New(problem.UpstreamMalformed, "what the MCP server says of the task is malformed: %s", member).Fix("look at the log of the server")
}
