package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// PromptSecret asks for a secret without showing it. It ends with ctx, then with its cause.
func (t *Terminal) PromptSecret(ctx context.Context, question string) (secrets.Secret, error) {
	in, ok := t.In.(*os.File)
	if t.NoInput || !ok || !IsTerminal(in) {
		return secrets.Secret{}, exit.Usagef("a key is needed: give it with --api-key-file FILE|- or --api-key-env NAME")
	}
	fmt.Fprint(t.Err, question)
	b, err := answer(ctx, in, func() ([]byte, error) { return term.ReadPassword(int(in.Fd())) })
	fmt.Fprintln(t.Err)
	if err != nil {
		return secrets.Secret{}, fmt.Errorf("reading the key: %w", err)
	}
	s := strings.TrimSpace(string(b))
	if s == "" {
		return secrets.Secret{}, exit.Usagef("the key is empty")
	}
	return secrets.New(s), nil
}

// answer reads what a person types. The read of a terminal cannot be interrupted: when ctx
// ends first, it is left behind, the terminal is put back as it was, and the cause of
// ctx is returned.
func answer(ctx context.Context, in *os.File, read func() ([]byte, error)) ([]byte, error) {
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	type result struct {
		line []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := read()
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		if err := term.Restore(int(in.Fd()), before); err != nil {
			return nil, fmt.Errorf("restoring the terminal: %w", err)
		}
		return nil, context.Cause(ctx)
	}
}

// Confirm asks before something that cannot be taken back. Without a terminal it
// must have been answered with --yes. It ends with ctx, then with its cause.
func (t *Terminal) Confirm(ctx context.Context, question string) error {
	if t.Yes {
		return nil
	}
	in, ok := t.In.(*os.File)
	if t.NoInput || !ok || !IsTerminal(in) {
		return exit.Usagef("%s Answer with --yes", question)
	}
	fmt.Fprintf(t.Err, "%s [y/N] ", question)
	line, err := answer(ctx, in, NewLineReader(in, 1<<10).Next)
	if err != nil {
		fmt.Fprintln(t.Err)
		return fmt.Errorf("reading the answer: %w", err)
	}
	if said := strings.ToLower(string(line)); said != "y" && said != "yes" {
		fmt.Fprintln(t.Err, "Nothing was changed.")
		return exit.SilentError(exit.Failed)
	}
	return nil
}

// ReadSecretFile reads a secret from a file, or from stdin for "-": the first line without
// its end, or all lines of PEM, their breaks written as \n: a private key that signs.
func (t *Terminal) ReadSecretFile(path string) (secrets.Secret, error) {
	text, err := t.ReadSecretText(path)
	if err != nil {
		return secrets.Secret{}, err
	}
	line, _, _ := strings.Cut(text.Reveal(), "\n")
	s := strings.TrimSpace(line)
	if strings.HasPrefix(s, "-----BEGIN ") {
		s = strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(text.Reveal(), "\r\n", "\n")), "\n", `\n`)
	}
	if s == "" {
		return secrets.Secret{}, problem.New(problem.InvalidArgument, "the key in %s is empty", path).Fix("put the key on the first line")
	}
	return secrets.New(s), nil
}

// ReadSecretText reads a secret of several lines from a file, or from stdin for
// "-".
func (t *Terminal) ReadSecretText(path string) (secrets.Secret, error) {
	const most = 64 << 10 // a client certificate chain fits; a mistyped path to a disk image does not
	in := t.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return secrets.Secret{}, problem.New(problem.InvalidArgument, "the key file cannot be read: %s", err).Because(err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return secrets.Secret{}, fmt.Errorf("reading the key from %s: %w", path, err)
	}
	if len(b) > most {
		return secrets.Secret{}, problem.New(problem.InvalidArgument, "the key in %s is longer than %d bytes", path, most)
	}
	return secrets.New(string(b)), nil
}
