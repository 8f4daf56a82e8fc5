package backup_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// world is a data directory with records, keys and contents.
func world(t *testing.T) (dir string, st *store.Store, files *server.Store) {
	t.Helper()
	dir = t.TempDir()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "sluice.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if err := errors.Join(
		st.EnsureWorkspace(t.Context(), "one", "One"),
		os.Mkdir(filepath.Join(dir, "keys"), 0o700),
		os.WriteFile(filepath.Join(dir, "admin.token"), []byte("slu_token"), 0o600),
		os.Mkdir(filepath.Join(dir, "usage"), 0o700),
		os.WriteFile(filepath.Join(dir, "usage", "x.json"), []byte("{}"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.OpenFile(filepath.Join(dir, "keys", "master.key")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"release.key", "workspace.key"} {
		if _, err := sign.OpenKey(filepath.Join(dir, "keys", name)); err != nil {
			t.Fatal(err)
		}
	}
	files, err = server.Open(server.Options{Dir: filepath.Join(dir, "registry")})
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("canary-content "), 1000)
	if err := files.PutBlob(t.Context(), "one/connectors/x", registry.DigestOf(content), content); err != nil {
		t.Fatal(err)
	}
	return dir, st, files
}

func write(t *testing.T, dir string, st *store.Store, files *server.Store, to ...age.Recipient) []byte {
	t.Helper()
	var b bytes.Buffer
	o := backup.Options{Store: st, Dir: dir, Registry: files, Recipients: to, Program: "1.0", Now: time.Unix(1e9, 0).UTC()}
	if _, err := backup.Write(t.Context(), &b, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		if strings.HasPrefix(rel, "keys") || strings.HasPrefix(rel, "registry") && filepath.Base(rel) != "collect.lock" && !strings.Contains(rel, "releases") {
			out[rel] = string(b)
		}
		if info, ierr := d.Info(); strings.HasPrefix(rel, "keys") && (ierr != nil || info.Mode().Perm()&0o077 != 0) {
			t.Errorf("%s has mode %v, %v", rel, info.Mode(), ierr)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRestore(t *testing.T) {
	dir, st, registryOf := world(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	whole := write(t, dir, st, registryOf, id.Recipient())
	for _, secret := range []string{"canary", "master.key", "registry", "slu_token"} {
		if bytes.Contains(whole, []byte(secret)) {
			t.Errorf("the file shows %s", secret)
		}
	}
	restore := func(b []byte, ids ...age.Identity) (string, error) {
		to := filepath.Join(t.TempDir(), "new")
		_, err := backup.Restore(t.Context(), bytes.NewReader(b), backup.RestoreOptions{
			Dir: to, Database: store.Options{Path: filepath.Join(to, "sluice.db")}, Identities: ids,
		})
		return to, err
	}
	to, err := restore(whole, id)
	if err != nil {
		t.Fatal(err)
	}
	was, is := files(t, dir), files(t, to)
	if len(was) < 5 || len(is) < len(was) {
		t.Errorf("%d files, restored %d", len(was), len(is))
	}
	for name, b := range was {
		if is[name] != b {
			t.Errorf("%s is %d bytes, was %d", name, len(is[name]), len(b))
		}
	}
	if _, err := os.Stat(filepath.Join(to, "admin.token")); err == nil {
		t.Error("the node's own token is in the backup")
	}
	back, err := store.Open(t.Context(), store.Options{Path: filepath.Join(to, "sluice.db"), Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = back.Close() }()
	if ids, err := back.Workspaces(t.Context()); err != nil || len(ids) != 1 || ids[0] != "one" {
		t.Errorf("workspaces %v, %v", ids, err)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(whole), backup.RestoreOptions{Dir: to, Identities: []age.Identity{id}, Database: store.Options{Path: filepath.Join(to, "sluice.db")}}); !problem.Is(err, problem.Conflict) {
		t.Errorf("over something: %v", err)
	}

	// Another key, a byte changed anywhere, and a file cut off anywhere.
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restore(whole, other); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("another key: %v", err)
	}
	for i := 0; i < len(whole); i += max(len(whole)/12, 1) {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		if _, err := restore(changed, id); err == nil {
			t.Errorf("byte %d changed: restored", i)
		}
		if _, err := restore(whole[:i], id); err == nil {
			t.Errorf("cut at %d: restored", i)
		}
	}
}

// TestWriteStops: a cancelled backup fails.
func TestWriteStops(t *testing.T) {
	dir, st, registryOf := world(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := backup.Options{Store: st, Dir: dir, Registry: registryOf, Recipients: []age.Recipient{id.Recipient()}, Now: time.Now()}
	if _, err := backup.Write(ctx, &bytes.Buffer{}, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	o.Recipients = nil
	if _, err := backup.Write(t.Context(), &bytes.Buffer{}, o); err == nil {
		t.Error("written in the clear")
	}
}

// TestMissingContent: a backup without the content of a live toolset fails.
func TestMissingContent(t *testing.T) {
	dir, st, registryOf := world(t)
	err := st.Workspace("one").Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(
			tx.PutSpecification(t.Context(), &store.Specification{Digest: "sha256:s", Name: "x", Format: "yaml", SpecVersion: "3.1.0", Content: []byte("x")}),
			tx.PutConnector(t.Context(), &store.Connector{Name: "c", Title: "C", Kind: "custom", Source: "openapi"},
				&store.ConnectorVersion{Digest: "sha256:c", Manifest: "sha256:m", SpecDigest: "sha256:s", Tools: 1, Report: "{}"}),
			tx.CreateToolset(t.Context(), &store.Toolset{
				Slug: "x", Name: "X", SourceKind: "openapi", Connector: "c", ConnectorDigest: "sha256:c", Profile: "lossless",
				DraftDigest: "sha256:" + strings.Repeat("a", 64), LiveDigest: "sha256:" + strings.Repeat("a", 64), LiveRepository: "one/toolsets/x", LiveRevision: 1,
			}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	o := backup.Options{Store: st, Dir: dir, Registry: registryOf, Recipients: []age.Recipient{id.Recipient()}, Now: time.Now().Add(time.Second)}
	if _, err := backup.Write(t.Context(), &bytes.Buffer{}, o); !problem.Is(err, problem.Unavailable) {
		t.Errorf("%v", err)
	}
}

// lengthOf is how many bytes the records have in a backup.
func lengthOf(t *testing.T, st *store.Store) int {
	t.Helper()
	var b bytes.Buffer
	if _, err := st.Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// TestRecordsAtChunkBounds: records of any length come back, also when they end where
// an entry ends, and when they have several.
func TestRecordsAtChunkBounds(t *testing.T) {
	const chunk = 4 << 20
	for _, want := range []int{chunk - 1, chunk, chunk + 1, 2 * chunk, 2*chunk + 1, 3*chunk - 1} {
		dir, st, registryOf := world(t)
		long := func(n int) {
			t.Helper()
			if err := st.EnsureWorkspace(t.Context(), "long"+strconv.Itoa(n%2), strings.Repeat("n", n)); err != nil {
				t.Fatal(err)
			}
		}
		long(1)
		before := lengthOf(t, st)
		long(2)
		row := lengthOf(t, st) - before - 2 // of one row without its name
		if err := st.EnsureWorkspace(t.Context(), "longx", strings.Repeat("n", want-before-2-row-row)); err != nil {
			t.Fatal(err)
		}
		if got := lengthOf(t, st); got != want {
			t.Fatalf("the records have %d bytes, not %d", got, want)
		}
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		whole := write(t, dir, st, registryOf, id.Recipient())
		if _, err := backup.Verify(t.Context(), bytes.NewReader(whole), backup.VerifyOptions{Temp: t.TempDir(), Identities: []age.Identity{id}}); err != nil {
			t.Errorf("%d bytes of records: %v", want, err)
		}
	}
}
