package backup_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/filelock"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

func identity(t *testing.T) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// tree lists the files of a directory with their text.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out = append(out, rel+"="+string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// TestFinishAfterKill: from every state that a kill in the middle of a change can leave,
// the next start comes to the same end.
func TestFinishAfterKill(t *testing.T) {
	const want = "a=new a\nc/d=new d\nlock=\nreplaced-1/a=old a\nreplaced-1/b/x=old x"
	old, fresh := []string{"a", "b"}, []string{"a", "c"}
	move := func(t *testing.T, from, to string, names []string) {
		t.Helper()
		for _, n := range names {
			if err := os.Rename(filepath.Join(from, n), filepath.Join(to, n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for step := range 7 {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			dir := t.TempDir()
			done, aside := filepath.Join(dir, ".restored"), filepath.Join(dir, "replaced-1")
			for name, text := range map[string]string{
				"lock": "", "a": "old a", "b/x": "old x", ".restored/a": "new a", ".restored/c/d": "new d", ".restored/.move-away": "replaced-1",
			} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if step > 0 {
				if err := os.Mkdir(aside, 0o700); err != nil {
					t.Fatal(err)
				}
				move(t, dir, aside, old[:min(step-1, len(old))])
			}
			if step > 3 {
				if err := os.Remove(filepath.Join(done, ".move-away")); err != nil {
					t.Fatal(err)
				}
				move(t, done, dir, fresh[:min(step-4, len(fresh))])
			}
			for range 2 { // the second finds nothing to do
				if err := backup.Finish(dir); err != nil {
					t.Fatal(err)
				}
				if got := tree(t, dir); got != want {
					t.Errorf("%s\nwant\n%s", got, want)
				}
			}
		})
	}
}

// TestRestoreReplaces: what is in a directory stays until the new is whole, and is moved
// aside then; a node that runs there is not disturbed.
func TestRestoreReplaces(t *testing.T) {
	dir, st, files := world(t)
	id := identity(t)
	whole := write(t, dir, st, files, id.Recipient())
	to := t.TempDir()
	for _, name := range []string{"sluice.db", "sluice.db-wal", "admin.token"} {
		if err := os.WriteFile(filepath.Join(to, name), []byte("old "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, to)
	restore := func(b []byte, replace bool) (*backup.Summary, error) {
		return backup.Restore(t.Context(), bytes.NewReader(b), backup.RestoreOptions{
			Dir: to, Replace: replace, Database: store.Options{Path: filepath.Join(to, "sluice.db")}, Identities: []age.Identity{id},
		})
	}
	if _, err := restore(whole, false); !problem.Is(err, problem.Conflict) {
		t.Errorf("over something: %v", err)
	}
	if _, err := restore(whole[:len(whole)-1], true); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("cut: %v", err)
	}
	unlock, err := filelock.Exclusive(filepath.Join(to, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restore(whole, true); !problem.Is(err, problem.Conflict) {
		t.Errorf("under a node: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Replace(tree(t, to), "lock=\n", "", 1); got != before {
		t.Errorf("what failed changed the directory: %s", got)
	}
	// What a restore that was killed before its change left is removed.
	if err := os.MkdirAll(filepath.Join(to, ".restore-1", "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	sum, err := restore(whole, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := tree(t, sum.Replaced); got != before {
		t.Errorf("moved aside is\n%s\nwas\n%s", got, before)
	}
	if sum.Epoch < 2 {
		t.Errorf("epoch %d", sum.Epoch)
	}
	entries, err := os.ReadDir(to)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"keys", "lock", "registry", filepath.Base(sum.Replaced), "sluice.db"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// TestBackupWhilePublishing: whatever is published and collected meanwhile, every backup
// has all that it names.
func TestBackupWhilePublishing(t *testing.T) {
	dir, st, files := world(t)
	key := func(name string) *sign.Key {
		k, err := sign.ReadKey(filepath.Join(dir, "keys", name))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	p, err := publish.New(t.Context(), publish.Options{Store: oci.NewStore(files), Records: st, ReleaseKey: key("release.key"), WorkspaceKey: key("workspace.key")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	published := 0
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := p.NewEpoch(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			published++
			_, err := files.Collect(ctx, server.CollectOptions{Before: time.Now().Add(time.Hour), Releases: 1})
			if err != nil && !problem.Is(err, problem.Unavailable) && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	id := identity(t)
	for i := range 5 {
		whole := write(t, dir, st, files, id.Recipient())
		sum, err := backup.Verify(t.Context(), bytes.NewReader(whole), backup.VerifyOptions{Temp: t.TempDir(), Identities: []age.Identity{id}})
		if err != nil || sum.Absent != 0 {
			t.Errorf("backup %d: %+v, %v", i, sum, err)
		}
	}
	cancel()
	wg.Wait()
	if published == 0 {
		t.Error("nothing was published meanwhile")
	}
}
