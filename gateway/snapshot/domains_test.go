package snapshot

import (
	"testing"

	"github.com/sluicegate/sluice/registry"
)

// TestDomains: a domain serves what it is for, of its own workspace, and nothing else;
// every other host serves everything.
func TestDomains(t *testing.T) {
	ts := func(id, slug, workspace string) *Toolset {
		return &Toolset{ID: id, Slug: slug, bundle: &registry.Toolset{Workspace: workspace}}
	}
	shop, pets, other := ts("ts_1", "shop", "one"), ts("ts_2", "pets", "one"), ts("ts_3", "other", "two")
	s := &Snapshot{
		bySlug: map[string]*Toolset{"shop": shop, "pets": pets, "other": other}, toolsets: []*Toolset{shop, pets, other},
		release: &registry.Release{Domains: []registry.ReleaseDomain{
			{Host: "shop.example", Workspace: "one", Toolset: "ts_1"},
			{Host: "one.example", Workspace: "one"},
			{Host: "gone.example", Workspace: "one", Toolset: "ts_9"},
			{Host: "stolen.example", Workspace: "one", Toolset: "ts_3"},
		}},
	}
	s.compileDomains()
	f := func(host, path string, want *Toolset) {
		t.Helper()
		if got := s.Toolset([]byte(host), []byte(path)); got != want {
			t.Errorf("https://%s%s is %+v", host, path, got)
		}
	}
	f("shop.example", "/", shop)
	f("shop.example:443", "/", shop)
	f("shop.example", "", shop)
	f("shop.example", "/t/shop", nil)
	f("shop.example", "/t/pets", nil)
	f("one.example", "/", nil)
	f("one.example", "/t/shop", shop)
	f("one.example", "/t/pets/", pets)
	f("one.example", "/t/other", nil)
	f("gateway.example", "/t/shop", shop)
	f("gateway.example", "/t/other", other)
	f("gateway.example", "/", nil)
	f("gone.example", "/t/shop", shop) // it is none: its toolset is not served here
	for _, host := range []string{"gone.example", "stolen.example", "gateway.example", ""} {
		if d, ok := s.Domain([]byte(host)); ok {
			t.Errorf("%q serves %+v", host, d)
		}
	}
	var none *Snapshot
	if _, ok := none.Domain([]byte("shop.example")); ok || none.Toolset([]byte("shop.example"), []byte("/")) != nil {
		t.Error("no snapshot serves")
	}
	if n := testing.AllocsPerRun(100, func() { s.Toolset([]byte("shop.example"), []byte("/")) }); n > 0 {
		t.Errorf("finding a toolset by its domain allocates %v times", n)
	}
}
