package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// programFlags say how a program that speaks MCP over stdio is run.
type programFlags struct {
	env       []string
	dir       string
	network   string
	memory    int64
	processes int
	exposed   bool
	shared    bool
}

func (f *programFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&f.env, "env", nil, "program: `NAME` of an environment variable of the node that it gets; values go with --auth env:NAME")
	fs.StringVar(&f.dir, "dir", "", "program: its working directory (default: this one)")
	fs.StringVar(&f.network, "network", "on", "program: on, or off once it is installed (Linux)")
	fs.Int64Var(&f.memory, "memory", 0, "program: `MIB` of memory of all its processes (default 2048)")
	fs.IntVar(&f.processes, "processes", 0, "program: how many processes it may have (default 64)")
	fs.BoolVar(&f.exposed, "expose", false, "program: others than this machine may call it, where they reach the gateway")
	fs.BoolVar(&f.shared, "shared", false, "program: all callers share one process (default: one for each session)")
	command.MustComplete(cmd, "network", []string{"on", "off"})
}

// given names a flag of programs that was given; "": none was.
func (f *programFlags) given(fs *pflag.FlagSet) string {
	for _, name := range []string{"env", "dir", "network", "memory", "processes", "expose", "shared"} {
		if fs.Changed(name) {
			return name
		}
	}
	return ""
}

// program makes the command of a command line. A path that begins with a dot is of this
// directory, also for the node.
func (f *programFlags) program(argv []string) (*local.Command, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	c := &local.Command{Argv: append([]string(nil), argv...), Dir: here, Env: f.env, MemoryMiB: f.memory, Processes: f.processes, Exposed: f.exposed}
	if f.dir != "" {
		if c.Dir, err = filepath.Abs(f.dir); err != nil {
			return nil, err
		}
	}
	if strings.ContainsRune(c.Argv[0], filepath.Separator) {
		if c.Argv[0], err = filepath.Abs(c.Argv[0]); err != nil {
			return nil, err
		}
	}
	switch f.network {
	case "on":
	case "off":
		c.Network = "off"
	default:
		return nil, exit.Usagef("--network %s is not one of on, off", terminal.Printable(f.network))
	}
	return c, nil
}

// addProgram makes a toolset of a program that speaks MCP over stdio.
func (a *app) addProgram(ctx context.Context, c *client.Client, argv []string, f *addFlags) error {
	if f.baseURL != "" || f.auth.LogsIn() {
		return exit.Usagef("a program has no --base-url and no --auth oauth; it gets credentials with --auth env:NAME")
	}
	var err error
	if f.command, err = f.program.program(argv); err != nil {
		return err
	}
	f.mcp, f.stateless = true, f.stateless || f.program.shared
	spec := specification.Document{Name: filepath.Base(argv[0])}
	if f.to != "" {
		return a.addTo(ctx, c, spec, f)
	}
	made, err := a.fromSource(ctx, c, spec, f)
	if err != nil || made == nil {
		return err
	}
	err = a.Object(made, func(w io.Writer) {
		a.printMade(w, made)
		if !f.stateless {
			fmt.Fprintf(w, "  each session has its own process; one for all: sluice toolset upstream %s --stateless\n", made.Slug)
		}
		fmt.Fprintf(w, "  what it writes: sluice logs %s --stderr\n", made.Slug)
	})
	if err != nil {
		return err
	}
	return leftDraft(&made.Toolset, f)
}
