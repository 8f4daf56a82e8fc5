package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// TestKeyBounds: so many key files of so many bytes are backed up; more are refused, for
// what is left out of a backup cannot be had back.
func TestKeyBounds(t *testing.T) {
	f := func(files, size int, ok bool) {
		t.Helper()
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, dirKeys), 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, dirKeys, fmt.Sprint("key-", i)), make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = root.Close() }()
		keys, err := readKeys(root)
		if ok != (err == nil && len(keys) == files) || !ok && !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%d files of %d bytes: %d, %v", files, size, len(keys), err)
		}
	}
	f(maxKeyFiles, 1, true)
	f(maxKeyFiles+1, 1, false)
	f(1, maxKeyFileBytes, true)
	f(1, maxKeyFileBytes+1, false)
}

// TestMaxSealed: a text as long is opened, a byte more is refused.
func TestMaxSealed(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for n, ok := range map[int]bool{maxSealed: true, maxSealed + 1: false} {
		sealed, err := SealText(key.Recipient(), bytes.Repeat([]byte("x"), n))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := OpenText(sealed, key)
		if ok != (err == nil && len(plain) == n) || !ok && !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%d bytes: %d, %v", n, len(plain), err)
		}
	}
}

// TestMaxEndBytes: the head of a backup is read up to the bound.
func TestMaxEndBytes(t *testing.T) {
	for n, ok := range map[int]bool{maxEndBytes: true, maxEndBytes + 1: false} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		text := fmt.Sprintf(`{"format":%q,"version":%d`, format, formatVersion+1) // what is said of one that is read
		text += strings.Repeat(" ", n-len(text)-1) + "}"
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: nameHead, Mode: 0o600, Size: int64(n)}), func() error { _, err := w.Write([]byte(text)); return err }(), w.Close()); err != nil {
			t.Fatal(err)
		}
		s := &restorer{ctx: context.Background(), tar: tar.NewReader(&b), hash: sha256.New()}
		s.out = &staged{}
		err := s.run()
		if problem.Is(err, problem.Conflict) != ok || !ok && !strings.Contains(fmt.Sprint(err), "does not begin as one") {
			t.Errorf("a head of %d bytes: %v", n, err)
		}
	}
}

// TestMaxAbsent: a backup is made of a registry that lacks so many contents, and names them;
// of one that lacks one more it is not.
func TestMaxAbsent(t *testing.T) {
	var b writer
	for i := range maxAbsent {
		if err := b.lacks(strconv.Itoa(i), registry.ErrNotFound); err != nil {
			t.Fatalf("after %d contents: %v", i, err)
		}
	}
	if err := b.lacks("more", registry.ErrNotFound); !problem.Is(err, problem.Unavailable) || !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("one more: %v", err)
	}
	if len(b.absent) != maxAbsent || b.absent[maxAbsent-1] != strconv.Itoa(maxAbsent-1) {
		t.Errorf("%d are named, want %d", len(b.absent), maxAbsent)
	}
}
