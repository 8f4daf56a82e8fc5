package mcp

import "github.com/sluicegate/sluice/internal/jsonscan"

// ExtensionTasks is the extension with which a call may be answered with a task (SEP-2663).
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// DeclaresTasks reports whether the client of a call declares that it can ask for a task.
func (c *CallParams) DeclaresTasks() bool { return c.Modern() && declaresTasks(c.Meta) }

func declaresTasks(meta jsonscan.Value) bool {
	return meta.Get(metaCapabilities).Get("extensions").Get(ExtensionTasks).Kind() == jsonscan.Object
}

// askTask answers a request about a task.
func (x *exchange) askTask(method Method) {
	x.served.Method = method
	switch {
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
