package transfer

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// slugs are the slugs of toolsets.
func slugs(all []*store.Toolset) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, t := range all {
			if !yield(t.Slug) {
				return
			}
		}
	}
}

// Export is the workspace as a document, with the ETag of what an import would change:
// the named toolsets, or all of them with the publisher keys. Secrets are sealed for
// recipient; "": they are left out.
func (r *Room) Export(ctx context.Context, ws *store.Workspace, toolsets []string, recipient string) (etag string, doc *declare.Declaration, err error) {
	var to age.Recipient
	if recipient != "" {
		if err := request.RequireRole(ctx, store.RoleAdmin); err != nil {
			return "", nil, err
		}
		var err error
		if to, err = backup.ParseRecipient(recipient); err != nil {
			return "", nil, err
		}
	}
	all, err := declare.AllToolsets(ctx, ws)
	if err != nil {
		return "", nil, err
	}
	tag, err := declare.StateTag(ctx, ws, all)
	if err != nil {
		return "", nil, err
	}
	out := &declare.Declaration{FormatVersion: declare.DeclarationFormat, Toolsets: []declare.DeclaredToolset{}}
	for _, name := range toolsets {
		if !slices.ContainsFunc(all, func(t *store.Toolset) bool { return t.ID == name || t.Slug == name }) {
			p := problem.New(problem.NotFound, "there is no toolset %.80q in this workspace", name)
			if near := nearest.Name(name, slugs(all)); near != "" {
				p.Remedy = "did you mean " + near + "?"
			}
			return "", nil, p
		}
	}
	for _, ts := range all {
		if len(toolsets) > 0 && !slices.Contains(toolsets, ts.ID) && !slices.Contains(toolsets, ts.Slug) {
			continue
		}
		d, err := r.declare(ctx, ws, ts, to)
		if err != nil {
			return "", nil, fmt.Errorf("exporting toolset %s: %w", ts.Slug, err)
		}
		out.Toolsets = append(out.Toolsets, *d)
	}
	if len(toolsets) == 0 {
		keys, err := declare.PublisherKeys(ctx, ws)
		if err != nil {
			return "", nil, err
		}
		for i := range keys {
			k := plugin.ShowKey(&keys[i])
			out.PublisherKeys = append(out.PublisherKeys, plugin.NewPublisherKey{Name: k.Name, PublicKey: k.PublicKey})
		}
		if out.AlertRules, err = r.Alerts.Declared(ctx, ws); err != nil {
			return "", nil, err
		}
		if out.Channels, err = r.Notify.Declared(ctx, ws, slugOf(all)); err != nil {
			return "", nil, err
		}
	}
	if to != nil {
		err = ws.Update(ctx, func(tx *store.Tx) error {
			rec := request.Audit(ctx, "workspace.export", ws.ID())
			rec.After = store.JSON(map[string]any{"recipient": recipient, "toolsets": len(out.Toolsets), "secrets": "sealed"})
			return tx.Audit(ctx, rec)
		})
	}
	return tag, out, err
}

// Import asks to make a workspace what a document says.
type Import struct {
	Document *declare.Declaration
	IfMatch  string // ETag of what the document was compared with; "" and "*": any
	Prune    bool   // delete toolsets that are not in the document
	DryRun   bool   // say what would change, and change nothing
	Reason   string // recorded with what is published
}

// Import makes a workspace what a document says, toolset after toolset, once the whole
// document is checked. It returns what it did and the ETag of the workspace after it.
func (r *Room) Import(ctx context.Context, ws *store.Workspace, in *Import) (etag string, plan *declare.ImportPlan, err error) {
	if in.Document.FormatVersion != declare.DeclarationFormat {
		return "", nil, request.FieldFault("/formatVersion", "format version %d is not known", in.Document.FormatVersion)
	}
	if in.Prune {
		if err := request.RequireRole(ctx, store.RoleAdmin); err != nil {
			return "", nil, err
		}
	}
	all, err := declare.AllToolsets(ctx, ws)
	if err != nil {
		return "", nil, err
	}
	tag, err := declare.StateTag(ctx, ws, all)
	if err != nil {
		return "", nil, err
	}
	if in.IfMatch != "" && in.IfMatch != "*" && in.IfMatch != tag {
		return "", nil, request.Stale(problem.New(problem.Precondition, "the workspace was changed meanwhile; its ETag is %s", tag).
			Fix("compare again, with dryRun, and repeat the import"), tag)
	}
	keys, err := r.newKeys(ctx, ws, in.Document.PublisherKeys)
	if err != nil {
		return "", nil, err
	}
	work, err := r.plan(ctx, ws, in.Document, all, in.Prune)
	if err != nil {
		return "", nil, err
	}
	rules, err := r.planRules(ctx, ws, in.Document, work, in.Prune)
	if err != nil {
		return "", nil, err
	}
	channels, err := r.planChannels(ctx, ws, in.Document, all, work, in.Prune)
	if err != nil {
		return "", nil, err
	}
	if !in.DryRun {
		if err := r.addKeys(ctx, ws, keys); err != nil {
			return "", nil, err
		}
		for i := range work {
			if err := r.apply(ctx, ws, &work[i], cmp.Or(in.Reason, "imported")); err != nil {
				return "", nil, declare.Fault(err, in.Document.Toolsets, work[i].planned.Slug)
			}
		}
		if err := applySettings(ctx, append(slices.Clone(rules), channels...)); err != nil {
			return "", nil, err
		}
	}
	out := &declare.ImportPlan{DryRun: in.DryRun, Toolsets: []declare.PlannedToolset{}}
	for i := range keys {
		out.PublisherKeys = append(out.PublisherKeys, keys[i].Name)
	}
	out.Changes = len(keys)
	for _, list := range []struct {
		settings []setting
		shown    *[]declare.PlannedSetting
	}{{rules, &out.AlertRules}, {channels, &out.Channels}} {
		shown, n := planned(list.settings)
		*list.shown = shown
		out.Changes += n
	}
	for i := range work {
		p := work[i].planned
		if p.Action != "none" && p.Action != "extra" {
			out.Changes++
		}
		out.Toolsets = append(out.Toolsets, p)
	}
	if !in.DryRun {
		if all, err = declare.AllToolsets(ctx, ws); err != nil {
			return "", nil, err
		}
		tag, err = declare.StateTag(ctx, ws, all)
	}
	return tag, out, err
}
