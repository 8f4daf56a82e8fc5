package mcp

import (
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// listTools answers tools/list. All tools are one page, so a cursor can only be
// one we never gave; an empty one asks for the first page.
func (x *exchange) listTools(modern bool) {
	x.served.Method = MethodToolsList
	if c := x.msg.params.Get("cursor"); c.Exists() && c.Kind() != jsonscan.Null && !c.EqualText("") {
		x.fail(&fault{status: x.paramStatus(modern), code: codeInvalidParams, text: "unknown cursor"})
		return
	}
	mark := len(x.out)
	x.out = appendHead(x.out, x.msg.id)
	if modern {
		x.out = append(x.out, `,"result":{"resultType":"complete",`...)
		x.out = append(x.out, x.ts.Card().meta...)
		x.out = append(x.out, `},"ttlMs":`...)
		x.out = appendInt(x.out, ListTTL)
		x.out = append(x.out, `,"cacheScope":"private","tools":`...)
	} else {
		x.out = append(x.out, `,"result":{"tools":`...)
	}
	out, err := x.ts.AppendTools(x.out)
	if err != nil {
		x.out = x.out[:mark]
		x.failInternal("tools/list", err)
		return
	}
	x.out = append(out, '}', '}')
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
	params, ok, err := x.ts.Select(text)
	switch {
	case err != nil:
		x.failInternal("tools/call", err)
		return
	case !ok:
		x.failf(x.paramStatus(modern), codeInvalidParams, "unknown tool", text)
		return
	}
	traced, _ := x.msg.meta.Get("dev.sluice/trace").Bool()
	x.call = CallParams{Arguments: args, Meta: x.msg.meta, Trace: traced, Version: x.served.Version}
	if modern && !x.checkParams(params) {
		return
	}
	mark := len(x.out)
	x.out = appendHead(x.out, x.msg.id)
	x.out = append(x.out, `,"result":{`...)
	if modern {
		x.out = append(x.out, `"resultType":"complete",`...)
	}
	out, meta, err := x.ts.Call(&x.call, x.out)
	if err != nil {
		x.out = x.out[:mark]
		x.failInternal("tools/call", err)
		return
	}
	x.out = out
	switch {
	case modern:
		x.out = append(x.out, ',')
		x.out = append(x.out, x.ts.Card().meta...)
		if meta != nil {
			x.out = append(x.out, ',')
			x.out = append(x.out, meta...)
		}
		x.out = append(x.out, '}')
	case meta != nil:
		x.out = append(x.out, `,"_meta":{`...)
		x.out = append(x.out, meta...)
		x.out = append(x.out, '}')
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
