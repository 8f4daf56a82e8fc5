package call

import (
	"bytes"
	"fmt"

	"github.com/sluicegate/sluice/gateway/ask"
	"github.com/sluicegate/sluice/gateway/errorbody"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/manifest"
)

const (
	// maxFaultData is the longest data of a server's JSON-RPC error that is passed on: lists of
	// capabilities, addresses to open and faults of single arguments are far shorter.
	maxFaultData = 64 << 10
	// maxOpened is how many addresses one error may want opened.
	maxOpened = 16
)

// errorKey is the member of a result's _meta with the JSON-RPC error that the result reports.
const errorKey = "dev.sluice/error"

// faultMCP turns a server's JSON-RPC error into a text for the agent and a member of _meta for
// its client, or into an error for that client where it can do something about it.
func (x *exchange) faultMCP(a *rendering) error {
	f := x.server().Fault()
	e := x.faultOf(f)
	if f.Code == mcp.CodeURLElicitation && !x.redacts() && x.opens() {
		if x.request.Session != nil {
			x.refuse(e)
			return nil
		}
		if question := openFirst(e.Data); question != nil {
			return x.inputRequired(jsonscan.Trusted(question))
		}
	}
	// What a client answered to the server's questions is between the two.
	answers := x.request != nil && x.server().Modern && (x.request.RequestState.Exists() || x.request.InputResponses.Exists())
	if answers || f.Code == mcp.CodeMissingCapability && x.request != nil && x.request.Modern() {
		x.refuse(e)
		return nil
	}
	b := append(x.failure[:0], "The MCP server refused the call: "...)
	b = append(b, e.Message...)
	b = fmt.Appendf(b, " (code %d).", f.Code)
	switch f.Code {
	case mcp.CodeMissingCapability:
		b = append(b, " It has to ask the user something during the call, and this client did not say in a session that it can answer."...)
	case mcp.CodeURLElicitation:
		b = append(b, " The user has to open an address first, and this client did not say that it can show one: it is in the data."...)
	case codeNoMethod, codeInvalidParams:
		b = append(b, " Either the arguments do not fit, or the server no longer has this tool as it was when the toolset was made."...)
	}
	switch {
	case len(f.Data) > maxFaultData:
		b = fmt.Appendf(b, " Its data of %d bytes is left out: more than %d KiB.", len(f.Data), maxFaultData>>10)
	case len(e.Data) > 0 && !bytes.Equal(e.Data, null):
		b = append(b, " Data: "...)
		b = media.AppendClipped(b, readable(e.Data), errorbody.Max)
	}
	x.meta = x.appendFault(nil, e)
	a.why = "the MCP server refused the call"
	a.fail(b)
	return nil
}

var null = []byte("null")

// faultOf is a JSON-RPC error of the server as somebody outside may see it: without hidden
// characters and credentials, and as the filters leave it.
func (x *exchange) faultOf(f *mcpclient.Fault) *mcp.Error {
	e := &mcp.Error{Code: int(f.Code), Message: f.Message, Data: passedData(f.Data)}
	if x.redacts() {
		x.faultFiltered(e, f.Text())
	}
	e.Message = string(x.bound.Redact([]byte(textfilter.Clean(e.Message))))
	if len(e.Data) > 0 {
		e.Data = x.bound.Redact(textfilter.AppendJSON(nil, e.Data)) // what such characters split is together now
	}
	return e
}

// passedData is a copy of an error's data, if that is not too long.
func passedData(data []byte) []byte {
	if len(data) > maxFaultData {
		return nil
	}
	return bytes.Clone(data)
}

// faultFiltered is what is said of a server's JSON-RPC error: its message, and its data
// where that can be shown.
func (x *exchange) faultFiltered(f *mcp.Error, message []byte) {
	f.Message = string(x.answer.appendFiltered(nil, message, errorbody.Max))
	if len(f.Data) == 0 {
		return
	}
	x.scratch.item = append(x.scratch.item[:0], f.Data...)
	out, is, err := x.answer.filter(x.scratch.item, manifest.TypeJSON, partError)
	if f.Data = nil; err == nil && is == manifest.TypeJSON {
		f.Data = bytes.Clone(out)
	}
}

// refuse ends the call with an error for its client.
func (x *exchange) refuse(e *mcp.Error) { x.refusal, x.members = e, []byte{} }

// opens reports whether the client declared that it shows its user an address to open.
func (x *exchange) opens() bool {
	var declared jsonscan.Value
	switch r := x.request; {
	case r == nil:
	case r.Modern():
		declared = r.ClientCapabilities()
	case r.Session != nil:
		declared = jsonscan.Trusted(orNull(r.Session.Client().Capabilities))
	}
	return ask.Declares(declared, methodElicit, jsonscan.Trusted([]byte(`{"mode":"url"}`)))
}

const methodElicit = "elicitation/create"

// openFirst is the result that asks a client of 2026-07-28 for what an error of an older server
// wants opened; nil: the error does not say.
func openFirst(data []byte) []byte {
	b := []byte(`{"resultType":"input_required","inputRequests":{`)
	mark, n := len(b), 0
	for it := jsonscan.Trusted(orNull(data)).Get("elicitations").Elements(); it.Next(); {
		if n++; n > maxOpened || !it.Value().Get("mode").EqualText("url") {
			return nil
		}
		request := append([]byte(`{"method":"`+methodElicit+`","params":`), it.Value().Raw()...)
		b = jsonscan.AppendMember(b, mark, fmt.Appendf(nil, "request-%d", n), append(request, '}'))
	}
	if n == 0 {
		return nil
	}
	return append(b, '}', '}')
}

// appendFault appends the member of _meta that has an error as the server sent it.
func (x *exchange) appendFault(dst []byte, e *mcp.Error) []byte {
	dst = fmt.Appendf(dst, `"%s":{"code":%d,"message":`, errorKey, e.Code)
	dst = jsonscan.AppendStringOf(dst, e.Message)
	if len(e.Data) > 0 {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, '}')
}

// readable is JSON as a text shows it: a string as it is, and the rest in one line.
func readable(data []byte) []byte {
	v := jsonscan.Trusted(data)
	if v.Kind() == jsonscan.String {
		return v.AppendText(nil)
	}
	return jsonscan.AppendMinified(nil, data)
}
