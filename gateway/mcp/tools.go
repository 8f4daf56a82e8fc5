package mcp

import (
	"errors"
	"slices"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// listTools answers tools/list. An empty cursor asks for the first page.
func (x *exchange) listTools(modern bool) {
	x.listPage(modern, MethodToolsList, "tools", func(cursor []byte) ([]byte, string, bool, error) {
		return x.ts.Tools(cursor, x.capabilities(modern))
	})
}

// listPage answers with a page of a list.
func (x *exchange) listPage(modern bool, method Method, member string, page func(cursor []byte) (list []byte, next string, ok bool, err error)) {
	x.served.Method = method
	var cursor []byte
	switch c := x.msg.params.Get("cursor"); c.Kind() {
	case jsonscan.Missing, jsonscan.Null:
	case jsonscan.String:
		x.text = c.AppendText(x.text[:0])
		cursor = x.text
	default:
		x.failCursor(modern)
		return
	}
	if len(cursor) == 0 {
		cursor = nil
	}
	list, next, ok, err := page(cursor)
	switch {
	case err != nil:
		x.failInternal(method.String(), err)
		return
	case !ok:
		x.failCursor(modern)
		return
	}
	x.out = appendHead(x.out, x.msg.id)
	if modern {
		x.out = append(x.out, `,"result":{"resultType":"complete",`...)
		x.out = append(x.out, x.ts.Card().meta...)
		x.out = append(x.out, `},"ttlMs":`...)
		x.out = appendInt(x.out, ListTTL)
		x.out = append(x.out, `,"cacheScope":"private",`...)
	} else {
		x.out = append(x.out, `,"result":{`...)
	}
	x.out = append(append(append(x.out, '"'), member...), `":`...)
	x.insertShared(list)
	if next != "" {
		x.out = append(x.out, `,"nextCursor":`...)
		x.out = jsonscan.AppendStringOf(x.out, next)
	}
	x.out = append(x.out, '}', '}')
}

func (x *exchange) failCursor(modern bool) {
	x.fail(&fault{status: x.paramStatus(modern), code: codeInvalidParams, text: "unknown cursor: ask for the first page again"})
}

// callTool answers tools/call.
func (x *exchange) callTool(modern bool) {
	x.served.Method = MethodToolsCall
	p := x.msg.params
	name, args := p.Get("name"), p.Get("arguments")
	if name.Kind() != jsonscan.String {
		x.failf(x.paramStatus(modern), codeInvalidParams, "missing or invalid parameter", []byte("name"))
		return
	}
	switch args.Kind() {
	case jsonscan.Object, jsonscan.Missing:
	case jsonscan.Null:
		args = jsonscan.Value{}
	default:
		x.failf(x.paramStatus(modern), codeInvalidParams, "missing or invalid parameter", []byte("arguments"))
		return
	}
	text, plain := name.Plain()
	if !plain {
		x.text = name.AppendText(x.text[:0])
		text = x.text
	}
	tool, params, err := x.ts.Tool(text)
	switch x.tool = tool; {
	case err != nil:
		x.failInternal("tools/call", err)
		return
	case tool == nil:
		x.failf(x.paramStatus(modern), codeInvalidParams, "unknown tool", text)
		return
	}
	traced, _ := x.msg.meta.Get("dev.sluice/trace").Bool()
	x.call = CallParams{ID: x.msg.id, Arguments: args, Meta: x.msg.meta, Trace: traced, Version: x.served.Version}
	if x.call.Session = x.session; !modern && x.callsTasks() && !x.readTask(p.Get("task")) {
		return
	}
	if modern {
		x.call.InputResponses, x.call.RequestState = p.Get("inputResponses"), p.Get("requestState")
	}
	if modern && !x.checkParams(params) {
		return
	}
	x.makeCall(modern)
}

// makeCall makes the call that is prepared, if its caller may.
func (x *exchange) makeCall(modern bool) {
	if !x.tool.Permit(x.call.Arguments) {
		x.fail(&faultScope)
		return
	}
	if x.call.Stream = x.newStream(modern); x.call.Stream != nil {
		x.taken = x.stream(x.call.Stream, func() { x.finishCall(modern) })
		return
	}
	x.finishCall(modern)
}

// finishCall makes the call and writes its response.
func (x *exchange) finishCall(modern bool) {
	if x.session != nil {
		defer x.session.Begin(x.msg.id, x.tool.Cancel).End()
	}
	mark := len(x.out)
	x.out = appendHead(x.out, x.msg.id)
	x.out = append(x.out, `,"result":{`...)
	kind := len(x.out)
	if modern {
		x.out = append(x.out, resultComplete...)
	}
	out, meta, err := x.tool.Call(&x.call, x.out)
	if err != nil {
		x.out = x.out[:mark]
		if e, ok := errors.AsType[*Error](err); ok {
			x.failWith(e, modern)
			return
		}
		x.failInternal(x.served.Method.String(), err)
		return
	}
	x.out = out
	switch {
	case modern && x.call.InputRequired:
		x.out = slices.Replace(x.out, kind, kind+len(resultComplete), []byte(resultInput)...)
	case modern && x.call.TaskStarted:
		x.out = slices.Replace(x.out, kind, kind+len(resultComplete), []byte(resultTask)...)
	}
	switch {
	case modern:
		x.out = append(appendComma(x.out), x.ts.Card().meta...)
		if meta != nil {
			x.out = append(x.out, ',')
			x.out = append(x.out, meta...)
		}
		x.out = append(x.out, '}')
	case meta != nil:
		x.out = append(appendComma(x.out), `"_meta":{`...)
		x.out = append(x.out, meta...)
		x.out = append(x.out, '}')
	}
	x.out = append(x.out, '}', '}')
}

// appendComma separates a member from those before it, if there are any.
func appendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == ',' {
		return dst
	}
	return append(dst, ',')
}

// What every result of 2026-07-28 begins with.
const (
	resultComplete = `"resultType":"complete",`
	resultInput    = `"resultType":"input_required",`
	resultTask     = `"resultType":"task",`
)

// failWith answers with an error of the toolset.
func (x *exchange) failWith(e *Error, modern bool) {
	x.status, x.served.Code = x.paramStatus(modern), e.Code
	x.out = appendErrorOpen(x.out, x.msg.id, &fault{code: e.Code, text: e.Message})
	if len(e.Data) > 0 {
		x.out = append(append(x.out, `,"data":`...), e.Data...)
	}
	x.out = append(x.out, '}', '}')
}

// paramStatus is the HTTP status of wrong parameters: the older revisions report
// every JSON-RPC error with 200.
func (x *exchange) paramStatus(modern bool) int {
	if modern {
		return fasthttp.StatusBadRequest
	}
	return fasthttp.StatusOK
}
