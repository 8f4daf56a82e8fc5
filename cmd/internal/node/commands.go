package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/gateway/process"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// commands are the MCP servers that are programs of this machine. They are kept in the
// data directory, not in the records: a copy of those, on another machine or of a backup,
// runs nothing there until its operator adds the command again.
type commands struct {
	dir     string
	running *process.Servers
	// outside reports whether others than this machine reach the gateway.
	outside func() bool
}

var _ local.Commands = (*commands)(nil)

func newCommands(n *Node) (*commands, error) {
	c := &commands{dir: n.path(datadir.Commands), outside: func() bool { return true }}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of commands: %w", err)
	}
	var err error
	c.running, err = process.New(process.Options{Lookup: c.lookup, Environ: n.o.Admin.Environ, Logger: n.o.Logger})
	return c, err
}

func specOf(c *local.Command) *process.Spec {
	return &process.Spec{Argv: c.Argv, Dir: c.Dir, Env: c.Env, NetworkOff: c.Network == "off", Memory: c.MemoryMiB << 20, Processes: c.Processes}
}

// Address implements [local.Commands].
func (c *commands) Address(in *local.Command) (string, error) {
	spec := specOf(in)
	if err := spec.Check(); err != nil {
		return "", err
	}
	return spec.URL(), nil
}

// Add implements [local.Commands].
func (c *commands) Add(ctx context.Context, in *local.Command) error {
	spec := specOf(in)
	if err := spec.Check(); err != nil {
		return err
	}
	if c.outside() && !in.Exposed {
		return exposed()
	}
	if _, err := c.read(spec.ID()); problem.Is(err, problem.NotFound) {
		if err := c.running.Install(ctx, spec); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	b, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(c.path(spec.ID()), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("keeping the command: %w", err)
	}
	return nil
}

func exposed() error {
	return problem.New(problem.Forbidden, "this gateway can be reached from other machines, and the command is for this machine only").
		Fix("listen on loopback, or add it with --expose when they may call it")
}

func (c *commands) path(id string) string { return filepath.Join(c.dir, id+".json") }

func (c *commands) read(id string) (*local.Command, error) {
	b, err := os.ReadFile(c.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.New(problem.NotFound, "the command of this MCP server is not on this node").
			Fix("add it here: sluice add … -- PROGRAM ARGUMENTS")
	}
	in := new(local.Command)
	if err == nil {
		err = json.Unmarshal(b, in)
	}
	if err == nil && specOf(in).ID() != id {
		err = errors.New("it was changed by hand")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the command %s: %w", id, err)
	}
	return in, nil
}

// lookup finds a command for a session that begins.
func (c *commands) lookup(_ context.Context, id string) (*process.Spec, error) {
	if strings.ContainsAny(id, "/.\\") {
		return nil, problem.New(problem.NotFound, "there is no such command")
	}
	in, err := c.read(id)
	if err != nil {
		return nil, err
	}
	if c.outside() && !in.Exposed {
		return nil, exposed()
	}
	return specOf(in), nil
}

// Command implements [local.Commands].
func (c *commands) Command(address string) (*local.Command, error) {
	return c.read(strings.TrimPrefix(address, registry.SchemeStdio+"://"))
}

// Output implements [local.Commands].
func (c *commands) Output(address string) local.Output {
	lines, dropped := c.running.Journal(strings.TrimPrefix(address, registry.SchemeStdio+"://"))
	out := local.Output{Lines: make([]local.Line, len(lines)), Dropped: dropped}
	for i, l := range lines {
		out.Lines[i] = local.Line(l)
	}
	return out
}
