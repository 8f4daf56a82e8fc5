package fleet

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Release is the newest release of a group of edges.
type Release struct {
	Group    string    `json:"group"`
	Epoch    uint64    `json:"epoch"`
	Revision uint64    `json:"revision"`
	Digest   string    `json:"digest"`
	Issued   time.Time `json:"issued"`
	Expires  time.Time `json:"expires"`
	Toolsets int       `json:"toolsets"`
	Stopped  string    `json:"stopped,omitempty" doc:"Why nothing is published for this group."`
	Remedy   string    `json:"remedy,omitempty" doc:"What to do about it."`
}

// ResumeRequest decides for the records as they are.
type ResumeRequest struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"It is audited."`
}

// Releases are the newest releases of all groups whose edges have asked. It is for the
// operator only.
func (r *Room) Releases(ctx context.Context) ([]Release, error) {
	if err := request.RequireOperator(ctx); err != nil {
		return nil, err
	}
	return r.releases(ctx)
}

func (r *Room) releases(ctx context.Context) ([]Release, error) {
	groups, err := r.o.Store.Groups(ctx)
	if err != nil {
		return nil, err
	}
	out := []Release{}
	for _, g := range groups {
		newest := r.o.Publisher.Newest(g)
		if newest == nil {
			continue // its edges have not asked yet
		}
		rel := newest.Release()
		shown := Release{
			Group: g, Epoch: rel.Epoch, Revision: rel.Revision, Digest: string(newest.Digest()), Issued: rel.Issued, Expires: rel.Expires, Toolsets: len(rel.Toolsets),
		}
		if p := problem.As(r.o.Publisher.Stopped(g)); p != nil {
			shown.Stopped, shown.Remedy = p.Detail, p.Remedy
		}
		out = append(out, shown)
	}
	return out, nil
}

// Resume publishes the records as they are, in a new epoch. It is for the operator only,
// and fails with [problem.Conflict] when publishing is not stopped.
func (r *Room) Resume(ctx context.Context, ws *store.Workspace, in *ResumeRequest) ([]Release, error) {
	if err := request.RequireOperator(ctx); err != nil {
		return nil, err
	}
	stopped := r.o.Publisher.Stopped("")
	if stopped == nil {
		return nil, problem.New(problem.Conflict, "publishing is not stopped").Fix("nothing needs to be done")
	}
	before, err := r.releases(ctx)
	if err != nil {
		return nil, err
	}
	_, err = r.o.Publisher.NewEpoch(ctx)
	after, rerr := r.releases(ctx)
	if rerr != nil {
		return nil, rerr
	}
	aerr := ws.Update(ctx, func(tx *store.Tx) error {
		rec := request.Audit(ctx, "release.resume", "releases")
		rec.Reason, rec.Before, rec.After = in.Reason, store.JSON(before), store.JSON(after)
		if err != nil {
			rec.Outcome = request.OutcomeFailed
		}
		return tx.Audit(ctx, rec)
	})
	if err == nil {
		err = aerr
	}
	r.Ring()
	return after, err
}
