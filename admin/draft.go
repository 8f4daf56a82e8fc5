package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// draft is a toolset with everything its bundle is made of. A change works on a
// draft, pushes its bundle, and then writes all records in one transaction that
// fails when the toolset was changed meanwhile.
type draft struct {
	ts      *store.Toolset
	*part                     // the connector that a request is about: the first, until focus chooses another
	parts   []*part           // all of them, in their order
	edits   []store.ToolEdit  // of tools of every connector
	bundle  *registry.Toolset // set by push
	plugins []*guest.Package  // set by push: those that the bundle binds
	before  []toolset.Tool    // set by updateTools: the tools as they were
}

// loadMatching is load for a change: it fails with [problem.Precondition] when the
// request names another version.
func (r *drafts) loadMatching(ctx context.Context, ws *store.Workspace, id string, in *request.MatchInput) (*draft, error) {
	d, err := r.load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	return d, in.Check(d.ts.Version, false)
}

// load reads a toolset, by id or slug, and everything that belongs to its draft.
func (r *drafts) load(ctx context.Context, ws *store.Workspace, id string) (*draft, error) {
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	return r.of(ctx, ws, ts)
}

func (r *drafts) of(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (*draft, error) {
	d, err := outline(ctx, ws, ts)
	if err != nil {
		return nil, err
	}
	for _, p := range d.parts {
		if p.conn, err = r.Opened.Open(ctx, p.version); err != nil {
			return nil, err
		}
	}
	d.edits, err = ws.ToolEdits(ctx, ts.ID)
	return d, err
}

// outline reads what showing a toolset needs: everything but its tools, whose
// connectors must be fetched and opened.
func outline(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (*draft, error) {
	d := &draft{ts: ts}
	rows, err := ws.ToolsetConnectors(ctx, ts)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		p, err := loadPart(ctx, ws, &rows[i])
		if err != nil {
			return nil, err
		}
		d.parts = append(d.parts, p)
	}
	d.part = d.parts[0]
	return d, nil
}

// push makes the bundle of the draft as it is, stores it and notes its
// digest. Nothing becomes live by it, and a bundle that no record names harms
// nobody.
func (r *drafts) push(ctx context.Context, d *draft) error {
	t := &registry.Toolset{
		Workspace: d.ts.WorkspaceID, ID: d.ts.ID, Slug: d.ts.Slug, Name: d.ts.Name, Description: d.ts.Description,
		Instructions: d.ts.Instructions, Profile: d.ts.Profile, Access: registry.Access{Mode: registry.AccessNone},
	}
	for _, p := range d.parts {
		ref, err := p.ref()
		if err != nil {
			return err
		}
		t.Connectors = append(t.Connectors, ref)
	}
	if d.ts.CacheSeconds > 0 {
		t.Cache = &registry.CachePolicy{TTLSeconds: int(d.ts.CacheSeconds)}
	}
	var err error
	if t.Answers, err = toolset.AnswersOf(d.ts.Answers); err != nil {
		return err
	}
	if t.Tools, err = d.registryEdits(); err != nil {
		return err
	}
	if err := d.checkNames(); err != nil {
		return err
	}
	if err := d.checkFixed(t); err != nil {
		return err
	}
	if err := r.bindPlugins(ctx, d, t); err != nil {
		return err
	}
	if err := d.bindWorkflows(t); err != nil {
		return err
	}
	if err := d.adoptLearned(ctx, r.Store.Workspace(d.ts.WorkspaceID)); err != nil {
		return err
	}
	index, err := d.selectTools(t)
	if err != nil {
		return err
	}
	programs, err := t.CompilePrograms()
	if err != nil {
		return err
	}
	b, err := r.Publisher.Bundle(ctx, t, programs, index)
	if err != nil {
		return err
	}
	d.bundle, d.ts.DraftDigest, d.ts.EnabledTools = t, string(b.Digest), int64(enabledCount(d.tools(false)))
	if t.Selection != nil && t.Selection.Mode == registry.SelectUseCase {
		d.ts.EnabledTools = int64(len(t.Selection.Tools))
	}
	d.ts.EnabledTools += int64(len(t.Workflows))
	for _, p := range d.plugins {
		if p.Manifest.Tool != nil {
			d.ts.EnabledTools++
		}
	}
	return nil
}

// checkNames refuses two enabled tools of one name: clients compare names
// without regard to case.
func (d *draft) checkNames() error {
	seen := map[string]string{}
	for _, t := range d.tools(false) {
		if !t.Enabled {
			continue
		}
		op := t.Operation.Method + " " + t.Operation.Path
		if len(d.parts) > 1 {
			op += " of " + t.Operation.Connector
		}
		key := strings.ToLower(t.Name)
		if other, taken := seen[key]; taken {
			return problem.New(problem.Conflict, "two tools would be named %.80q: %s and %s", t.Name, other, op).
				InTool(t.Name).Fix("choose another name for one of them")
		}
		seen[key] = op
	}
	return nil
}

// registryEdits are the edits as the bundle has them, in an order that does not depend
// on when they were made: the digest must not. An edit of an operation that the present
// version does not have waits in the records for a version that has it again.
func (d *draft) registryEdits() ([]registry.ToolEdit, error) {
	var out []registry.ToolEdit
	for i := range d.edits {
		if !d.has(toolset.OperationOf(&d.edits[i])) {
			continue
		}
		e, err := toolset.EditOf(&d.edits[i])
		if err != nil {
			return nil, err
		}
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b registry.ToolEdit) int {
		return cmp.Or(strings.Compare(a.Connector, b.Connector), strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	return out, nil
}

// tools lists the tools of a draft in the order of its connectors and their
// specifications, with edits applied.
func (d *draft) tools(schemas bool) []toolset.Tool {
	edits := make(map[toolset.Operation]*store.ToolEdit, len(d.edits))
	for i := range d.edits {
		edits[toolset.OperationOf(&d.edits[i])] = &d.edits[i]
	}
	n := 0
	for _, p := range d.parts {
		n += len(p.conn.Tools)
	}
	out := make([]toolset.Tool, 0, n)
	for _, p := range d.parts {
		out = p.appendTools(out, edits, schemas)
	}
	return out
}

func (p *part) appendTools(out []toolset.Tool, edits map[toolset.Operation]*store.ToolEdit, schemas bool) []toolset.Tool {
	ofConnector := registry.Fixed(toolset.ShowFixed(p.row.Fixed))
	for i := range p.conn.Tools {
		g := &p.conn.Tools[i]
		t := toolset.Tool{OriginalName: g.Name, Enabled: true, Operation: toolset.Operation{Connector: p.row.Name, Method: g.Method, Path: g.Path}}
		if g.MCP != nil {
			t.Needs = g.MCP.Needs
		}
		var edit *registry.ToolEdit
		if e := edits[t.Operation]; e != nil {
			var err error
			if edit, err = toolset.EditOf(e); err != nil {
				edit = nil // the record was checked when it was written
			}
			t.Fixed, t.Enabled, t.Answers, t.Arguments = toolset.ShowFixed(e.Fixed), !e.Disabled, toolset.ShowAnswers(e.Answers), toolset.ShowArguments(e.Arguments)
		}
		h := edit.Apply(g.Head, ofConnector)
		t.Name, t.Title, t.Description, t.Annotations = h.Name, h.Title, h.Description, plugin.Annotations(h.Annotations)
		schemaTokens := g.SchemaTokens
		if len(edit.FixedOver(ofConnector)) > 0 || len(t.Arguments) > 0 {
			schemaTokens = tokens.Estimate(h.InputSchema)
		}
		t.Tokens = schemaTokens + tokens.Estimate([]byte(t.Name)) + tokens.Estimate([]byte(t.Title)) + tokens.Estimate([]byte(t.Description))
		if schemas {
			t.InputSchema, t.OutputSchema = h.InputSchema, h.OutputSchema
		}
		out = append(out, t)
	}
	return out
}

// enable makes exactly those of the tools enabled that g matches, by their present or
// original name. It fails when that is none, or when a name or glob matches nothing.
func (d *draft) enable(g toolset.Globs, tools []toolset.Tool) error {
	enabled := 0
	for _, t := range tools {
		on := g.Match(t.Name) || t.Name != t.OriginalName && g.Match(t.OriginalName)
		if on {
			enabled++
		}
		d.edit(t.Operation, func(e *store.ToolEdit) { e.Disabled = !on })
	}
	for _, p := range g.In {
		one := toolset.Globs{In: []string{p}}
		found := false
		for _, t := range tools {
			found = found || one.Match(t.Name) || one.Match(t.OriginalName)
		}
		if !found {
			return problem.New(problem.InvalidArgument, "no tool is named or matches %.80q", p).Fix("list the tools first; there are %d", len(tools))
		}
	}
	if enabled == 0 {
		return problem.New(problem.InvalidArgument, "the selection leaves no tool").Fix("enable at least one of the %d tools", len(tools))
	}
	return nil
}

// edit changes the edit of an operation; an edit that changes nothing is removed.
func (d *draft) edit(op toolset.Operation, change func(*store.ToolEdit)) {
	for i := range d.edits {
		if e := &d.edits[i]; toolset.OperationOf(e) == op {
			change(e)
			if idle(e) {
				d.edits = append(d.edits[:i], d.edits[i+1:]...)
			}
			return
		}
	}
	e := store.ToolEdit{ToolsetID: d.ts.ID, Connector: op.Connector, Method: op.Method, Path: op.Path}
	if change(&e); !idle(&e) {
		d.edits = append(d.edits, e)
	}
}

func idle(e *store.ToolEdit) bool {
	return e.Name == nil && e.Title == nil && e.Description == nil && !e.Disabled && e.Answers == "" && e.Annotations == "" && e.Fixed == "" && e.Arguments == ""
}

// checkServers requires that every connector has somewhere to send calls to.
func (d *draft) checkServers() error {
	for _, p := range d.parts {
		if p.baseURL() == "" && len(d.parts) > 1 {
			return problem.New(problem.InvalidArgument, "the specification of connector %s names no server that is a complete URL", p.row.Name).Fix("set its baseUrl")
		} else if p.baseURL() == "" {
			return problem.New(problem.InvalidArgument, "the specification names no server that is a complete URL").Fix("set baseUrl")
		}
	}
	return nil
}

// outline is the outline of a toolset, about the named connector; "": about the only one.
func (r *drafts) outline(ctx context.Context, id, connector string) (*draft, error) {
	ws := r.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	d, err := outline(ctx, ws, ts)
	if err != nil {
		return nil, err
	}
	return d, d.focus(connector)
}
