package admin

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// imported is a draft as a document says, not stored.
type imported struct {
	*draft

	source *source                     // nil: it stays
	push   func(context.Context) error // of the connector; nil: it stays
}

// importDraft makes the draft that the document says. Nothing is stored but contents
// that no record names.
func (s *Server) importDraft(ctx context.Context, ws *store.Workspace, x *importing, phase func(string)) (*imported, error) {
	t := x.want
	out := &imported{}
	same := false
	if x.now != nil {
		row := *x.now
		d, err := s.draftOf(ctx, ws, &row)
		if err != nil {
			return nil, err
		}
		have, err := declareSource(ctx, ws, &row)
		if err != nil {
			return nil, err
		}
		a, b := have, t.Source
		a.Digest, b.Digest, a.FileName, b.FileName = "", "", "", ""
		same = reflect.DeepEqual(a, b)
		out.draft = d
	} else {
		ts := &store.Toolset{ID: s.o.Store.NewID("ts"), Slug: t.Slug}
		ts.WorkspaceID = ws.ID()
		out.draft = &draft{ts: ts}
		out.addPart(&source{})
	}
	d := out.draft
	if !same {
		src, err := t.source()
		if err != nil {
			return nil, err
		}
		compiled, conn, report, err := s.compile(ctx, ws.ID(), src, phase)
		if err != nil {
			return nil, err
		}
		d.bind(compiled, conn, report)
		out.source = src
		out.push = func(ctx context.Context) error { return s.o.Publisher.Push(ctx, compiled) }
		d.row.SourceKind, d.row.SourceURL, d.row.SourceTitle = src.kind(), src.url, src.title
	}
	d.ts.Name, d.ts.Description, d.ts.Instructions, d.row.BaseURL, d.ts.Profile = t.Name, t.Description, t.Instructions, t.BaseURL, t.Profile
	d.ts.CacheSeconds, d.row.UpstreamPolicy = t.CacheSeconds, t.UpstreamPolicy
	if len(t.Labels) > 0 || d.ts.LabelText != "" {
		d.ts.SetLabels(t.Labels)
	}
	var err error
	if d.ts.Answers, err = t.Answers.record("/answers", registry.OfToolset); err != nil {
		return nil, err
	}
	d.edits = make([]store.ToolEdit, len(t.Tools))
	for i := range t.Tools {
		e := &t.Tools[i]
		d.edits[i] = store.ToolEdit{
			ToolsetID: d.ts.ID, Connector: d.row.Name, Method: e.Method, Path: e.Path, Name: e.Name, Title: e.Title, Description: e.Description, Disabled: e.Disabled,
		}
		if d.edits[i].Answers, err = e.Answers.record(fmt.Sprintf("/tools/%d/answers", i), registry.OfTool); err != nil {
			return nil, err
		}
	}
	if enabledCount(d.tools(false)) == 0 {
		return nil, problem.New(problem.InvalidArgument, "no tool is enabled").At("", 0, 0, "/tools").Fix("enable at least one")
	}
	bound := make([]boundRecord, 0, len(t.Plugins))
	for i := range t.Plugins {
		b, err := s.declaredBinding(ctx, ws, d.row.Name, &t.Plugins[i], "/plugins/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		bound = append(bound, *b)
	}
	if d.ts.Plugins = ""; len(bound) > 0 {
		d.ts.Plugins = mustJSON(bound)
	}
	if err := d.declaredSelection(t.Selection); err != nil {
		return nil, err
	}
	auth := t.auth(x.planned.Missing)
	return out, d.authenticate(s, auth, "/authentication")
}

// declaredSelection puts a selection on a draft. What was learned from calls stays.
func (d *draft) declaredSelection(in *DeclaredSelection) error {
	old, err := choiceOf(d.ts)
	if err != nil {
		return err
	}
	c := &choiceRecord{Mode: registry.SelectAll}
	if in != nil {
		c.Mode, c.UseCase, c.Learn = in.Mode, in.UseCase, in.Learn && in.Mode == registry.SelectSearch
		for _, t := range in.Tools {
			own := storedTool(t)
			own.Connector = d.row.Name
			if t.For != nil {
				own.For = &Operation{d.row.Name, t.For.Method, t.For.Path}
			}
			c.Tools = append(c.Tools, own)
		}
		for _, e := range in.Examples {
			c.Examples = append(c.Examples, ToolExamples{Operation: Operation{d.row.Name, e.Operation.Method, e.Operation.Path}, Operator: e.Operator})
		}
	}
	for i := range old.Examples {
		e := &old.Examples[i]
		if len(e.Learned) == 0 || c.Mode == registry.SelectAll {
			continue
		}
		at := slices.IndexFunc(c.Examples, func(x ToolExamples) bool { return x.Operation == e.Operation })
		if at < 0 {
			c.Examples = append(c.Examples, ToolExamples{Operation: e.Operation, Learned: e.Learned})
		} else {
			c.Examples[at].Learned = e.Learned
		}
	}
	c.keep(d.ts)
	if in != nil && in.Mode == registry.SelectUseCase && len(in.Tools) == 0 {
		return d.chooseAnew(&in.Mode, &in.UseCase, nil)
	}
	return nil
}

// applyImport makes one toolset what the document says.
func (s *Server) applyImport(ctx context.Context, ws *store.Workspace, x *importing, reason string) error {
	switch x.planned.Action {
	case "none", "extra":
		return nil
	case "delete":
		return s.remove(ctx, ws, x.now)
	}
	giveBack, err := s.creating.take(ctx, ws.ID()+"/"+x.want.Slug)
	if err != nil {
		return err
	}
	defer giveBack()
	if _, err := s.grant(ctx, ws, append([]string{x.want.BaseURL, x.want.Source.URL}, x.want.auth(nil).addresses()...)); err != nil {
		return err
	}
	d, err := s.importDraft(ctx, ws, x, func(string) {})
	if err != nil {
		return err
	}
	before := map[string]any{}
	replaced := slices.Clone(d.creds)
	labels := ""
	if x.now != nil {
		before = toolsetFields(&draft{ts: x.now, part: &part{row: x.now.First()}})
		labels = x.now.LabelText
		if replaced, err = loadCredentials(ctx, ws, x.now.ID, x.now.ConnectorName); err != nil {
			return err
		}
	}
	for i := range d.creds { // a secret that is stored already is not another version of it
		c := &d.creds[i]
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
	if d.push != nil {
		if err := d.push(ctx); err != nil {
			return err
		}
	}
	if err := s.pushDraft(ctx, d.draft); err != nil {
		return err
	}
	err = ws.Update(ctx, func(tx *store.Tx) error { return s.writeImported(ctx, tx, d, x.now == nil, before, reason) })
	if err != nil {
		return err
	}
	s.forgetAll(replaced, d.creds)
	if err := s.importAccess(ctx, ws, d.ts, x.want); err != nil {
		return err
	}
	switch {
	case x.want.Live && len(x.planned.Missing) == 0 && d.ts.LiveDigest != d.ts.DraftDigest:
		if err := s.deploy(ctx, ws, d.draft, nil, reason); err != nil {
			return err
		}
		x.planned.Revision = d.ts.LiveRevision
	case d.ts.LiveRevision > 0 && labels != d.ts.LabelText:
		s.publish.Lock()
		defer s.publish.Unlock()
		_, err := s.o.Publisher.Release(ctx)
		return err
	}
	return nil
}

// writeImported writes the records of a toolset as the document says.
func (s *Server) writeImported(ctx context.Context, tx *store.Tx, d *imported, isNew bool, before map[string]any, reason string) error {
	if src := d.source; src != nil {
		err := tx.PutSpecification(ctx, &store.Specification{
			Digest: d.report.SpecDigest, Name: src.name(), URL: src.url, Format: src.format(d.report.Format), SpecVersion: d.report.SpecVersion, Content: src.content(),
		})
		if err != nil {
			return err
		}
		if err := tx.PutConnector(ctx, &store.Connector{Name: d.row.Connector, Title: d.report.Title, Kind: "custom", Source: src.kind()}, d.version); err != nil {
			return err
		}
	}
	if err := tx.SaveConnectors(ctx, d.ts, d.rows()); err != nil {
		return err
	}
	write := tx.SaveToolset
	if isNew {
		write = tx.CreateToolset
	}
	if err := write(ctx, d.ts); err != nil {
		return err
	}
	if d.source != nil {
		if err := tx.PutToolsetSource(ctx, d.source.record(d.ts.ID, d.row.Name)); err != nil {
			return err
		}
	}
	if err := tx.ReplaceToolEdits(ctx, d.ts.ID, d.edits); err != nil {
		return err
	}
	if err := s.writeAuth(ctx, tx, d.draft); err != nil {
		return err
	}
	rec := audit(ctx, "toolset.import", d.ts.ID)
	rec.Digest, rec.Reason, rec.Before, rec.After = d.ts.DraftDigest, reason, mustJSON(before), mustJSON(toolsetFields(d.draft))
	return tx.Audit(ctx, rec)
}

// importAccess makes access and capture what the document says.
func (s *Server) importAccess(ctx context.Context, ws *store.Workspace, ts *store.Toolset, t *DeclaredToolset) error {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return err
	}
	before, err := settingsOf(row)
	if err != nil {
		return err
	}
	after := AccessSettings{Mode: registry.AccessNone}
	if t.Access != nil {
		after = *t.Access
	}
	capture := ""
	if row != nil {
		capture = row.Capture
	}
	if reflect.DeepEqual(before, after) && capture == t.Capture {
		return nil
	}
	return s.changeAccess(ctx, ws, ts, &accessChange{
		action: "access.import", settings: &after, capture: &t.Capture,
		before: map[string]any{"access": before, "capture": capture}, after: map[string]any{"access": after, "capture": t.Capture},
	})
}
