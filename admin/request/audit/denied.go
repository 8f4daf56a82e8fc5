package audit

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// Refused requests in the audit log are sampled, so that whoever is refused cannot
// fill the disk: ten at once, then one in six seconds, which is 14,400 records a day at
// the most. Each record counts those that were left out before it.
const (
	deniedBurst = 10
	deniedEvery = 6 * time.Second
)

// maxDeniedPath is how much of the path of a refused request is recorded.
const maxDeniedPath = 200

// sampler decides which refused requests are recorded: in the workspace of the token
// that was refused, or in the operator's when nobody is known. Each workspace has a
// budget of its own. The zero sampler works.
type sampler struct {
	mu      sync.Mutex
	budgets map[string]*deniedBudget // guarded by mu; by workspace
}

type deniedBudget struct {
	left    int
	at      time.Time // when left was right
	skipped uint64    // since the last record
}

// take reports whether a refusal is recorded, and how many before it were not.
func (d *sampler) take(workspace string, now time.Time) (record bool, skipped uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.budgets == nil {
		d.budgets = map[string]*deniedBudget{}
	}
	b := d.budgets[workspace]
	if b == nil {
		b = &deniedBudget{left: deniedBurst, at: now}
		d.budgets[workspace] = b
	}
	if n := int(now.Sub(b.at) / deniedEvery); n > 0 {
		b.left, b.at = min(b.left+n, deniedBurst), b.at.Add(time.Duration(n)*deniedEvery)
	}
	if b.left == 0 {
		b.skipped++
		return false, 0
	}
	b.left--
	skipped, b.skipped = b.skipped, 0
	return true, skipped
}

// drain returns the workspaces with refusals that no record counts yet, and forgets them.
func (d *sampler) drain() map[string]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]uint64{}
	for id, b := range d.budgets {
		if b.skipped > 0 {
			out[id], b.skipped = b.skipped, 0
		}
	}
	return out
}

// Log writes the records that belong to no other change, and reads the audit log.
type Log struct {
	Store *store.Store
	Log   *slog.Logger
	// Heads keeps the signed heads. nil: none are kept.
	Heads *Keeper

	denied sampler
}

// Denied records a request that was refused for who sent it. The first request of an OCI
// client, which asks how to authenticate (OCI Distribution Specification 1.1), is none.
func (l *Log) Denied(r *http.Request, status int) {
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		return
	}
	if status == http.StatusUnauthorized && r.Header.Get("Authorization") == "" && strings.HasPrefix(r.URL.Path, "/v2/") {
		return
	}
	ctx := context.WithoutCancel(r.Context()) // the client may leave
	req, workspace := request.Of(ctx), request.Operator
	switch {
	case req.Token != nil:
		workspace = req.Token.WorkspaceID
	case req.Refused != nil:
		workspace = req.Refused.Workspace
	}
	record, skipped := l.denied.take(workspace, l.Store.Now())
	if !record {
		return
	}
	rec := request.Audit(ctx, "request.denied", request.SafeMethod(r.Method)+" "+deniedPath(r.URL.Path))
	if login := req.Refused; login != nil {
		rec.Action, rec.Resource, rec.Reason = login.Action, login.Resource, login.Reason
	}
	if req.Token == nil {
		rec.ActorType, rec.ActorID = "unknown", ""
	}
	rec.Outcome = request.OutcomeRefused
	rec.After = store.JSON(map[string]any{"status": status, "notRecorded": skipped})
	l.Append(ctx, workspace, rec)
}

// deniedPath is what is recorded of a path: links of single callers and of logins hold
// secrets behind their first segment, and a path may hold anything.
func deniedPath(path string) string {
	known := false
	for _, prefix := range []string{"/v1/", "/v2/", "/edge/v1/"} {
		known = known || strings.HasPrefix(path, prefix)
	}
	if !known {
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		path = "/" + first
	}
	path = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, path)
	short, cut := request.CutText([]byte(path), maxDeniedPath)
	if cut {
		short += "…"
	}
	return short
}

// Settle records how many refusals were left out since the last record, which
// nobody would see until the next one.
func (l *Log) Settle(ctx context.Context) {
	for id, n := range l.denied.drain() {
		rec := request.Audit(ctx, "request.denied", "")
		rec.Outcome, rec.After = request.OutcomeRefused, store.JSON(map[string]any{"notRecorded": n})
		l.Append(ctx, id, rec)
	}
}

// Append writes a record that belongs to no other change.
func (l *Log) Append(ctx context.Context, workspace string, rec *store.Audit) {
	err := l.Store.Workspace(workspace).Update(ctx, func(tx *store.Tx) error { return tx.Audit(ctx, rec) })
	if err != nil {
		l.Log.LogAttrs(ctx, slog.LevelError, "an audit record was not written", slog.String("action", rec.Action), slog.Any("error", err))
	}
}
