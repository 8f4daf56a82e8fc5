package snapshot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/arazzo"
	"github.com/sluicegate/sluice/plugins/operation"
)

// ownHeaders are request headers that the gateway decides: a document may name them, as
// for runners that have no credentials of their own.
var ownHeaders = []string{"authorization", "content-type", "accept"}

// StepArguments returns the arguments of the tool that say what a step of a workflow document
// sends: the document names parameters by place and name, and a whole body.
func (r *Ready) StepArguments(c *arazzo.Call) ([]byte, error) {
	if r.Plan == nil {
		return nil, fmt.Errorf("%s is a tool of an MCP server: a step calls operations of HTTP APIs", c.Operation)
	}
	args := map[string]any{}
	params := r.Plan.Params()
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
			return nil, fmt.Errorf("%s %s has no %s parameter %.80q", r.Method, r.Path, p.In, p.Name)
		}
	}
	if c.HasBody {
		if err := r.bodyArguments(c, args); err != nil {
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
func (r *Ready) bodyArguments(c *arazzo.Call, args map[string]any) error {
	b := r.Plan.Body()
	if b == nil {
		return fmt.Errorf("%s %s takes no body", r.Method, r.Path)
	}
	kind, _, _ := strings.Cut(c.ContentType, ";")
	for i := range b.Variants {
		if kind = strings.TrimSpace(kind); kind != "" && strings.EqualFold(b.Variants[i].MediaType, kind) && !strings.EqualFold(b.MediaType, kind) {
			b = &b.Variants[i]
			break
		}
	}
	body, err := b.ReadXML(c.Body)
	if err != nil {
		return err //nolint:wrapcheck // it says of what it is
	}
	if b.Arg != "" {
		args[b.Arg] = body
		return nil
	}
	members, ok := body.(map[string]any)
	if !ok {
		return fmt.Errorf("the body of %s %s is an object", r.Method, r.Path)
	}
	for name, v := range members {
		i := slices.IndexFunc(b.Fields, func(f operation.Field) bool { return f.Name == name })
		switch {
		case i < 0:
			return fmt.Errorf("the body of %s %s has no member %.80q", r.Method, r.Path, name)
		case b.Fields[i].Arg != "":
			args[b.Fields[i].Arg] = v
		}
	}
	return nil
}
