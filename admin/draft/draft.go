package draft

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// Draft is a toolset with everything its bundle is made of. A change works on a
// draft, pushes its bundle, and then writes all records in one transaction that
// fails when the toolset was changed meanwhile.
type Draft struct {
	Toolset *store.Toolset
	*Part                     // the connector that a request is about: the first, until focus chooses another
	Parts   []*Part           // all of them, in their order
	Edits   []store.ToolEdit  // of tools of every connector
	Bundle  *registry.Toolset // set by push
	Plugins []*guest.Package  // set by push: those that the bundle binds
	Index   []byte            // set by push: of its tools, where its mode searches
	Before  []toolset.Tool    // set by UpdateTools: the tools as they were
}

// LoadMatching is load for a change: it fails with [problem.Precondition] when the
// request names another version.
func (r *Room) LoadMatching(ctx context.Context, ws *store.Workspace, id string, in *request.MatchInput) (*Draft, error) {
	d, err := r.Load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	return d, in.Check(d.Toolset.Version, false)
}

// Load reads a toolset, by id or slug, and everything that belongs to its draft.
func (r *Room) Load(ctx context.Context, ws *store.Workspace, id string) (*Draft, error) {
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	return r.Of(ctx, ws, ts)
}

// Of reads the draft of a toolset that was read.
func (r *Room) Of(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (*Draft, error) {
	d, err := Outline(ctx, ws, ts)
	if err != nil {
		return nil, err
	}
	for _, p := range d.Parts {
		if p.Conn, err = r.Opened.Open(ctx, p.Version); err != nil {
			return nil, err
		}
	}
	d.Edits, err = ws.ToolEdits(ctx, ts.ID)
	return d, err
}

// Records are what an outline is read from: the records of a workspace, or those that were
// gathered for a page of toolsets.
type Records interface {
	credential.Records
	ToolsetConnectors(ctx context.Context, ts *store.Toolset) ([]store.ToolsetConnector, error)
	ConnectorVersion(ctx context.Context, connector, digest string) (*store.ConnectorVersion, error)
}

// Outline reads what showing a toolset needs: everything but its tools, whose
// connectors must be fetched and opened.
func Outline(ctx context.Context, records Records, ts *store.Toolset) (*Draft, error) {
	d := &Draft{Toolset: ts}
	rows, err := records.ToolsetConnectors(ctx, ts)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		p, err := loadPart(ctx, records, &rows[i])
		if err != nil {
			return nil, err
		}
		d.Parts = append(d.Parts, p)
	}
	d.Part = d.Parts[0]
	return d, nil
}

// Push makes the bundle of the draft as it is, stores it and notes its
// digest. Nothing becomes live by it, and a bundle that no record names harms
// nobody.
func (r *Room) Push(ctx context.Context, d *Draft) error {
	t := &registry.Toolset{
		Workspace: d.Toolset.WorkspaceID, ID: d.Toolset.ID, Slug: d.Toolset.Slug, Name: d.Toolset.Name, Description: d.Toolset.Description,
		Instructions: d.Toolset.Instructions, Profile: d.Toolset.Profile, Access: registry.Access{Mode: registry.AccessNone},
	}
	for _, p := range d.Parts {
		ref, err := p.ref()
		if err != nil {
			return err
		}
		t.Connectors = append(t.Connectors, ref)
	}
	if d.Toolset.CacheSeconds > 0 {
		t.Cache = &registry.CachePolicy{TTLSeconds: int(d.Toolset.CacheSeconds)}
	}
	var err error
	if t.Answers, err = toolset.AnswersOf(d.Toolset.Answers); err != nil {
		return err
	}
	if t.Tools, err = d.RegistryEdits(); err != nil {
		return err
	}
	if err := d.CheckNames(); err != nil {
		return err
	}
	if err := checkFixed(d, t); err != nil {
		return err
	}
	if err := r.bindPlugins(ctx, d, t); err != nil {
		return err
	}
	if err := bindWorkflows(d, t); err != nil {
		return err
	}
	if err := d.AdoptLearned(ctx, r.Store.Workspace(d.Toolset.WorkspaceID)); err != nil {
		return err
	}
	index, err := selectTools(d, t)
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
	d.Bundle, d.Index, d.Toolset.DraftDigest, d.Toolset.EnabledTools = t, index, string(b.Digest), int64(EnabledCount(d.Tools(false)))
	if t.Selection != nil && t.Selection.Mode == registry.SelectUseCase {
		d.Toolset.EnabledTools = int64(len(t.Selection.Tools))
	}
	d.Toolset.EnabledTools += int64(len(t.Workflows))
	for _, p := range d.Plugins {
		if p.Manifest.Tool != nil {
			d.Toolset.EnabledTools++
		}
	}
	return nil
}

// CheckNames refuses two enabled tools of one name: clients compare names
// without regard to case.
func (d *Draft) CheckNames() error {
	seen := map[string]string{}
	for _, t := range d.Tools(false) {
		if !t.Enabled {
			continue
		}
		op := t.Operation.Method + " " + t.Operation.Path
		if len(d.Parts) > 1 {
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

// RegistryEdits are the edits as the bundle has them, in an order that does not depend
// on when they were made: the digest must not. An edit of an operation that the present
// version does not have waits in the records for a version that has it again.
func (d *Draft) RegistryEdits() ([]registry.ToolEdit, error) {
	var out []registry.ToolEdit
	for i := range d.Edits {
		if !d.has(toolset.OperationOf(&d.Edits[i])) {
			continue
		}
		e, err := toolset.EditOf(&d.Edits[i])
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

// Tools lists the tools of a draft in the order of its connectors and their
// specifications, with edits applied.
func (d *Draft) Tools(schemas bool) []toolset.Tool {
	edits := make(map[toolset.Operation]*store.ToolEdit, len(d.Edits))
	for i := range d.Edits {
		edits[toolset.OperationOf(&d.Edits[i])] = &d.Edits[i]
	}
	n := 0
	for _, p := range d.Parts {
		n += len(p.Conn.Tools)
	}
	out := make([]toolset.Tool, 0, n)
	for _, p := range d.Parts {
		out = p.appendTools(out, edits, schemas)
	}
	return out
}

func (p *Part) appendTools(out []toolset.Tool, edits map[toolset.Operation]*store.ToolEdit, schemas bool) []toolset.Tool {
	ofConnector := registry.Fixed(toolset.ShowFixed(p.Row.Fixed))
	for i := range p.Conn.Tools {
		g := &p.Conn.Tools[i]
		t := toolset.Tool{OriginalName: g.Name, Enabled: true, Operation: toolset.Operation{Connector: p.Row.Name, Method: g.Method, Path: g.Path}}
		if g.MCP != nil {
			t.Needs = g.MCP.Needs
		}
		var edit *registry.ToolEdit
		if e := edits[t.Operation]; e != nil {
			var err error
			if edit, err = toolset.EditOf(e); err != nil {
				edit = nil // the record was checked when it was written
			}
			t.Fixed, t.Enabled, t.Answers = toolset.ShowFixed(e.Fixed), !e.Disabled, toolset.ShowAnswers(e.Answers)
			t.Arguments, t.Texts = toolset.ShowArguments(e.Arguments), toolset.ShowTexts(e.Texts)
		}
		h := edit.Apply(g.Head, ofConnector)
		t.Name, t.Title, t.Description, t.Annotations = h.Name, h.Title, h.Description, plugin.Annotations(h.Annotations)
		schemaTokens := g.SchemaTokens
		if len(edit.FixedOver(ofConnector)) > 0 || len(t.Arguments) > 0 || len(t.Texts) > 0 {
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

// Enable makes exactly those of the tools enabled that g matches, by their present or
// original name. It fails when that is none, or when a name or glob matches nothing.
func (d *Draft) Enable(g toolset.Globs, tools []toolset.Tool) error {
	enabled := 0
	for _, t := range tools {
		on := g.Match(t.Name) || t.Name != t.OriginalName && g.Match(t.OriginalName)
		if on {
			enabled++
		}
		d.Edit(t.Operation, func(e *store.ToolEdit) { e.Disabled = !on })
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

// Edit changes the edit of an operation; an edit that changes nothing is removed.
func (d *Draft) Edit(op toolset.Operation, change func(*store.ToolEdit)) {
	for i := range d.Edits {
		if e := &d.Edits[i]; toolset.OperationOf(e) == op {
			change(e)
			if Idle(e) {
				d.Edits = append(d.Edits[:i], d.Edits[i+1:]...)
			}
			return
		}
	}
	e := store.ToolEdit{ToolsetID: d.Toolset.ID, Connector: op.Connector, Method: op.Method, Path: op.Path}
	if change(&e); !Idle(&e) {
		d.Edits = append(d.Edits, e)
	}
}

// Idle reports whether an edit changes nothing.
func Idle(e *store.ToolEdit) bool {
	return e.Name == nil && e.Title == nil && e.Description == nil && !e.Disabled && e.Answers == "" && e.Annotations == "" && e.Fixed == "" && e.Arguments == "" && e.Texts == ""
}

// CheckServers requires that every connector has somewhere to send calls to.
func (d *Draft) CheckServers() error {
	for _, p := range d.Parts {
		if p.BaseURL() == "" && len(d.Parts) > 1 {
			return problem.New(problem.InvalidArgument, "the specification of connector %s names no server that is a complete URL", p.Row.Name).Fix("set its baseUrl")
		} else if p.BaseURL() == "" {
			return problem.New(problem.InvalidArgument, "the specification names no server that is a complete URL").Fix("set baseUrl")
		}
	}
	return nil
}

// Outline is the outline of a toolset, about the named connector; "": about the only one.
func (r *Room) Outline(ctx context.Context, id, connector string) (*Draft, error) {
	ws := r.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	d, err := Outline(ctx, ws, ts)
	if err != nil {
		return nil, err
	}
	return d, d.Focus(connector)
}
