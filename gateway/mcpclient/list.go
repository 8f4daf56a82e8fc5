package mcpclient

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
)

const (
	// maxPages bounds the pages of one tools/list, so that a server whose cursor never
	// ends cannot hold the client.
	maxPages = 200
	// maxListed is how many definitions are taken of one list. Clients stop at 128 tools.
	maxListed = 10_000
	// maxListBytes is the size of all definitions together.
	maxListBytes = 32 << 20
)

// Listing is what a server says of itself, its tools and what it has besides.
type Listing struct {
	connector.MCPServer
	// ListChanged says that the server reports changes of its lists.
	ListChanged bool
	// Unlisted are the lists that the server declares and does not give.
	Unlisted []connector.Refused
	// TTL is how long the list may be kept; 0: the server does not say.
	TTL time.Duration
}

// List reads the whole lists of a server. It fails as [Client.Call] does. A
// fault of the server is a [problem.CannotConnectMCP].
func (c *Client) List(x *Exchange, t *Target) (*Listing, error) {
	out := &Listing{}
	var agreed *link
	lists := lister{c: c, x: x, t: t}
	f, err := lists.read("tools/list", "tools", &out.Tools, func(l *link, result jsonscan.Value) {
		agreed = l
		if ms, ok := result.Get("ttlMs").Int64(); ok && ms > 0 {
			out.TTL = time.Duration(min(ms, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
		}
	})
	switch {
	case err != nil:
		return nil, err
	case f != nil && (f.Code == codeMethodNotFound || !agreed.about.tools):
		if !agreed.about.prompts && !agreed.about.resources {
			return nil, problem.New(problem.CannotConnectMCP, "the MCP server at %s has no tools, prompts or resources", shownURL(t)).
				Fix("only servers that have some can be put into a toolset")
		}
	case f != nil:
		return nil, problem.New(problem.CannotConnectMCP, "the MCP server at %s does not list its tools: %s", shownURL(t), f.Message).
			Fix("look at the log of the server")
	}
	a := &agreed.about
	out.URL, out.Transport, out.Protocol = t.Endpoint.text, agreed.transport(), agreed.version
	out.Name, out.Title, out.Version, out.Instructions, out.ListChanged = a.name, a.title, a.version, a.instructions, a.tells()
	out.Completions, out.Subscribe, out.Extensions = a.completions, a.subscribe, a.extensions
	out.Tasks = a.makesTasks && agreed.modern
	out.CallTasks, out.CancelTasks = a.tasks && !agreed.modern, a.tasks && a.cancelTasks && !agreed.modern
	if err := lists.items(out, a); err != nil {
		return out, err
	}
	out.Reads = a.resources && len(out.Items[manifest.Resources]) == 0 && len(out.Items[manifest.Templates]) == 0
	out.EmptyPrompts = a.prompts && len(out.Items[manifest.Prompts]) == 0
	if !agreed.varies() {
		return out, nil
	}
	return out, c.needs(out, t)
}

// lister reads the lists of a server, which are bounded together.
type lister struct {
	c    *Client
	x    *Exchange
	t    *Target
	size int
	last *link
}

// read appends the definitions of all pages of a list to out; seen gets the result of
// each page. A fault of the server ends it.
func (r *lister) read(method, member string, out *[]json.RawMessage, seen func(l *link, result jsonscan.Value)) (*Fault, error) {
	c, x, t := r.c, r.x, r.t
	var cursor []byte
	for range maxPages {
		err := c.do(x, t, func(l *link) (*message, error) {
			r.last = l
			id := c.ids.Add(1)
			x.body = appendRequest(x.body[:0], id, method)
			if cursor != nil {
				x.body = append(append(x.body, `"cursor":`...), cursor...)
			}
			x.body = append(c.appendMeta(x.body, l, id, &Call{Capabilities: t.Capabilities}), '}', '}')
			x.notify = nil
			return &message{method: method, id: id, body: x.body, repeatable: true}, nil
		})
		if err != nil {
			return nil, err
		}
		if seen != nil {
			seen(r.last, x.Result())
		}
		if f := x.Fault(); f != nil {
			return f, nil
		}
		for it := x.Result().Get(member).Elements(); it.Next(); {
			raw := it.Value().Raw()
			if r.size += len(raw); len(*out) == maxListed || r.size > maxListBytes {
				return nil, problem.New(problem.UpstreamTooLarge, "the MCP server at %s lists more than %d %s or %d MiB of them", shownURL(t), maxListed, member, maxListBytes>>20).
					Fix("ask its operator for a server with fewer of them")
			}
			*out = append(*out, bytes.Clone(raw))
		}
		if member == "tools" {
			t.notice(Notice{Tools: len(*out)})
		}
		next := x.Result().Get("nextCursor")
		if next.Kind() != jsonscan.String || bytes.Equal(next.Raw(), cursor) {
			return nil, nil
		}
		cursor = bytes.Clone(next.Raw())
	}
	return nil, problem.New(problem.UpstreamMalformed, "the list of %s of %s has no end", member, shownURL(t)).Fix("look at the log of the server")
}

// items reads the lists that the server declares besides its tools. One that it does not
// answer is empty, and said to be missing: its tools can be served all the same.
func (r *lister) items(out *Listing, a *about) error {
	for kind := range manifest.ItemKinds {
		method, declared := kind.List()+"/list", a.resources
		switch kind {
		case manifest.Prompts:
			declared = a.prompts
		case manifest.Templates:
			method = "resources/templates/list"
		}
		if !declared {
			continue
		}
		f, err := r.read(method, kind.List(), &out.Items[kind], nil)
		if err != nil {
			return err
		}
		if f != nil && f.Code != codeMethodNotFound {
			out.Items[kind] = nil
			out.Unlisted = append(out.Unlisted, connector.Refused{List: kind.List(), Reason: "the server does not list them: " + f.Message})
		}
	}
	return nil
}
