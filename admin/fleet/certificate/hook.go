package certificate

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

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
	out, err := cmd.CombinedOutput()
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
