package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

const (
	// maxKeyFileBytes bounds a key file; ours have 119 bytes a key.
	maxKeyFileBytes = 16 << 10
	// maxReleaseKeys bounds the keys in one file: the signing key, the one it replaced,
	// and two more for replacements that were begun before the last one was finished.
	maxReleaseKeys = 4
)

const pemPrivate = "PRIVATE KEY"

// Key signs. It prints as its id only.
type Key struct {
	private ed25519.PrivateKey
	der     []byte // PKIX
	id      string
	older   []*Key // sign beside it
}

// GenerateKey makes a new key from a source of randomness, nil meaning the
// operating system's.
func GenerateKey(random io.Reader) (*Key, error) {
	if random == nil {
		random = rand.Reader
	}
	_, private, err := ed25519.GenerateKey(random)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return newKey(private)
}

func newKey(private ed25519.PrivateKey) (*Key, error) {
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return nil, fmt.Errorf("encode a public key: %w", err)
	}
	return &Key{private: private, der: der, id: keyID(der)}, nil
}

func keyID(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// OpenKey reads the key file at path. When there is none it makes a new key and
// writes it durably with mode 0600, once: of two processes that start together
// one key wins and both use it. A file that others than its owner may read, that
// is not a regular file or that holds no ed25519 key is refused with a
// *problem.Error; the key is never replaced.
func OpenKey(path string) (*Key, error) { return openKey(path, 1) }

// OpenReleaseKey is [OpenKey] for the key of releases, which is replaced while edges
// follow: its file may hold up to four keys, one behind the other. The first is the
// key; what it signs the others sign too, so that a node which trusts only one of
// them can follow.
func OpenReleaseKey(path string) (*Key, error) { return openKey(path, maxReleaseKeys) }

// ReadKey is [OpenKey] that makes no key: without a file it fails with [fs.ErrNotExist].
func ReadKey(path string) (*Key, error) { return readKey(path, 1) }

// ReadReleaseKey is [OpenReleaseKey] that makes no key: without a file it fails with
// [fs.ErrNotExist].
func ReadReleaseKey(path string) (*Key, error) { return readKey(path, maxReleaseKeys) }

// IDs are the ids of the key and of those that sign beside it, itself first.
func (k *Key) IDs() []string {
	out := []string{k.id}
	for _, older := range k.older {
		out = append(out, older.id)
	}
	return out
}

func openKey(path string, most int) (*Key, error) {
	k, err := readKey(path, most)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if k, err = GenerateKey(nil); err != nil {
		return nil, err
	}
	if err := writeKeyOnce(path, k); err != nil {
		return nil, err
	}
	return readKey(path, most) // the winner's, if somebody was faster
}

// writeKeyOnce puts the key at path unless something is there by then: the file
// is complete before it has the name, and a hard link never replaces.
func writeKeyOnce(path string, k *Key) error {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return fmt.Errorf("encode key %s: %w", path, err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der})
	defer clear(text)
	tmp := path + ".new-" + k.id[:16]
	if err := atomicfile.Write(tmp, text, 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp) }() // the link, or the other process's file, is what counts
	if err := os.Link(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write key %s: %w", path, err)
	}
	if err := atomicfile.OS.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("sync the directory of key %s: %w", path, err)
	}
	return nil
}

func readKey(path string, most int) (*Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open key %s: %w", path, err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", path, err)
	}
	refuse := func(format string, args ...any) (*Key, error) {
		return nil, problem.New(problem.InvalidArgument, "the key file "+format, args...).At(path, 0, 0, "")
	}
	switch {
	case !info.Mode().IsRegular():
		return refuse("is not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		e := problem.New(problem.InvalidArgument, "the key file can be read by others (mode %04o)", info.Mode().Perm())
		return nil, e.At(path, 0, 0, "").Fix("chmod 600 %s, and replace the key if others may have read it", path)
	case info.Size() > maxKeyFileBytes:
		return refuse("has %d bytes, the limit is %d", info.Size(), maxKeyFileBytes)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFileBytes))
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", path, err)
	}
	defer clear(text)
	keys, fault := parseKeys(text, most)
	if fault != "" {
		return refuse("%s", fault)
	}
	return keys, nil
}

// parseKeys reads the text of a key file: the first key, with those that sign beside it.
// fault says what is wrong with it.
func parseKeys(text []byte, most int) (k *Key, fault string) {
	var keys []*Key
	for rest := text; len(keys) == 0 || len(bytes.TrimSpace(rest)) > 0; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil || block.Type != pemPrivate || len(keys) == most {
			if most == 1 {
				return nil, fmt.Sprintf("does not hold exactly one PEM block %q", pemPrivate)
			}
			return nil, fmt.Sprintf("does not hold one to %d PEM blocks %q and nothing else", most, pemPrivate)
		}
		k, fault := parseKey(block)
		if fault != "" {
			return nil, fault
		}
		if slices.ContainsFunc(keys, func(other *Key) bool { return other.id == k.id }) {
			return nil, "holds a key twice"
		}
		keys = append(keys, k)
	}
	keys[0].older = keys[1:]
	return keys[0], ""
}

// KeyIDOf returns the id of the first key in the text of a key file, which it does not
// change. It fails with [problem.InvalidArgument].
func KeyIDOf(text []byte) (string, error) {
	k, fault := parseKeys(text, maxReleaseKeys)
	if fault != "" {
		return "", problem.New(problem.InvalidArgument, "the key file %s", fault)
	}
	return k.id, nil
}

// parseKey reads and wipes one block of a key file; fault says what is wrong with it.
func parseKey(block *pem.Block) (k *Key, fault string) {
	defer clear(block.Bytes)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, "does not hold a PKCS #8 key"
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, "does not hold an ed25519 key"
	}
	if k, err = newKey(private); err != nil {
		return nil, "holds a key that cannot be used"
	}
	return k, ""
}

// ID is the key's id.
func (k *Key) ID() string { return k.id }

// String is the id, so that a key in a message shows nothing else.
func (k *Key) String() string { return "ed25519 key " + k.id[:16] }

// GoString is String, for %#v.
func (k *Key) GoString() string { return k.String() }

// Trusted is the public half as a release lists it, for a use
// (registry.UseRelease …) and a workspace ("" for every one).
func (k *Key) Trusted(use, workspace string) registry.TrustedKey {
	return registry.TrustedKey{KeyID: k.id, Use: use, Workspace: workspace, PublicKey: bytes.Clone(k.der)}
}

// TrustedAll is Trusted of the key and of those that sign beside it, itself first.
func (k *Key) TrustedAll(use, workspace string) []registry.TrustedKey {
	out := []registry.TrustedKey{k.Trusted(use, workspace)}
	for _, older := range k.older {
		out = append(out, older.Trusted(use, workspace))
	}
	return out
}

// Trust is a set of public keys that may sign one kind of thing.
type Trust struct{ keys map[string]trusted }

type trusted struct {
	public ed25519.PublicKey
	listed registry.TrustedKey
}

// NewTrust collects the keys of a use out of a list. A key whose id is not the
// hash of its bytes, or that is not ed25519, is refused with a *problem.Error of
// kind invalid_release.
func NewTrust(keys []registry.TrustedKey, use string) (*Trust, error) {
	t := &Trust{keys: make(map[string]trusted, len(keys))}
	for _, k := range keys {
		if k.Use != use {
			continue
		}
		if keyID(k.PublicKey) != k.KeyID {
			return nil, problem.New(problem.InvalidRelease, "trusted key %.80q is not the key its id names", k.KeyID)
		}
		parsed, err := x509.ParsePKIXPublicKey(k.PublicKey)
		if err != nil {
			return nil, problem.New(problem.InvalidRelease, "trusted key %s cannot be read", k.KeyID).Because(err)
		}
		public, ok := parsed.(ed25519.PublicKey)
		if !ok {
			return nil, problem.New(problem.InvalidRelease, "trusted key %s is not an ed25519 key", k.KeyID)
		}
		t.keys[k.KeyID] = trusted{public, k}
	}
	return t, nil
}

// Len is the number of keys.
func (t *Trust) Len() int { return len(t.keys) }
