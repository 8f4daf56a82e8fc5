package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// testDigests: what waits for a digest is due to nothing else, ends with it once, and leaves
// it when its alert cannot wait.
func testDigests(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w, ctx := h.open(t, func() time.Time { return now }).Workspace("one"), t.Context()
	channel := &store.Channel{ID: w.NewID("chan"), Name: "ops", Kind: "webhook", Settings: "{}", Sealed: []byte{}}
	later := store.Time{Time: now.Add(time.Hour)}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddChannel(ctx, channel); err != nil {
			return err
		}
		for i, alert := range []string{"", "alert_1", ""} {
			if err := tx.AddDelivery(ctx, &store.Delivery{ChannelID: channel.ID, EventSeq: uint64(i + 1), AlertID: alert, NextAt: later, Digest: true}); err != nil {
				return err
			}
		}
		return nil
	})
	f := func(digest bool, at store.Time, want ...uint64) (rows []store.Delivery) {
		t.Helper()
		rows, err := w.DueDeliveries(ctx, channel.ID, at, 10)
		if digest {
			rows, err = w.DueDigest(ctx, channel.ID, at, 10)
		}
		var got []uint64
		for i := range rows {
			got = append(got, rows[i].EventSeq)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("digest %v: %v are due, want %v: %v", digest, got, want, err)
		}
		return rows
	}
	f(true, store.Time{Time: now})
	f(false, later)
	all := f(true, later, 1, 2, 3)
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.HastenDeliveries(ctx, "alert_1") })
	f(false, store.Time{Time: now}, 2)
	rest := f(true, later, 1, 3)
	if err := w.Update(ctx, func(tx *store.Tx) error { return tx.EndDigest(ctx, all, "msg_digest") }); !errors.Is(err, store.ErrStale) {
		t.Errorf("ending a digest with one that left it: %v", err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.MoveDigest(ctx, channel.ID, store.Time{Time: now})
	})
	f(true, store.Time{Time: now}, 1, 3)
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.LeaveDigest(ctx, rest[1].ID), tx.EndDigest(ctx, rest[:1], "msg_digest"))
	})
	f(true, later)
	f(false, later, 2, 3)
	if d, err := w.Delivery(ctx, rest[0].ID); err != nil || d.State != store.DeliveryDigested || d.DigestID != "msg_digest" || !d.EndedAt.Equal(now) {
		t.Errorf("%+v, %v", d, err)
	}
}

// testEvents: events are numbered, leave the outbox once, and are delivered in the order
// of their alert.
func testEvents(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, ctx := s.Workspace("one"), t.Context()
	channel := &store.Channel{ID: w.NewID("chan"), Name: "ops", Kind: "webhook", Settings: "{}", Sealed: []byte{}}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		for _, alert := range []string{"alert_1", "alert_1", ""} {
			if err := tx.AddEvent(ctx, &store.Event{Type: "t", Subject: "t", Severity: "info", AlertID: alert, Document: "{}"}); err != nil {
				return err
			}
		}
		return tx.AddChannel(ctx, channel)
	})
	out, err := w.Outbox(ctx, 10)
	if err != nil || len(out) != 3 || out[0].Seq != 1 || out[2].Seq != 3 || out[0].ID == "" {
		t.Fatalf("%+v, %v", out, err)
	}
	if other, err := s.Workspace("two").Outbox(ctx, 10); err != nil || len(other) != 0 {
		t.Errorf("another workspace has %d events, %v", len(other), err)
	}
	for _, fresh := range []bool{true, false} {
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			for i := range out {
				if did, err := tx.RouteEvent(ctx, &out[i], []store.Delivery{{ChannelID: channel.ID}}); err != nil || did != fresh {
					t.Errorf("event %d: routed %v, %v", i+1, did, err)
				}
			}
			return nil
		})
	}
	due := func(want ...uint64) []store.Delivery {
		t.Helper()
		rows, err := w.DueDeliveries(ctx, channel.ID, store.Time{Time: now}, 10)
		if err != nil || len(rows) != len(want) {
			t.Fatalf("due: %+v, %v", rows, err)
		}
		for i := range rows {
			if rows[i].EventSeq != want[i] {
				t.Errorf("due: %+v, want %v", rows, want)
			}
		}
		return rows
	}
	first := due(1, 3)[0]
	save := func(d *store.Delivery, want bool) {
		t.Helper()
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			did, err := tx.SaveDelivery(ctx, d)
			if did != want {
				t.Errorf("saved %v", did)
			}
			return err
		})
	}
	first.NextAt = store.Time{Time: now.Add(time.Hour)}
	save(&first, true)
	due(3) // what comes later of the alert waits, too
	if next, err := s.NextDelivery(ctx); err != nil || !next.Equal(now) {
		t.Errorf("next: %v, %v", next, err)
	}
	now = now.Add(time.Hour)
	first.State, first.EndedAt = store.DeliveryDead, store.Time{Time: now}
	save(&first, true)
	save(&first, false)
	due(2, 3)
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		did, err := tx.ReviveDelivery(ctx, first.ID)
		again, err2 := tx.ReviveDelivery(ctx, first.ID)
		if !did || again {
			t.Errorf("revived %v, %v", did, again)
		}
		return errors.Join(err, err2)
	})
	due(1, 3)
	// What is over is removed after its time, and the newest number stays.
	now = now.Add(100 * 24 * time.Hour)
	for _, d := range due(1, 3) {
		d.State, d.EndedAt = store.DeliveryDelivered, store.Time{Time: now}
		save(&d, true)
	}
	now = now.Add(100 * 24 * time.Hour)
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	events, _, err := w.Events(ctx, "", store.Page{})
	if err != nil || len(events) != 2 || events[0].Seq != 3 || events[1].Seq != 2 {
		t.Errorf("after the sweep: %+v, %v", events, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteChannel(ctx, channel.ID) })
	if rows, _, err := w.Deliveries(ctx, store.DeliveryFilter{}, store.Page{}); err != nil || len(rows) != 0 {
		t.Errorf("deliveries of a channel that was removed: %d, %v", len(rows), err)
	}
}

// testAlerts: one open alert of a key, in its workspace, changed by who read it last.
func testAlerts(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, ctx := s.Workspace("one"), t.Context()
	add := func(w *store.Workspace) (*store.Alert, error) {
		row := &store.Alert{Key: "k/1", Kind: "k", Severity: "info", State: "firing", Document: "{}", Since: store.Time{Time: now}}
		return row, w.Update(ctx, func(tx *store.Tx) error { return tx.AddAlert(ctx, row) })
	}
	row, err := add(w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add(w); !problem.Is(err, problem.Conflict) {
		t.Errorf("a second open alert of a key: %v", err)
	}
	if _, err := add(s.Workspace("two")); err != nil {
		t.Errorf("in another workspace: %v", err)
	}
	stale := *row
	row.State, row.ResolvedAt = "resolved", store.Time{Time: now}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveAlert(ctx, row) })
	if err := w.Update(ctx, func(tx *store.Tx) error { return tx.SaveAlert(ctx, &stale) }); !errors.Is(err, store.ErrStale) {
		t.Errorf("a stale write: %v", err)
	}
	last, err := w.LastResolved(ctx, "k/1")
	if err != nil || last == nil || last.ID != row.ID {
		t.Errorf("%+v, %v", last, err)
	}
	second, err := add(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		f    store.AlertFilter
		want int
	}{
		{store.AlertFilter{}, 2},
		{store.AlertFilter{Open: true}, 1},
		{store.AlertFilter{States: []string{"resolved"}}, 1},
		{store.AlertFilter{Kind: "other"}, 0},
		{store.AlertFilter{Severity: "info", Kind: "k"}, 2},
	} {
		if rows, _, err := w.Alerts(ctx, c.f, store.Page{}); err != nil || len(rows) != c.want || c.f.Open && rows[0].ID != second.ID {
			t.Errorf("%+v: %+v, %v", c.f, rows, err)
		}
	}
	// Cursors.
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.SetAlertCursor(ctx, "a", "1"), tx.SetAlertCursor(ctx, "a", "2"))
	})
	if at, err := w.AlertCursor(ctx, "a"); err != nil || at != "2" {
		t.Errorf("cursor %q, %v", at, err)
	}
	now = now.Add(100 * 24 * time.Hour)
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if rows, _, err := w.Alerts(ctx, store.AlertFilter{}, store.Page{}); err != nil || len(rows) != 1 || rows[0].ID != second.ID {
		t.Errorf("after the sweep: %+v, %v", rows, err)
	}
}

// testChannels: names are unique in a workspace, and secrets follow the keyring.
func testChannels(t *testing.T, h harness) {
	s := h.open(t, time.Now)
	w, ctx := s.Workspace("one"), t.Context()
	ring, err := secrets.OpenFile(t.TempDir() + "/key")
	if err != nil {
		t.Fatal(err)
	}
	row := &store.Channel{InWorkspace: store.InWorkspace{WorkspaceID: "one"}, ID: "chan_1", Name: "ops", Kind: "webhook", Settings: "{}", SecretVersion: 1}
	if row.Sealed, err = ring.Seal(row.Record(), secrets.New("hidden")); err != nil {
		t.Fatal(err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddChannel(ctx, row) })
	second := &store.Channel{ID: "chan_2", Name: "ops", Kind: "slack", Settings: "{}"}
	if err := w.Update(ctx, func(tx *store.Tx) error { return tx.AddChannel(ctx, second) }); !problem.Is(err, problem.Conflict) {
		t.Errorf("a name that is taken: %v", err)
	}
	if err := ring.Rotate(); err != nil {
		t.Fatal(err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.RewrapCredentials(ctx, ring)
		if n != 1 {
			t.Errorf("%d were put under the new key", n)
		}
		return err
	})
	if err := ring.Retire(); err != nil {
		t.Fatal(err)
	}
	got, err := w.Channel(ctx, "ops")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := ring.Open(got.Record(), got.Sealed); err != nil || v.Reveal() != "hidden" {
		t.Errorf("the secret after a rotation: %v", err)
	}
	if ids, err := s.SealedKeys(ctx); err != nil || len(ids) != 1 || ids[0] != ring.Current() {
		t.Errorf("sealed by %v, %v", ids, err)
	}
	if _, err := s.Workspace("two").Channel(ctx, "chan_1"); !problem.Is(err, problem.NotFound) {
		t.Errorf("in another workspace: %v", err)
	}
}

// testRefusedCalls: calls whose credential was refused are read once, in order, and summed
// up by connector.
func testRefusedCalls(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, ctx := s.Workspace("one"), t.Context()
	call := func(i int, connector, credential, tool, caller string, status int) registry.UsageCall {
		c := registry.UsageCall{
			Workspace: "one", Toolset: "ts_1", Tool: tool, Connector: connector, At: now.Add(time.Duration(i) * time.Second), Outcome: "tool_error", Credential: credential,
			Status: status, CallerKind: "token", Caller: caller,
		}
		if credential == "accepted" {
			c.Outcome = "ok"
		}
		return c
	}
	r := &registry.UsageReport{Epoch: "E", Sequence: 1, Oldest: 1, Minute: now.Unix(), Posted: now, Calls: []registry.UsageCall{
		call(1, "a", "refused", "x", "1", 401),
		call(2, "a", "refused", "y", "2", 401),
		call(3, "b", "refused", "x", "1", 401),
		call(4, "a", "refused", "x", "1", 403),
		call(5, "a", "accepted", "x", "1", 200),
	}}
	if _, err := s.ApplyUsage(ctx, "n", r); err != nil {
		t.Fatal(err)
	}
	rows, last, err := w.CallsRefused(ctx, 0, 3)
	if err != nil || len(rows) != 3 || last != 3 || rows[2].Connector != "b" {
		t.Fatalf("%+v, %d, %v", rows, last, err)
	}
	if rows, last, err = w.CallsRefused(ctx, last, 3); err != nil || len(rows) != 1 || last != 5 {
		t.Fatalf("%+v, %d, %v", rows, last, err)
	}
	calls, callers, tools, err := w.RefusedCalls(ctx, "ts_1", "a", 401, now)
	if err != nil || calls != 2 || callers != 2 || len(tools) != 2 {
		t.Errorf("%d, %d, %v, %v", calls, callers, tools, err)
	}
	if c, err := w.LastAccepted(ctx, "ts_1", "a", now); err != nil || c == nil || c.Seq != 5 {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := w.LastAccepted(ctx, "ts_1", "b", now); err != nil || c != nil {
		t.Errorf("%+v, %v", c, err)
	}
}
