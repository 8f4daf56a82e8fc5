package edge_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/sluicegate/sluice/registry"
)

// TestCarry: after any series of releases a node keeps exactly what one that sees only
// the last of them opens, though it looks only at what each of them changed. Toolsets
// come, go, change and share connectors.
func TestCarry(t *testing.T) {
	const seeds, releases, slugs, connectors = 6, 12, 8, 5
	for seed := range uint64(seeds) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t)
			refs := make([]registry.ConnectorRef, connectors)
			for i := range refs {
				refs[i] = w.pushConnector("c"+strconv.Itoa(i), "x")
			}
			change := func() {
				slug := "t" + strconv.Itoa(r.IntN(slugs))
				if r.IntN(3) == 0 {
					w.mu.Lock()
					delete(w.live, slug)
					w.mu.Unlock()
					return
				}
				ts := &registry.Toolset{
					Workspace: "acme", ID: "ts_" + slug, Slug: slug, Name: slug + strconv.Itoa(r.IntN(2)), Access: registry.Access{Mode: registry.AccessNone},
				}
				for i, n := range r.Perm(connectors)[:1+r.IntN(2)] {
					ref := refs[n]
					ref.Name = "c" + strconv.Itoa(i)
					ts.Connectors = append(ts.Connectors, ref)
				}
				b, err := w.pub.Bundle(context.Background(), ts, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				w.live[slug] = registry.ReleaseToolset{
					ID: ts.ID, Workspace: "acme", Slug: slug, Revision: w.live[slug].Revision + 1, Repository: b.Repository, Bundle: b.Digest,
				}
			}
			dir := t.TempDir()
			n := w.start(dir, nil)
			last := w.release()
			for range releases {
				for range 1 + r.IntN(4) {
					change()
				}
				last = w.release()
				n.persisted(last)
			}
			n.stop()
			fresh := w.start(t.TempDir(), nil)
			fresh.persisted(last)
			fresh.stop()
			again := w.start(dir, nil) // from the cache; some of it may not be opened when it stops
			again.live(last)
			again.stop()
			for _, other := range []*node{fresh, again} {
				if got, want := n.Parts(), other.Parts(); !slices.Equal(got, want) {
					t.Fatalf("opened %q\nwant %q", got, want)
				}
			}
			if got, want := n.Holds(), fresh.Holds(); !slices.Equal(got, want) {
				t.Fatalf("needs %q\nwant %q", got, want)
			}
			if len(n.Parts()) == 0 {
				t.Fatal("the last release is empty: the test says nothing")
			}
		})
	}
}
