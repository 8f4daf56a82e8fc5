package secrets

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// keyFileMode is what a key file must be at most: its owner's.
const keyFileMode = 0o600

// maxKeyFile is the largest key file that is read: maxKeys keys with comments.
const maxKeyFile = 16 << 10

const keyFileHead = `# Sluice key-encryption keys. Whoever has this file can read every stored
# credential; without it none can be read. The first key seals, the others only open.
`

// OpenFile opens the keyring in the file at path and makes it with one random
// key when it does not exist. Two processes that start at the same time get the
// same key. A file that others may read or write, or that is not a regular file,
// is refused with [problem.Forbidden]; its content must be as for [Parse], with
// comments after "#".
func OpenFile(path string) (*Keyring, error) {
	text, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createKeyFile(path); err == nil || errors.Is(err, fs.ErrExist) {
			text, err = readKeyFile(path)
		}
	}
	if err != nil {
		return nil, err
	}
	list, err := parseKeys(text)
	if err != nil {
		if p := problem.As(err); p != nil {
			return nil, p.At(path, 0, 0, "")
		}
		return nil, err
	}
	k := &Keyring{path: path}
	k.keys.Store(&list)
	return k, nil
}

// Rotate makes a new current key and writes the file; the old keys still open.
// The caller then re-wraps every sealed value and calls Retire. It must not run
// concurrently with itself or Retire.
func (k *Keyring) Rotate() error {
	old := *k.keys.Load()
	if len(old) == maxKeys {
		return problem.New(problem.Conflict, "the keyring already holds %d keys", maxKeys).Fix("re-wrap and retire the old keys first")
	}
	var key [keyBytes]byte
	_, _ = rand.Read(key[:])
	return k.replace(append([]*kek{newKEK(key[:])}, old...))
}

// Retire removes every key but the current one from the keyring and its file.
// What was not re-wrapped before can never be opened again.
func (k *Keyring) Retire() error {
	return k.replace((*k.keys.Load())[:1:1])
}

func (k *Keyring) replace(list []*kek) error {
	if k.path == "" {
		return problem.New(problem.Conflict, "the key-encryption key was given as a value, not as a file").
			Fix("put the new key before the old one in that value and restart")
	}
	var b []byte
	var err error
	if k.command == nil {
		b = keyFileText(list) // nothing of a key in the clear where a command wraps them
	} else if b, err = k.command.text(list); err != nil {
		return err
	}
	defer clear(b)
	tmp, err := writeTemp(k.path, b)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, k.path); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("replacing the key file: %w", err)
	}
	if err := syncDir(filepath.Dir(k.path)); err != nil {
		return err
	}
	k.keys.Store(&list)
	return nil
}

func keyFileText(list []*kek) []byte {
	var b bytes.Buffer
	b.WriteString(keyFileHead)
	for _, key := range list {
		fmt.Fprintf(&b, "%s # id %s\n", base64.StdEncoding.EncodeToString(key.key[:]), idText(key.id))
	}
	return b.Bytes()
}

// PlainIDs returns the ids of the keys in the text of a key file, the current one
// first. It fails with [problem.InvalidArgument].
func PlainIDs(text []byte) ([]string, error) {
	list, err := parseKeys(string(text))
	if err != nil {
		return nil, err
	}
	k := &Keyring{}
	k.keys.Store(&list)
	return k.IDs(), nil
}

func keyFields(text string) []string {
	var fields []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields = append(fields, strings.FieldsFunc(line, func(r rune) bool { return r <= ' ' || r == ',' })...)
	}
	return fields
}

func readKeyFile(path string) (string, error) {
	f, err := os.Open(path) // the operator names the file
	if err != nil {
		return "", fmt.Errorf("opening the key file: %w", err)
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("reading the key file: %w", err)
	}
	switch {
	case !st.Mode().IsRegular():
		return "", problem.New(problem.Forbidden, "the key file is not a regular file").At(path, 0, 0, "")
	// Windows has no such bits; there the data directory's access list decides.
	case runtime.GOOS != "windows" && st.Mode().Perm()&^keyFileMode != 0:
		return "", problem.New(problem.Forbidden, "the key file may be read or written by others (mode %04o)", st.Mode().Perm()).
			At(path, 0, 0, "").Fix("chmod 600 %s; if others may have read it, rotate the key", path)
	case st.Size() > maxKeyFile:
		return "", problem.New(problem.InvalidArgument, "the key file is larger than %d bytes", maxKeyFile).At(path, 0, 0, "")
	}
	b := make([]byte, st.Size())
	if _, err := f.ReadAt(b, 0); err != nil && len(b) > 0 {
		return "", fmt.Errorf("reading the key file: %w", err)
	}
	return string(b), nil
}

// createKeyFile fails with fs.ErrExist when somebody else made it first.
func createKeyFile(path string) error {
	var key [keyBytes]byte
	_, _ = rand.Read(key[:])
	tmp, err := writeTemp(path, keyFileText([]*kek{newKEK(key[:])}))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp) }()
	// A link, unlike a rename, never replaces a key that another process has
	// already sealed something with.
	if err := os.Link(tmp, path); err != nil {
		return fmt.Errorf("making the key file: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// writeTemp writes data beside path with mode 0600 and syncs it.
func writeTemp(path string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("making the key file: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("writing the key file: %w", err)
	}
	return f.Name(), nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir) // the operator names the directory
	if err != nil {
		return fmt.Errorf("syncing the key directory: %w", err)
	}
	err = d.Sync()
	if runtime.GOOS == "windows" {
		err = nil // directories cannot be synced there
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("syncing the key directory: %w", err)
	}
	return nil
}
