package follow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluicegate/sluice/admin/catalog/follow"
	entries "github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// flaky is a registry that can be away.
type flaky struct {
	oci.Backend

	away  bool
	pulls int
}

func (f *flaky) ResolveTag(ctx context.Context, repository, tag string) (registry.Digest, error) {
	if f.away {
		return "", errors.New("the registry is away")
	}
	return f.Backend.ResolveTag(ctx, repository, tag)
}

func (f *flaky) FetchBlob(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	f.pulls++
	return f.Backend.FetchBlob(ctx, repository, d, limit)
}

// publisher publishes catalogs of one entry, whose name says which.
type publisher struct {
	t     *testing.T
	key   *sign.Key
	store *oci.Store
}

func (p *publisher) public() []*sign.PublisherKey {
	k, err := sign.ParsePublisherKey(p.key.PublicPEM())
	if err != nil {
		p.t.Fatal(err)
	}
	return []*sign.PublisherKey{k}
}

func (p *publisher) push(name string, at time.Time) {
	p.t.Helper()
	text, err := os.ReadFile("../../../plugins/catalog/testdata/library.yaml")
	if err != nil {
		p.t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("name: Library"), []byte("name: "+name), 1)
	pack, err := entries.PackDir(fstest.MapFS{"library.yaml": {Data: text}}, at)
	if err != nil {
		p.t.Fatal(err)
	}
	env, err := sign.SignCatalog(p.key, pack)
	if err != nil {
		p.t.Fatal(err)
	}
	a, err := oci.New(oci.KindCatalog, env, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.store.Push(p.t.Context(), "team/catalog", "latest", a); err != nil {
		p.t.Fatal(err)
	}
}

func newPublisher(t *testing.T, store *oci.Store) *publisher {
	t.Helper()
	k, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &publisher{t, k, store}
}

// TestFollow: a newer catalog is taken over, and the last good one stays while the registry
// is away, has one of somebody else, has an older one, or has something else.
func TestFollow(t *testing.T) {
	files, err := server.Open(server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	back := &flaky{Backend: files}
	store := oci.NewStore(back)
	ada, eve := newPublisher(t, store), newPublisher(t, store)
	var log bytes.Buffer
	replaced := 0
	kept := filepath.Join(t.TempDir(), "catalog.json")
	source := func() *follow.Source {
		return &follow.Source{Name: "oci://host/team/catalog", Store: store, Repository: "team/catalog", At: "latest", Keys: ada.public(), Kept: kept}
	}
	follower := func() *follow.Follower {
		f := &follow.Follower{Log: slog.New(slog.NewTextHandler(&log, nil)), Replace: func([]*entries.Entry) { replaced++ }}
		f.Add(t.Context(), source())
		return f
	}
	names := func(f *follow.Follower) string {
		var out []string
		for _, e := range f.Entries() {
			out = append(out, e.Name)
		}
		return strings.Join(out, " ")
	}
	check := func(f *follow.Follower, want string, changes int, says string) {
		t.Helper()
		if got := names(f); got != want || replaced != changes || !strings.Contains(log.String(), says) {
			t.Errorf("%q after %d changes, want %q after %d; the log: %s", got, replaced, want, changes, log.String())
		}
		log.Reset()
	}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

	f := follower()
	check(f, "", 0, "there is no catalog")
	ada.push("One", day)
	f.Look(t.Context())
	check(f, "One", 1, ada.key.ID())
	pulls := back.pulls
	f.Look(t.Context())
	check(f, "One", 1, "")
	if back.pulls != pulls {
		t.Errorf("the same digest was fetched %d times more", back.pulls-pulls)
	}
	eve.push("Eve", day.AddDate(0, 0, 9))
	f.Look(t.Context())
	check(f, "One", 1, "no publisher that is trusted here signed the catalog")
	ada.push("Old", day.AddDate(0, 0, -1))
	f.Look(t.Context())
	check(f, "One", 1, "issued 2026-02-28")
	other, err := oci.New(oci.KindAccess, []byte("{}"), nil)
	if err == nil {
		err = store.Push(t.Context(), "team/catalog", "latest", other)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Look(t.Context())
	check(f, "One", 1, "is not a catalog")
	back.away = true
	f.Look(t.Context())
	check(f, "One", 1, "cannot be fetched")
	check(follower(), "One", 1, "cannot be fetched") // after a restart

	// A publisher who is not trusted any more is not trusted with what was kept either.
	s := source()
	s.Keys = eve.public()
	f2 := &follow.Follower{Log: slog.New(slog.NewTextHandler(&log, nil))}
	f2.Add(t.Context(), s)
	check(f2, "", 1, "the catalog that was kept cannot be used")

	back.away = false
	ada.push("Two", day.AddDate(0, 0, 1))
	f.Look(t.Context())
	check(f, "Two", 2, "")

	// The last source counts.
	dir := t.TempDir()
	if err := f.AddFolder(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was added")
	}
	text, err := os.ReadFile("../../../plugins/catalog/testdata/library.yaml")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "library.yaml"), text, 0o600)
	}
	for i := range 22 {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("broken-%d.yaml", i)), []byte("id: x"), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.AddFolder(dir); err != nil {
		t.Fatal(err)
	}
	check(f, "Library", 2, "entries=2")
}
