package mcp

import (
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// ExtensionTasks is the extension with which a call may be answered with a task (SEP-2663).
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// DeclaresTasks reports whether the client of a call declares that it can ask for a task.
func (c *CallParams) DeclaresTasks() bool { return c.Modern() && declaresTasks(c.Meta) }

func declaresTasks(meta jsonscan.Value) bool {
	return meta.Get(metaCapabilities).Get("extensions").Get(ExtensionTasks).Kind() == jsonscan.Object
}

// askTask answers a request about a task.
func (x *exchange) askTask(method Method, modern bool) {
	x.served.Method = method
	switch {
	case !modern:
		x.askItem(method, false)
	case !declaresTasks(x.msg.meta):
		x.failUndeclared()
	case method == MethodTasksUpdate && x.msg.params.Get("inputResponses").Kind() != jsonscan.Object:
		x.failf(x.paramStatus(true), codeInvalidParams, "missing or invalid parameter", []byte("inputResponses"))
	default:
		x.askItem(method, true)
	}
}

// failUndeclared answers a client that asks for tasks without declaring that it can.
func (x *exchange) failUndeclared() {
	x.failWith(&Error{
		Code: CodeMissingCapability, Message: "missing client capability: " + ExtensionTasks,
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + ExtensionTasks + `":{}}}}`),
	}, true)
}

// MetaRelatedTask says in a _meta which task a message belongs to (MCP 2025-11-25 "Related Task
// Metadata").
const MetaRelatedTask = "io.modelcontextprotocol/related-task"

// taskStatus says how far a task is.
const taskStatus = "notifications/tasks/status"

// serves reports whether the toolset has a method for the client. What clients of 2025-11-25 ask
// for of their tasks is another extension than what those of 2026-07-28 do.
func (x *exchange) serves(m Method, modern bool) bool {
	if modern || !m.OfTask() && m != MethodTasksList {
		return x.ts.Card().has[m]
	}
	return x.callsTasks() && m != MethodTasksUpdate && (m != MethodTasksCancel || x.ts.Card().cancelTasks)
}

// callsTasks reports whether the client may make a call a task.
func (x *exchange) callsTasks() bool {
	return x.session != nil && x.session.Client().Version == versionNames[V20251125] && x.ts.Card().callTasks
}

// readTask takes over what the client says of the task that its call is to be.
func (x *exchange) readTask(task jsonscan.Value) bool {
	switch ttl := task.Get("ttl"); {
	case !task.Exists():
		return true
	case task.Kind() != jsonscan.Object, ttl.Kind() != jsonscan.Missing && ttl.Kind() != jsonscan.Number && ttl.Kind() != jsonscan.Null:
		x.failf(fasthttp.StatusOK, codeInvalidParams, "missing or invalid parameter", []byte("task"))
		return false
	}
	x.call.Task = task.Raw()
	return true
}

// TaskNames gives the name that a client has for a task of another server; false: it has none.
// nil: it has none for any.
type TaskNames func(own string) (id string, ok bool)

func (n TaskNames) of(task jsonscan.Value) (id string, ok bool) {
	own := task.Get("taskId")
	if n == nil || own.Kind() != jsonscan.String {
		return "", false
	}
	return n(string(own.AppendText(nil)))
}

// OfNoTask returns an answer of a client without what it says of the task of a server to which it
// belongs, whose name there is another.
func OfNoTask(answer jsonscan.Value) jsonscan.Value { return TaskNames(nil).rename(answer) }

// rename returns params as they are for the client: in their _meta the task to which they belong
// has its name, and is left out when it has none.
func (n TaskNames) rename(params jsonscan.Value) jsonscan.Value {
	if !params.Get("_meta").Get(MetaRelatedTask).Exists() {
		return params
	}
	out := []byte{'{'}
	for it := params.Members(); it.Next(); {
		out = jsonscan.AppendKey(out, 1, it.Key())
		if !it.KeyEqual("_meta") || it.Value().Kind() != jsonscan.Object {
			out = append(out, it.Value().Raw()...)
			continue
		}
		out = append(out, '{')
		mark := len(out)
		for meta := it.Value().Members(); meta.Next(); {
			raw := meta.Value().Raw()
			if meta.KeyEqual(MetaRelatedTask) {
				id, ok := n.of(meta.Value())
				if !ok {
					continue
				}
				raw = append(jsonscan.AppendStringOf([]byte(`{"taskId":`), id), '}')
			}
			out = jsonscan.AppendMember(out, mark, meta.Key(), raw)
		}
		out = append(out, '}')
	}
	return jsonscan.Trusted(append(out, '}'))
}

// status returns what a server says of how far a task is as its client is told; false: it has no
// name for it.
func (n TaskNames) status(params jsonscan.Value) (jsonscan.Value, bool) {
	id, ok := n.of(params)
	if !ok {
		return params, false
	}
	out := []byte{'{'}
	for it := params.Members(); it.Next(); {
		raw := it.Value().Raw()
		if it.KeyEqual("taskId") {
			raw = jsonscan.AppendStringOf(nil, id)
		}
		out = jsonscan.AppendMember(out, 1, it.Key(), raw)
	}
	return n.rename(jsonscan.Trusted(append(out, '}'))), true
}

// OfTasks has the stream name tasks as its client does. What the server reports under the token
// own belongs to the call that made a task, whose client gave the token for it; nil: there is none.
func (s *Stream) OfTasks(names TaskNames, own uint64, token []byte) {
	if s != nil {
		s.tasks, s.ownToken, s.taskToken = names, own, token
	}
}
