package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/sluicegate/sluice/admin/front/document"
	"github.com/sluicegate/sluice/admin/front/job"
	"github.com/sluicegate/sluice/admin/request"
)

// jobOutput answers work: with its result, or with the job it became.
type jobOutput = job.Output

// run does work that may outlast the request, see [job.Room.Run].
func (s *Server) run(ctx context.Context, kind string, work func(ctx context.Context, phase func(string)) (*request.Done, error)) (*jobOutput, error) {
	return s.works.Run(ctx, kind, work)
}

// documentJob describes an operation that answers with its result or with the job it became.
func documentJob(api *huma.OpenAPI, path string, result any, statuses ...int) {
	document.Job(api, path, job.Job{}, result, statuses...)
}

type jobInput struct {
	ID string `path:"id" maxLength:"64"`
}

type bodyOutput[T any] struct{ Body T }

func registerJobs(s *Server) {
	register(s, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/v1/jobs", Summary: "List jobs, newest first", Tags: []string{"jobs"},
	}, func(ctx context.Context, in *ListInput) (*listOutput[job.Job], error) {
		p, err := in.page("/v1/jobs")
		if err != nil {
			return nil, err
		}
		rows, next, err := s.workspace(ctx).Jobs(ctx, p)
		if err != nil {
			return nil, err
		}
		return list(in, "/v1/jobs", rows, next, job.Show), nil
	})
	register(s, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{id}", Summary: "Read a job", Tags: []string{"jobs"},
	}, func(ctx context.Context, in *jobInput) (*bodyOutput[job.Job], error) {
		row, err := s.workspace(ctx).Job(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[job.Job]{job.Show(row)}, nil
	})
}

// register adds an operation whose errors become problems.
func register[I, O any](s *Server, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	op.BodyReadTimeout, op.MaxBodyBytes = -1, -1 // the body was read and bounded before
	need := document.RoleOf(&op)
	op.Extensions = map[string]any{document.RoleExtension: need}
	// Before the request is looked at: who may not do it learns nothing of what it takes.
	op.Middlewares = append(op.Middlewares, func(hc huma.Context, next func(huma.Context)) {
		if err := request.RequireRole(hc.Context(), need); err != nil {
			r, w := humago.Unwrap(hc)
			s.front.WriteProblem(w, r, err)
			return
		}
		u := hc.URL()
		if err := document.CheckQuery(hc.Operation(), u.Query()); err != nil {
			r, w := humago.Unwrap(hc)
			s.front.WriteProblem(w, r, err)
			return
		}
		next(hc)
	})
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, s.front.Fail(ctx, err)
		}
		return out, nil
	})
}
