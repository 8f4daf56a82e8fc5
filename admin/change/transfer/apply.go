package transfer

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/admin/toolset/grant"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// imported is a draft as a document says, not stored.
type imported struct {
	*draft.Draft

	before []credential.Draft // of the toolset as it was
	names  declare.Names
	gone   []string // names of connectors that the document does not have
}

// importDraft makes the draft that the document says. Nothing is stored but contents
// that no record names.
func (r *Room) importDraft(ctx context.Context, ws *store.Workspace, x *importing, phase func(string)) (*imported, error) {
	t := x.want
	out := &imported{names: declare.Names{}}
	if x.now != nil {
		row := *x.now
		d, err := r.Drafts.Of(ctx, ws, &row)
		if err != nil {
			return nil, err
		}
		out.Draft, out.before = d, d.AllCreds()
	} else {
		ts := &store.Toolset{ID: r.Store.NewID("ts"), Slug: t.Slug}
		ts.WorkspaceID = ws.ID()
		out.Draft = &draft.Draft{Toolset: ts}
	}
	d := out.Draft
	d.Toolset.Name, d.Toolset.Description, d.Toolset.Instructions, d.Toolset.Profile, d.Toolset.CacheSeconds = t.Name, t.Description, t.Instructions, t.Profile, t.CacheSeconds
	if len(t.Labels) > 0 || d.Toolset.LabelText != "" {
		d.Toolset.SetLabels(t.Labels)
	}
	var err error
	if d.Toolset.Answers, err = t.Answers.Record("/answers", registry.OfToolset); err != nil {
		return nil, err
	}
	if err := r.importConnectors(ctx, ws, out, t, phase); err != nil {
		return nil, err
	}
	d.Edits = make([]store.ToolEdit, len(t.Tools))
	for i := range t.Tools {
		e := &t.Tools[i]
		op := out.names.Operation(e.Operation)
		d.Edits[i] = store.ToolEdit{
			ToolsetID: d.Toolset.ID, Connector: op.Connector, Method: op.Method, Path: op.Path, Name: e.Name, Title: e.Title, Description: e.Description, Disabled: e.Disabled,
		}
		if d.Edits[i].Annotations, err = toolset.RecordAnnotations(e.Annotations, fmt.Sprintf("/tools/%d/annotations", i)); err != nil {
			return nil, err
		}
		if d.Edits[i].Answers, err = e.Answers.Record(fmt.Sprintf("/tools/%d/answers", i), registry.OfTool); err != nil {
			return nil, err
		}
		if d.Edits[i].Fixed, err = toolset.RecordFixed(e.Fixed, fmt.Sprintf("/tools/%d/fixed", i)); err != nil {
			return nil, err
		}
		if d.Edits[i].Arguments, err = toolset.RecordArguments(e.Arguments, fmt.Sprintf("/tools/%d/arguments", i), nil); err != nil {
			return nil, err
		}
		if d.Edits[i].Texts, err = toolset.RecordTexts(e.Texts, fmt.Sprintf("/tools/%d/argumentTexts", i)); err != nil {
			return nil, err
		}
	}
	if d.Empty() {
		return nil, problem.New(problem.InvalidArgument, "no tool, prompt or resource is enabled").At("", 0, 0, "/tools").Fix("enable at least one")
	}
	if err := d.CheckNames(); err != nil {
		return nil, problem.As(err).At("", 0, 0, "/tools")
	}
	if err := r.bindDeclared(ctx, ws, d, t.Plugins, out.names); err != nil {
		return nil, err
	}
	if err := declareWorkflows(d, t.Workflows, out.names); err != nil {
		return nil, err
	}
	if err := out.declaredSelection(t.Selection); err != nil {
		return nil, err
	}
	for i, p := range d.Parts {
		d.Part = p
		if err := r.Drafts.Authenticate(d, x.auth(i), t.PointerTo(i)+"/authentication"); err != nil {
			return nil, err
		}
		if err := r.Drafts.BindCredentials(ctx, d); err != nil {
			return nil, err
		}
	}
	d.Part = d.Parts[0]
	return out, nil
}

// importConnectors gives a draft the connectors of a document, in its order.
func (r *Room) importConnectors(ctx context.Context, ws *store.Workspace, out *imported, t *declare.DeclaredToolset, phase func(string)) error {
	d := out.Draft
	have := make([]declare.DeclaredSource, len(d.Parts))
	for i, p := range d.Parts {
		var err error
		if have[i], err = declare.SourceOf(ctx, ws, &p.Row); err != nil {
			return err
		}
	}
	if err := r.checkCommands(ctx, t, have); err != nil {
		return err
	}
	old, declared := &draft.Draft{Toolset: d.Toolset, Parts: d.Parts}, t.Parts()
	d.Parts = nil
	for i := range declared {
		c, at := &declared[i], t.PointerTo(i)
		p := partOf(old, t, i, have)
		isNew := p == nil
		if isNew {
			p = &draft.Part{Row: store.ToolsetConnector{ToolsetID: d.Toolset.ID, Name: c.Name}}
		}
		d.Part, d.Parts = p, append(d.Parts, p)
		if isNew || !have[slices.Index(old.Parts, p)].Same(c.Source) {
			src, err := c.Source.Read(at + "/source")
			if err != nil {
				return err
			}
			compiled, err := r.Compiler.Source(ctx, ws.ID(), src, phase)
			if err != nil {
				return err
			}
			d.Bind(compiled)
			p.Row.SourceKind, p.Row.SourceURL, p.Row.SourceTitle = src.Kind(), src.URL, src.Title
		}
		p.Row.BaseURL, p.Row.UpstreamPolicy, p.Row.Stateless = c.BaseURL, c.UpstreamPolicy, c.Stateless
		err := draft.CheckStateless(&p.Row, at+"/stateless")
		if err != nil {
			return err
		}
		if p.Row.Entry, err = catalog.ParseMade(c.CatalogEntry); err != nil {
			return err // it was checked
		}
		if p.Row.Answers, err = c.Answers.Record(at+"/answers", registry.OfConnector); err != nil {
			return err
		}
		if p.Row.Fixed, err = toolset.RecordFixed(c.Fixed, at+"/fixed"); err != nil {
			return err
		}
		out.names[c.Name] = p.Row.Name
	}
	out.names[""] = d.Parts[0].Row.Name
	for _, p := range old.Parts {
		if !slices.Contains(d.Parts, p) {
			out.gone = append(out.gone, p.Row.Name)
		}
	}
	return nil
}

// declaredSelection puts a selection on a draft. What was learned from calls stays.
func (d *imported) declaredSelection(in *declare.DeclaredSelection) error {
	old, err := choice.Of(d.Toolset)
	if err != nil {
		return err
	}
	c := &choice.Choice{Mode: registry.SelectAll}
	if in != nil {
		c.Mode, c.UseCase, c.Learn = in.Mode, in.UseCase, in.Learn && in.Mode == registry.SelectSearch
		c.Batch = in.Batch
		c.Destructive = in.Destructive && (in.Mode == registry.SelectCode || in.Batch)
		c.Limits = in.Limits
		for _, t := range in.Tools {
			own := choice.Tool(t)
			own.Operation, own.For = d.names.Operation(t.Operation), declare.Mapped(t.For, d.names.Operation)
			c.Tools = append(c.Tools, own)
		}
		for _, e := range in.Examples {
			c.Examples = append(c.Examples, choice.ToolExamples{Operation: d.names.Operation(e.Operation), Operator: e.Operator})
		}
	}
	for i := range old.Examples {
		e := &old.Examples[i]
		if len(e.Learned) == 0 || c.Mode == registry.SelectAll {
			continue
		}
		at := slices.IndexFunc(c.Examples, func(x choice.ToolExamples) bool { return x.Operation == e.Operation })
		if at < 0 {
			c.Examples = append(c.Examples, choice.ToolExamples{Operation: e.Operation, Learned: e.Learned})
		} else {
			c.Examples[at].Learned = e.Learned
		}
	}
	c.Keep(d.Toolset)
	if in != nil && in.Mode == registry.SelectUseCase && len(in.Tools) == 0 {
		return d.ChooseAnew(&in.Mode, &in.UseCase, nil)
	}
	return nil
}

// seeImported is [grant.Room.See] for the addresses in a document, with the grants that
// its toolset has.
func (r *Room) seeImported(ctx context.Context, x *importing) (context.Context, []grant.Seen) {
	if x.now != nil {
		ctx = safedial.WithHolder(ctx, x.now.ID)
	}
	var addresses []string
	for _, c := range x.want.Parts() {
		addresses = append(append(addresses, c.BaseURL, c.Source.URL), declare.SetAuth(c.Authentication, nil).Addresses()...)
	}
	return r.Grants.See(ctx, addresses)
}

// apply makes one toolset what the document says.
func (r *Room) apply(ctx context.Context, ws *store.Workspace, x *importing, reason string) error {
	switch x.planned.Action {
	case "none", "extra":
		return nil
	case "delete":
		return r.Rollouts.Remove(ctx, ws, x.now)
	}
	for _, c := range x.want.Parts() {
		if c.Source.Command == nil || r.Local.Of(c.Source.URL) != nil {
			continue
		}
		if err := local.Require(ctx, r.Local.Commands); err != nil {
			return err
		}
		if err := r.Local.Add(ctx, c.Source.Command); err != nil {
			return err
		}
	}
	ctx, named := r.seeImported(ctx, x)
	d, err := r.importDraft(ctx, ws, x, func(string) {})
	if err != nil {
		return err
	}
	before := map[string]any{}
	labels := ""
	if x.now != nil {
		before = draft.Fields(&draft.Draft{Toolset: x.now, Part: &draft.Part{Row: x.now.First()}})
		labels = x.now.LabelText
	}
	for _, p := range d.Parts {
		if err := r.keepStored(p.Creds); err != nil {
			return err
		}
	}
	for _, p := range d.Parts {
		if p.Made != nil {
			if err := r.Publisher.Push(ctx, p.Made.Pushed); err != nil {
				return err
			}
		}
	}
	if err := r.Drafts.Push(ctx, d.Draft); err != nil {
		return err
	}
	var lost login.Gone
	r.Logins.Secrets.CollectLost(ctx, ws, &lost, d.before, d.AllCreds())
	err = ws.Update(ctx, func(tx *store.Tx) error { return r.writeImported(ctx, tx, d, x.now == nil, before, reason) })
	if err != nil {
		return err
	}
	r.Logins.Secrets.ForgetAll(d.before, d.AllCreds())
	r.Logins.Secrets.RevokeGone(ctx, ws, d.Toolset.ID, &lost)
	if _, err := r.Grants.GrantSeen(ctx, ws, d.Toolset.ID, named); err != nil {
		return err
	}
	for _, name := range d.gone {
		r.Upstreams.Forget(d.Toolset.ID, name)
	}
	if err := r.Access.Import(ctx, ws, d.Toolset, x.want.Access, x.want.Capture); err != nil {
		return err
	}
	if x.planned.Origins, err = r.Drafts.Unconfirmed(ctx, d.Draft); err != nil {
		return err
	}
	switch {
	case len(x.planned.Origins) > 0: // the draft waits, and what is live stays
	case x.want.Live && len(x.planned.Missing) == 0 && d.Toolset.LiveDigest != d.Toolset.DraftDigest:
		if err := r.Rollouts.Deploy(ctx, ws, d.Draft, nil, reason); err != nil {
			return err
		}
		x.planned.Revision = d.Toolset.LiveRevision
	case d.Toolset.LiveRevision > 0 && labels != d.Toolset.LabelText:
		_, err := r.Publisher.Release(ctx)
		return err
	}
	return nil
}

// keepStored leaves out secrets that are stored already: the same is not another version.
func (r *Room) keepStored(creds []credential.Draft) error {
	for i := range creds {
		c := &creds[i]
		if c.Secret.IsZero() || c.Row.Version == 0 {
			continue
		}
		stored, err := r.Logins.Secrets.Unseal(&c.Row)
		if err != nil {
			return err
		}
		if stored.Equal(c.Secret) {
			c.Secret = secrets.Secret{}
		}
	}
	return nil
}

// writeImported writes the records of a toolset as the document says.
func (r *Room) writeImported(ctx context.Context, tx *store.Tx, d *imported, isNew bool, before map[string]any, reason string) error {
	if err := draft.WriteDraft(ctx, tx, d.Draft, isNew); err != nil {
		return err
	}
	for _, name := range d.gone {
		if err := tx.DeleteLearned(ctx, d.Toolset.ID, name); err != nil {
			return err
		}
	}
	for _, p := range d.Parts {
		d.Part = p
		if err := r.Drafts.WriteAuth(ctx, tx, d.Draft); err != nil {
			return err
		}
	}
	d.Part = d.Parts[0]
	rec := request.Audit(ctx, "toolset.import", d.Toolset.ID)
	rec.Digest, rec.Reason, rec.Before, rec.After = d.Toolset.DraftDigest, reason, store.JSON(before), store.JSON(draft.Fields(d.Draft))
	return tx.Audit(ctx, rec)
}

// declareWorkflows gives a draft the workflows of a document, with the names that its
// connectors have here.
func declareWorkflows(d *draft.Draft, list []registry.Workflow, names declare.Names) error {
	if d.Toolset.Workflows = ""; len(list) == 0 {
		return nil
	}
	out := slices.Clone(list)
	for i := range out {
		calls := slices.Clone(out[i].Calls)
		for j := range calls {
			op := names.Operation(toolset.Operation(calls[j].Operation()))
			calls[j].Connector = op.Connector
		}
		out[i].Calls = calls
		if err := workflow.Check(&out[i]); err != nil {
			return problem.As(err).At("", 0, 0, "/workflows/"+strconv.Itoa(i))
		}
	}
	d.Toolset.Workflows = store.JSON(out)
	return nil
}

// checkCommands refuses a document with commands that the caller may not add.
func (r *Room) checkCommands(ctx context.Context, t *declare.DeclaredToolset, have []declare.DeclaredSource) error {
	for i, c := range t.Parts() {
		at := t.PointerTo(i) + "/source"
		known := false
		for _, h := range have {
			known = known || h.URL == c.Source.URL
		}
		switch {
		case !registry.IsStdio(c.Source.URL) || known:
			continue
		case c.Source.Command == nil:
			return request.FieldFault(at+"/command", "the source is a command of the node that it was exported from, which did not have it any more")
		}
		if err := local.Require(ctx, r.Local.Commands); err != nil {
			return err
		}
		address, err := r.Local.Commands.Address(c.Source.Command)
		if err != nil {
			return err
		}
		if address != c.Source.URL {
			return request.FieldFault(at+"/url", "the address is not that of the command; it is %s", address)
		}
	}
	return nil
}
