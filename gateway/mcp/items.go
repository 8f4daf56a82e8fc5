package mcp

import (
	"errors"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// CodeNoResource says in the older revisions that a resource is not there; since
// 2026-07-28 that is an invalid parameter.
const CodeNoResource = -32002

// items serves what a toolset may have besides tools; false when the method is none of
// that, or the toolset has nothing of the kind and so does not declare it.
func (x *exchange) items(modern bool) bool {
	method := MethodOther
	for m := MethodPromptsList; m < methodCount; m++ {
		if string(x.msg.method) == m.String() {
			method = m
		}
	}
	if method == MethodOther || !x.serves(method, modern) {
		return false
	}
	if (method == MethodSubscribe || method == MethodUnsubscribe) && (modern || x.session == nil) {
		return false // there is no stream to tell on, or it is asked for with subscriptions/listen
	}
	list := func(member string) {
		x.listPage(modern, method, member, func(cursor []byte) ([]byte, string, bool, error) {
			return x.ts.Items(cursor, method)
		})
	}
	switch method {
	case MethodPromptsList:
		list("prompts")
	case MethodResourcesList:
		list("resources")
	case MethodTemplatesList:
		list("resourceTemplates")
	case MethodTasksGet, MethodTasksUpdate, MethodTasksCancel:
		x.askTask(method, modern)
	default:
		x.askItem(method, modern)
	}
	return true
}

// askItem answers a request that names a prompt or a resource.
func (x *exchange) askItem(method Method, modern bool) {
	x.served.Method = method
	p := x.msg.params
	named := p.Get("name")
	switch method {
	case MethodResourcesRead, MethodSubscribe, MethodUnsubscribe:
		named = p.Get("uri")
	case MethodComplete:
		named = p.Get("ref").Get("type")
	case MethodTasksGet, MethodTasksUpdate, MethodTasksCancel, MethodTasksResult:
		named = p.Get("taskId")
	}
	if named.Kind() != jsonscan.String && method != MethodTasksList {
		x.fail(&fault{status: x.paramStatus(modern), code: codeInvalidParams, text: "the parameter that names what is asked for is missing or invalid"})
		return
	}
	x.call = CallParams{ID: x.msg.id, Method: method, Params: p, Meta: x.msg.meta, Version: x.served.Version, Session: x.session}
	item, err := x.ts.Item(&x.call)
	switch x.tool = item; {
	case err != nil:
		if known, ok := errors.AsType[*Error](err); ok {
			x.failWith(known, modern)
			return
		}
		x.failInternal(method.String(), err)
		return
	case item == nil:
		x.failUnknown(method, named, modern)
		return
	}
	if modern {
		x.call.InputResponses, x.call.RequestState = p.Get("inputResponses"), p.Get("requestState")
	}
	x.makeCall(modern)
}

// failUnknown answers a request for what the toolset does not have.
func (x *exchange) failUnknown(method Method, named jsonscan.Value, modern bool) {
	e := &Error{Code: codeInvalidParams, Message: "unknown prompt"}
	switch method {
	case MethodResourcesRead, MethodSubscribe, MethodUnsubscribe:
		e.Message = "unknown resource"
		if !modern {
			e.Code = CodeNoResource
		}
		e.Data = append(append([]byte(`{"uri":`), named.Raw()...), '}')
	case MethodTasksGet, MethodTasksUpdate, MethodTasksCancel, MethodTasksResult:
		e.Message = "unknown task: it is over, or it is another caller's"
	case MethodComplete:
		e.Message = "ref names neither a prompt nor a resource template of this toolset"
	}
	x.failWith(e, modern)
}
