package process

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// greeting begins an installation: a server that answers it is installed.
const greeting = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"sluice","title":"Sluice","version":"0"}}}`

// Install starts a command once, so that a package runner gets what it needs: with the
// network, whatever the command may have later, and without credentials and the
// variables that it names. The command is installed when it answers or ends. What it
// writes is kept under its ID. It fails with [problem.Unavailable] when the program
// cannot be started, also without the network it must do without later, and with
// [problem.Timeout] after five minutes.
func (s *Servers) Install(ctx context.Context, spec *Spec) error {
	bare := *spec
	bare.Env, bare.NetworkOff = nil, false
	if err := s.try(ctx, spec.ID(), &bare, "installation", installTimeout); err != nil || !spec.NetworkOff {
		return err
	}
	bare.NetworkOff = true
	return s.try(ctx, spec.ID(), &bare, "offline", installTimeout)
}

// try starts a command, and ends it when it answers.
func (s *Servers) try(ctx context.Context, id string, spec *Spec, what string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	spoke := make(chan struct{}, 1)
	j := newJournal(&s.command(id).journal, what+":", nil)
	c, err := launch(s.o.Keeper, s.order(spec, nil), j, func([]byte) {
		select {
		case spoke <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	s.work.Go(func() { <-c.done })
	defer c.end()
	_ = c.send([]byte(greeting)) // it has ended
	select {
	case <-spoke:
		return nil
	case <-c.done:
		if c.refused {
			return problem.New(problem.Unavailable, "the command cannot be started: %s", c.reason).Fix("fix the command")
		}
		j.add("", []byte("ended: "+c.reason))
		return nil // perhaps it misses a credential
	case <-ctx.Done():
		return problem.New(problem.Timeout, "the command did not answer within %s", limit).Fix("run it once by hand: it may need something to be installed")
	}
}
