package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/internal/nearest"
)

// globalFlags are understood by every command.
type globalFlags struct {
	output     string
	fields     []string
	quiet      bool
	verbose    bool
	noColor    bool
	maxSpec    specSize // of the commands that read a specification
	noInput    bool
	yes        bool
	context    string
	server     string
	tokenFile  string
	ca         string
	configFile string
	dataDir    string
	timeout    time.Duration
}

var outputFormats = []string{"table", "wide", "json", "yaml", "jsonl", "name"}

// defaultTimeout of one request to the admin API. Making a connector from a very
// large specification takes seconds.
const defaultTimeout = 30 * time.Second

// execute runs the command line and returns the exit code.
func (a *app) execute(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && a.flags.output == "" {
		a.flags.output = outputFlag(args) // parsing stopped before the flag was reached
	}
	a.report(err)
	return exitCode(ctx, err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "sluice",
		Short: "Turn APIs into toolsets that AI agents call over MCP",
		Long: `Sluice turns an OpenAPI specification into a toolset: tools that AI agents call
over the Model Context Protocol at one toolset URL.

  sluice run --demo                        try it now, offline
  sluice run https://example.com/api.json  serve an API
  sluice add api.yaml                      add one to a running node`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
		Args:          unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
	}
	root.SetVersionTemplate("sluice {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w%s\nsee: %s --help", err, suggestFlag(cmd, err), cmd.CommandPath())}
	})
	f := root.PersistentFlags()
	f.StringVarP(&a.flags.output, "output", "o", "", "output: "+strings.Join(outputFormats, ", ")+" (default table)")
	f.StringSliceVar(&a.flags.fields, "fields", nil, "only these columns or members")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "only the result and errors")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "show requests to the admin API, secrets masked")
	f.BoolVar(&a.flags.noColor, "no-color", false, "no colours")
	f.BoolVar(&a.flags.noInput, "no-input", false, "never ask; fail where an answer would be needed")
	f.BoolVarP(&a.flags.yes, "yes", "y", false, "answer yes to every question")
	f.StringVar(&a.flags.context, "context", "", "context of the configuration file to use")
	f.StringVar(&a.flags.server, "server", "", "URL of the admin API (default: the node of ./sluice-data)")
	f.StringVar(&a.flags.tokenFile, "token-file", "", "file with the API token, - for stdin")
	f.StringVar(&a.flags.ca, "ca", "", "PEM file of a certificate authority to trust besides those of the machine (SLUICE_CA)")
	f.StringVar(&a.flags.configFile, "config", "", "configuration file")
	f.StringVar(&a.flags.dataDir, "data", "", "data directory (default "+defaultDataDir+")")
	f.DurationVar(&a.flags.timeout, "timeout", defaultTimeout, "time limit of one request")
	mustComplete(root, "output", outputFormats)

	root.AddGroup(
		&cobra.Group{ID: "start", Title: "Start:"},
		&cobra.Group{ID: "manage", Title: "Manage toolsets:"},
		&cobra.Group{ID: "use", Title: "Use toolsets:"},
		&cobra.Group{ID: "operate", Title: "Operate:"},
		&cobra.Group{ID: "build", Title: "Specifications, connectors and plugins:"},
	)
	root.SetHelpCommandGroupID("start")
	root.SetCompletionCommandGroupID("start")
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("start", a.runCommand(), a.serveCommand(), a.doctorCommand(), a.versionCommand())
	add("manage", a.addCommand(), a.toolsetCommand())
	add("use", a.clientCommand(), a.callCommand(), a.searchCommand(), a.mcpCommand(), a.connectCommand())
	add("operate", a.usageCommand(), a.logsCommand(), a.edgeCommand(), a.releaseCommand(), a.memberCommand(), a.tokenCommand(), a.grantCommand(), a.keyCommand(), a.auditCommand(), a.backupCommand(), a.restoreCommand(), a.exportCommand(), a.importCommand())
	add("build", a.connectorCommand(), a.openapiCommand(), a.previewCommand(), a.decodeCommand(), a.projectionCommand(), a.pluginCommand(), a.evalCommand())
	root.AddCommand(helpTopics()...)
	root.InitDefaultCompletionCmd()
	forEachCommand(root, func(c *cobra.Command) {
		if c.HasSubCommands() && c.RunE == nil && c.Run == nil {
			c.Args = unknownCommand
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	})
	return root
}

// prepare checks the global flags and reads the configuration.
func (a *app) prepare(cmd *cobra.Command) error {
	if a.flags.output == "" {
		a.flags.output = "table"
	}
	if !slices.Contains(outputFormats, a.flags.output) {
		given := a.flags.output
		a.flags.output = "table"
		return usagef("-o %s is not an output format; there are: %s", given, strings.Join(outputFormats, ", "))
	}
	if a.flags.timeout <= 0 {
		return usagef("--timeout must be longer than nothing")
	}
	if cmd.Name() == "completion" || cmd.HasParent() && cmd.Parent().Name() == "completion" {
		return nil // runs in every new shell; a broken configuration must not break that
	}
	c, err := loadConfig(a.flags.configFile, a.env)
	if err != nil {
		return err
	}
	a.config = c
	return nil
}

// dataDir is where the node of this directory keeps its state.
func (a *app) dataDir() string {
	return first(a.flags.dataDir, a.env.dataDir, a.config.Data, defaultDataDir)
}

// unknownCommand refuses words that are no subcommand and says which was meant.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q is not a command of %q", args[0], cmd.CommandPath())
	if name := closest(cmd, args[0]); name != "" {
		b.WriteString("\nDid you mean:\n  " + cmd.CommandPath() + " " + name)
	}
	return usageError{errors.New(b.String())}
}

// suggestFlag names the flag that a mistyped one is closest to.
func suggestFlag(cmd *cobra.Command, err error) string {
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		return ""
	}
	best := nearest.Name(name, slices.Values(flagNames(cmd)))
	if best == "" {
		return ""
	}
	return "\nDid you mean: --" + best
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %s\nusage: %s", cmd.CommandPath(), what, cmd.UseLine())
		}
		return nil
	}
}

func between(low, high int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < low || high >= 0 && len(args) > high {
			return usagef("%s takes %s\nusage: %s", cmd.CommandPath(), what, cmd.UseLine())
		}
		return nil
	}
}
