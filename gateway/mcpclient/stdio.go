package mcpclient

import (
	"regexp"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/problem"
)

// remedyHeader has the remedy of an answer of the front of a command, when no server
// gave it: its body says what is wrong. See gateway/process.
const remedyHeader = "Sluice-Remedy"

// commandID is what names a command in its address.
var commandID = regexp.MustCompile(`^c[0-9a-f]{32}$`)

// stdioEndpoint is where a command is.
func stdioEndpoint(id string) (*Endpoint, error) {
	if !commandID.MatchString(id) {
		return nil, problem.New(problem.InvalidArgument, "the address of the MCP server names no command of a node")
	}
	base := upstream.StdioBase(id)
	return &Endpoint{base: base, origin: base, target: "/", text: base.Origin(), stdio: true}, nil
}

// client is what reaches the server of a target.
func (c *Client) client(t *Target) (*upstream.Client, error) {
	switch {
	case !t.Endpoint.stdio:
		return c.http, nil
	case c.commands == nil:
		return nil, problem.New(problem.Unsupported, "this MCP server is a local command, and this node does not run commands").
			Fix("start the node that it was added to with --allow-commands")
	}
	return c.commands, nil
}

// commandFault is what the front of a command says instead of a server; nil: nothing.
func (x *Exchange) commandFault(t *Target) error {
	remedy := x.Header(remedyHeader)
	if !t.Endpoint.stdio || remedy == nil {
		return nil
	}
	kind := problem.Unavailable
	if x.Status() == fasthttp.StatusBadGateway {
		kind = problem.UpstreamStatus
	}
	p := problem.New(kind, "%s", clip(x.http.Body(), maxMessage))
	p.Remedy = clip(remedy, maxMessage)
	return p
}
