package secrets_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

var rec = secrets.Record{Key: "workspaces/w/credentials/c", Version: 3}

func keyFile(t *testing.T) (string, *secrets.Keyring) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "master.key")
	k, err := secrets.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, k
}

func mustSeal(t *testing.T, k *secrets.Keyring, r secrets.Record, value string) []byte {
	t.Helper()
	b, err := k.Seal(r, secrets.New(value))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSealAndOpen(t *testing.T) {
	path, k := keyFile(t)
	for _, value := range []string{"", "x", canary, strings.Repeat("z", secrets.MaxBytes)} {
		sealed := mustSeal(t, k, rec, value)
		got, err := k.Open(rec, sealed)
		if err != nil || got.Reveal() != value {
			t.Fatalf("Open(Seal(%d bytes)) = %d bytes, %v", len(value), len(got.Reveal()), err)
		}
		if len(value) > 3 && bytes.Contains(sealed, []byte(value)) {
			t.Fatal("the sealed form holds the value")
		}
	}
	if _, err := k.Seal(rec, secrets.New(strings.Repeat("z", secrets.MaxBytes+1))); !errors.Is(err, secrets.ErrTooLarge) {
		t.Fatalf("Seal above the bound: %v", err)
	}
	if bytes.Equal(mustSeal(t, k, rec, canary), mustSeal(t, k, rec, canary)) {
		t.Fatal("two seals of one value are equal")
	}
	again, err := secrets.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Open(rec, mustSeal(t, k, rec, canary)); err != nil || got.Reveal() != canary {
		t.Fatalf("after reopening the file: %v", err)
	}
}

func TestSealedBytesAreBoundToTheirRecord(t *testing.T) {
	_, k := keyFile(t)
	sealed := mustSeal(t, k, rec, canary)
	for _, other := range []secrets.Record{
		{Key: rec.Key, Version: 2},
		{Key: rec.Key, Version: 4},
		{Key: rec.Key + "2", Version: 3},
		{Key: "", Version: 3},
	} {
		if got, err := k.Open(other, sealed); !errors.Is(err, secrets.ErrSealed) || !got.IsZero() {
			t.Errorf("Open(%+v) = %v, %v; want ErrSealed", other, got, err)
		}
		if _, _, err := k.Rewrap(other, sealed); !errors.Is(err, secrets.ErrSealed) {
			t.Errorf("Rewrap(%+v): %v; want ErrSealed", other, err)
		}
	}
}

func TestEveryChangedByteIsSeen(t *testing.T) {
	_, k := keyFile(t)
	sealed := mustSeal(t, k, rec, canary)
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		_, err := k.Open(rec, bad)
		var unknown *secrets.UnknownKeyError
		if isID := i >= 1 && i < 9; isID != errors.As(err, &unknown) || (!isID && !errors.Is(err, secrets.ErrSealed)) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	for n := range sealed {
		if _, err := k.Open(rec, sealed[:n]); !errors.Is(err, secrets.ErrSealed) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func TestRotation(t *testing.T) {
	path, k := keyFile(t)
	old := mustSeal(t, k, rec, canary)
	oldID := k.Current()
	if err := k.Rotate(); err != nil {
		t.Fatal(err)
	}
	if k.Current() == oldID || len(k.IDs()) != 2 {
		t.Fatalf("after Rotate: %v", k.IDs())
	}
	if got, err := k.Open(rec, old); err != nil || got.Reveal() != canary {
		t.Fatalf("an old value does not open after Rotate: %v", err)
	}
	wrapped, changed, err := k.Rewrap(rec, old)
	if err != nil || !changed {
		t.Fatalf("Rewrap = %v, %v", changed, err)
	}
	if id, err := secrets.KeyID(wrapped); err != nil || id != k.Current() {
		t.Fatalf("KeyID = %s, %v", id, err)
	}
	if !bytes.Equal(wrapped[69:], old[69:]) {
		t.Fatal("Rewrap changed the payload")
	}
	if same, changed, err := k.Rewrap(rec, wrapped); err != nil || changed || !bytes.Equal(same, wrapped) {
		t.Fatalf("second Rewrap = %v, %v", changed, err)
	}
	if err := k.Retire(); err != nil {
		t.Fatal(err)
	}
	for _, ring := range []*secrets.Keyring{k, reopen(t, path)} {
		if got, err := ring.Open(rec, wrapped); err != nil || got.Reveal() != canary {
			t.Fatalf("the re-wrapped value does not open: %v", err)
		}
		var unknown *secrets.UnknownKeyError
		if _, err := ring.Open(rec, old); !errors.As(err, &unknown) || unknown.ID != oldID {
			t.Fatalf("a value under the retired key: %v", err)
		}
	}
	for len(k.IDs()) < 16 {
		if err := k.Rotate(); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Rotate(); !problem.Is(err, problem.Conflict) {
		t.Fatalf("one key past the bound: %v", err)
	}
	reopen(t, path)
}

func reopen(t *testing.T, path string) *secrets.Keyring {
	t.Helper()
	k, err := secrets.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeyFile(t *testing.T) {
	path, _ := keyFile(t)
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", st.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o700, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secrets.OpenFile(path); !problem.Is(err, problem.Forbidden) || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for _, mode := range []os.FileMode{0o600, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secrets.OpenFile(path); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := secrets.OpenFile(t.TempDir()); !problem.Is(err, problem.Forbidden) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := secrets.OpenFile(filepath.Join(t.TempDir(), "no", "such", "dir")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "k")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// An empty file is a lost key, not a first start.
	if _, err := secrets.OpenFile(empty); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("an empty file: %v", err)
	}
	if err := os.WriteFile(empty, bytes.Repeat([]byte("#"), 16<<10+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.OpenFile(empty); !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a large file: %v", err)
	}
}

func TestManyFirstStartsMakeOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "master.key")
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			k, err := secrets.OpenFile(path)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = k.Current()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("different keys: %v", ids)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("files left behind: %v, %v", entries, err)
	}
}

func TestParse(t *testing.T) {
	const b64 = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	const hexa = "3031323334353637383961626364656630313233343536373839616263646567"
	f := func(in string, n int) {
		t.Helper()
		k, err := secrets.Parse(secrets.New(in))
		if n == 0 {
			if !problem.Is(err, problem.InvalidArgument) || (in != "" && strings.Contains(err.Error(), in)) {
				t.Fatalf("Parse(%q): %v", in, err)
			}
			return
		}
		if err != nil || len(k.IDs()) != n {
			t.Fatalf("Parse(%q) = %v; want %d keys", in, err, n)
		}
		if err := k.Rotate(); !problem.Is(err, problem.Conflict) {
			t.Fatalf("Rotate of a value: %v", err)
		}
	}
	f(b64, 1)
	f(hexa, 1)
	f(b64+","+hexa, 2)
	f(" "+b64+"\n# old\n"+hexa+" # id\n", 2)
	f("", 0)
	f(b64+" "+b64, 0)
	f(b64[:40], 0)
	f(hexa[:62], 0)
	f("correct horse battery staple", 0)
}

func TestFingerprint(t *testing.T) {
	path, k := keyFile(t)
	a := k.Fingerprint(secrets.New(canary))
	if len(a) != 16 || a != reopen(t, path).Fingerprint(secrets.New(canary)) || a == k.Fingerprint(secrets.New(canary+"x")) {
		t.Errorf("fingerprint %q", a)
	}
	if _, other := keyFile(t); other.Fingerprint(secrets.New(canary)) == a {
		t.Error("the fingerprint does not depend on the key")
	}
}

func TestConcurrentUse(t *testing.T) {
	_, k := keyFile(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				sealed, err := k.Seal(rec, secrets.New(canary))
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := k.Open(rec, sealed); err != nil || got.Reveal() != canary {
					t.Errorf("Open: %v", err)
				}
				if _, _, err := k.Rewrap(rec, sealed); err != nil {
					t.Errorf("Rewrap: %v", err)
				}
			}
		})
	}
	for range 5 {
		if err := k.Rotate(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

// FuzzOpen: bytes from a database somebody could write to never open to anything
// but what was sealed.
func FuzzOpen(f *testing.F) {
	k, err := secrets.Parse(secrets.New("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="))
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := k.Seal(rec, secrets.New(canary))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add(sealed[:60])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := k.Open(rec, b)
		if err == nil != bytes.Equal(b, sealed) {
			t.Fatalf("Open(%x) = %v", b, err)
		}
		if err == nil && got.Reveal() != canary {
			t.Fatal("opened to something else")
		}
	})
}
