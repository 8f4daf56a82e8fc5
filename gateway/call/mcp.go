package call

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/internal/cdnloop"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// sendMCP calls the tool of an MCP server, again when its credential could be
// renewed. What was received is returned with an error too.
func (x *exchange) sendMCP(args jsonscan.Value) (r received, err error) {
	x.asked = true
	if x.c.mcp == nil {
		return r, problem.New(problem.Unavailable, "this node does not call MCP servers")
	}
	x.markMCP(args)
	x.prepareMCP(args)
	err = x.roundsMCP()
	if refused, ok := errors.AsType[*mcpclient.AuthError](err); ok && refused.Status == fasthttp.StatusUnauthorized && x.renewTokens() {
		err = x.roundsMCP()
	}
	if refused, ok := errors.AsType[*mcpclient.AuthError](err); ok {
		r.status = refused.Status
		if x.mustLogin != nil {
			return r, x.mustLogin
		}
		if err := x.stepUp(refused.Challenge); err != nil {
			return r, err
		}
	}
	if err != nil {
		return r, err
	}
	if x.question != nil {
		r.status, r.body = fasthttp.StatusOK, x.question
		return r, nil
	}
	r.status, r.body = fasthttp.StatusOK, x.server().Result().Raw() // without the credentials, which some servers repeat
	x.out.Bytes = len(r.body)
	return r, nil
}

// askMCP makes the call as it is.
func (x *exchange) askMCP() error {
	t, b := x.targetMCP(), x.tool.Binding
	b.Meter.Begin()
	span := x.spanMCP()
	begin := time.Now()
	var err error
	if t.Capabilities != nil && x.canBeAsked() && t.Hint.Protocol != "" && t.Hint.Protocol < mcp.V20260728.String() {
		err = x.callPausing(&t)
	} else {
		err = x.c.mcp.Call(&x.mcp, &t, &x.call)
	}
	took := time.Since(begin)
	x.upstream += took
	if d := x.mcp.Deadline(); d.After(x.deadline) {
		x.deadline = d
	}
	status := x.server().Status()
	if problem.Is(err, problem.Unreachable) || problem.Is(err, problem.Timeout) {
		status = 0
	}
	cdnloop.Answered(x.ctx, status)
	span.EndExchange(status, faultWord(err))
	b.Meter.Exchange(status, took.Seconds())
	return err
}

// targetMCP is the server as the caller sees it.
func (x *exchange) targetMCP() mcpclient.Target {
	m := x.ready.MCP
	t := mcpclient.Target{
		Endpoint: m.Endpoint, Hint: m.Hint, Owner: x.sessionOwner(), Certificate: x.clientCertificate(),
		Deadline: x.deadline, Idle: x.limit, Latest: x.latest, MaxBody: x.maxBody, Cancel: x.cancel, Scope: x.c.scope(x.ts.ID), Loop: cdnloop.Sent(x.ctx),
	}
	if !m.Stateless {
		t.Caller, t.Once = x.principalKey, x.principalKey == ""
		if r := x.request; r != nil && r.Session != nil {
			if t.Caller, t.Once, t.Session = r.Session.Key(), false, true; r.Session.Pooled() {
				t.Shared = r.Session
			}
			if !x.redacts() {
				t.Capabilities = r.Session.Client().Capabilities
			}
		} else if t.Capabilities = x.declared(); t.Capabilities != nil {
			t.Caller += "\x00" + string(t.Capabilities) // it is said once in a session
		}
	}
	if len(x.bound.Values) > 0 {
		// The session may outlive the call, and so the credentials of its requests.
		t.Auth = &credentials.Bound{Rules: slices.Clone(x.bound.Rules), Values: slices.Clone(x.bound.Values)}
	}
	return t
}

// EndSession ends what MCP servers keep for the session of a client; see session.Session.Key.
// kept says that other nodes of the pool go on with it: then it is only forgotten here.
func (c *Caller) EndSession(key string, kept bool) {
	switch {
	case c.mcp == nil:
	case kept:
		c.mcp.ForgetCaller(key)
	default:
		c.mcp.EndCaller(key)
	}
}

// prepareMCP fills in what is asked of the server: the arguments, and of the request of
// the client what concerns the server. Neither the client's credential nor what it
// says to this gateway is passed on.
func (x *exchange) prepareMCP(args jsonscan.Value) {
	k := &x.call
	switch {
	case x.tool.Item != nil:
		x.prepareItem()
		x.prepareClient()
		return
	case x.aboutTask():
		*k = mcpclient.Call{}
		x.prepareTask()
		return
	}
	args = x.ready.MCP.Arguments(args)
	*k = mcpclient.Call{Tool: x.ready.MCP.Tool, Arguments: args.Raw(), Repeatable: x.ready.MCP.Repeatable, Task: x.ready.MCP.Task, AsTask: x.request.AsTask()}
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
	x.prepareClient()
}

// prepareClient fills in what concerns the client.
func (x *exchange) prepareClient() {
	k, r := &x.call, x.request
	if r == nil {
		return
	}
	x.pass = mcp.AppendPassed(x.pass[:0], r.Meta)
	mark := len(x.pass)
	if r.Modern() {
		x.pass = mcp.AppendCapabilities(x.pass, r.ClientCapabilities())
		end := len(x.pass)
		x.pass, k.InputResponses = answersForServer(x.pass, r.InputResponses)
		k.RequestState = r.RequestState.Raw()
		k.Meta, k.Capabilities, k.Tasks = x.pass[:mark], x.pass[mark:end], x.tool.Item == nil && x.takesTask()
	} else {
		k.Meta, k.Capabilities = x.pass[:mark], x.pass[mark:]
	}
	if r.Stream == nil {
		return
	}
	k.Progress, k.Notify = r.Stream.WantsProgress(), r.Stream.Relay
	if x.redacts() {
		k.Notify = r.Stream.ProgressOnly
		return
	}
	if r.Session != nil && len(r.Session.Client().Capabilities) > 0 {
		k.Ask, k.Capabilities, k.Roots = x.askClient, r.Session.Client().Capabilities, r.Session.Roots()
	}
	switch {
	case !r.Stream.Wants(mcp.LevelEmergency):
	case r.Modern():
		k.LogLevel = r.LogLevel().Raw()
	case r.Session != nil && r.Session.Level() != 0:
		k.LogLevel = strconv.AppendQuote(nil, mcp.Level(r.Session.Level()).String())
		k.SetLevel = k.LogLevel
	default:
		k.LogLevel = levelInfo
	}
}

// levelInfo is what clients are told that named no level.
var levelInfo = []byte(`"info"`)

// sessionOwner separates toolsets, different credentials, and different values of one.
// A session that all callers share is none of the same toolset when the operator takes
// the word back.
func (x *exchange) sessionOwner() string {
	owner := x.ready.MCP.Owner
	if x.ready.MCP.Stateless {
		owner += "/stateless"
	}
	if len(x.bound.Values) == 0 {
		return owner
	}
	b := []byte(owner)
	if x.personal() {
		b = append(append(b, '/'), hex.EncodeToString([]byte(x.principalKey))...)
	}
	for i := range x.bound.Rules {
		b = append(append(b, '/'), x.bound.Rules[i].ID...)
		var version [8]byte
		binary.BigEndian.PutUint64(version[:], x.bound.Values[i].Version)
		b = hex.AppendEncode(append(b, '/'), version[:])
	}
	return string(b)
}
