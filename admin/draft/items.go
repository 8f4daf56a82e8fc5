package draft

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// PatchItem changes a prompt, resource or resource template; absent fields stay, "" restores
// what the server has.
type PatchItem struct {
	Name        *string `json:"name,omitempty" maxLength:"200" doc:"Of a prompt: how it is asked for, at most 64 letters, digits, _ and -."`
	Title       *string `json:"title,omitempty" maxLength:"200"`
	Description *string `json:"description,omitempty" maxLength:"16384"`
	Enabled     *bool   `json:"enabled,omitempty"`
}

// ItemUpdate is one change of a batch.
type ItemUpdate struct {
	Kind      string `json:"kind" enum:"prompt,resource,resourceTemplate"`
	Key       string `json:"key" doc:"As the server has it: the name of a prompt, a URI, or a URI template." minLength:"1" maxLength:"65536"`
	Connector string `json:"connector,omitempty" maxLength:"64" doc:"Name of the connector in the toolset. Default: the first that has it."`
	PatchItem
}

// ItemsUpdate changes many prompts, resources and resource templates: all changes or none.
type ItemsUpdate struct {
	Updates []ItemUpdate `json:"updates" minItems:"1" maxItems:"4096"`
}

// Items are those of every connector of the draft.
func (d *Draft) Items() []toolset.Item {
	edits := make(map[toolset.Operation]*store.ToolEdit, len(d.Edits))
	for i := range d.Edits {
		edits[toolset.OperationOf(&d.Edits[i])] = &d.Edits[i]
	}
	out := []toolset.Item{}
	for _, p := range d.Parts {
		out = toolset.AppendItems(out, p.Row.Name, p.Conn.Opened, edits)
	}
	return out
}

// hasItem reports whether an operation names a prompt, resource or resource template that the
// draft has.
func hasItem(d *Draft, op toolset.Operation) bool {
	p := d.Named(op.Connector)
	if p == nil {
		return false
	}
	for kind := range manifest.ItemKinds {
		if kind.Method() == op.Method {
			return slices.ContainsFunc(p.Conn.Opened.Items(kind), func(it manifest.Item) bool { return "/"+it.Key == op.Path })
		}
	}
	return false
}

// Empty reports whether clients would be given nothing at all.
func (d *Draft) Empty() bool {
	return EnabledCount(d.Tools(false)) == 0 && !slices.ContainsFunc(d.Items(), func(it toolset.Item) bool { return it.Enabled })
}

// NothingEnabled refuses a change after which clients would be given nothing.
func NothingEnabled() error {
	return problem.New(problem.InvalidArgument, "the change leaves nothing enabled").Fix("enable at least one tool, prompt or resource")
}

// PatchItem applies one change; before are the items as the client saw them.
func (d *Draft) PatchItem(before []toolset.Item, in *ItemUpdate, at string) error {
	i := slices.IndexFunc(before, func(it toolset.Item) bool {
		return it.Kind == in.Kind && it.Key == in.Key && (in.Connector == "" || it.Connector == in.Connector)
	})
	if i < 0 {
		return request.FieldFault(at+"/key", "the toolset has no %s %.80q", strings.ReplaceAll(in.Kind, "T", " t"), in.Key)
	}
	it := &before[i]
	if in.Name != nil && *in.Name != "" && it.Kind == "prompt" && *in.Name != it.OriginalName && !toolset.ToolName.MatchString(*in.Name) {
		return request.FieldFault(at+"/name", "the name %.80q must start with a letter or _ and have at most 64 letters, digits, _ and -", *in.Name)
	}
	d.Edit(it.Operation(), func(e *store.ToolEdit) {
		set(&e.Name, in.Name, it.OriginalName)
		set(&e.Title, in.Title, "")
		set(&e.Description, in.Description, "")
		if in.Enabled != nil {
			e.Disabled = !*in.Enabled
		}
	})
	return nil
}

// checkPrompts refuses a name chosen for a prompt that another one has: gateways would give
// it a longer one.
func checkPrompts(items []toolset.Item) error {
	for i := range items {
		it := &items[i]
		if it.Kind != "prompt" || !it.Enabled || it.Name == it.OriginalName {
			continue
		}
		for j := range items {
			if o := &items[j]; i != j && o.Kind == "prompt" && o.Enabled && o.Name == it.Name {
				return problem.New(problem.Conflict, "another prompt is named %.80q", it.Name).Fix("choose another name for one of them")
			}
		}
	}
	return nil
}

// UpdateItems changes prompts, resources and resource templates of a draft: all changes or
// none.
func (r *Room) UpdateItems(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, in *ItemsUpdate) (*Draft, error) {
	d, err := r.LoadMatching(ctx, ws, id, match)
	if err != nil {
		return nil, err
	}
	before := d.Items()
	for i := range in.Updates {
		if err := d.PatchItem(before, &in.Updates[i], "/updates/"+strconv.Itoa(i)); err != nil {
			return nil, err
		}
	}
	after := d.Items()
	if err := checkPrompts(after); err != nil {
		return nil, err
	}
	if d.Empty() {
		return nil, NothingEnabled()
	}
	var b, a []toolset.Item
	for i := range before { // the same items in the same order
		if before[i] != after[i] {
			b, a = append(b, before[i]), append(a, after[i])
		}
	}
	if err := r.Save(ctx, ws, d, "items.update", b, a, true); err != nil {
		return nil, err
	}
	return d, nil
}
