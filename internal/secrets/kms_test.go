//go:build unix

package secrets_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// kms is a command as an operator writes it: it keeps the keys in a directory, where a
// KMS would have them, and logs each call.
const kms = `#!/bin/sh
dir=$(dirname "$0")/kms
mkdir -p "$dir"
in=$(cat)
field() { printf %s "$in" | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }
op=$(field operation)
echo "$op" >>"$dir/log"
case $op in
wrap)
  n=$(ls "$dir" | wc -l)
  field key >"$dir/key-$n"
  printf '{"wrapped":"kms:v1:%s"}' "key-$n" ;;
unwrap)
  name=$(field wrapped)
  printf '{"key":"%s"}' "$(cat "$dir/${name#kms:v1:}")" ;;
*) exit 9 ;;
esac
`

func script(t *testing.T, text string) (*secrets.Command, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "kek")
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return &secrets.Command{Args: []string{path}}, dir
}

func calls(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "kms", "log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

func TestWrappedKeys(t *testing.T) {
	c, dir := script(t, kms)
	path, plain := filepath.Join(dir, "wrapped.json"), filepath.Join(dir, "master.key")
	open := func() *secrets.Keyring {
		t.Helper()
		k, err := secrets.OpenWrapped(path, plain, c)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	k := open()
	rec := secrets.Record{Key: "r", Version: 1}
	sealed, err := k.Seal(rec, secrets.New("canary"))
	if err != nil {
		t.Fatal(err)
	}
	// Nothing of a secret asks the command.
	for range 5 {
		if s, err := k.Open(rec, sealed); err != nil || s.Reveal() != "canary" {
			t.Fatalf("%v, %v", s, err)
		}
	}
	if got := calls(t, dir); got != "wrap unwrap" {
		t.Errorf("calls: %s", got)
	}
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), `"kms:v1:key-`) {
		t.Fatalf("%s, %v", b, err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "kms", "key-1"))
	if err != nil || strings.Contains(string(b), strings.TrimSpace(string(key))) {
		t.Fatalf("the key is in the file: %s, %v", b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	// Rotation while serving: old and new open, re-wrapped bytes stay open.
	if err := k.Rotate(); err != nil {
		t.Fatal(err)
	}
	again := open()
	moved, changed, err := again.Rewrap(rec, sealed)
	if err != nil || !changed || again.Current() != k.Current() {
		t.Fatalf("changed %v, %v", changed, err)
	}
	if err := again.Retire(); err != nil {
		t.Fatal(err)
	}
	last := open()
	if s, err := last.Open(rec, moved); err != nil || s.Reveal() != "canary" {
		t.Fatalf("%v, %v", s, err)
	}
	if _, err := last.Open(rec, sealed); !errors.As(err, new(*secrets.UnknownKeyError)) {
		t.Errorf("a retired key opens: %v", err)
	}
}

// A key file that was there is wrapped, and is gone then.
func TestPlainKeysAreWrapped(t *testing.T) {
	c, dir := script(t, kms)
	path, plain := filepath.Join(dir, "wrapped.json"), filepath.Join(dir, "master.key")
	k, err := secrets.OpenFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	rec := secrets.Record{Key: "r"}
	sealed, err := k.Seal(rec, secrets.New("canary"))
	if err != nil {
		t.Fatal(err)
	}
	broken := &secrets.Command{Args: []string{"/nowhere/kek"}}
	if _, err := secrets.OpenWrapped(path, plain, broken); !problem.Is(err, problem.Unavailable) {
		t.Fatalf("a command that is not there: %v", err)
	}
	if _, err := os.Stat(plain); err != nil {
		t.Fatalf("the only copy of the key is gone: %v", err)
	}
	w, err := secrets.OpenWrapped(path, plain, c)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := w.Open(rec, sealed); err != nil || s.Reveal() != "canary" {
		t.Fatalf("%v, %v", s, err)
	}
	if _, err := os.Stat(plain); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plain key is still there: %v", err)
	}
}

// A command that misbehaves is named, in bounded time and without its words.
func TestBadCommands(t *testing.T) {
	f := func(what, text, says string) {
		t.Helper()
		c, dir := script(t, "#!/bin/sh\n"+text)
		c.Timeout = 5 * time.Second
		if strings.Contains(text, "sleep") {
			c.Timeout = 100 * time.Millisecond
		}
		_, err := secrets.OpenWrapped(filepath.Join(dir, "w"), filepath.Join(dir, "p"), c)
		if !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v; want %q", what, err, says)
		}
		if _, err := os.Stat(filepath.Join(dir, "w")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a key file was written", what)
		}
	}
	f("fails", "echo canary >&2; exit 3", "exit code 3")
	// Longer than the time-out of the tests: one that waited for these would not end.
	f("hangs", "exec sleep 1000", "did not answer wrap within")
	f("leaves a child behind that holds its output", "sleep 1000 & exit 0", "wrap")
	f("no JSON", "echo canary", "not JSON")
	f("an endless answer", "yes canary | head -c 100000", "more than 65536 bytes")
	f("an empty key", `echo '{"wrapped":""}'`, "0 characters")
	f("a wrapped key past the limit", `printf '{"wrapped":"'; head -c 4097 /dev/zero | tr '\0' x; echo '"}'`, "4097 characters")
	f("another key", `read in; case $in in *unwrap*) echo '{"key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}';; *) echo '{"wrapped":"x"}';; esac`, "does not unwrap what it wrapped")
	f("a short key", `read in; case $in in *unwrap*) echo '{"key":"AAAA"}';; *) echo '{"wrapped":"x"}';; esac`, "3 bytes")
}

func TestBadWrappedFiles(t *testing.T) {
	c, dir := script(t, kms)
	path := filepath.Join(dir, "w")
	if _, err := secrets.OpenWrapped(path, filepath.Join(dir, "p"), c); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := secrets.WrappedIDs(good)
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	f := func(what, text string, perm fs.FileMode, says string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), perm); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, perm); err != nil {
			t.Fatal(err)
		}
		if k, err := secrets.OpenWrapped(path, filepath.Join(dir, "p"), c); k != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", what, err, says)
		}
	}
	changed := func(old, now string) string {
		t.Helper()
		text := strings.Replace(string(good), old, now, 1)
		if text == string(good) {
			t.Fatalf("%q is not in the file", old)
		}
		return text
	}
	f("no JSON", "{", 0o600, "cannot be read")
	f("another format", changed("sluice-wrapped-keys", "x"), 0o600, "cannot be read")
	f("another version", changed(`"version": 1`, `"version": 2`), 0o600, "cannot be read")
	f("no key", `{"format":"sluice-wrapped-keys","version":1,"keys":[]}`, 0o600, "cannot be read")
	f("a key that is nowhere", changed("kms:v1:", "kms:v1:none"), 0o600, "unwrapping key "+ids[0])
	f("a key that is another", changed(ids[0], "00"), 0o600, "a different key than 00")
	f("too large", strings.Repeat(" ", 128<<10+1), 0o600, "at most 131072 bytes")
	f("readable by others", string(good), 0o644, "mode 0644")
	if ids, err := secrets.WrappedIDs([]byte(changed(`"version": 1`, `"version": 2`))); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("%q, %v", ids, err)
	}

	// A plain key file that stays is reported: with it the keys open without the command.
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	stays := filepath.Join(dir, "stays")
	if err := os.MkdirAll(filepath.Join(stays, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.OpenWrapped(path, stays, c); err == nil || !strings.Contains(err.Error(), "removing the plain key file") {
		t.Errorf("a plain key file that cannot be removed: %v", err)
	}
}
