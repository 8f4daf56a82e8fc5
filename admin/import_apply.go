package admin

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/admin/choice"
	"github.com/sluicegate/sluice/admin/grant"
	"github.com/sluicegate/sluice/admin/local"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// imported is a draft as a document says, not stored.
type imported struct {
	*draft

	before []draftCredential // of the toolset as it was
	names  declaredNames
	gone   []string // names of connectors that the document does not have
}

// importDraft makes the draft that the document says. Nothing is stored but contents
// that no record names.
func (s *Server) importDraft(ctx context.Context, ws *store.Workspace, x *importing, phase func(string)) (*imported, error) {
	t := x.want
	out := &imported{names: declaredNames{}}
	if x.now != nil {
		row := *x.now
		d, err := s.draftOf(ctx, ws, &row)
		if err != nil {
			return nil, err
		}
		out.draft, out.before = d, d.allCreds()
	} else {
		ts := &store.Toolset{ID: s.o.Store.NewID("ts"), Slug: t.Slug}
		ts.WorkspaceID = ws.ID()
		out.draft = &draft{ts: ts}
	}
	d := out.draft
	d.ts.Name, d.ts.Description, d.ts.Instructions, d.ts.Profile, d.ts.CacheSeconds = t.Name, t.Description, t.Instructions, t.Profile, t.CacheSeconds
	if len(t.Labels) > 0 || d.ts.LabelText != "" {
		d.ts.SetLabels(t.Labels)
	}
	var err error
	if d.ts.Answers, err = t.Answers.Record("/answers", registry.OfToolset); err != nil {
		return nil, err
	}
	if err := s.importConnectors(ctx, ws, out, t, phase); err != nil {
		return nil, err
	}
	d.edits = make([]store.ToolEdit, len(t.Tools))
	for i := range t.Tools {
		e := &t.Tools[i]
		op := out.names.operation(e.Operation)
		d.edits[i] = store.ToolEdit{
			ToolsetID: d.ts.ID, Connector: op.Connector, Method: op.Method, Path: op.Path, Name: e.Name, Title: e.Title, Description: e.Description, Disabled: e.Disabled,
		}
		if d.edits[i].Annotations, err = toolset.RecordAnnotations(e.Annotations, fmt.Sprintf("/tools/%d/annotations", i)); err != nil {
			return nil, err
		}
		if d.edits[i].Answers, err = e.Answers.Record(fmt.Sprintf("/tools/%d/answers", i), registry.OfTool); err != nil {
			return nil, err
		}
		if d.edits[i].Fixed, err = toolset.RecordFixed(e.Fixed, fmt.Sprintf("/tools/%d/fixed", i)); err != nil {
			return nil, err
		}
		if d.edits[i].Arguments, err = toolset.RecordArguments(e.Arguments, fmt.Sprintf("/tools/%d/arguments", i), nil); err != nil {
			return nil, err
		}
	}
	if d.empty() {
		return nil, problem.New(problem.InvalidArgument, "no tool, prompt or resource is enabled").At("", 0, 0, "/tools").Fix("enable at least one")
	}
	if err := d.checkNames(); err != nil {
		return nil, problem.As(err).At("", 0, 0, "/tools")
	}
	if err := s.bindDeclared(ctx, ws, d, t.Plugins, out.names); err != nil {
		return nil, err
	}
	if err := d.declareWorkflows(t.Workflows, out.names); err != nil {
		return nil, err
	}
	if err := out.declaredSelection(t.Selection); err != nil {
		return nil, err
	}
	for i, p := range d.parts {
		d.part = p
		if err := d.authenticate(s, x.auth(i), t.pointerTo(i)+"/authentication"); err != nil {
			return nil, err
		}
		if err := s.bind(ctx, d); err != nil {
			return nil, err
		}
	}
	d.part = d.parts[0]
	return out, nil
}

// importConnectors gives a draft the connectors of a document, in its order.
func (s *Server) importConnectors(ctx context.Context, ws *store.Workspace, out *imported, t *DeclaredToolset, phase func(string)) error {
	d := out.draft
	have := make([]DeclaredSource, len(d.parts))
	for i, p := range d.parts {
		var err error
		if have[i], err = declareSource(ctx, ws, &p.row); err != nil {
			return err
		}
	}
	if err := s.checkCommands(ctx, t, have); err != nil {
		return err
	}
	old, declared := &draft{ts: d.ts, parts: d.parts}, t.parts()
	d.parts = nil
	for i := range declared {
		c, at := &declared[i], t.pointerTo(i)
		p := old.partOf(t, i, have)
		isNew := p == nil
		if isNew {
			p = &part{row: store.ToolsetConnector{ToolsetID: d.ts.ID, Name: c.Name}}
		}
		d.part, d.parts = p, append(d.parts, p)
		if isNew || !have[slices.Index(old.parts, p)].same(c.Source) {
			src, err := c.Source.source(at + "/source")
			if err != nil {
				return err
			}
			compiled, err := s.compile(ctx, ws.ID(), src, phase)
			if err != nil {
				return err
			}
			d.bind(compiled)
			p.row.SourceKind, p.row.SourceURL, p.row.SourceTitle = src.Kind(), src.URL, src.Title
		}
		p.row.BaseURL, p.row.UpstreamPolicy, p.row.Stateless = c.BaseURL, c.UpstreamPolicy, c.Stateless
		err := checkStateless(&p.row, at+"/stateless")
		if err != nil {
			return err
		}
		if p.row.Answers, err = c.Answers.Record(at+"/answers", registry.OfConnector); err != nil {
			return err
		}
		if p.row.Fixed, err = toolset.RecordFixed(c.Fixed, at+"/fixed"); err != nil {
			return err
		}
		out.names[c.Name] = p.row.Name
	}
	out.names[""] = d.parts[0].row.Name
	for _, p := range old.parts {
		if !slices.Contains(d.parts, p) {
			out.gone = append(out.gone, p.row.Name)
		}
	}
	return nil
}

// declaredSelection puts a selection on a draft. What was learned from calls stays.
func (d *imported) declaredSelection(in *DeclaredSelection) error {
	old, err := choice.Of(d.ts)
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
			own.Operation, own.For = d.names.operation(t.Operation), mapOperation(t.For, d.names.operation)
			c.Tools = append(c.Tools, own)
		}
		for _, e := range in.Examples {
			c.Examples = append(c.Examples, choice.ToolExamples{Operation: d.names.operation(e.Operation), Operator: e.Operator})
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
	c.Keep(d.ts)
	if in != nil && in.Mode == registry.SelectUseCase && len(in.Tools) == 0 {
		return d.chooseAnew(&in.Mode, &in.UseCase, nil)
	}
	return nil
}

// seeImported is [grant.Room.See] for the addresses in a document, with the grants that
// its toolset has.
func (s *Server) seeImported(ctx context.Context, x *importing) (context.Context, []grant.Seen) {
	if x.now != nil {
		ctx = safedial.WithHolder(ctx, x.now.ID)
	}
	var addresses []string
	for _, c := range x.want.parts() {
		addresses = append(append(addresses, c.BaseURL, c.Source.URL), setAuth(c.Authentication, nil).addresses()...)
	}
	return s.grants.See(ctx, addresses)
}

// applyImport makes one toolset what the document says.
func (s *Server) applyImport(ctx context.Context, ws *store.Workspace, x *importing, reason string) error {
	switch x.planned.Action {
	case "none", "extra":
		return nil
	case "delete":
		return s.remove(ctx, ws, x.now)
	}
	for _, c := range x.want.parts() {
		if c.Source.Command == nil || s.commandOf(c.Source.URL) != nil {
			continue
		}
		if err := local.Require(ctx, s.o.Commands); err != nil {
			return err
		}
		if err := s.addCommand(ctx, c.Source.Command); err != nil {
			return err
		}
	}
	ctx, named := s.seeImported(ctx, x)
	d, err := s.importDraft(ctx, ws, x, func(string) {})
	if err != nil {
		return err
	}
	before := map[string]any{}
	labels := ""
	if x.now != nil {
		before = toolsetFields(&draft{ts: x.now, part: &part{row: x.now.First()}})
		labels = x.now.LabelText
	}
	for _, p := range d.parts {
		if err := s.keepStored(p.creds); err != nil {
			return err
		}
	}
	for _, p := range d.parts {
		if p.made != nil {
			if err := s.o.Publisher.Push(ctx, p.made.pushed); err != nil {
				return err
			}
		}
	}
	if err := s.pushDraft(ctx, d.draft); err != nil {
		return err
	}
	var lost gone
	s.collectLost(ctx, ws, &lost, d.before, d.allCreds())
	err = ws.Update(ctx, func(tx *store.Tx) error { return s.writeImported(ctx, tx, d, x.now == nil, before, reason) })
	if err != nil {
		return err
	}
	s.forgetAll(d.before, d.allCreds())
	s.revokeGone(ctx, ws, d.ts.ID, &lost)
	if _, err := s.grants.GrantSeen(ctx, ws, d.ts.ID, named); err != nil {
		return err
	}
	for _, name := range d.gone {
		s.upstreams.Forget(d.ts.ID, name)
	}
	if err := s.access.Import(ctx, ws, d.ts, x.want.Access, x.want.Capture); err != nil {
		return err
	}
	if x.planned.Origins, err = s.unconfirmed(ctx, d.draft); err != nil {
		return err
	}
	switch {
	case len(x.planned.Origins) > 0: // the draft waits, and what is live stays
	case x.want.Live && len(x.planned.Missing) == 0 && d.ts.LiveDigest != d.ts.DraftDigest:
		if err := s.deploy(ctx, ws, d.draft, nil, reason); err != nil {
			return err
		}
		x.planned.Revision = d.ts.LiveRevision
	case d.ts.LiveRevision > 0 && labels != d.ts.LabelText:
		_, err := s.o.Publisher.Release(ctx)
		return err
	}
	return nil
}

// keepStored leaves out secrets that are stored already: the same is not another version.
func (s *Server) keepStored(creds []draftCredential) error {
	for i := range creds {
		c := &creds[i]
		if c.secret.IsZero() || c.row.Version == 0 {
			continue
		}
		stored, err := s.open(&c.row)
		if err != nil {
			return err
		}
		if stored.Equal(c.secret) {
			c.secret = secrets.Secret{}
		}
	}
	return nil
}

// writeImported writes the records of a toolset as the document says.
func (s *Server) writeImported(ctx context.Context, tx *store.Tx, d *imported, isNew bool, before map[string]any, reason string) error {
	if err := writeDraft(ctx, tx, d.draft, isNew); err != nil {
		return err
	}
	for _, name := range d.gone {
		if err := tx.DeleteLearned(ctx, d.ts.ID, name); err != nil {
			return err
		}
	}
	for _, p := range d.parts {
		d.part = p
		if err := s.writeAuth(ctx, tx, d.draft); err != nil {
			return err
		}
	}
	d.part = d.parts[0]
	rec := request.Audit(ctx, "toolset.import", d.ts.ID)
	rec.Digest, rec.Reason, rec.Before, rec.After = d.ts.DraftDigest, reason, store.JSON(before), store.JSON(toolsetFields(d.draft))
	return tx.Audit(ctx, rec)
}
