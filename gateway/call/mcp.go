package call

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// sendMCP calls the tool of an MCP server, again when its credential could be
// renewed.
func (x *exchange) sendMCP() error {
	x.usedMCP, x.asked = true, true
	if x.c.mcp == nil {
		return problem.New(problem.Unavailable, "this node does not call MCP servers")
	}
	x.prepareMCP()
	err := x.askMCP()
	if refused, ok := errors.AsType[*mcpclient.AuthError](err); ok && refused.Status == fasthttp.StatusUnauthorized && x.renewTokens() {
		err = x.askMCP()
	}
	if refused, ok := errors.AsType[*mcpclient.AuthError](err); ok {
		x.status = refused.Status
		if x.mustLogin != nil {
			return x.mustLogin
		}
		if err := x.stepUp(refused.Challenge); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	x.status = fasthttp.StatusOK
	x.body = x.mcp.Result().Raw() // without the credentials, which some servers repeat
	x.out.Bytes = len(x.body)
	return nil
}

// askMCP makes the call as it is.
func (x *exchange) askMCP() error {
	m, b := x.ready.MCP, x.tool.Binding
	t := mcpclient.Target{
		Endpoint: m.Endpoint, Hint: m.Hint, Owner: x.sessionOwner(), Certificate: x.client(),
		Deadline: x.deadline, MaxBody: x.ts.MaxBody, Cancel: x.cancel, Scope: x.c.scope(x.ts.ID),
	}
	if !m.Stateless {
		t.Caller, t.Once = x.principal, x.principal == ""
	}
	if len(x.creds) > 0 {
		// The session may outlive the call, and so the credentials of its requests.
		t.Auth = &credentials.Bound{Rules: slices.Clone(x.rules), Values: slices.Clone(x.creds)}
	}
	b.Meter.Begin()
	begin := time.Now()
	err := x.c.mcp.Call(&x.mcp, &t, &x.remote)
	took := time.Since(begin)
	x.upstream += took
	status := x.mcp.Status()
	if problem.Is(err, problem.Unreachable) || problem.Is(err, problem.Timeout) {
		status = 0
	}
	b.Meter.Exchange(status, took.Seconds())
	return err
}

// prepareMCP fills in what is asked of the server: the arguments, and of the request of
// the client what concerns the server. Neither the client's credential nor what it
// says to this gateway is passed on.
func (x *exchange) prepareMCP() {
	k, args := &x.remote, x.ready.MCP.Arguments(x.args)
	*k = mcpclient.Call{Tool: x.ready.MCP.Tool, Arguments: args.Raw(), Repeatable: x.ready.MCP.Repeatable}
	x.repeats = x.repeats[:0]
	for i := range x.ready.MCP.Headers {
		h := &x.ready.MCP.Headers[i]
		v := args
		for _, name := range h.Path {
			v = v.Get(name)
		}
		if v.Exists() && v.Kind() != jsonscan.Null {
			x.repeats = append(x.repeats, mcpclient.Header{Name: h.Header, Value: v.AppendText(nil)})
		}
	}
	k.Headers = x.repeats
	r := x.call
	if r == nil {
		return
	}
	x.pass = appendPassed(x.pass[:0], r.Meta)
	mark := len(x.pass)
	if r.Modern() {
		x.pass = appendCapabilities(x.pass, r.ClientCapabilities())
		end := len(x.pass)
		x.pass, k.InputResponses = answersForServer(x.pass, r.InputResponses)
		k.RequestState = r.RequestState.Raw()
		k.Meta, k.Capabilities = x.pass[:mark], x.pass[mark:end]
	} else {
		k.Meta, k.Capabilities = x.pass[:mark], x.pass[mark:]
	}
	if r.Stream == nil {
		return
	}
	k.Progress, k.Notify = r.Stream.WantsProgress(), r.Stream.Relay
	if x.closed() {
		k.Notify = x.progressOnly
		return
	}
	switch {
	case !r.Stream.Wants(mcp.LevelEmergency):
	case r.Modern():
		k.LogLevel = r.LogLevel().Raw()
	default:
		k.LogLevel = levelInfo
	}
}

// levelInfo is what clients are told that named no level.
var levelInfo = []byte(`"info"`)

// appendPassed appends the members of a client's _meta that are meant for the
// server: those of the protocol are made anew, ours are for us.
func appendPassed(dst []byte, meta jsonscan.Value) []byte {
	mark := len(dst)
	for it := meta.Members(); it.Next(); {
		key := it.Key()
		if bytes.HasPrefix(key, []byte("io.modelcontextprotocol/")) || bytes.HasPrefix(key, []byte("dev.sluice/")) || it.KeyEqual("progressToken") {
			continue
		}
		if len(dst) > mark {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), key...), `":`...)
		dst = append(dst, it.Value().Raw()...)
	}
	return dst
}

// appendCapabilities appends what a client can be asked by way of a result. Other
// capabilities, such as extensions, need methods that are not served here.
func appendCapabilities(dst []byte, declared jsonscan.Value) []byte {
	dst = append(dst, '{')
	mark := len(dst)
	for _, name := range [...]string{"sampling", "elicitation", "roots"} {
		v := declared.Get(name)
		if !v.Exists() {
			continue
		}
		if len(dst) > mark {
			dst = append(dst, ',')
		}
		dst = append(append(append(append(dst, '"'), name...), `":`...), v.Raw()...)
	}
	return append(dst, '}')
}

// sessionOwner separates toolsets, different credentials, and different values of one.
// A session that all callers share is none of the same toolset when the operator takes
// the word back.
func (x *exchange) sessionOwner() string {
	owner := x.ready.MCP.Owner
	if x.ready.MCP.Stateless {
		owner += "/stateless"
	}
	if len(x.creds) == 0 {
		return owner
	}
	b := []byte(owner)
	if x.personal() {
		b = append(append(b, '/'), hex.EncodeToString([]byte(x.principal))...)
	}
	for i := range x.creds {
		b = append(append(b, '/'), x.rules[i].ID...)
		var version [8]byte
		binary.BigEndian.PutUint64(version[:], x.creds[i].Version)
		b = hex.AppendEncode(append(b, '/'), version[:])
	}
	return string(b)
}

func (x *exchange) resetMCP() {
	x.mcp.Reset()
	x.remote = mcpclient.Call{}
	clear(x.repeats)
	clear(x.parts) // a large answer is let go
	x.repeats, x.parts = x.repeats[:0], x.parts[:0]
	x.pass, x.written = keep(x.pass), keep(x.written)
}
