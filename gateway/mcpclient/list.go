package mcpclient

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
)

const (
	// maxPages bounds the pages of one tools/list, so that a server whose cursor never
	// ends cannot hold the client.
	maxPages = 200
	// maxListed is how many tools are taken. Clients stop at 128.
	maxListed = 10_000
	// maxListBytes is the size of all definitions together.
	maxListBytes = 32 << 20
)

// Listing is what a server says of itself and its tools.
type Listing struct {
	connector.MCPServer
	// ListChanged says that the server tells of changes of its list.
	ListChanged bool
	// TTL is how long the list may be kept; 0: the server does not say.
	TTL time.Duration
}

// List reads the whole list of a server's tools. It fails as [Client.Call] does. A
// fault of the server is a [problem.CannotConnectMCP].
func (c *Client) List(x *Exchange, t *Target) (*Listing, error) {
	out := &Listing{}
	var cursor []byte
	size := 0
	for range maxPages {
		var agreed *link
		err := c.do(x, t, func(l *link) (*message, error) {
			agreed = l
			id := c.ids.Add(1)
			x.body = appendRequest(x.body[:0], id, "tools/list")
			if cursor != nil {
				x.body = append(append(x.body, `"cursor":`...), cursor...)
			}
			x.body = append(c.appendMeta(x.body, l, id, &Call{}), '}', '}')
			x.notify = nil
			return &message{method: "tools/list", id: id, body: x.body, repeatable: true}, nil
		})
		if err != nil {
			return nil, err
		}
		if f := x.Fault(); f != nil {
			if f.Code == codeMethodNotFound || !agreed.about.tools {
				return nil, problem.New(problem.CannotConnectMCP, "the MCP server at %s has no tools", shownURL(t)).
					Fix("only servers with tools can be put into a toolset")
			}
			return nil, problem.New(problem.CannotConnectMCP, "the MCP server at %s does not list its tools: %s", shownURL(t), f.Message).
				Fix("look at the log of the server")
		}
		a := &agreed.about
		out.URL, out.Transport, out.Protocol = t.Endpoint.text, agreed.transport(), agreed.version
		out.Name, out.Title, out.Version, out.Instructions, out.ListChanged = a.name, a.title, a.version, a.instructions, a.listChanged
		if ms, ok := x.Result().Get("ttlMs").Int64(); ok && ms > 0 {
			out.TTL = time.Duration(min(ms, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
		}
		for it := x.Result().Get("tools").Elements(); it.Next(); {
			raw := it.Value().Raw()
			if size += len(raw); len(out.Tools) == maxListed || size > maxListBytes {
				return nil, problem.New(problem.UpstreamTooLarge, "the MCP server at %s lists more than %d tools or %d MiB of them", shownURL(t), maxListed, maxListBytes>>20).
					Fix("ask its operator for a server with fewer tools")
			}
			out.Tools = append(out.Tools, json.RawMessage(bytes.Clone(raw)))
		}
		next := x.Result().Get("nextCursor")
		if next.Kind() != jsonscan.String || bytes.Equal(next.Raw(), cursor) {
			return out, nil
		}
		cursor = bytes.Clone(next.Raw())
	}
	return nil, problem.New(problem.UpstreamMalformed, "the list of tools of %s has no end", shownURL(t)).Fix("look at the log of the server")
}
