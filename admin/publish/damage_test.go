package publish_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// marked is records that note releases, as the store does.
type marked struct {
	records
	epoch, revision uint64
}

func (r *marked) ReleaseMark(context.Context, string) (epoch, revision uint64, err error) {
	return r.epoch, r.revision, nil
}

func (r *marked) MarkRelease(_ context.Context, _ string, epoch, revision uint64) error {
	r.epoch, r.revision = epoch, revision
	return nil
}

func (r *marked) Unknown(context.Context, []registry.ReleaseToolset) ([]string, error) {
	return nil, nil
}

// damagedRegistry has the releases 1.1 (empty) to 1.3, of one toolset since 1.2, and is
// opened again after damage was done.
func damagedRegistry(t *testing.T, damage func(dir string, newest, layer registry.Digest) error) (*marked, *publish.Publisher, error) {
	t.Helper()
	dir, key, rec := t.TempDir(), newKey(t), &marked{}
	store := openStore(t, dir)
	p := newPublisher(t, store, key, rec, nil)
	for i, text := range []string{"one", "two"} {
		rec.live = []registry.ReleaseToolset{bundle(t, p, toolset("things", text, connector(t, store, "things", text)))}
		rec.live[0].Revision = uint64(i + 1)
		if _, err := p.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	newest, err := store.Resolve(t.Context(), oci.ReleaseRepository("default"), oci.TagLatest)
	if err != nil {
		t.Fatal(err)
	}
	a, err := store.Pull(t.Context(), oci.ReleaseRepository("default"), newest, oci.KindRelease)
	if err != nil {
		t.Fatal(err)
	}
	if err := damage(dir, newest, a.LayerDigest()); err != nil {
		t.Fatal(err)
	}
	again, err := publish.New(t.Context(), publish.Options{Store: openStore(t, dir), ReleaseKey: key, Records: rec})
	return rec, again, err
}

func tag(dir, name string) string {
	return filepath.Join(dir, "repositories", "releases", "default", "_tags", name)
}

func blob(dir string, d registry.Digest) string {
	return filepath.Join(dir, "blobs", "sha256", d.Hex())
}

// TestLostRelease: a newest release that cannot be read any more is replaced by one of what
// is live, with a number that no edge has seen; a lost tag by the number that it had.
func TestLostRelease(t *testing.T) {
	rewrite := func(path, text string) error {
		return errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o600))
	}
	for name, tt := range map[string]struct {
		damage   func(dir string, newest, layer registry.Digest) error
		revision uint64
	}{
		"tag with other bytes": {func(dir string, d, _ registry.Digest) error { return rewrite(tag(dir, "latest"), string(d)+"\x00") }, 3},
		"empty tag":            {func(dir string, _, _ registry.Digest) error { return rewrite(tag(dir, "latest"), "") }, 3},
		"tag is gone":          {func(dir string, _, _ registry.Digest) error { return os.Remove(tag(dir, "latest")) }, 3},
		"manifest changed":     {func(dir string, d, _ registry.Digest) error { return rewrite(blob(dir, d), "{}") }, 4},
		"manifest is gone":     {func(dir string, d, _ registry.Digest) error { return os.Remove(blob(dir, d)) }, 4},
		"envelope changed":     {func(dir string, _, l registry.Digest) error { return rewrite(blob(dir, l), "{}") }, 4},
		"repository is gone": {func(dir string, _, _ registry.Digest) error {
			return os.RemoveAll(filepath.Join(dir, "repositories", "releases"))
		}, 4},
		"tag and number are gone": {func(dir string, _, _ registry.Digest) error {
			return errors.Join(os.Remove(tag(dir, "latest")), os.Remove(tag(dir, "1.3")))
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			rec, p, err := damagedRegistry(t, tt.damage)
			if err != nil {
				t.Fatal(err)
			}
			r := p.Current().Release()
			if r.Revision != tt.revision || rec.revision != tt.revision || len(r.Toolsets) != 1 || r.Toolsets[0].Bundle != rec.live[0].Bundle {
				t.Errorf("release %d.%d of %+v, noted %d", r.Epoch, r.Revision, r.Toolsets, rec.revision)
			}
			// From here on it is as always: nothing changed, nothing is made.
			if again, err := p.Release(t.Context()); err != nil || again.Release().Revision != tt.revision {
				t.Errorf("again: %v, %v", again.Release().Revision, err)
			}
		})
	}
}

// TestLostReleaseIsNotGuessed: no release is made over one that the records do not know, and none
// of maxLost releases before it is whole means that the registry is not the one of the records.
func TestLostReleaseIsNotGuessed(t *testing.T) {
	for name, damage := range map[string]func(dir string, newest, layer registry.Digest) error{
		"the records are older": func(dir string, newest, _ registry.Digest) error {
			return errors.Join(os.WriteFile(tag(dir, "1.4"), []byte(newest), 0o600), os.Remove(blob(dir, newest)))
		},
		"the records are older, and the tag is gone": func(dir string, newest, _ registry.Digest) error {
			return errors.Join(os.WriteFile(tag(dir, "1.4"), []byte(newest), 0o600), os.Remove(tag(dir, "latest")))
		},
		"nothing is left": func(dir string, newest, _ registry.Digest) error {
			return errors.Join(os.Remove(blob(dir, newest)), os.Remove(tag(dir, "1.2")), os.Remove(tag(dir, "1.1")))
		},
	} {
		_, p, err := damagedRegistry(t, damage)
		if damaged := registry.Damage(err); p != nil && p.Current() != nil || damaged == nil || !strings.Contains(damaged.Detail, "releases/default") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMaxLost: as many numbers without a release are passed over, and not one more.
func TestMaxLost(t *testing.T) {
	for lost, found := range map[uint64]bool{publish.MaxLost - 1: true, publish.MaxLost: false} {
		dir, rec := t.TempDir(), &marked{}
		store := openStore(t, dir)
		newPublisher(t, store, newKey(t), rec, nil)
		rec.revision += lost
		if err := os.Remove(tag(dir, "latest")); err != nil {
			t.Fatal(err)
		}
		got, err := publish.LookUp(t.Context(), store, rec, "default")
		if err != nil || (got.Artifact != nil) != found || found && got.Lost != lost || got.Cause == nil {
			t.Errorf("%d lost: %+v, %v", lost, got, err)
		}
	}
}

// TestInspect: what a live toolset needs and the registry does not have is said, until it is there again.
func TestInspect(t *testing.T) {
	dir, rec := t.TempDir(), &marked{}
	store := openStore(t, dir)
	p := newPublisher(t, store, newKey(t), rec, nil)
	ref := connector(t, store, "things", "one")
	rec.live = []registry.ReleaseToolset{bundle(t, p, toolset("things", "Things", ref))}
	access, err := p.Access(t.Context(), rec.live[0].Repository, &registry.AccessDocument{Workspace: "acme", Toolset: rec.live[0].ID, Mode: registry.AccessNone})
	if err != nil {
		t.Fatal(err)
	}
	rec.live[0].Access = access
	if _, err := p.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	inspect := func() error {
		t.Helper()
		if err := p.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		return p.Damaged()
	}
	if err := inspect(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []registry.Digest{rec.live[0].Bundle, ref.Manifest, ref.Digest, access} {
		sound, err := os.ReadFile(blob(dir, d))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(blob(dir, d)), os.WriteFile(blob(dir, d), slices.Concat([]byte("x"), sound[1:]), 0o600)); err != nil {
			t.Fatal(err)
		}
		found := inspect()
		if found == nil || strings.Contains(found.Error(), "things") || !errors.Is(found, registry.ErrCorrupt) {
			t.Errorf("%s: %v", d.Short(), found)
		}
		if err := os.WriteFile(blob(dir, d), sound, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := inspect(); err != nil {
			t.Errorf("%s is mended: %v", d.Short(), err)
		}
	}
}

// TestInspectSays: a newest release that cannot be put back is damage too.
func TestInspectSays(t *testing.T) {
	dir := t.TempDir()
	p := newPublisher(t, openStore(t, dir), newKey(t), &marked{}, nil)
	if err := os.RemoveAll(filepath.Join(dir, "repositories")); err != nil {
		t.Fatal(err)
	}
	if err := p.Inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Damaged(); err == nil || !strings.Contains(err.Error(), "newest release") || strings.Contains(err.Error(), dir) {
		t.Errorf("said: %v", err)
	}
}

// TestInspectMends: what others get by the name of a repository, and the configuration, are not
// read by a pull, and are there again after a look.
func TestInspectMends(t *testing.T) {
	for name, damage := range map[string]func(dir string, newest, config registry.Digest) error{
		"index of the workspace": func(dir string, _, _ registry.Digest) error {
			return os.RemoveAll(filepath.Join(dir, "repositories", "acme"))
		},
		"index of all": func(dir string, _, _ registry.Digest) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "repositories", "acme")), os.RemoveAll(filepath.Join(dir, "repositories", "releases")))
		},
		"tag of the release": func(dir string, _, _ registry.Digest) error { return os.Remove(tag(dir, "latest")) },
		"release": func(dir string, d, _ registry.Digest) error {
			return errors.Join(os.Remove(blob(dir, d)), os.WriteFile(blob(dir, d), []byte("{}"), 0o600))
		},
		"media types": func(dir string, _, _ registry.Digest) error {
			files, err := filepath.Glob(filepath.Join(dir, "repositories", "acme", "*", "*", "_manifests", "*"))
			for _, f := range files {
				err = errors.Join(err, os.WriteFile(f, nil, 0o600))
			}
			return err
		},
		"configuration": func(dir string, _, c registry.Digest) error {
			return errors.Join(os.Remove(blob(dir, c)), os.WriteFile(blob(dir, c), []byte("x"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, rec := t.TempDir(), &marked{}
			store := openStore(t, dir)
			p := newPublisher(t, store, newKey(t), rec, nil)
			ref := connector(t, store, "things", "one")
			rec.live = []registry.ReleaseToolset{bundle(t, p, toolset("things", "Things", ref))}
			r, err := p.Release(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			newest, err := store.Resolve(t.Context(), oci.ReleaseRepository("default"), oci.TagLatest)
			if err != nil {
				t.Fatal(err)
			}
			module, err := store.Pull(t.Context(), ref.Repository, ref.Manifest, oci.KindPlugin)
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(dir, newest, registry.DigestOf(module.Config())); err != nil {
				t.Fatal(err)
			}
			served := func() (faults []string) {
				files, err := server.Open(server.Options{Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				handler, err := server.NewHandler(server.HandlerOptions{Store: files, Authorize: func(*http.Request, string, server.Action) error { return nil }})
				if err != nil {
					t.Fatal(err)
				}
				h := httptest.NewServer(handler)
				defer h.Close()
				for _, path := range []string{
					oci.ReleaseRepository("default") + "/manifests/latest",
					rec.live[0].Repository + "/manifests/" + string(rec.live[0].Bundle),
					ref.Repository + "/manifests/" + string(ref.Manifest),
					ref.Repository + "/blobs/" + string(ref.Digest),
					ref.Repository + "/blobs/" + string(registry.DigestOf(module.Config())),
				} {
					res, err := http.Get(h.URL + "/v2/" + path)
					if err != nil {
						t.Fatal(err)
					}
					_ = res.Body.Close()
					if res.StatusCode != http.StatusOK || strings.Contains(path, "/manifests/") && !strings.Contains(res.Header.Get("Content-Type"), "manifest") {
						faults = append(faults, path)
					}
				}
				return faults
			}
			if len(served()) == 0 {
				t.Fatal("the damage does not show")
			}
			if err := p.Inspect(t.Context()); err != nil {
				t.Fatal(err)
			}
			if faults := served(); len(faults) > 0 || p.Damaged() != nil {
				t.Errorf("not served after a look: %v; %v", faults, errors.Unwrap(p.Damaged()))
			}
			if again, err := p.Release(t.Context()); err != nil || again.Digest() != r.Digest() {
				t.Errorf("released again: %v", err)
			}
		})
	}
}
