package mcpclient

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// everything is what a client can declare that changes what servers list, and untasked the same
// of a client that runs no tasks, as most do.
const (
	untasked   = `{` + questions + `}`
	everything = `{` + questions + `,"tasks":{"list":{},"cancel":{},"requests":{"elicitation":{"create":{}},"sampling":{"createMessage":{}}}}}`
	questions  = `"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}},"roots":{"listChanged":true}`
)

// alone has the capabilities one at a time, of manifest.ClientCapabilities. Elicitation by
// URL comes with that by form, and tasks with what they are of: what is listed with the form
// already does not need the URL. The last is everything without tasks.
var alone = [...]struct{ name, declared string }{
	{"elicitation", `{"elicitation":{"form":{}}}`},
	{"elicitation.url", `{"elicitation":{"form":{},"url":{}}}`},
	{"sampling", `{"sampling":{"context":{},"tools":{}}}`},
	{"roots", `{"roots":{"listChanged":true}}`},
	{"tasks.elicitation", `{"elicitation":{"form":{}},"tasks":{"list":{},"cancel":{},"requests":{"elicitation":{"create":{}}}}}`},
	{"tasks.sampling", `{"sampling":{"context":{},"tools":{}},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}}}}}`},
	{"", untasked},
}

// tasked is the first of alone that is about tasks.
const tasked = 4

// needs adds the tools that the server lists only to clients with capabilities, behind
// those that it lists to all, and what each needs: the first capability that is enough,
// else all of them, those of tasks only if it needs one.
func (c *Client) needs(out *Listing, t *Target) error {
	whole, err := c.toolsFor(t, everything)
	if err == nil && whole == nil { // it serves nobody who runs tasks
		whole, err = c.toolsFor(t, untasked)
	}
	if err != nil || whole == nil {
		return err
	}
	listed := map[string]bool{}
	for _, raw := range out.Tools {
		listed[connector.NameMCP(raw)] = true
	}
	var more []json.RawMessage
	for _, raw := range whole {
		if name := connector.NameMCP(raw); name != "" && !listed[name] && len(out.Tools)+len(more) < maxListed {
			more, listed[name] = append(more, raw), true
		}
	}
	if len(more) == 0 {
		return nil
	}
	var with [len(alone)][]json.RawMessage
	var errs [len(alone)]error
	var work sync.WaitGroup
	for i := range alone {
		work.Go(func() { with[i], errs[i] = c.toolsFor(t, alone[i].declared) })
	}
	work.Wait()
	out.Needs = map[string][]string{}
	for _, raw := range more {
		name := connector.NameMCP(raw)
		for i := range alone {
			if errs[i] != nil {
				return errs[i]
			}
			switch {
			case out.Needs[name] != nil || !has(with[i], name):
			case alone[i].declared == untasked:
				out.Needs[name] = slices.Clone(manifest.ClientCapabilities[:tasked])
			default:
				out.Needs[name] = []string{alone[i].name}
			}
		}
		if out.Needs[name] == nil {
			out.Needs[name] = slices.Clone(manifest.ClientCapabilities)
		}
	}
	out.Tools = between(out.Tools, more, whole)
	return nil
}

// between puts more behind what is in front of each in whole, or in front of all.
func between(all, more, whole []json.RawMessage) []json.RawMessage {
	const old, added = 1, 2
	kind := make(map[string]int, len(all)+len(more))
	for _, raw := range more {
		kind[connector.NameMCP(raw)] = added
	}
	for _, raw := range all {
		kind[connector.NameMCP(raw)] = old
	}
	behind, front := map[string][]json.RawMessage{}, ""
	for _, raw := range whole {
		switch name := connector.NameMCP(raw); kind[name] {
		case old:
			front = name
		case added:
			behind[front] = append(behind[front], raw)
			delete(kind, name)
		}
	}
	out := append(make([]json.RawMessage, 0, len(all)+len(more)), behind[""]...)
	for _, raw := range all {
		out = append(out, raw)
		if name := connector.NameMCP(raw); name != "" {
			out = append(out, behind[name]...)
			delete(behind, name) // of a name that is there twice the first counts
		}
	}
	return out
}

func has(tools []json.RawMessage, name string) bool {
	for _, raw := range tools {
		if connector.NameMCP(raw) == name {
			return true
		}
	}
	return false
}

// toolsFor lists the tools for a client with capabilities, in a session of its own; nil: the
// server does not list them to such a one, whom it then does not serve either.
func (c *Client) toolsFor(t *Target, capabilities string) ([]json.RawMessage, error) {
	own := *t
	own.Owner, own.Capabilities = t.Owner+"\x00"+capabilities, []byte(capabilities)
	own.Noticed = nil // it is a second look
	defer c.Forget(&own)
	var x Exchange
	var tools []json.RawMessage
	lists := lister{c: c, x: &x, t: &own}
	fault, err := lists.read("tools/list", "tools", &tools, nil)
	switch {
	case problem.Is(err, problem.Timeout), problem.Is(err, problem.Cancelled), problem.Is(err, problem.Unreachable), problem.Is(err, problem.Unavailable):
		return nil, err // who asks again may have all of them
	case err != nil, fault != nil:
		return nil, nil // it serves clients without them
	}
	return tools, nil
}

// varies reports whether a server can list other tools to other clients: it knows what one
// declares from the request, or remembers it.
func (l *link) varies() bool { return l.modern || l.stateful() }
