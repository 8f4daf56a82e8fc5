package oci_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// TestSpare: what a registry lost or changed comes from the spare place and is there again;
// what neither has whole stays the error that it was.
func TestSpare(t *testing.T) {
	change := func(path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b[len(b)/2] ^= 1
		return errors.Join(os.Remove(path), os.WriteFile(path, b, 0o600))
	}
	longer := func(path string) error {
		b, err := os.ReadFile(path)
		return errors.Join(err, os.Remove(path), os.WriteFile(path, append(b, 'x'), 0o600))
	}
	a := artifact(t, oci.KindToolset, "a layer that is long enough")
	parts := map[string]registry.Digest{"manifest": a.Digest(), "layer": a.LayerDigest()}
	for part, d := range parts {
		for what, damage := range map[string]func(string) error{"changed": change, "longer": longer, "gone": os.Remove} {
			t.Run(part+" "+what, func(t *testing.T) {
				damaged, _, dir := open(t)
				other, backend, otherDir := open(t)
				for _, s := range []*oci.Store{damaged, other} {
					if err := s.Push(t.Context(), "acme/toolsets/x", "", a); err != nil {
						t.Fatal(err)
					}
				}
				file := func(dir string) string { return filepath.Join(dir, "blobs", "sha256", d.Hex()) }
				if err := damage(file(dir)); err != nil {
					t.Fatal(err)
				}
				pull := func(s *oci.Store) error {
					got, err := s.Pull(t.Context(), "acme/toolsets/x", a.Digest(), oci.KindToolset)
					if err == nil && string(got.Layer()) != string(a.Layer()) {
						t.Fatalf("pulled %q", got.Layer())
					}
					return err
				}
				cause := pull(damaged)
				if cause == nil {
					t.Fatal("the damage does not show")
				}
				told := 0
				healing := damaged.WithSpare(backend, func(repository string, digest registry.Digest, err error) {
					told++
					if repository != "acme/toolsets/x" || digest != a.Digest() || err != nil {
						t.Errorf("told %s@%s: %v", repository, digest, err)
					}
				})
				if err := pull(healing); err != nil || told != 1 {
					t.Fatalf("pulled with a spare: %v, told %d times", err, told)
				}
				if err := errors.Join(pull(damaged), pull(healing)); err != nil || told != 1 {
					t.Fatalf("after it was healed: %v, told %d times", err, told)
				}
				// Neither has it.
				if err := errors.Join(damage(file(dir)), damage(file(otherDir))); err != nil {
					t.Fatal(err)
				}
				if err := pull(healing); err == nil || err.Error() != cause.Error() || told != 1 {
					t.Fatalf("%v, told %d times; want %v", err, told, cause)
				}
			})
		}
	}
}

// TestSpareOfNoRequest: a request that was given up asks nobody else.
func TestSpareOfNoRequest(t *testing.T) {
	store, backend, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	healing := store.WithSpare(backend, func(string, registry.Digest, error) { t.Error("something was healed") })
	if _, err := healing.Pull(ctx, "acme/toolsets/x", registry.DigestOf([]byte("x")), oci.KindToolset); err == nil {
		t.Error("pulled nothing without an error")
	}
}
