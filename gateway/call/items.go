package call

import (
	"bytes"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// JSON-RPC error codes.
const (
	codeNoMethod      = -32601
	codeInvalidParams = -32602
	codeInternal      = -32603
)

// prepareItem fills in a request about a prompt or a resource: the client's own
// parameters, in which the server's name of it takes the place of ours.
func (x *exchange) prepareItem() {
	r := x.request
	k := &x.call
	*k = mcpclient.Call{Method: r.Method.String(), Tool: x.key, Repeatable: true}
	key := "name"
	switch r.Method {
	case mcp.MethodResourcesRead, mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		key = "uri"
	case mcp.MethodComplete:
		key, k.Tool = "ref", ""
	}
	b := x.beside[:0]
	for it := r.Params.Members(); it.Next(); {
		switch {
		case it.KeyEqual("_meta"), it.KeyEqual("inputResponses"), it.KeyEqual("requestState"):
		case it.KeyEqual(key) && key == "ref":
			b = x.appendRef(jsonscan.AppendKey(b, 0, it.Key()), it.Value())
		case it.KeyEqual(key):
			b = jsonscan.AppendStringOf(jsonscan.AppendKey(b, 0, it.Key()), x.key)
		default:
			b = jsonscan.AppendMember(b, 0, it.Key(), it.Value().Raw())
		}
	}
	x.beside, k.Params = b, b
}

// appendRef appends what a completion is about.
func (x *exchange) appendRef(dst []byte, ref jsonscan.Value) []byte {
	dst = append(dst, '{')
	mark := len(dst)
	for it := ref.Members(); it.Next(); {
		if it.KeyEqual("name") || it.KeyEqual("uri") {
			dst = jsonscan.AppendStringOf(jsonscan.AppendKey(dst, mark, it.Key()), x.key)
		} else {
			dst = jsonscan.AppendMember(dst, mark, it.Key(), it.Value().Raw())
		}
	}
	return append(dst, '}')
}

// itemMCP makes the members of the caller's result: the server's own bytes, but for what
// its revision has and the client's has not, or the other way round.
func (x *exchange) itemMCP(body []byte) error {
	whole := x.render(x.received)
	if f := x.server().Fault(); f != nil {
		whole.isError = true
		x.refuseItem(f)
		return nil
	}
	x.written = x.written[:0]
	result := jsonscan.Trusted(body)
	kind := result.Get("resultType")
	switch {
	case !kind.Exists(), kind.EqualText("complete"):
	case kind.EqualText("input_required") && x.request.Method != mcp.MethodComplete:
		return x.inputRequired(result)
	default:
		return problem.New(problem.Unsupported, "the MCP server answered with an unknown kind of result").
			Fix("update the gateway")
	}
	if err := x.checkItem(result); err != nil {
		return err
	}
	whole.hidden = x.request.Method == mcp.MethodResourcesRead && mcp.IsPage(result) // a table of a script may have control characters
	var meta jsonscan.Value
	caches := x.request.Method == mcp.MethodResourcesRead && x.request.Modern()
	ttl := []byte("0")
	for it := result.Members(); it.Next(); {
		switch v := it.Value(); {
		case it.KeyEqual("resultType"), it.KeyEqual("cacheScope"):
		case it.KeyEqual("_meta"):
			meta = v
		case it.KeyEqual("ttlMs"):
			if n, ok := v.Int64(); ok && n >= 0 {
				ttl = v.Raw()
			}
		default:
			x.written = x.appendPart(x.written, it.Key(), v)
		}
	}
	if caches { // another caller may read something else (MCP 2026-07-28 "Caching")
		x.written = jsonscan.AppendMember(x.written, 0, []byte("ttlMs"), ttl)
		x.written = jsonscan.AppendMember(x.written, 0, []byte("cacheScope"), []byte(`"private"`))
	}
	x.out.Status = 200
	x.takeMeta(meta)
	whole.text = x.members
	return nil
}

// checkItem refuses a result that is not as the protocol has it.
func (x *exchange) checkItem(result jsonscan.Value) error {
	member, want := "contents", jsonscan.Array
	switch x.request.Method {
	case mcp.MethodPromptsGet:
		member = "messages"
	case mcp.MethodComplete:
		member, want = "completion", jsonscan.Object
	case mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		return nil // whatever it is, nothing depends on it
	}
	v := result.Get(member)
	if meta := result.Get("_meta"); v.Kind() == want && (!meta.Exists() || meta.Kind() == jsonscan.Object) && v.Len() <= maxContentItems {
		return nil
	}
	return problem.New(problem.UpstreamMalformed, "the result of the MCP server is malformed: %s", member).Fix("look at the log of the server")
}

// appendPart appends a member of a result. URIs in it that clients know under another
// name get that one.
func (x *exchange) appendPart(dst, key []byte, v jsonscan.Value) []byte {
	if !x.tool.ForeignURIs() {
		return jsonscan.AppendMember(dst, 0, key, v.Raw())
	}
	return mcp.AppendPublic(jsonscan.AppendKey(dst, 0, key), v, x.tool.PublicURI)
}

// publishLinks gives the URIs in the content of a tool's result the names under which
// clients can read them.
func (x *exchange) publishLinks() {
	if !x.tool.ForeignURIs() || !bytes.Contains(x.members, []byte(`"uri"`)) {
		return
	}
	var out []byte
	for it := jsonscan.Trusted(append(append([]byte{'{'}, x.members...), '}')).Members(); it.Next(); {
		if it.KeyEqual("content") {
			out = mcp.AppendPublic(jsonscan.AppendKey(out, 0, it.Key()), it.Value(), x.tool.PublicURI)
		} else {
			out = jsonscan.AppendMember(out, 0, it.Key(), it.Value().Raw())
		}
	}
	x.members = out
}

// refuseItem passes an error of the server on to the client. That there is no such
// resource has a code of its own in the older revisions.
func (x *exchange) refuseItem(f *mcpclient.Fault) {
	e := x.faultOf(f)
	if x.request.Method != mcp.MethodPromptsGet && x.request.Method != mcp.MethodComplete {
		missing := jsonscan.Trusted(orNull(e.Data)).Get("uri").Exists()
		switch {
		case x.request.Modern() && f.Code == mcp.CodeNoResource:
			e.Code = codeInvalidParams
		case !x.request.Modern() && f.Code == codeInvalidParams && missing:
			e.Code = mcp.CodeNoResource
		}
		if missing && x.tool.ForeignURIs() {
			e.Data = mcp.AppendPublic(nil, jsonscan.Trusted(e.Data), x.tool.PublicURI)
		}
	}
	x.refusal = e
}

func orNull(b []byte) []byte {
	if len(b) == 0 {
		return null
	}
	return b
}

// itemResult writes the result, or makes what failed an error of the protocol: there is
// no other way to tell it of a prompt or a resource.
func (x *exchange) itemResult() error {
	switch {
	case x.refusal != nil:
	case x.failed != nil:
		x.failure = appendProblem(x.failure[:0], x.failed)
		if x.link != "" {
			x.failure = appendLink(x.failure, x.link)
		}
		x.answer.text = x.failure
		x.refusal = &mcp.Error{Code: codeInternal, Message: string(x.failure)}
		if x.failed.Kind == problem.InvalidArguments {
			x.refusal.Code = codeInvalidParams
		}
	default:
		mark := len(x.dst)
		x.dst = append(x.dst, x.members...)
		x.stripResult(mark, 0, 0)
	}
	return nil //nolint:nilerr // the failure is written
}
