package store_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// testDomains: a host belongs to the workspace that proved it first, a toolset's domains go
// with it, and releases list those that serve something.
func testDomains(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { now = now.Add(time.Second); return now })
	one, two, ctx := s.Workspace("one"), s.Workspace("two"), t.Context()
	ts := seed(t, one, "shop")
	add := func(w *store.Workspace, host, toolset string) error {
		return w.Update(ctx, func(tx *store.Tx) error {
			return tx.AddDomain(ctx, &store.Domain{Host: host, ToolsetID: toolset, Token: "t", State: "pending"})
		})
	}
	prove := func(w *store.Workspace, host string) error {
		return w.Update(ctx, func(tx *store.Tx) error {
			row, err := tx.Domain(ctx, host)
			if err != nil {
				return err
			}
			row.VerifiedAt, row.State = store.Time{Time: tx.Now()}, "live"
			return tx.SaveDomain(ctx, row)
		})
	}
	refused := func(err error, kind problem.Kind) {
		t.Helper()
		if !problem.Is(err, kind) {
			t.Errorf("%v, want %s", err, kind)
		}
	}
	if err := errors.Join(add(one, "b.example", ts.ID), add(one, "a.example", ""), add(two, "b.example", "")); err != nil {
		t.Fatal(err)
	}
	refused(add(one, "b.example", ""), problem.Conflict)
	if add(one, "c.example", "ts_unknown") == nil {
		t.Error("a domain of a toolset that is not there was added")
	}
	if err := prove(two, "b.example"); err != nil {
		t.Fatal(err)
	}
	refused(prove(one, "b.example"), problem.Conflict)
	update(t, two, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteDomain(ctx, "b.example") })
	if err := errors.Join(prove(one, "b.example"), prove(one, "a.example")); err != nil {
		t.Fatal(err)
	}
	refused(add(two, "b.example", ""), problem.Conflict)
	if _, err := two.Domain(ctx, "b.example"); !problem.Is(err, problem.NotFound) {
		t.Errorf("a domain of another workspace: %v", err)
	}
	row, err := one.Domain(ctx, "b.example")
	if err != nil {
		t.Fatal(err)
	}
	old := *row
	update(t, one, func(ctx context.Context, tx *store.Tx) error { row.Cause = "c"; return tx.SaveDomain(ctx, row) })
	if err := one.Update(ctx, func(tx *store.Tx) error { return tx.SaveDomain(ctx, &old) }); !errors.Is(err, store.ErrStale) || old.Version != row.Version-1 {
		t.Errorf("a stale write: %v, version %d", err, old.Version)
	}
	names := func(rows []store.Domain) (out []string) {
		for i := range rows {
			out = append(out, rows[i].Host)
		}
		return out
	}
	rows, next, err := one.Domains(ctx, "", store.Page{Limit: 1})
	if err != nil || next != "a.example" || !slices.Equal(names(rows), []string{"a.example"}) {
		t.Errorf("the first page: %v, %q, %v", names(rows), next, err)
	}
	if rows, _, err = one.Domains(ctx, ts.ID, store.Page{}); err != nil || !slices.Equal(names(rows), []string{"b.example"}) || rows[0].Slug != ts.Slug {
		t.Errorf("those of the toolset: %v, %v", names(rows), err)
	}
	if d, err := one.DomainInState(ctx, ts.ID, "live"); err != nil || d.Host != "b.example" {
		t.Errorf("where the toolset is: %+v, %v", d, err)
	}
	if d, err := one.DomainInState(ctx, "ts_other", "live"); err != nil || d.Host != "a.example" {
		t.Errorf("where another is: %+v, %v", d, err)
	}
	if d, err := two.DomainInState(ctx, ts.ID, "live"); err != nil || d != nil {
		t.Errorf("where those of another workspace are: %+v, %v", d, err)
	}
	released := func(want ...registry.ReleaseDomain) {
		t.Helper()
		var list []registry.ReleaseToolset
		for _, d := range want {
			if d.Toolset != "" {
				list = append(list, registry.ReleaseToolset{ID: d.Toolset, Workspace: d.Workspace})
			}
		}
		got, err := s.ReleaseDomains(ctx, list)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("a release has %+v, %v; want %+v", got, err, want)
		}
	}
	released()
	released(registry.ReleaseDomain{Host: "a.example", Workspace: "one"}, registry.ReleaseDomain{Host: "b.example", Workspace: "one", Toolset: ts.ID})
	if due, err := s.DomainsDue(ctx, 10, "live"); err != nil || len(due) != 2 {
		t.Errorf("due: %v, %v", names(due), err)
	}
	if served, err := s.DomainsServed(ctx, rows); err != nil || len(served) != 1 {
		t.Errorf("served: %v, %v", names(served), err)
	}
	update(t, one, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteToolset(ctx, ts.ID, ts.Version) })
	if n, err := one.CountDomains(ctx); err != nil || n != 1 {
		t.Errorf("%d domains after the toolset was deleted, %v", n, err)
	}
}

// testACME: values are sealed for their version, paths are listed and removed with what is
// below them, and a lock has one holder until its time is over.
func testACME(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	ctx := t.Context()
	save := func(path, text string) {
		t.Helper()
		err := s.SaveACMEValue(ctx, path, len(text), func(rec secrets.Record) ([]byte, error) {
			if rec.Key != "acme/"+path {
				t.Errorf("sealed for %+v", rec)
			}
			return []byte(text), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"a/b", "a/b/c", "a/bc", "a_b", "aXb"} {
		save(p, p)
	}
	save("a/b", "again")
	if v, err := s.ACMEValue(ctx, "a/b"); err != nil || string(v.Sealed) != "again" || v.Version != 2 || v.Size != 5 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := s.ACMEValue(ctx, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	paths := func(at string, want ...string) {
		t.Helper()
		got, err := s.ACMEPaths(ctx, at)
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("below %q: %v, %v; want %v", at, got, err, want)
		}
	}
	paths("", "a/b", "a/b/c", "a/bc", "a_b", "aXb")
	paths("a/b", "a/b", "a/b/c")
	paths("a/", "a/b", "a/b/c", "a/bc")
	paths("a_b", "a_b")
	if err := s.DeleteACMEValues(ctx, "a/b"); err != nil {
		t.Fatal(err)
	}
	paths("a", "a/bc")

	take := func(holder string, want bool) {
		t.Helper()
		if got, err := s.TakeACMELock(ctx, "l", holder, time.Minute); err != nil || got != want {
			t.Errorf("%s takes the lock: %v, %v", holder, got, err)
		}
	}
	is := func(what string, got bool, err error, want bool) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	take("first", true)
	take("second", false)
	now = now.Add(50 * time.Second)
	kept, err := s.KeepACMELock(ctx, "l", "first", time.Minute)
	is("the holder keeps it", kept, err, true)
	now = now.Add(50 * time.Second)
	take("second", false)
	now = now.Add(10 * time.Second)
	take("second", true)
	kept, err = s.KeepACMELock(ctx, "l", "first", time.Minute)
	is("one whose time was over keeps it", kept, err, false)
	freed, err := s.FreeACMELock(ctx, "l", "first")
	is("one whose time was over frees it", freed, err, false)
	freed, err = s.FreeACMELock(ctx, "l", "second")
	is("the holder frees it", freed, err, true)
	take("third", true)
	now = now.Add(time.Hour)
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}

	ring, err := secrets.OpenFile(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveACMEValue(ctx, "k", 1, func(rec secrets.Record) ([]byte, error) { return ring.SealBytes(rec, []byte("v")) }); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"a", "a_b", "aXb"} {
		if err := s.DeleteACMEValues(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := s.SealedKeys(ctx); err != nil || !slices.Equal(keys, []string{ring.Current()}) {
		t.Errorf("sealed by %v, %v", keys, err)
	}
	if err := ring.Rotate(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.RewrapACMEValues(ctx, ring); err != nil || n != 1 {
		t.Errorf("%d values re-wrapped, %v", n, err)
	}
	if err := ring.Retire(); err != nil {
		t.Fatal(err)
	}
	v, err := s.ACMEValue(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := ring.OpenBytes(v.Record(), v.Sealed); err != nil || string(b) != "v" {
		t.Errorf("%q, %v", b, err)
	}
}
