package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

// AddedTools are the tools that Sluice adds to those of the APIs of a draft: those of its mode,
// batch, and the one that gives the rest of an answer. There are none where no gateway is.
func (r *Room) AddedTools(ctx context.Context, d *draft.Draft) ([]toolset.Tool, error) {
	if r.Tester == nil {
		return []toolset.Tool{}, nil
	}
	if d.Bundle == nil { // the draft was loaded, not just made
		if err := r.Drafts.Push(ctx, d); err != nil {
			return nil, err
		}
	}
	list, err := r.Tester.Added(testCall(d))
	if err != nil {
		return nil, err
	}
	var definitions []struct {
		Name, Description string
		InputSchema       json.RawMessage
		Annotations       struct {
			ReadOnlyHint, DestructiveHint, IdempotentHint bool
			OpenWorldHint                                 *bool
		}
	}
	if err := json.Unmarshal(list, &definitions); err != nil {
		return nil, fmt.Errorf("reading the tools that the gateway adds to %s: %w", d.Toolset.Slug, err)
	}
	out := make([]toolset.Tool, len(definitions))
	for i := range definitions {
		t := &definitions[i]
		h := &t.Annotations
		out[i] = toolset.Tool{
			Name: t.Name, OriginalName: t.Name, Description: t.Description, Enabled: true, InputSchema: t.InputSchema,
			Operation: toolset.Operation{Method: toolset.MethodAdded, Path: "/" + t.Name},
			// What is absent has the protocol's default.
			Annotations: plugin.Annotations{ReadOnly: h.ReadOnlyHint, Destructive: h.DestructiveHint, Idempotent: h.IdempotentHint, OpenWorld: h.OpenWorldHint == nil || *h.OpenWorldHint},
			Tokens:      tokens.Estimate(t.InputSchema) + tokens.Estimate([]byte(t.Name)) + tokens.Estimate([]byte(t.Description)),
		}
	}
	return out, nil
}

// testCall is a call of a draft that was pushed, still without a tool.
func testCall(d *draft.Draft) TestCall {
	return TestCall{Toolset: d.Bundle, Digest: registry.Digest(d.Toolset.DraftDigest), Connectors: d.Connectors(), Plugins: d.Plugins, Index: d.Index}
}

// WithAdded appends the tools that Sluice adds to those that are offered, where the one that
// is asked for may be one of them.
func (r *Room) WithAdded(ctx context.Context, d *draft.Draft, offered []toolset.Tool, name string) ([]toolset.Tool, error) {
	is := func(t toolset.Tool) bool { return t.Name == name }
	if name == "" || slices.ContainsFunc(offered, is) || slices.ContainsFunc(d.Tools(false), is) {
		return offered, nil
	}
	added, err := r.AddedTools(ctx, d)
	return append(offered, added...), err
}
