package alert

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// hiddenKey is the key of every toolset.
var hiddenKey = secrets.New("hidden")

// hall is a room on real records, whose clock the test moves.
type hall struct {
	*Room
	t    testing.TB
	st   *store.Store
	ring *secrets.Keyring
	ws   *store.Workspace
	at   atomic.Int64 // Unix milliseconds
	sent uint64       // usage reports
	seen uint64       // events that were looked at
}

func newHall(t testing.TB) *hall {
	t.Helper()
	h := &hall{t: t}
	h.at.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	path := filepath.Join(t.TempDir(), "s.db")
	if err := storetest.Prepare(path); err != nil {
		t.Fatal(err)
	}
	var err error
	if h.ring, err = secrets.OpenFile(filepath.Join(t.TempDir(), "key")); err != nil {
		t.Fatal(err)
	}
	if h.st, err = store.Open(t.Context(), store.Options{Path: path, Now: h.now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.st.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := h.st.EnsureWorkspace(t.Context(), "one", "one"); err != nil {
		t.Fatal(err)
	}
	h.ws, h.Room = h.st.Workspace("one"), New(Room{Store: h.st})
	return h
}

func (h *hall) now() time.Time { return time.UnixMilli(h.at.Load()).UTC() }

// pass lets time pass.
func (h *hall) pass(d time.Duration) { h.at.Add(d.Milliseconds()) }

func (h *hall) update(fn func(ctx context.Context, tx *store.Tx) error) {
	h.t.Helper()
	if err := h.ws.Update(h.t.Context(), func(tx *store.Tx) error { return fn(h.t.Context(), tx) }); err != nil {
		h.t.Fatal(err)
	}
}

// toolset makes a toolset with one connector and a key.
func (h *hall) toolset(slug string) *store.Toolset {
	h.t.Helper()
	ts := &store.Toolset{Slug: slug, Name: slug, ConnectorName: slug, SourceKind: "openapi", Connector: slug, ConnectorDigest: "sha256:" + slug, BaseURL: "https://" + slug + ".example/v1", EnabledTools: 9}
	h.update(func(ctx context.Context, tx *store.Tx) error {
		spec := &store.Specification{Digest: "sha256:spec-" + slug, Name: slug, Content: []byte(slug)}
		if err := tx.PutSpecification(ctx, spec); err != nil {
			return err
		}
		v := &store.ConnectorVersion{Digest: ts.ConnectorDigest, SpecDigest: spec.Digest, Report: "{}"}
		if err := tx.PutConnector(ctx, &store.Connector{Name: slug}, v); err != nil {
			return err
		}
		if err := tx.CreateToolset(ctx, ts); err != nil {
			return err
		}
		cred := &store.Credential{ID: "cred_" + slug, ToolsetID: ts.ID, Connector: slug, AuthType: "header", Shape: `{"headerName":"X-Key","headerPrefix":"Key"}`, Last4: "9f3c"}
		return tx.SealCredential(ctx, h.ring, cred, hiddenKey)
	})
	return ts
}

// round evaluates once and returns the notices that were written.
func (h *hall) round() (out []store.Event) {
	h.t.Helper()
	if err := h.Round(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	events, _, err := h.ws.Events(h.t.Context(), "", store.Page{Limit: store.MaxLimit})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range slices.Backward(events) {
		if e.Seq > h.seen {
			h.seen = e.Seq
			out = append(out, e)
		}
	}
	return out
}

// told evaluates once and checks which notices were written: their types and kinds.
func (h *hall) told(want ...string) {
	h.t.Helper()
	var got []string
	for _, e := range h.round() {
		got = append(got, e.Type+" "+e.Subject)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		h.t.Fatalf("told %q, want %q", got, want)
	}
}

// open returns the only open alert.
func (h *hall) open() Alert {
	h.t.Helper()
	rows, err := h.ws.OpenAlerts(h.t.Context())
	if err != nil || len(rows) != 1 {
		h.t.Fatalf("%d open alerts: %+v, %v", len(rows), rows, err)
	}
	a, err := Show(&rows[0])
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// report applies a usage report with calls of a toolset.
func (h *hall) report(calls ...registry.UsageCall) {
	h.t.Helper()
	h.sent++
	r := &registry.UsageReport{Epoch: "E", Sequence: h.sent, Oldest: h.sent, Minute: h.now().Truncate(time.Minute).Unix(), Posted: h.now(), Calls: calls}
	if _, err := h.st.ApplyUsage(h.t.Context(), "n", r); err != nil {
		h.t.Fatal(err)
	}
}

// call is a call whose credential was refused, or with status 200 accepted.
func (h *hall) call(ts *store.Toolset, tool string, status int) registry.UsageCall {
	c := registry.UsageCall{
		Workspace: "one", Toolset: ts.ID, Tool: tool, Connector: ts.ConnectorName, At: h.now(), Outcome: "tool_error", Credential: "refused", Status: status, CallerKind: "anonymous",
	}
	if status == 200 {
		c.Outcome, c.Credential = "ok", "accepted"
	}
	return c
}

func (h *hall) calls(ts *store.Toolset, tool string, status, n int) (out []registry.UsageCall) {
	for range n {
		out = append(out, h.call(ts, tool, status))
	}
	return out
}

// TestForbidden: a 403 is about the credential when nothing else is answered, by two
// tools, often enough; the first that is accepted ends it.
func TestForbidden(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("pets")
	h.pass(time.Minute)
	h.report(h.calls(ts, "x", 403, 20)...)
	h.told() // one resource
	h.report(append(h.calls(ts, "y", 403, 1), h.call(ts, "x", 200))...)
	h.told() // it works
	h.pass(forbiddenWindow + time.Minute)
	h.report(h.calls(ts, "x", 403, forbiddenCalls-1)...)
	h.told()
	h.report(h.calls(ts, "y", 403, 1)...)
	h.told("alert.fired upstream.auth_failed")
	if d := h.open().Details; d.Status != 403 || d.Sent != "X-Key: Key ••••9f3c" || d.Upstream != "pets.example" || len(d.Tools) != 2 {
		t.Errorf("%+v", d)
	}
	h.pass(time.Second)
	h.report(h.call(ts, "x", 200))
	h.told("alert.resolved upstream.auth_failed")
}

// TestFlapping: a cause that comes back soon is reported when it stays.
func TestFlapping(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("pets")
	h.pass(time.Minute)
	h.report(h.call(ts, "x", 401))
	h.told("alert.fired upstream.auth_failed")
	h.pass(time.Second)
	h.report(h.call(ts, "x", 200))
	h.told("alert.resolved upstream.auth_failed")
	for range 5 {
		h.pass(time.Second)
		h.report(h.call(ts, "x", 401))
		h.told()
		h.pass(time.Second)
		h.report(h.call(ts, "x", 200))
		h.told()
	}
	h.pass(time.Second)
	h.report(h.call(ts, "x", 401))
	h.told()
	h.pass(flapHold)
	h.told("alert.fired upstream.auth_failed")
}

// TestHandled: an alert that is acknowledged is quiet, one that is snoozed is reported
// again when that is over, and a deleted toolset ends its alerts.
func TestHandled(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("pets")
	h.pass(time.Minute)
	h.report(h.call(ts, "x", 401))
	h.told("alert.fired upstream.auth_failed")
	id := h.open().ID
	if _, err := h.Acknowledge(t.Context(), h.ws, id, "on it"); err != nil {
		t.Fatal(err)
	}
	h.pass(time.Hour)
	h.report(h.call(ts, "x", 401))
	h.told()
	if a := h.open(); a.State != Acknowledged || a.Note != "on it" || a.Details.Calls != 2 {
		t.Errorf("%+v", a)
	}
	if _, err := h.Snooze(t.Context(), h.ws, id, "", maxSnooze+time.Second); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("longer than %s: %v", maxSnooze, err)
	}
	if _, err := h.Snooze(t.Context(), h.ws, id, "", maxSnooze); err != nil {
		t.Fatal(err)
	}
	h.pass(maxSnooze - time.Second)
	h.told()
	h.pass(time.Second)
	h.told("alert.fired upstream.auth_failed")
	h.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteToolset(ctx, ts.ID, ts.Version) })
	h.told("alert.resolved upstream.auth_failed")
	if _, err := h.Acknowledge(t.Context(), h.ws, id, ""); !problem.Is(err, problem.Conflict) {
		t.Errorf("an alert that is over: %v", err)
	}
}

// TestRefusedCallsOfARound: at most [maxRefused] calls are looked at in a round, the rest
// in the next; calls of long ago, of another credential and of a caller's own are none.
func TestRefusedCallsOfARound(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("pets")
	old := h.call(ts, "x", 401)
	h.pass(refusedAge + time.Second)
	h.report(old)
	h.told()
	before := h.call(ts, "x", 401)
	h.pass(time.Second)
	h.update(func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.CredentialByID(ctx, "cred_pets")
		if err != nil {
			return err
		}
		return tx.SealCredential(ctx, h.ring, row, secrets.New("another"))
	})
	h.report(before)
	h.told() // it began with the key before
	h.pass(time.Second)
	for range 5 {
		h.report(h.calls(ts, "x", 401, maxRefused/5)...)
	}
	h.report(h.call(ts, "x", 401))
	h.told("alert.fired upstream.auth_failed")
	at, err := h.ws.AlertCursor(t.Context(), KindAuthFailed)
	if err != nil || at != fmt.Sprint(2+maxRefused) {
		t.Errorf("after a round the cursor is %s, %v", at, err)
	}
	h.told()
	if at, err = h.ws.AlertCursor(t.Context(), KindAuthFailed); err != nil || at != fmt.Sprint(2+maxRefused+1) {
		t.Errorf("after two rounds the cursor is %s, %v", at, err)
	}
	if d := h.open().Details; d.Calls != maxRefused+1 || d.FirstCall != "call_3" || d.LastCall != fmt.Sprint("call_", 2+maxRefused+1) {
		t.Errorf("%+v", d)
	}
}

// TestTest: a test of an alert is a notice and no alert.
func TestTest(t *testing.T) {
	h := newHall(t)
	if err := h.Test(t.Context(), h.ws, KindAuthFailed, notify.Critical); err != nil {
		t.Fatal(err)
	}
	h.told("alert.test upstream.auth_failed")
	if rows, err := h.ws.OpenAlerts(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
}
