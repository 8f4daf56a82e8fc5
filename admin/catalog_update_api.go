package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/adoption"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/plugins/connector"
)

type updateEntryInput struct {
	ToolsetInput
	request.MatchInput
	Body adoption.UpdateRequest
}

func registerEntryUpdates(s *Server) {
	const path = "/v1/toolsets/{id}/catalog-update"
	register(s, huma.Operation{
		OperationID: "update-toolset-entry", Method: http.MethodPost, Path: path, Summary: "Update a connector to the current version of its catalog entry", Tags: []string{"catalog"},
		Description: "For a connector that was made of an entry: tools, names, descriptions, answers, authentication header and addresses that are as the older version of the entry said become " +
			"what the newer says; everything the operator edited stays. Changes that break nothing are tested and deployed when the toolset is live; breaking ones wait in the draft, " +
			"and so does a new address of calls until its credential may be sent there. With If-Match, nothing is done when the toolset was changed since it was read.",
	}, func(ctx context.Context, in *updateEntryInput) (*jobOutput, error) {
		return s.run(ctx, "catalog.update", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return updateEntry(ctx, s, in, phase)
		})
	})
	documentJob(s.api.OpenAPI(), path, change.Refreshed{}, http.StatusOK)
}

// entryTries of an update whose toolset is changed by others meanwhile.
const entryTries = 20

func updateEntry(ctx context.Context, s *Server, input *updateEntryInput, phase func(string)) (*request.Done, error) {
	in := &input.Body
	ws := s.workspace(ctx)
	room := &adoption.Room{
		Catalog: s.catalog, Drafts: s.drafts, Rollouts: s.rollouts,
		Record: func(ctx context.Context, tx *store.Tx, d *draft.Draft, diff *adoption.Diff) error {
			return entryChanges(ctx, ws, d, diff).Write(ctx, tx, d.Toolset.ID)
		},
	}
	for try := 1; ; try++ {
		d, err := s.drafts.LoadMatching(ctx, ws, input.ID, &input.MatchInput)
		if err != nil {
			return nil, err
		}
		if err := d.Focus(in.Connector); err != nil {
			return nil, err
		}
		out, err := room.Update(ctx, ws, d, in, phase)
		if errors.Is(err, store.ErrStale) && try < entryTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		return entryUpdated(ctx, s, ws, d, in, out)
	}
}

func entryUpdated(ctx context.Context, s *Server, ws *store.Workspace, d *draft.Draft, in *adoption.UpdateRequest, out *adoption.Outcome) (*request.Done, error) {
	answer := change.Refreshed{Changed: out.Diff != nil, DryRun: in.DryRun, Deployed: out.Deployed, Waiting: out.Waiting, Test: out.Test}
	if out.Diff != nil {
		answer.Changes = entryChanges(ctx, ws, d, out.Diff)
	}
	d, err := draft.Outline(ctx, ws, d.Toolset) // not what a dry run made of it
	if err == nil {
		answer.Toolset, err = s.views.Toolset(ctx, ws, d)
	}
	if err != nil {
		return nil, err
	}
	return &request.Done{Status: http.StatusOK, Resource: "/v1/toolsets/" + d.Toolset.ID, ETag: request.ETag(d.Toolset.Version), Body: answer}, nil
}

// entryChanges is an update of an entry as the list of changes has it.
func entryChanges(ctx context.Context, ws *store.Workspace, d *draft.Draft, diff *adoption.Diff) *difference.Changes {
	spec := func(version string) difference.SpecRef {
		return difference.SpecRef{Version: "entry " + version, Digest: d.Version.SpecDigest}
	}
	c := &difference.Changes{
		Connector: d.Row.Name, From: spec(diff.Entry.From), To: spec(diff.Entry.To), Entry: &diff.Entry, Origins: diff.Origins,
		Tools: append([]connector.ToolChange{}, diff.Tools...), Kept: []draft.KeptName{}, At: ws.Now(), Actor: request.Of(ctx).ActorID(),
	}
	c.Added, c.Removed, c.Changed, c.Breaking, c.Safe, c.Wording = diff.Count()
	if diff.Origins != nil {
		c.Breaking++
	}
	return c
}
