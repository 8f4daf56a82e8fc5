package job

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

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// Job is work that outlasts its request.
type Job struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind"`
	State     string          `json:"state" enum:"running,succeeded,failed"`
	Phase     string          `json:"phase,omitempty" doc:"What it does at the moment."`
	Resource  string          `json:"resource,omitempty" doc:"Path of the object that it created or changed."`
	Result    json.RawMessage `json:"result,omitempty" doc:"The answer the request would have had."`
	Error     *front.Problem  `json:"error,omitempty"`
	StartedAt time.Time       `json:"startedAt"`
	UpdatedAt time.Time       `json:"updatedAt"`
}

// Room does work that may outlast its request.
type Room struct {
	Front *front.Room
	Store *store.Store
	// Work ends when work is to stop, and Jobs counts what goes on.
	Work context.Context //nolint:containedctx // the life of the server, not of a call
	Jobs *sync.WaitGroup
}

// How long a request waits for its work before it becomes a job (RFC 7240 §4.3).
const (
	defaultWait = 10 * time.Second
	maxWait     = 60 * time.Second // proxies and clients give up after that
)

// timeout ends work that hangs: the largest known specification compiles in
// seconds, a test waits for one upstream call.
const timeout = 10 * time.Minute

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
		d := time.Duration(min(n, int(maxWait/time.Second))) * time.Second
		return d, "wait=" + strconv.Itoa(int(d/time.Second))
	}
	return defaultWait, ""
}

// Output answers work: with its result, or with the job it became.
type Output struct {
	Status     int
	Location   string `header:"Location"`
	ETag       string `header:"ETag"`
	RetryAfter string `header:"Retry-After"`
	Applied    string `header:"Preference-Applied"`
	Body       any
}

// Run does work that may outlast the request: it answers with the result when
// that is there within the wait the client prefers, and otherwise with a job that
// goes on. The work's context does not end with the request: what it does is
// worth finishing, and half of it is worth nothing.
func (r *Room) Run(ctx context.Context, kind string, work func(ctx context.Context, phase func(string)) (*request.Done, error)) (*Output, error) {
	wait, applied := waitOf(request.Of(ctx).Prefer)
	j := &job{room: r, ws: request.Workspace(ctx, r.Store), row: store.Job{Kind: kind}, finished: make(chan struct{})}
	jctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	stop := context.AfterFunc(r.Work, cancel)
	r.Jobs.Go(func() {
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
		return &Output{
			Status: http.StatusAccepted, Location: "/v1/jobs/" + going.ID, RetryAfter: "1", Applied: applied, Body: *going,
		}, nil
	}
	return &Output{Status: d.Status, Location: d.Resource, ETag: d.ETag, Applied: applied, Body: d.Body}, nil
}

// job is work in progress. It is written to the store only when its request
// stops waiting for it.
type job struct {
	room     *Room
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
	shown := Show(&j.row)
	return nil, &shown, nil
}

// saveLocked writes the outcome of a stored job.
func (j *job) saveLocked(ctx context.Context) {
	if j.err != nil {
		var p *front.Problem
		if !errors.As(j.room.Front.Fail(ctx, j.err), &p) {
			panic("BUG: fail returns a *front.Problem")
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
		j.room.Front.Log.LogAttrs(ctx, slog.LevelError, "the state of a job was not written", slog.String("job", j.row.ID), slog.Any("error", err))
	}
}

// Show renders a job.
func Show(row *store.Job) Job {
	j := Job{
		ID: row.ID, Kind: row.Kind, State: row.State, Phase: row.Phase, Resource: row.Resource,
		StartedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time, Result: json.RawMessage(row.Result),
	}
	if row.Error != "" {
		j.Error = new(front.Problem)
		if err := json.Unmarshal([]byte(row.Error), j.Error); err != nil {
			j.Error = front.ProblemOf(err)
		}
	}
	return j
}
