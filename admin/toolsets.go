package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

type createInput struct {
	Body change.CreateToolset
}

type getInput struct {
	ToolsetInput
	IfNoneMatch string `header:"If-None-Match" maxLength:"512"`
}

type detailOutput struct {
	ETag string `header:"ETag"`
	Body view.ToolsetDetail
}

type patchInput struct {
	ToolsetInput
	request.MatchInput
	Body draft.PatchToolset `contentType:"application/merge-patch+json"`
}

type revisionsInput struct {
	ToolsetInput
	ListInput
}

func registerToolsets(s *Server) {
	tags := []string{"toolsets"}
	register(s, huma.Operation{
		OperationID: "create-toolset", Method: http.MethodPost, Path: "/v1/toolsets", Summary: "Create a toolset from an OpenAPI specification", Tags: tags,
		Description: "Makes a connector and a draft, tests one safe tool, and deploys when the test passes. " +
			"The same slug with the same source refreshes that toolset (200) and keeps its edits. A failed test leaves a draft; every other failure leaves nothing.",
	}, func(ctx context.Context, in *createInput) (*jobOutput, error) {
		return s.run(ctx, "toolset.create", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.changes.Create(ctx, &in.Body, phase)
		})
	})
	documentJob(s.api.OpenAPI(), "/v1/toolsets", change.CreatedToolset{}, http.StatusCreated, http.StatusOK)
	register(s, huma.Operation{
		OperationID: "list-toolsets", Method: http.MethodGet, Path: "/v1/toolsets", Summary: "List toolsets, newest first", Tags: tags,
	}, of(s, listToolsets))
	register(s, huma.Operation{
		OperationID: "get-toolset", Method: http.MethodGet, Path: "/v1/toolsets/{id}", Summary: "Read a toolset", Tags: tags,
	}, func(ctx context.Context, in *getInput) (*detailOutput, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if in.IfNoneMatch != "" && request.Matches(in.IfNoneMatch, ts.Version) {
			return nil, huma.ErrorWithHeaders(&front.Problem{Status: http.StatusNotModified}, http.Header{"Etag": {request.ETag(ts.Version)}})
		}
		d, err := draft.Outline(ctx, ws, ts)
		if err != nil {
			return nil, err
		}
		t, err := s.views.Toolset(ctx, ws, d)
		if err != nil {
			return nil, err
		}
		return &detailOutput{ETag: request.ETag(ts.Version), Body: view.DetailOf(d, t)}, nil
	})
	register(s, huma.Operation{
		OperationID: "patch-toolset", Method: http.MethodPatch, Path: "/v1/toolsets/{id}", Summary: "Change a toolset", Tags: tags,
		Description: "A change makes a new draft; the live revision stays until the draft is tested or deployed. Needs If-Match.",
	}, func(ctx context.Context, in *patchInput) (*toolsetOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.Patch(ctx, ws, in.ID, &in.MatchInput, &in.Body)
		if err != nil {
			return nil, err
		}
		if in.Body.BaseURL != nil {
			if err := s.grants.GrantNamed(ctx, ws, d.Toolset.ID, *in.Body.BaseURL); err != nil {
				return nil, err
			}
		}
		return s.toolsetAnswer(ctx, ws, d)
	})
	register(s, huma.Operation{
		OperationID: "delete-toolset", Method: http.MethodDelete, Path: "/v1/toolsets/{id}", Summary: "Delete a toolset", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Description:   "Takes it out of the release first, then removes its records and its credential. Needs If-Match.",
	}, func(ctx context.Context, in *deleteInput) (*struct{}, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if err := in.Check(ts.Version, true); err != nil {
			return nil, err
		}
		return nil, s.rollouts.Remove(ctx, ws, ts)
	})
	register(s, huma.Operation{
		OperationID: "list-revisions", Method: http.MethodGet, Path: "/v1/toolsets/{id}/revisions", Summary: "List the published revisions, newest first", Tags: tags,
	}, of(s, listRevisions))
	register(s, huma.Operation{
		OperationID: "list-published", Method: http.MethodGet, Path: "/v1/revisions", Summary: "List the published revisions of all toolsets, newest first", Tags: tags,
	}, of(s, listPublished))
	registerToolsetConnectors(s)
	registerLifecycle(s)
	registerPreviews(s)
	registerKeys(s)
}

func listToolsets(ctx context.Context, s *Server, in *ListInput) (*listOutput[view.Toolset], error) {
	p, err := in.page("/v1/toolsets")
	if err != nil {
		return nil, err
	}
	ws := s.workspace(ctx)
	rows, next, err := ws.Toolsets(ctx, p)
	if err != nil {
		return nil, err
	}
	records, err := ws.Gather(ctx, rows)
	if err != nil {
		return nil, err
	}
	shown := make([]view.Toolset, len(rows))
	for i := range rows {
		d, err := draft.Outline(ctx, records, &rows[i])
		if err != nil {
			return nil, err
		}
		if shown[i], err = s.views.Toolset(ctx, records, d); err != nil {
			return nil, err
		}
	}
	return list(in, "/v1/toolsets", shown, next, same), nil
}

func listRevisions(ctx context.Context, s *Server, in *revisionsInput) (*listOutput[view.Revision], error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	path := "/v1/toolsets/" + ts.ID + "/revisions"
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	rows, next, err := ws.Revisions(ctx, ts.ID, p)
	if err != nil {
		return nil, err
	}
	names, err := namesOf(ctx, ws, rows)
	if err != nil {
		return nil, err
	}
	return list(&in.ListInput, path, rows, next, func(r *store.Revision) view.Revision {
		return view.ShowRevision(r, names)
	}), nil
}

func listPublished(ctx context.Context, s *Server, in *ListInput) (*listOutput[view.Published], error) {
	const path = "/v1/revisions"
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	ws := s.workspace(ctx)
	rows, next, err := ws.Published(ctx, p)
	if err != nil {
		return nil, err
	}
	names, err := namesOf(ctx, ws, rows)
	if err != nil {
		return nil, err
	}
	return list(in, path, rows, next, func(r *store.Revision) view.Published {
		return view.Published{ToolsetID: r.ToolsetID, Slug: names[r.ToolsetID], Revision: view.ShowRevision(r, names)}
	}), nil
}

// namesOf are the names of those who published revisions, and of their toolsets.
func namesOf(ctx context.Context, ws *store.Workspace, rows []store.Revision) (map[string]string, error) {
	ids := make([]string, 0, 2*len(rows))
	for i := range rows {
		ids = append(ids, rows[i].Author, rows[i].ToolsetID)
	}
	slices.Sort(ids)
	return ws.Names(ctx, slices.Compact(ids))
}
