package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

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

type resumeInput struct{ Body ResumeRequest }

func (s *Server) registerReleases() {
	tags := []string{"releases"}
	register(s, huma.Operation{
		OperationID: "list-releases", Method: http.MethodGet, Path: "/v1/releases", Summary: "List the newest release of each group of edges", Tags: tags,
		Description: "Operator only. It says why publishing is stopped, if it is.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[List[Release]], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		out, err := s.releases(ctx)
		return &bodyOutput[List[Release]]{List[Release]{Items: out}}, err
	})
	register(s, huma.Operation{
		OperationID: "resume-releases", Method: http.MethodPost, Path: "/v1/releases/resume", Summary: "Publish the records as they are, in a new epoch", Tags: tags,
		Description: "Operator only. For a control plane that stopped publishing because its records are older than its newest release: " +
			"what was published after these records were written is given up, and edges follow the records again.",
	}, s.resume)
}

func (s *Server) releases(ctx context.Context) ([]Release, error) {
	groups, err := s.o.Store.Groups(ctx)
	if err != nil {
		return nil, err
	}
	out := []Release{}
	for _, g := range groups {
		r := s.o.Publisher.Newest(g)
		if r == nil {
			continue // its edges have not asked yet
		}
		rel := r.Release()
		shown := Release{
			Group: g, Epoch: rel.Epoch, Revision: rel.Revision, Digest: string(r.Digest()), Issued: rel.Issued, Expires: rel.Expires, Toolsets: len(rel.Toolsets),
		}
		if p := problem.As(s.o.Publisher.Stopped(g)); p != nil {
			shown.Stopped, shown.Remedy = p.Detail, p.Remedy
		}
		out = append(out, shown)
	}
	return out, nil
}

func (s *Server) resume(ctx context.Context, in *resumeInput) (*bodyOutput[List[Release]], error) {
	if err := request.RequireOperator(ctx); err != nil {
		return nil, err
	}
	stopped := s.o.Publisher.Stopped("")
	if stopped == nil {
		return nil, problem.New(problem.Conflict, "publishing is not stopped").Fix("nothing needs to be done")
	}
	before, err := s.releases(ctx)
	if err != nil {
		return nil, err
	}
	_, err = s.o.Publisher.NewEpoch(ctx)
	after, rerr := s.releases(ctx)
	if rerr != nil {
		return nil, rerr
	}
	aerr := s.workspace(ctx).Update(ctx, func(tx *store.Tx) error {
		rec := request.Audit(ctx, "release.resume", "releases")
		rec.Reason, rec.Before, rec.After = in.Body.Reason, store.JSON(before), store.JSON(after)
		if err != nil {
			rec.Outcome = request.OutcomeFailed
		}
		return tx.Audit(ctx, rec)
	})
	if err == nil {
		err = aerr
	}
	s.edgeBell.Ring()
	return &bodyOutput[List[Release]]{List[Release]{Items: after}}, err
}
