package node_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry/sign"
)

// sharedKeys writes a folder of shared keys, as a secret that is mounted shows it.
func sharedKeys(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"release.key", "workspace.key"} {
		if _, err := sign.OpenKey(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), 0o440); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "master.key"), []byte(strings.Repeat("11", 32)+"\n"), 0o440); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSharedKeys: a node with a folder of shared keys uses them and makes none; what another
// one replaces is kept, and records that belong to other keys are left alone.
func TestSharedKeys(t *testing.T) {
	shared := sharedKeys(t)
	o := node.Options{Data: t.TempDir(), Role: node.RoleControl}
	o.Records.SharedKeys = shared
	n, stop := start(t, o)
	var keys struct{ Items []struct{ ID, Use string } }
	api(t, n, http.MethodGet, "/v1/keys", nil, &keys)
	release, err := sign.ReadKey(filepath.Join(o.Data, "keys", "release.key"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for _, k := range keys.Items {
		known[k.Use] = k.ID
	}
	if known["release"] != release.ID() || known["credentials"] == "" {
		t.Errorf("keys %v, want the release key %s", known, release.ID())
	}
	if _, err := os.Stat(filepath.Join(o.Data, "keys", "master.key")); err == nil {
		t.Error("a key-encryption key was made or copied")
	}
	stop()

	// Again, with the same ones: nothing is replaced.
	_, stop = start(t, o)
	stop()
	if _, err := os.Stat(filepath.Join(o.Data, "keys", "release.key.before")); err == nil {
		t.Error("an equal key was replaced")
	}

	// Others: the node does not start, and what was there is still there.
	refused := func(file, want string) {
		t.Helper()
		bad := o
		bad.Gateway.Listen, bad.Admin.Listen = anywhere, anywhere
		if n, err := node.New(t.Context(), bad); !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), want) {
			if err == nil {
				_ = n.Close()
			}
			t.Errorf("another %s: %v", file, err)
		}
	}
	own, err := os.ReadFile(filepath.Join(o.Data, "keys", "release.key"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, what was there first stays
		o.Records.SharedKeys = sharedKeys(t)
		refused("release.key", "edges of these records trust the release key")
		if kept, err := os.ReadFile(filepath.Join(o.Data, "keys", "release.key.before")); err != nil || !bytes.Equal(kept, own) {
			t.Errorf("the key before is not kept: %v", err)
		}
	}
	o.Records.SharedKeys = shared
	_, stop = start(t, o)
	stop()
}

// TestSharedKeysRefused: a key that is missing or too large, and one that is not a key, are named.
func TestSharedKeysRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(dir string) error
		want  []string
	}{
		{"no folder", func(dir string) error { return os.Rename(dir, dir+"x") }, []string{"has no release.key", "docs/keys.md"}},
		{"no workspace key", func(dir string) error { return os.Remove(filepath.Join(dir, "workspace.key")) }, []string{"has no workspace.key"}},
		{"no master key", func(dir string) error { return os.Remove(filepath.Join(dir, "master.key")) }, []string{"has no master.key"}},
		{"a broken master key", func(dir string) error { return replace(dir, "master.key", []byte("x")) }, []string{"master.key: key 1 of the key-encryption keys is not 32 bytes"}},
		{"the largest", func(dir string) error { return replace(dir, "master.key", padded(node.MaxSharedKeyBytes)) }, nil},
		{"one byte more", func(dir string) error { return replace(dir, "master.key", padded(node.MaxSharedKeyBytes+1)) }, []string{"master.key: a file of --shared-keys is larger than 16384 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := node.Options{Data: t.TempDir(), Role: node.RoleControl}
			o.Records.SharedKeys = sharedKeys(t)
			if err := c.spoil(o.Records.SharedKeys); err != nil {
				t.Fatal(err)
			}
			if c.want == nil {
				_, stop := start(t, o)
				stop()
				return
			}
			o.Gateway.Listen, o.Admin.Listen = anywhere, anywhere
			n, err := node.New(t.Context(), o)
			if err == nil {
				_ = n.Close()
				t.Fatal("it started")
			}
			for _, want := range c.want {
				if !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), want) {
					t.Errorf("%v: want %s", err, want)
				}
			}
		})
	}
}

func replace(dir, name string, b []byte) error {
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o440)
}

// padded is a key with a comment of as many bytes as are missing to n.
func padded(n int) []byte {
	key := strings.Repeat("11", 32) + " #"
	return []byte(key + strings.Repeat("x", n-len(key)))
}
