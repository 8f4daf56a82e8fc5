package certificate

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// hookTimeout of one run of the command: it waits until the record can be seen.
	hookTimeout = 5 * time.Minute
	// maxHookOutput of the command is shown when it fails.
	maxHookOutput = 300
)

// hook answers dns-01 with a command of the operator:
//
//	COMMAND present NAME VALUE   makes the TXT record, and returns when DNS shows it
//	COMMAND cleanup NAME VALUE   removes it
type hook struct{ command string }

var _ acmez.Solver = (*hook)(nil)

// Present implements [acmez.Solver].
func (h *hook) Present(ctx context.Context, c acme.Challenge) error { return h.run(ctx, "present", c) }

// CleanUp implements [acmez.Solver]. It is done also when ctx has ended.
func (h *hook) CleanUp(ctx context.Context, c acme.Challenge) error {
	return h.run(context.WithoutCancel(ctx), "cleanup", c)
}

func (h *hook) run(ctx context.Context, verb string, c acme.Challenge) error {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.command, verb, c.DNS01TXTRecordName(), c.DNS01KeyAuthorization()) //nolint:gosec // G204: it is the operator's command
	cmd.WaitDelay = time.Second
	// The provider's token is in the environment, and so are secrets of the node: the URL of
	// the database with its password, the tokens and keys that are not in files.
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(v string) bool { return strings.HasPrefix(v, "SLUICE_") })
	var out beginning
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("it did not end within %s", hookTimeout)
	}
	text := strings.TrimSpace(string(out))
	if text != "" {
		text = ": " + request.ClipText(text, maxHookOutput)
	}
	return problem.New(problem.Unavailable, "the command of --acme-dns-command failed at %s: %v%s", verb, err, text).
		Fix("run it by hand: %s %s NAME VALUE", h.command, verb)
}

// beginning keeps as much of what is written as is shown.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), utf8.UTFMax*(maxHookOutput+1)-len(*b))]...)
	return len(p), nil
}
