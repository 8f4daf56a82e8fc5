package secrets

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// commandTimeout of one run of the command: a request to a KMS with its retries.
	commandTimeout = 30 * time.Second
	// maxCommandOutput of the command: a wrapped key in JSON, with much room.
	maxCommandOutput = 64 << 10
	// maxWrapped is the length of one wrapped key. Those of KMS services have a few
	// hundred bytes.
	maxWrapped = 4 << 10
	// maxWrappedFile holds maxKeys keys of maxWrapped.
	maxWrappedFile = 128 << 10
	// wrapProtocol is the version of what is said to the command.
	wrapProtocol = 1
)

// wrapRequest is what the command reads from its standard input.
type wrapRequest struct {
	Version   int    `json:"version"`
	Operation string `json:"operation"`         // "wrap" or "unwrap"
	Key       []byte `json:"key,omitempty"`     // of wrap: 32 bytes, base64
	Wrapped   string `json:"wrapped,omitempty"` // of unwrap: what wrap answered
}

// wrapAnswer is what the command writes to its standard output.
type wrapAnswer struct {
	Wrapped string `json:"wrapped"` // of wrap: any text
	Key     []byte `json:"key"`     // of unwrap
}

// Command wraps key-encryption keys with a program of the operator, which asks a KMS
// or a hardware module. It is run without a shell, for each key when a keyring is
// opened and when a key is made, never for a secret: what it unwrapped is kept in
// memory until the process ends. It is safe for concurrent use.
type Command struct {
	Args    []string      // program and arguments. Required
	Timeout time.Duration // of one run. Default: 30 s
}

// run asks the command one thing. Errors hold neither keys nor what the command said.
func (c *Command) run(req wrapRequest) (out wrapAnswer, err error) {
	if len(c.Args) == 0 {
		return out, problem.New(problem.InvalidArgument, "the command that wraps keys is empty")
	}
	req.Version = wrapProtocol
	in, err := json.Marshal(req)
	if err != nil {
		return out, fmt.Errorf("asking the command that wraps keys: %w", err)
	}
	defer clear(in)
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = commandTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...) //nolint:gosec // G204: the operator names the program
	cmd.Stdin = bytes.NewReader(in)
	var answer, said capped
	cmd.Stdout, cmd.Stderr = &answer, &said
	cmd.WaitDelay = time.Second // for what it started and left behind
	err = cmd.Run()
	defer clear(answer.b)
	fault := func(format string, args ...any) *problem.Error {
		return problem.New(problem.Unavailable, "the command that wraps keys (%s) %s", filepath.Base(c.Args[0]), fmt.Sprintf(format, args...)).
			Fix("run it by hand; the protocol is in docs/keys.md")
	}
	switch {
	case ctx.Err() != nil:
		return out, fault("did not answer %s within %s", req.Operation, timeout)
	case err != nil:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return out, fault("failed to %s, with exit code %d", req.Operation, exit.ExitCode())
		}
		return out, fault("cannot be run").Because(err)
	case answer.more:
		return out, fault("answered more than %d bytes", maxCommandOutput)
	}
	if json.Unmarshal(answer.b, &out) != nil {
		return out, fault("answered %s with something that is not JSON", req.Operation)
	}
	return out, nil
}

// capped keeps the first maxCommandOutput bytes.
type capped struct {
	b    []byte
	more bool
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), maxCommandOutput-len(c.b))
	c.b = append(c.b, p[:n]...)
	c.more = c.more || n < len(p)
	return len(p), nil
}

// wrap returns the wrapped form of a key, once the command has unwrapped it again: a
// key that cannot be had back seals nothing.
func (c *Command) wrap(key []byte) (string, error) {
	out, err := c.run(wrapRequest{Operation: "wrap", Key: key})
	if err != nil {
		return "", err
	}
	if out.Wrapped == "" || len(out.Wrapped) > maxWrapped {
		return "", problem.New(problem.Unavailable, "the command that wraps keys answered %d characters for a wrapped key; 1 to %d are expected", len(out.Wrapped), maxWrapped)
	}
	again, err := c.unwrap(out.Wrapped)
	if err != nil {
		return "", err
	}
	defer clear(again)
	if !bytes.Equal(again, key) {
		return "", problem.New(problem.Unavailable, "the command that wraps keys does not unwrap what it wrapped")
	}
	return out.Wrapped, nil
}

func (c *Command) unwrap(wrapped string) ([]byte, error) {
	out, err := c.run(wrapRequest{Operation: "unwrap", Wrapped: wrapped})
	if err == nil && len(out.Key) != keyBytes {
		err = problem.New(problem.Unavailable, "the command that wraps keys answered a key of %d bytes, not %d", len(out.Key), keyBytes)
	}
	return out.Key, err
}

// wrappedFile is the key file of a keyring whose keys a command wraps.
type wrappedFile struct {
	Format  string       `json:"format"`
	Version int          `json:"version"`
	Keys    []wrappedKey `json:"keys"` // the current one first
}

type wrappedKey struct {
	ID      string `json:"id"`
	Wrapped string `json:"wrapped"`
}

const wrappedFormat = "sluice-wrapped-keys"

// OpenWrapped opens the keyring in the file at path, whose keys c unwraps, and makes
// it when it does not exist: with the keys of the plain key file at plain, which is
// removed then, or with a random one. Somebody who takes the files without the KMS can
// open nothing.
func OpenWrapped(path, plain string, c *Command) (*Keyring, error) {
	b, err := readWrapped(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeWrapped(path, plain, c)
	}
	if err != nil {
		return nil, err
	}
	f, ok := parseWrapped(b)
	if !ok {
		return nil, problem.New(problem.InvalidArgument, "the file of wrapped keys cannot be read").At(path, 0, 0, "").Fix("restore it from a backup")
	}
	var list []*kek
	for _, w := range f.Keys {
		key, err := c.unwrap(w.Wrapped)
		if err != nil {
			return nil, fmt.Errorf("unwrapping key %s: %w", w.ID, err)
		}
		next := newKEK(key)
		clear(key)
		if idText(next.id) != w.ID {
			return nil, problem.New(problem.Unavailable, "the command that wraps keys returned a different key than %s", w.ID).Fix("see that it asks the KMS key it asked when the key was made")
		}
		next.wrapped = w.Wrapped
		list = append(list, next)
	}
	k := &Keyring{path: path, command: c}
	k.keys.Store(&list)
	return k, removePlain(plain)
}

func parseWrapped(b []byte) (f wrappedFile, ok bool) {
	ok = json.Unmarshal(b, &f) == nil && f.Format == wrappedFormat && f.Version == 1 && len(f.Keys) > 0 && len(f.Keys) <= maxKeys
	return f, ok
}

// WrappedIDs returns the ids of the keys in the text of a file of wrapped keys, the
// current one first, without unwrapping any. It fails with [problem.InvalidArgument].
func WrappedIDs(text []byte) ([]string, error) {
	f, ok := parseWrapped(text)
	if !ok {
		return nil, problem.New(problem.InvalidArgument, "the file of wrapped keys cannot be read").Fix("restore it from a backup")
	}
	ids := make([]string, len(f.Keys))
	for i := range f.Keys {
		ids[i] = f.Keys[i].ID
	}
	return ids, nil
}

func makeWrapped(path, plain string, c *Command) (*Keyring, error) {
	var list []*kek
	text, err := readKeyFile(plain)
	switch {
	case err == nil:
		if list, err = parseKeys(text); err != nil {
			return nil, err
		}
	case errors.Is(err, fs.ErrNotExist):
		var key [keyBytes]byte
		_, _ = rand.Read(key[:])
		list = []*kek{newKEK(key[:])}
	default:
		return nil, err
	}
	k := &Keyring{path: path, command: c}
	if err := k.replace(list); err != nil {
		return nil, err
	}
	return k, removePlain(plain)
}

// removePlain removes a plain key file whose keys are wrapped now.
func removePlain(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the plain key file: %w", err)
	}
	return nil
}

// text is the wrapped key file of a list; keys that were never wrapped are.
func (c *Command) text(list []*kek) ([]byte, error) {
	f := wrappedFile{Format: wrappedFormat, Version: 1}
	for _, key := range list {
		if key.wrapped == "" {
			var err error
			if key.wrapped, err = c.wrap(key.key[:]); err != nil {
				return nil, err
			}
		}
		f.Keys = append(f.Keys, wrappedKey{ID: idText(key.id), Wrapped: key.wrapped})
	}
	return json.MarshalIndent(&f, "", "  ")
}

func readWrapped(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the file of wrapped keys: %w", err)
	}
	switch {
	case !st.Mode().IsRegular() || st.Size() > maxWrappedFile:
		return nil, problem.New(problem.InvalidArgument, "the file of wrapped keys is not a file of at most %d bytes", maxWrappedFile).At(path, 0, 0, "")
	case runtime.GOOS != "windows" && st.Mode().Perm()&^keyFileMode != 0:
		return nil, problem.New(problem.Forbidden, "the file of wrapped keys may be read or written by others (mode %04o)", st.Mode().Perm()).
			At(path, 0, 0, "").Fix("chmod 600 %s", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the file of wrapped keys: %w", err)
	}
	return b, nil
}
