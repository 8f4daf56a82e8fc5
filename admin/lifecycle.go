package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/artifact"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Types of events.
const (
	EventDeployed   = "toolset.deployed"
	EventRolledBack = "toolset.rolled_back"
	EventTested     = "toolset.tested"   // a test of the draft passed: draft → tested
	EventReplaced   = "toolset.replaced" // another revision is live in its place: published → superseded or rolled_back
)

// replaced tells of the revision that was live until now.
func (s *Server) replaced(workspace string, before *store.Toolset, step store.Step) {
	if before.LiveRevision == 0 {
		return
	}
	to, err := store.Next(store.Published, step)
	if err != nil {
		panic("BUG: a live revision cannot be replaced: " + err.Error())
	}
	s.events.Emit(publish.Event{
		Type: EventReplaced, Workspace: workspace, Toolset: before.ID, Revision: before.LiveRevision, Digest: before.LiveDigest,
		From: string(store.Published), To: string(to),
	})
}

// RollbackRequest names the revision to go back to.
type RollbackRequest struct {
	Revision uint64 `json:"revision,omitempty" doc:"Default: the newest one before the live one that differs from it."`
	Reason   string `json:"reason,omitempty" maxLength:"500"`
}

type rollbackInput struct {
	ToolsetInput
	request.MatchInput
	Body *RollbackRequest
}

func (s *Server) registerLifecycle() {
	register(s, huma.Operation{
		OperationID: "rollback-toolset", Method: http.MethodPost, Path: "/v1/toolsets/{id}/rollback", Summary: "Go back to an older revision", Tags: []string{"toolsets"},
		Description: "Publishes the digest of an older revision as a new revision. The draft becomes what is live; what it was is kept aside under a name (see list-kept-drafts).",
	}, s.rollback)
	register(s, huma.Operation{
		OperationID: "collect-garbage", Method: http.MethodPost, Path: "/v1/registry/collect", Summary: "Remove what nothing needs from the registry", Tags: []string{"registry"},
		Description: "Operator only. It happens by itself every hour. What a live or retained revision, a draft or a tag needs stays.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[artifact.Collected], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		return answer(s.artifacts.Collect(ctx))
	})
}

func (s *Server) rollback(ctx context.Context, in *rollbackInput) (*toolsetOutput, error) {
	ws := s.workspace(ctx)
	req := RollbackRequest{}
	if in.Body != nil {
		req = *in.Body
	}
	if err := s.rollBack(ctx, ws, in, req); err != nil {
		return nil, err
	}
	d, err := s.drafts.Load(ctx, ws, in.ID)
	if err != nil {
		return nil, err
	}
	return s.toolsetAnswer(ctx, ws, d)
}

func (s *Server) rollBack(ctx context.Context, ws *store.Workspace, in *rollbackInput, req RollbackRequest) error {
	ts, err := ws.FindToolset(ctx, in.ID)
	if err != nil {
		return err
	}
	if err := in.Check(ts.Version, false); err != nil {
		return err
	}
	if ts.LiveRevision == 0 {
		return problem.New(problem.Conflict, "toolset %s is not live", ts.Slug).Fix("deploy it")
	}
	var old *store.Revision
	if req.Revision == 0 {
		old, err = ws.LastRevisionBefore(ctx, ts.ID, ts.LiveRevision, ts.LiveDigest)
	} else {
		old, err = ws.Revision(ctx, ts.ID, req.Revision)
	}
	if err != nil {
		return err
	}
	if old.N == ts.LiveRevision || old.Digest == ts.LiveDigest {
		return problem.New(problem.Conflict, "revision %d is already live", old.N)
	}
	if _, err := store.Next(old.State, store.Restore); err != nil {
		return err
	}
	content, err := s.o.Publisher.Content(ctx, old.Repository, registry.Digest(old.Digest))
	if err != nil {
		return err
	}
	for _, id := range content.Credentials {
		if _, err := ws.CredentialByID(ctx, id); problem.Is(err, problem.NotFound) {
			return problem.New(problem.Conflict, "revision %d uses an authentication that was deleted since", old.N).
				Fix("choose a newer revision, or set the authentication and deploy the draft")
		} else if err != nil {
			return err
		}
	}
	bundle, err := s.o.Publisher.Toolset(ctx, old.Repository, registry.Digest(old.Digest))
	if err != nil {
		return err
	}
	if err := s.bringsBackYanked(ctx, ws, ts, bundle.Plugins); err != nil {
		return err
	}
	if err := s.logins.Origins.Restorable(ctx, ws, ts.Slug, old.Repository, registry.Digest(old.Digest)); err != nil {
		return err
	}
	before := *ts
	rev := &store.Revision{
		ToolsetID: ts.ID, Digest: old.Digest, Repository: old.Repository, ConnectorDigest: old.ConnectorDigest,
		Author: request.Of(ctx).ActorID(), Reason: req.Reason, TestRunID: old.TestRunID, Restores: old.N,
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PublishRevision(ctx, rev, old.State, store.Restore, before.LiveRevision); err != nil {
			return err
		}
		ts.LiveDigest, ts.LiveRevision, ts.LiveRepository = rev.Digest, rev.N, rev.Repository
		if err := tx.SaveToolset(ctx, ts); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.rollback", ts.ID)
		rec.Digest, rec.Reason = rev.Digest, req.Reason
		rec.Before = store.JSON(map[string]any{"revision": before.LiveRevision, "digest": before.LiveDigest, "becomes": store.RolledBack})
		rec.After = store.JSON(map[string]any{"revision": rev.N, "digest": rev.Digest, "restores": old.N})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	if _, err := s.o.Publisher.Release(ctx); err != nil {
		back := context.WithoutCancel(ctx)
		return errors.Join(err, ws.Update(back, func(tx *store.Tx) error {
			ts.LiveDigest, ts.LiveRevision, ts.LiveRepository = before.LiveDigest, before.LiveRevision, before.LiveRepository
			if err := tx.SaveToolset(back, ts); err != nil {
				return err
			}
			if err := tx.UnpublishRevision(back, ts.ID, rev.N, before.LiveRevision); err != nil {
				return err
			}
			rec := request.Audit(back, "toolset.rollback", ts.ID)
			rec.Outcome, rec.Reason = request.OutcomeFailed, "the release could not be made"
			return tx.Audit(back, rec)
		}))
	}
	s.draftAfterRollback(ctx, ws, ts.ID, rev.N, req.Reason)
	s.awaitLive(ctx, ts.ID, rev.N)
	s.replaced(ws.ID(), &before, store.RollBack)
	s.events.Emit(publish.Event{Type: EventRolledBack, Workspace: ws.ID(), Toolset: ts.ID, Revision: rev.N, Digest: rev.Digest, From: string(old.State), To: string(rev.State)})
	return nil
}
