package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/sluicegate/sluice/admin/document"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// How long a request waits for its work before it becomes a job (RFC 7240 §4.3).
const (
	defaultWait = 10 * time.Second
	maxWait     = 60 * time.Second // proxies and clients give up after that
)

// jobTimeout ends work that hangs: the largest known specification compiles in
// seconds, a test waits for one upstream call.
const jobTimeout = 10 * time.Minute

// waitOf reads Prefer: wait=N; what is not understood is ignored, as RFC 7240
// says.
func waitOf(prefer string) (d time.Duration, applied string) {
	for pref := range strings.SplitSeq(prefer, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pref), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(value), `"`))
		if err != nil || n < 0 {
			continue
		}
		d := min(time.Duration(n)*time.Second, maxWait)
		return d, "wait=" + strconv.Itoa(int(d/time.Second))
	}
	return defaultWait, ""
}

// jobOutput answers work: with its result, or with the job it became.
type jobOutput struct {
	Status     int
	Location   string `header:"Location"`
	ETag       string `header:"ETag"`
	RetryAfter string `header:"Retry-After"`
	Applied    string `header:"Preference-Applied"`
	Body       any
}

// run does work that may outlast the request: it answers with the result when
// that is there within the wait the client prefers, and otherwise with a job that
// goes on. The work's context does not end with the request: what it does is
// worth finishing, and half of it is worth nothing.
func (s *Server) run(ctx context.Context, kind string, work func(ctx context.Context, phase func(string)) (*request.Done, error)) (*jobOutput, error) {
	wait, applied := waitOf(request.Of(ctx).Prefer)
	j := &job{server: s, ws: s.workspace(ctx), row: store.Job{Kind: kind}, finished: make(chan struct{})}
	jctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobTimeout)
	stop := context.AfterFunc(s.work, cancel)
	s.jobs.Go(func() {
		defer cancel()
		defer stop()
		j.do(jctx, work)
	})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-j.finished:
	case <-timer.C:
	}
	d, going, err := j.take(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		return nil, err
	case going != nil:
		return &jobOutput{
			Status: http.StatusAccepted, Location: "/v1/jobs/" + going.ID, RetryAfter: "1", Applied: applied, Body: *going,
		}, nil
	}
	return &jobOutput{Status: d.Status, Location: d.Resource, ETag: d.ETag, Applied: applied, Body: d.Body}, nil
}

// job is work in progress. It is written to the store only when its request
// stops waiting for it.
type job struct {
	server   *Server
	ws       *store.Workspace
	finished chan struct{}

	mu     sync.Mutex
	row    store.Job     // guarded by mu
	stored bool          // guarded by mu: the request was answered with the job
	over   bool          // guarded by mu
	result *request.Done // guarded by mu, set when over
	err    error         // guarded by mu, set when over
}

func (j *job) do(ctx context.Context, work func(context.Context, func(string)) (*request.Done, error)) {
	defer close(j.finished)
	d, err := func() (d *request.Done, err error) {
		// The one boundary of this goroutine: a panic fails the job, not the process.
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("job %s panicked: %v", j.row.Kind, v)
			}
		}()
		return work(ctx, func(phase string) { j.phase(ctx, phase) })
	}()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over, j.result, j.err = true, d, err
	if j.stored {
		j.saveLocked(context.WithoutCancel(ctx))
	}
}

func (j *job) phase(ctx context.Context, phase string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.row.Phase = phase
	if j.stored {
		j.writeLocked(ctx)
	}
}

// take ends the wait of the request: it returns the result, or stores the job
// and returns how it stands while it goes on.
func (j *job) take(ctx context.Context) (d *request.Done, going *Job, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		return j.result, nil, j.err
	}
	if err := j.ws.Update(ctx, func(tx *store.Tx) error { return tx.AddJob(ctx, &j.row) }); err != nil {
		return nil, nil, err
	}
	j.stored = true
	shown := showJob(&j.row)
	return nil, &shown, nil
}

// saveLocked writes the outcome of a stored job.
func (j *job) saveLocked(ctx context.Context) {
	if j.err != nil {
		var p *Problem
		if !errors.As(j.server.fail(ctx, j.err), &p) {
			panic("BUG: fail returns a *Problem")
		}
		j.row.State, j.row.Error = store.JobFailed, store.JSON(p)
	} else {
		j.row.State, j.row.Resource, j.row.Result = store.JobSucceeded, j.result.Resource, store.JSON(j.result.Stored())
	}
	j.row.Phase = ""
	j.writeLocked(ctx)
}

func (j *job) writeLocked(ctx context.Context) {
	if err := j.ws.Update(ctx, func(tx *store.Tx) error { return tx.SaveJob(ctx, &j.row) }); err != nil {
		// The work itself is not undone by this; the job shows an older state.
		j.server.log.LogAttrs(ctx, slog.LevelError, "the state of a job was not written", slog.String("job", j.row.ID), slog.Any("error", err))
	}
}

func showJob(row *store.Job) Job {
	j := Job{
		ID: row.ID, Kind: row.Kind, State: row.State, Phase: row.Phase, Resource: row.Resource,
		StartedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time, Result: json.RawMessage(row.Result),
	}
	if row.Error != "" {
		j.Error = new(Problem)
		if err := json.Unmarshal([]byte(row.Error), j.Error); err != nil {
			j.Error = problemOf(err)
		}
	}
	return j
}

// documentJob describes an operation that answers with its result or with the job it became.
func documentJob(api *huma.OpenAPI, path string, result any, statuses ...int) {
	document.Job(api, path, Job{}, result, statuses...)
}

type jobInput struct {
	ID string `path:"id" maxLength:"64"`
}

type bodyOutput[T any] struct{ Body T }

func (s *Server) registerJobs() {
	register(s, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/v1/jobs", Summary: "List jobs, newest first", Tags: []string{"jobs"},
	}, func(ctx context.Context, in *ListInput) (*listOutput[Job], error) {
		p, err := in.page("/v1/jobs")
		if err != nil {
			return nil, err
		}
		rows, next, err := s.workspace(ctx).Jobs(ctx, p)
		if err != nil {
			return nil, err
		}
		return list(in, "/v1/jobs", rows, next, showJob), nil
	})
	register(s, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{id}", Summary: "Read a job", Tags: []string{"jobs"},
	}, func(ctx context.Context, in *jobInput) (*bodyOutput[Job], error) {
		row, err := s.workspace(ctx).Job(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[Job]{showJob(row)}, nil
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
			s.writeProblem(w, r, err)
			return
		}
		u := hc.URL()
		if err := document.CheckQuery(hc.Operation(), u.Query()); err != nil {
			r, w := humago.Unwrap(hc)
			s.writeProblem(w, r, err)
			return
		}
		next(hc)
	})
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, s.fail(ctx, err)
		}
		return out, nil
	})
}
