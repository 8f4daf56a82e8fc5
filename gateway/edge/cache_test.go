package edge_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// TestFaultsOfTheCache: what a crash, a disk or a person did to the files.
func TestFaultsOfTheCache(t *testing.T) {
	type files struct {
		dir              string
		key              *sign.Key
		newer            *registry.Release
		bundle, previous registry.Digest // layers of the newest and the release before
		connector        registry.Digest // manifest of the newest
	}
	write := func(t *testing.T, path string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	half := func(t *testing.T, path string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, b[:len(b)/2])
	}
	f := func(name, serves string, harm func(t *testing.T, c files)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			dir := t.TempDir()
			n := w.start(dir, nil)
			layer := func(r *sign.Release) registry.Digest {
				ts := r.Release().Toolsets[0]
				a, err := w.store.Pull(t.Context(), ts.Repository, ts.Bundle, oci.KindToolset)
				if err != nil {
					t.Fatal(err)
				}
				return a.LayerDigest()
			}
			older := w.deploy("one", "older")
			n.persisted(older)
			newer := w.deploy("one", "newer")
			n.persisted(newer)
			n.stop()
			harm(t, files{dir: dir, key: w.key, newer: newer.Release(), bundle: layer(newer), previous: layer(older), connector: n.newest().Toolsets[0].Bundle.Connectors[0].Manifest})

			// Without the control plane: the newest that is whole.
			n = w.start(dir, &wire{Source: w.source, release: down})
			if serves == "" {
				st := n.until("telling the fault", func(s edge.Status) bool { return s.Following != nil })
				if st.Ready || len(n.states) != 0 {
					t.Fatalf("ready with %+v", st)
				}
			} else {
				s := n.next()
				if got := s.Toolsets[0].Bundle.Name; got != "one "+serves {
					t.Fatalf("serves %q, want %q", got, serves)
				}
				if serves == "older" {
					n.until("telling the fault of the cache", func(s edge.Status) bool { return s.Cache != nil })
				}
			}
			n.stop()

			// With it: the newest, and the cache is whole again.
			n = w.start(dir, nil)
			n.persisted(newer)
			n.until("repairing the cache", func(s edge.Status) bool { return s.Cache == nil })
			n.stop()
			n = w.start(dir, &wire{Source: w.source, release: down})
			if got := n.next().Toolsets[0].Bundle.Name; got != "one newer" {
				t.Fatalf("after healing serves %q", got)
			}
			if err := n.Status().Cache; err != nil {
				t.Fatalf("after healing: %v", err)
			}
			// A damaged previous release is replaced by the next release only.
			if serves != "" && name != "previous damaged only" {
				n.stop()
				half(t, filepath.Join(dir, "release.dsse.json"))
				n = w.start(dir, &wire{Source: w.source, release: down})
				if got := n.next().Toolsets[0].Bundle.Name; got != "one older" {
					t.Fatalf("after healing the previous release is %q", got)
				}
			}
		})
	}
	current := func(c files) string { return filepath.Join(c.dir, "release.dsse.json") }
	previous := func(c files) string { return filepath.Join(c.dir, "previous.dsse.json") }
	ratchet := func(c files) string { return filepath.Join(c.dir, "ratchet.json") }
	// damage changes the record of a content in the packs.
	damage := func(t *testing.T, c files, d registry.Digest, change func(pack []byte, header, data, end int) []byte) {
		t.Helper()
		key, err := hex.DecodeString(d.Hex())
		if err != nil {
			t.Fatal(err)
		}
		packs, err := filepath.Glob(filepath.Join(c.dir, "content", "*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range packs {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if i := bytes.Index(b, key); i >= 0 {
				data := i + len(key) + 8
				write(t, path, change(b, i, data, data+int(binary.BigEndian.Uint64(b[data-8:]))))
				return
			}
		}
		t.Fatalf("%s is in none of %v", d, packs)
	}
	forget := func(b []byte, header, _, _ int) []byte { b[header] ^= 1; return b }

	f("nothing", "newer", func(*testing.T, files) {})
	f("release of zero bytes", "older", func(t *testing.T, c files) { write(t, current(c), nil) })
	f("half a release", "older", func(t *testing.T, c files) { half(t, current(c)) })
	f("release removed", "older", func(t *testing.T, c files) {
		if err := os.Remove(current(c)); err != nil {
			t.Fatal(err)
		}
	})
	f("release of another key", "older", func(t *testing.T, c files) {
		k, err := sign.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		env, err := sign.SignRelease(k, &registry.Release{
			Group: "default", Epoch: 1, Revision: 99, Issued: now, Expires: now.Add(time.Hour),
			Trusted: []registry.TrustedKey{k.Trusted(registry.UseRelease, "")},
		})
		if err != nil {
			t.Fatal(err)
		}
		write(t, current(c), env)
	})
	f("release of another group, by the right key", "older", func(t *testing.T, c files) {
		other := *c.newer
		other.Group = "north"
		env, err := sign.SignRelease(c.key, &other)
		if err != nil {
			t.Fatal(err)
		}
		write(t, current(c), env)
	})
	f("a content missing", "older", func(t *testing.T, c files) { damage(t, c, c.bundle, forget) })
	f("a connector's manifest missing", "older", func(t *testing.T, c files) { damage(t, c, c.connector, forget) })
	f("half a content", "older", func(t *testing.T, c files) {
		damage(t, c, c.bundle, func(b []byte, _, data, end int) []byte { return b[:(data+end)/2] })
	})
	f("a swapped content", "older", func(t *testing.T, c files) {
		damage(t, c, c.bundle, func(b []byte, _, _, end int) []byte { b[end-3] ^= 1; return b })
	})
	f("a content of absurd length", "older", func(t *testing.T, c files) {
		damage(t, c, c.bundle, func(b []byte, _, data, _ int) []byte { b[data-8] = 0xff; return b })
	})
	f("a pack that is something else", "older", func(t *testing.T, c files) {
		damage(t, c, c.bundle, func([]byte, int, int, int) []byte { return []byte("hello") })
	})
	f("previous damaged only", "newer", func(t *testing.T, c files) { half(t, previous(c)) })
	f("both releases damaged", "", func(t *testing.T, c files) { half(t, current(c)); half(t, previous(c)) })
	f("both contents missing", "", func(t *testing.T, c files) {
		damage(t, c, c.bundle, forget)
		damage(t, c, c.previous, forget)
	})
	f("notes damaged", "newer", func(t *testing.T, c files) { half(t, ratchet(c)) })
	f("notes removed", "newer", func(t *testing.T, c files) {
		if err := os.Remove(ratchet(c)); err != nil {
			t.Fatal(err)
		}
	})
	f("everything removed", "", func(t *testing.T, c files) {
		if err := os.RemoveAll(c.dir); err != nil {
			t.Fatal(err)
		}
	})
}

// A cache that cannot be written does not keep the node from following, and is
// written as soon as it can be.
func TestReadOnlyCache(t *testing.T) {
	w := newWorld(t)
	r := w.deploy("one", "a")
	dir := filepath.Join(t.TempDir(), "cache")
	// A file where the directory should be refuses writes to every user.
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := &wire{Source: w.source}
	n := w.start(dir, x, func(o *edge.Options) { o.PollTimeout = 2 * time.Millisecond })
	n.live(r)
	st := n.until("telling the fault", func(s edge.Status) bool { return s.Cache != nil })
	if st.Following != nil || !st.Ready {
		t.Fatalf("status %+v", st)
	}
	r = w.deploy("two", "a")
	n.live(r)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	n.until("persisted", func(s edge.Status) bool { return s.Cache == nil })
	n.stop()
	n = w.start(dir, &wire{Source: w.source, release: down})
	if got := slugs(n.next()); !slices.Equal(got, []string{"one", "two"}) {
		t.Fatalf("restarted with %v", got)
	}
}

// Content that no release on disk needs goes; what the last two need stays, and
// the number of files stays small however often is published.
func TestCacheIsSwept(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	n := w.start(dir, nil)
	w.put("kept", "a")
	disk := func() (files int, bytes int64) {
		t.Helper()
		packs, err := filepath.Glob(filepath.Join(dir, "content", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range packs {
			if info, err := os.Stat(path); err == nil { // the sweep may be removing it
				bytes += info.Size()
			}
		}
		return len(packs), bytes
	}
	n.persisted(w.deploy("one", "0"))
	_, first := disk()
	for i := range 20 {
		n.persisted(w.deploy("one", strconv.Itoa(1+i)))
		// Two toolsets and the version before, and as much again of waste.
		n.until(fmt.Sprintf("small after %d publishes of %d bytes", i+1, first), func(edge.Status) bool {
			files, size := disk()
			return files <= 65 && size <= 3*first
		})
	}
	n.stop()
	n = w.start(dir, &wire{Source: w.source, release: down})
	if got := slugs(n.next()); !slices.Equal(got, []string{"kept", "one"}) {
		t.Fatalf("restarted with %v", got)
	}
	n.stop()
	if err := os.Remove(filepath.Join(dir, "release.dsse.json")); err != nil {
		t.Fatal(err)
	}
	n = w.start(dir, &wire{Source: w.source, release: down})
	if s := n.next(); s.Toolsets[1].Bundle.Name != "one 19" {
		t.Fatalf("the release before has %q, want version 19", s.Toolsets[1].Bundle.Name)
	}
}
