package local

import (
	"context"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// maxSaid is how many of the last lines of a command are in a fault of it: a traceback ends
// with what is wrong.
const maxSaid = 3

// Room adds commands with a record of it, and finds those that a node has.
type Room struct {
	Store *store.Store
	// Commands runs them; nil: this node runs none.
	Commands Commands
}

// Add keeps a command on this node, and installs it when it is new. It is audited, also
// when it fails: a command is code on the node's machine.
func (r *Room) Add(ctx context.Context, c *Command) error {
	err := r.Commands.Add(ctx, c)
	rec := request.Audit(ctx, "command.add", c.Short())
	rec.After = store.JSON(c)
	if err != nil {
		rec.Outcome, rec.Reason = request.OutcomeFailed, request.Detail(err)
	}
	ws := request.Workspace(ctx, r.Store)
	if fault := ws.Update(ctx, func(tx *store.Tx) error { return tx.Audit(ctx, rec) }); fault != nil && err == nil {
		return fault
	}
	return err
}

// Of is the command of a source; nil: it is none, or this node does not have it any more.
func (r *Room) Of(address string) *Command {
	if !registry.IsStdio(address) || r.Commands == nil {
		return nil
	}
	c, err := r.Commands.Command(address)
	if err != nil {
		return nil
	}
	return c
}

// Explain adds to a fault of a command what that wrote for people.
func (r *Room) Explain(address string, err error) error {
	said := lastWords(r.Commands.Output(address).Lines)
	if len(said) == 0 {
		return err
	}
	p := *problem.As(err)
	p.Detail += "; it wrote: " + strings.Join(said, " | ")
	p.Remedy = "fix what it says, and add it again"
	return &p
}

// lastWords are the last lines that a command wrote itself, each once.
func lastWords(lines []Line) []string {
	var out []string
	for _, l := range slices.Backward(lines) {
		_, text, _ := strings.Cut(l.Text, " ") // behind the name of its session
		if text == "" || text == "started" || strings.HasPrefix(text, "ended: ") || slices.Contains(out, text) {
			continue
		}
		if out = append(out, text); len(out) == maxSaid {
			break
		}
	}
	slices.Reverse(out)
	return out
}
