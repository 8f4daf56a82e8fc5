package secrets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	plainKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	otherKey = "MTEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
)

func ring(t *testing.T, keys ...string) *Keyring {
	t.Helper()
	k, err := Parse(New(strings.Join(keys, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestWhatASecretShows: its end, where that is a small part of it and can be printed, and
// nothing else of it; a secret that is absent shows that it is.
func TestWhatASecretShows(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "12345678abc": "", "12345678abcd": "abcd", "12345678!~a!": "!~a!", "12345678 bcd": "", "12345678a cd": "", "12345678abc ": "",
		"12345678abc\x7f": "", "12345678ab\xc3\xa4": "", "12345678abc\n": "", "1234567 abcd": "abcd",
	} {
		if got := New(value).Last4(); got != want {
			t.Errorf("of %q the end is %q, want %q", value, got, want)
		}
	}
	for value, want := range map[string]string{"": `[null "" ""]`, "x": `["[redacted]" "[redacted]" "[redacted]"]`} {
		s := New(value)
		asJSON, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("[%s %q %q]", asJSON, text, s.String()); got != want {
			t.Errorf("%q shows %s, want %s", value, got, want)
		}
		if s.IsZero() != (value == "") || string(s.AppendTo([]byte("a"))) != "a"+value || s.Reveal() != value {
			t.Errorf("%q: absent %v", value, s.IsZero())
		}
	}
}

// TestNamesOfKeys: which key sealed a value is read from its first bytes; what is not sealed
// value names none.
func TestNamesOfKeys(t *testing.T) {
	k := ring(t, plainKey, otherKey)
	sealed, err := k.Seal(Record{Key: "r"}, New("x"))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		head []byte
		ok   bool
	}{
		"whole": {sealed, true}, "its head": {sealed[:SealedHead], true}, "a byte less": {sealed[:SealedHead-1], false}, "nothing": {nil, false},
		"another version": {append([]byte{sealVersion + 1}, sealed[1:]...), false}, "an older one": {append([]byte{0}, sealed[1:]...), false},
	} {
		if id, ok := SealedBy(c.head); ok != c.ok || ok && id != k.Current() || !ok && id != "" {
			t.Errorf("%s: %q, %v", what, id, ok)
		}
	}
	for what, c := range map[string]struct {
		sealed []byte
		ok     bool
	}{"whole": {sealed, true}, "without a value": {sealed[:minSealed], true}, "a byte less": {sealed[:minSealed-1], false}} {
		if id, err := KeyID(c.sealed); (err == nil) != c.ok || c.ok && id != k.Current() || !c.ok && !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %q, %v", what, id, err)
		}
	}
	ids, err := PlainIDs([]byte("# keys\n" + plainKey + " # mine\n" + otherKey))
	if err != nil || strings.Join(ids, " ") != strings.Join(k.IDs(), " ") || len(ids) != 2 || ids[0] == ids[1] {
		t.Errorf("ids %q of %q, %v", ids, k.IDs(), err)
	}
	if ids, err := PlainIDs([]byte("none")); !problem.Is(err, problem.InvalidArgument) || ids != nil {
		t.Errorf("of no key: %q, %v", ids, err)
	}
	for text, want := range map[string]string{
		"no": "key 1 of", plainKey + " no": "key 2 of", plainKey + " " + plainKey: "key 2 of the key-encryption keys is listed twice",
		plainKey + " " + otherKey + " " + plainKey: "key 3 of the key-encryption keys is listed twice", strings.Repeat("0", 63) + "g": "key 1 of",
		"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZQ==": "key 1 of", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYx": "key 1 of",
	} {
		if _, err := Parse(New(text)); !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestDerivedKeys: a fingerprint is known under every key of the keyring and made with the
// first; what nodes share is made of the first too, and each derived key is another.
func TestDerivedKeys(t *testing.T) {
	k, turned, other := ring(t, plainKey, otherKey), ring(t, otherKey, plainKey), ring(t, otherKey)
	x := New("x")
	for what, c := range map[string]struct {
		of   *Keyring
		has  string
		want bool
	}{
		"its own": {k, k.Fingerprint(x), true}, "of its second key": {k, other.Fingerprint(x), true}, "after a rotation": {turned, k.Fingerprint(x), true},
		"of a key it has not": {other, k.Fingerprint(x), false}, "of another secret": {k, k.Fingerprint(New("y")), false}, "none": {k, "", false},
	} {
		if got := c.of.HasFingerprint(x, c.has); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	if !bytes.Equal(turned.PoolKey(), other.PoolKey()) || bytes.Equal(k.PoolKey(), other.PoolKey()) || len(k.PoolKey()) != keyBytes {
		t.Errorf("keys of the pool %x, %x, %x", k.PoolKey(), turned.PoolKey(), other.PoolKey())
	}
	first := (*k.keys.Load())[0]
	if bytes.Equal(first.pool, first.prints) || bytes.Contains(first.pool, first.id[:]) || bytes.Equal(first.pool, first.key[:]) {
		t.Error("one derived key is another")
	}
}

// TestFilesOfKeys: what is wrong with a file is told, with its name; nothing is made in the
// place of a file that is there.
func TestFilesOfKeys(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := write("bad", "no key")
	if _, err := OpenFile(bad); !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), bad) {
		t.Errorf("%v does not name its file", err)
	}
	empty := write("empty", "")
	if _, err := OpenFile(empty); !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), "there is no key") {
		t.Errorf("an empty file: %v", err)
	}
	good := write("good", plainKey)
	if err := createKeyFile(good); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a key file in the place of one: %v", err)
	}
	if b, err := os.ReadFile(good); err != nil || string(b) != plainKey {
		t.Errorf("the key file is %q, %v", b, err)
	}
	for what, read := range map[string]func(string) error{
		"plain": func(path string) error { _, err := readKeyFile(path); return err }, "wrapped": func(path string) error { _, err := readWrapped(path); return err },
	} {
		if err := read(dir); err == nil || !strings.Contains(err.Error(), "regular file") && !strings.Contains(err.Error(), "is not a file") {
			t.Errorf("%s, a directory: %v", what, err)
		}
		if err := read(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, none: %v", what, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	// A link to nowhere is not a first start that somebody else was faster at.
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(link); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		t.Errorf("a link to nowhere: %v", err)
	}
	// The file says what it is, and which key is which.
	made := filepath.Join(dir, "made")
	k, err := OpenFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Rotate(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(made)
	if err != nil || !strings.HasPrefix(string(text), keyFileHead) || !strings.Contains(string(text), "# id "+k.IDs()[0]+"\n") || !strings.Contains(string(text), "# id "+k.IDs()[1]+"\n") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestRotationThatFails changes nothing: the key that seals is the one of the file.
func TestRotationThatFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := OpenFile(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	before := k.Current()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := k.Rotate(); !errors.Is(err, fs.ErrNotExist) || k.Current() != before || len(k.IDs()) != 1 {
		t.Errorf("without its directory: %v, keys %q", err, k.IDs())
	}
	// A directory in the place of the file cannot be replaced by one.
	if err := os.MkdirAll(filepath.Join(dir, "key", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := k.Rotate(); err == nil || !strings.Contains(err.Error(), "replacing the key file") || k.Current() != before {
		t.Errorf("in the place of a directory: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	// The command that wraps the new key fails.
	k.command = &Command{Args: []string{filepath.Join(dir, "nowhere")}}
	if err := k.Rotate(); !problem.Is(err, problem.Unavailable) || k.Current() != before {
		t.Errorf("without its command: %v", err)
	}
	if _, err := (&Command{}).run(wrapRequest{}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("a command without a program: %v", err)
	}
}

// TestWrappingAKeyFileThatIsBad: a plain key file that cannot be read is not replaced by a
// new key, with which nothing that was sealed would open.
func TestWrappingAKeyFileThatIsBad(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	for text, mode := range map[string]fs.FileMode{"no key": 0o600, plainKey: 0o644} {
		if err := os.WriteFile(plain, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(plain, mode); err != nil {
			t.Fatal(err)
		}
		k, err := OpenWrapped(filepath.Join(dir, "wrapped"), plain, &Command{Args: []string{filepath.Join(dir, "nowhere")}})
		if k != nil || problem.Is(err, problem.Unavailable) || problem.As(err) == nil {
			t.Errorf("%q with mode %o: %v", text, mode, err)
		}
	}
}

// TestSealKeysThatAreNone: half a key opens nothing, and nothing is sealed to a point that
// everybody can open for.
func TestSealKeysThatAreNone(t *testing.T) {
	for _, n := range []int{0, 31, 33} {
		if _, err := ParseSealKey(make([]byte, n)); !errors.Is(err, ErrSealed) {
			t.Errorf("a private key of %d bytes: %v", n, err)
		}
		if _, err := SealTo(make([]byte, n), nil, nil); err == nil {
			t.Errorf("sealed to a public key of %d bytes", n)
		}
	}
	if _, err := SealTo(make([]byte, 32), nil, []byte("x")); err == nil {
		t.Error("sealed to the point zero")
	}
}

// TestMoreOfAnAnswer: that a part of an answer was dropped is not forgotten with the next.
func TestMoreOfAnAnswer(t *testing.T) {
	var c capped
	for _, n := range []int{maxCommandOutput + 1, 0} {
		if _, err := c.Write(make([]byte, n)); err != nil || !c.more {
			t.Errorf("after %d more: %v, %v", n, c.more, err)
		}
	}
}
