package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"filippo.io/age"
	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/backup"
	"github.com/sluicegate/sluice/admin/declare"
	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

type exportInput struct {
	Toolsets  []string `query:"toolset" maxItems:"200" doc:"Only these, by id or slug. Default: all."`
	Recipient string   `query:"recipient" maxLength:"200" doc:"age public key (age1…) that secrets are sealed for; needs the role admin. Default: secrets are left out."`
}

type exportOutput struct {
	ETag string `header:"ETag" doc:"Of what import would change, for its If-Match."`
	Body declare.Declaration
}

func (s *Server) registerExport() {
	tags := []string{"export"}
	register(s, huma.Operation{
		OperationID: "export-workspace", Method: http.MethodGet, Path: "/v1/export", Summary: "Read the workspace as a document", Tags: tags,
		Description: "Toolsets with their specifications, settings, edits, plugins, access and labels. The same toolsets give the same bytes on every server. " +
			"Without a recipient no secret is in it; access tokens, the tokens of OAuth logins, history and usage never are.",
	}, s.exportWorkspace)
	s.registerImport()
}

func (s *Server) exportWorkspace(ctx context.Context, in *exportInput) (*exportOutput, error) {
	var to age.Recipient
	if in.Recipient != "" {
		if err := request.RequireRole(ctx, store.RoleAdmin); err != nil {
			return nil, err
		}
		var err error
		if to, err = backup.ParseRecipient(in.Recipient); err != nil {
			return nil, err
		}
	}
	ws := s.workspace(ctx)
	all, err := declare.AllToolsets(ctx, ws)
	if err != nil {
		return nil, err
	}
	tag, err := declare.StateTag(ctx, ws, all)
	if err != nil {
		return nil, err
	}
	out := &exportOutput{ETag: tag, Body: declare.Declaration{FormatVersion: declare.DeclarationFormat, Toolsets: []declare.DeclaredToolset{}}}
	for _, name := range in.Toolsets {
		if !slices.ContainsFunc(all, func(t *store.Toolset) bool { return t.ID == name || t.Slug == name }) {
			return nil, problem.New(problem.NotFound, "there is no toolset %.80q in this workspace", name)
		}
	}
	for _, ts := range all {
		if len(in.Toolsets) > 0 && !slices.Contains(in.Toolsets, ts.ID) && !slices.Contains(in.Toolsets, ts.Slug) {
			continue
		}
		d, err := s.transfers.declare(ctx, ws, ts, to)
		if err != nil {
			return nil, fmt.Errorf("exporting toolset %s: %w", ts.Slug, err)
		}
		out.Body.Toolsets = append(out.Body.Toolsets, *d)
	}
	if len(in.Toolsets) == 0 {
		keys, err := declare.PublisherKeys(ctx, ws)
		if err != nil {
			return nil, err
		}
		for i := range keys {
			k := plugin.ShowKey(&keys[i])
			out.Body.PublisherKeys = append(out.Body.PublisherKeys, plugin.NewPublisherKey{Name: k.Name, PublicKey: k.PublicKey})
		}
	}
	if to != nil {
		err = ws.Update(ctx, func(tx *store.Tx) error {
			rec := request.Audit(ctx, "workspace.export", ws.ID())
			rec.After = store.JSON(map[string]any{"recipient": in.Recipient, "toolsets": len(out.Body.Toolsets), "secrets": "sealed"})
			return tx.Audit(ctx, rec)
		})
	}
	return out, err
}

type importInput struct {
	DryRun  bool   `query:"dryRun" doc:"Say what would change, and change nothing."`
	Prune   bool   `query:"prune" doc:"Delete toolsets that are not in the document. Needs the role admin."`
	Reason  string `query:"reason" maxLength:"500" doc:"Recorded with what is published, such as a commit. Default: imported."`
	IfMatch string `header:"If-Match" maxLength:"512" doc:"ETag of the export or dry run the document was compared with."`
	Body    declare.Declaration
}

type importOutput struct {
	ETag string `header:"ETag" doc:"Of the workspace as it is now."`
	Body declare.ImportPlan
}

func (s *Server) registerImport() {
	register(s, huma.Operation{
		OperationID: "import-workspace", Method: http.MethodPost, Path: "/v1/import", Summary: "Make the workspace as a document says", Tags: []string{"export"},
		Description: "Toolsets are created and changed to what the document says, and published where it says live; nothing is read from the network. " +
			"The whole document is checked before anything is changed. What is as it should be is left alone, so importing again changes nothing. " +
			"Toolsets are changed one after the other: when one fails, those before it are done, and the same import goes on from there.",
	}, s.importWorkspace)
}

func (s *Server) importWorkspace(ctx context.Context, in *importInput) (*importOutput, error) {
	ws := s.workspace(ctx)
	if in.Body.FormatVersion != declare.DeclarationFormat {
		return nil, request.FieldFault("/formatVersion", "format version %d is not known", in.Body.FormatVersion)
	}
	if in.Prune {
		if err := request.RequireRole(ctx, store.RoleAdmin); err != nil {
			return nil, err
		}
	}
	all, err := declare.AllToolsets(ctx, ws)
	if err != nil {
		return nil, err
	}
	tag, err := declare.StateTag(ctx, ws, all)
	if err != nil {
		return nil, err
	}
	if in.IfMatch != "" && in.IfMatch != "*" && in.IfMatch != tag {
		return nil, huma.ErrorWithHeaders(problem.New(problem.Precondition, "the workspace was changed meanwhile; its ETag is %s", tag).
			Fix("compare again, with dryRun, and repeat the import").Because(store.ErrStale), http.Header{"Etag": {tag}})
	}
	keys, err := s.transfers.newKeys(ctx, ws, in.Body.PublisherKeys)
	if err != nil {
		return nil, err
	}
	work, err := s.transfers.plan(ctx, ws, &in.Body, all, in.Prune)
	if err != nil {
		return nil, err
	}
	if !in.DryRun {
		if err := s.transfers.addKeys(ctx, ws, keys); err != nil {
			return nil, err
		}
		for i := range work {
			if err := s.transfers.apply(ctx, ws, &work[i], cmp.Or(in.Reason, "imported")); err != nil {
				return nil, declare.Fault(err, in.Body.Toolsets, work[i].planned.Slug)
			}
		}
	}
	out := &importOutput{ETag: tag, Body: declare.ImportPlan{DryRun: in.DryRun, Toolsets: []declare.PlannedToolset{}}}
	for i := range keys {
		out.Body.PublisherKeys = append(out.Body.PublisherKeys, keys[i].Name)
	}
	out.Body.Changes = len(keys)
	for i := range work {
		p := work[i].planned
		if p.Action != "none" && p.Action != "extra" {
			out.Body.Changes++
		}
		out.Body.Toolsets = append(out.Body.Toolsets, p)
	}
	if !in.DryRun {
		if all, err = declare.AllToolsets(ctx, ws); err != nil {
			return nil, err
		}
		out.ETag, err = declare.StateTag(ctx, ws, all)
	}
	return out, err
}
