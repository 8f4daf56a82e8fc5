package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/upstreamauth"
)

// addFlags say how a toolset is made.
type addFlags struct {
	name, slug, baseURL string
	tools               []string
	auth                upstreamauth.Flags
	login               string // at an MCP server, finished
	profile             string
	selection, useCase  string
	cacheSeconds        int
	noDeploy, dryRun    bool
	test                string
	overlays            []string
	main                string
	mcp                 bool
	policy              string
	stateless           bool
	public              bool
	program             programFlags
	command             *local.Command       // the source is a command; nil: it is not
	entry               *catalog.EntryChoice // the source is an entry of the catalog; nil: it is not
	scheme              string               // security scheme that the entry names
	to                  string               // toolset that gets another connector; "": a new one is made
	profileGiven        func() bool
}

func (f *addFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.name, "name", "", "name of the toolset (default: title of the specification)")
	fs.StringVar(&f.slug, "slug", "", "last part of the toolset URL (default: made of the name)")
	fs.StringVar(&f.baseURL, "base-url", "", "where calls are sent (default: first server of the specification)")
	fs.StringSliceVar(&f.tools, "tools", nil, "names or globs of the tools to enable, !NAME leaves out (default all)")
	fs.StringVar(&f.profile, "profile", "concise", "answers: off, lossless, concise; of an MCP server lossless unless this is given")
	fs.StringVar(&f.selection, "selection", "", "which tools clients list: all, use-case, search, code (default all; use-case with --use-case)")
	fs.StringVar(&f.useCase, "use-case", "", "what the toolset is for, a sentence for each task")
	fs.IntVar(&f.cacheSeconds, "cache", 0, "keep answers of safe calls for this many seconds")
	fs.StringArrayVar(&f.overlays, "overlay", nil, "Overlay document to apply, a file or URL; kept for refreshes; may be repeated")
	fs.StringVar(&f.main, "main", "", "path of the main document in a directory or archive (default: found)")
	fs.BoolVar(&f.mcp, "mcp", false, "the URL is that of an MCP server (default: found out)")
	fs.StringVar(&f.to, "to", "", "add to this `TOOLSET` instead of making one; --name is then the connector's name in it")
	fs.BoolVar(&f.public, "public", false, "a new toolset is open to everybody who reaches the gateway (default: only on loopback, else an access token is made)")
	fs.StringVar(&f.policy, "upstream-policy", "", "when an MCP server changes its tools: pin, warn, follow (default pin)")
	command.MustComplete(cmd, "upstream-policy", []string{"pin", "warn", "follow"})
	fs.BoolVar(&f.stateless, "stateless", false, "the MCP server keeps nothing of a caller between calls: all callers share one session")
	f.profileGiven = func() bool { return fs.Changed("profile") }
	f.auth.Register(cmd)
	command.MustComplete(cmd, "profile", []string{"off", "lossless", "concise"})
}

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
