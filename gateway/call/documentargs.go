package call

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/plugins/arazzo"
	"github.com/sluicegate/sluice/plugins/operation"
)

// ownHeaders are request headers that the gateway decides: a document may name them, as
// for runners that have no credentials of their own.
var ownHeaders = []string{"authorization", "content-type", "accept"}

// argumentsOf are the arguments of a tool that say what a step wants to send: the document
// speaks of parameters by place and name, and of a whole body.
func argumentsOf(ready *snapshot.Ready, c *arazzo.Call) ([]byte, error) {
	if ready.Plan == nil {
		return nil, fmt.Errorf("%s is a tool of an MCP server: a step calls operations of HTTP APIs", c.Operation)
	}
	args := map[string]any{}
	params := ready.Plan.Params()
	for _, p := range c.Parameters {
		i := slices.IndexFunc(params, func(q operation.Param) bool {
			return string(q.In) == p.In && (q.Name == p.Name || p.In == "header" && strings.EqualFold(q.Name, p.Name))
		})
		switch {
		case i >= 0 && params[i].Arg != "":
			if v := p.Value; v != nil {
				if params[i].In == operation.InQueryString {
					v = arazzo.ReadText(params[i].Content, v)
				}
				args[params[i].Arg] = v
			}
		case i >= 0, p.In == "header" && slices.Contains(ownHeaders, strings.ToLower(p.Name)):
		default:
			return nil, fmt.Errorf("%s %s has no %s parameter %.80q", ready.Method, ready.Path, p.In, p.Name)
		}
	}
	if c.HasBody {
		if err := bodyArguments(ready, c, args); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("writing the arguments: %w", err)
	}
	return text, nil
}

// bodyArguments puts the body of a step into the arguments: one of them is the whole body,
// or each member is one.
func bodyArguments(ready *snapshot.Ready, c *arazzo.Call, args map[string]any) error {
	b := ready.Plan.Body()
	if b == nil {
		return fmt.Errorf("%s %s takes no body", ready.Method, ready.Path)
	}
	kind, _, _ := strings.Cut(c.ContentType, ";")
	for i := range b.Variants {
		if kind = strings.TrimSpace(kind); kind != "" && strings.EqualFold(b.Variants[i].MediaType, kind) && !strings.EqualFold(b.MediaType, kind) {
			b = &b.Variants[i]
			break
		}
	}
	if b.Arg != "" {
		args[b.Arg] = c.Body
		return nil
	}
	members, ok := c.Body.(map[string]any)
	if !ok {
		return fmt.Errorf("the body of %s %s is an object", ready.Method, ready.Path)
	}
	for name, v := range members {
		i := slices.IndexFunc(b.Fields, func(f operation.Field) bool { return f.Name == name })
		switch {
		case i < 0:
			return fmt.Errorf("the body of %s %s has no member %.80q", ready.Method, ready.Path, name)
		case b.Fields[i].Arg != "":
			args[b.Fields[i].Arg] = v
		}
	}
	return nil
}
