package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/alertcmd"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/callcmd"
	"github.com/sluicegate/sluice/cmd/internal/catalogcmd"
	"github.com/sluicegate/sluice/cmd/internal/clientcmd"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/domaincmd"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/fleetcmd"
	"github.com/sluicegate/sluice/cmd/internal/plugincmd"
	"github.com/sluicegate/sluice/cmd/internal/previewcmd"
	"github.com/sluicegate/sluice/cmd/internal/requestcmd"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/toolsetcmd"
	"github.com/sluicegate/sluice/cmd/internal/workflowcmd"
	"github.com/sluicegate/sluice/cmd/internal/workspacecmd"
	"github.com/sluicegate/sluice/internal/nearest"
)

// defaultTimeout of one request to the admin API. Making a connector from a very
// large specification takes seconds.
const defaultTimeout = 30 * time.Second

// execute runs the command line and returns the exit code.
func (a *app) execute(ctx context.Context, args []string) int {
	root := a.rootCommand()
	checkTopics(root)
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if err := strayCommand(cmd, args); err != nil {
			return err
		}
		return exit.Usagef("%w%s\nsee: %s --help", command.FlagError(err), suggestFlag(cmd, err), cmd.CommandPath())
	})
	root.SetIn(a.In)
	root.SetOut(helpWriter{a})
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && a.Format == "" {
		a.Format = outputFlag(args) // parsing stopped before the flag was reached
	}
	a.Finish(err)
	return exit.Code(ctx, err)
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
		Args:          command.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked, _ := cmd.Flags().GetBool("version"); asked {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "sluice", version)
				return err
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
	}
	root.Flags().Bool("version", false, "version for sluice") // cobra's own needs a template, see package scaffold
	f := root.PersistentFlags()
	f.StringVarP(&a.Format, "output", "o", "", "output: "+strings.Join(terminal.Formats, ", ")+" (default table)")
	f.StringSliceVar(&a.Fields, "fields", nil, "only these columns or members")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "only the result and errors")
	f.BoolVarP(&a.Flags.Verbose, "verbose", "v", false, "show requests to the admin API, secrets masked")
	f.BoolVar(&a.NoColor, "no-color", false, "no colours")
	f.BoolVar(&a.NoInput, "no-input", false, "never ask; fail where an answer would be needed")
	f.BoolVarP(&a.Yes, "yes", "y", false, "answer yes to every question")
	f.StringVar(&a.Flags.Context, "context", "", "context of the configuration file to use")
	f.StringVar(&a.Flags.Server, "server", "", "URL of the admin API (default: the node of ./sluice-data)")
	f.StringVar(&a.Flags.TokenFile, "token-file", "", "file with the API token, - for stdin")
	f.StringVar(&a.Flags.CA, "ca", "", "PEM file of a certificate authority to trust besides those of the machine (SLUICE_CA)")
	f.StringVar(&a.Flags.ConfigFile, "config", "", "configuration file")
	f.StringVar(&a.Flags.DataDir, "data", "", "data directory (default "+config.DefaultDataDir+")")
	f.DurationVar(&a.Flags.Timeout, "timeout", defaultTimeout, "time limit of one request")
	command.MustComplete(root, "output", terminal.Formats)

	root.AddGroup(
		&cobra.Group{ID: "start", Title: "Start:"},
		&cobra.Group{ID: "manage", Title: "Manage toolsets:"},
		&cobra.Group{ID: "use", Title: "Use toolsets:"},
		&cobra.Group{ID: "operate", Title: "Operate:"},
		&cobra.Group{ID: "build", Title: "Specifications, connectors and plugins:"},
	)
	root.SetHelpCommandGroupID("start")
	command.SetUsage(root, terminal.WidthOf(a.Out))
	root.SetCompletionCommandGroupID("start")
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("start", a.runCommand(), a.serveCommand(), a.doctorCommand((*app).rootCommand), a.versionCommand())
	add("manage", a.addCommand(), catalogcmd.Command(&a.Session, append(catalogcmd.Published(&a.Session, func() (artifacts.Opener, error) { return a.opener(nil) }), a.catalogAdd(), toolsetcmd.CatalogUpdate(&a.Session))...), requestcmd.Command(&a.Session), toolsetcmd.Command(&a.Session, a.toolsetTest(), a.toolsetUpstream(), a.toolsetConnector(), workflowcmd.Command(&a.Session, a.workflowTest()), workflowcmd.Scripts(&a.Session), domaincmd.ToolsetCommand(&a.Session)))
	add("use", clientcmd.Command(&a.Session), a.mcpCommand())
	add("use", callcmd.Commands(&a.Session)...)
	add("operate", alertcmd.Alert(&a.Session), alertcmd.Notify(&a.Session), fleetcmd.Usage(&a.Session), fleetcmd.Logs(&a.Session), domaincmd.Command(&a.Session), fleetcmd.Edge(&a.Session), fleetcmd.Cluster(&a.Session), fleetcmd.Release(&a.Session), workspacecmd.Member(&a.Session), workspacecmd.Session(&a.Session), workspacecmd.Token(&a.Session), workspacecmd.Grant(&a.Session), workspacecmd.Job(&a.Session), workspacecmd.Key(&a.Session), workspacecmd.Audit(&a.Session), a.backupCommand(), a.restoreCommand(), a.exportCommand(), a.importCommand())
	add("build", a.connectorCommand(), a.openapiCommand(), plugincmd.Command(&a.Session))
	add("build", previewcmd.Commands(&a.Session)...)
	root.AddCommand(a.manCommand((*app).rootCommand))
	root.AddCommand(helpTopics()...)
	root.InitDefaultCompletionCmd()
	a.Complete(root, a.prepare)
	forEachCommand(root, func(c *cobra.Command) {
		if c.HasSubCommands() && c.RunE == nil && c.Run == nil {
			c.Args = command.UnknownCommand
			c.RunE = func(cmd *cobra.Command, _ []string) error {
				if a.Format == "table" || a.Format == "wide" {
					return cmd.Help()
				}
				// A program that asks for JSON takes a text that explains for an answer.
				return exit.Usagef("%s does nothing by itself: %s", cmd.CommandPath(), strings.Join(command.Names(cmd), ", "))
			}
		}
	})
	return root
}

// prepare checks the global flags and reads the configuration.
func (a *app) prepare(cmd *cobra.Command) error {
	a.NoColor, a.Color = a.NoColor || a.Env.NoColor, a.Env.Color
	if a.Format == "" {
		a.Format = "table"
	}
	if !slices.Contains(terminal.Formats, a.Format) {
		given := a.Format
		a.Format = "table"
		return exit.Usagef("-o %s is not an output format; there are: %s", given, strings.Join(terminal.Formats, ", "))
	}
	if a.Flags.Timeout <= 0 {
		return exit.Usagef("--timeout must be longer than nothing")
	}
	if cmd.Name() == "completion" || cmd.HasParent() && cmd.Parent().Name() == "completion" {
		return nil // runs in every new shell; a broken configuration must not break that
	}
	c, err := config.Load(a.Flags.ConfigFile, a.Env)
	if err != nil {
		return err
	}
	a.Config = c
	return nil
}

// helpWriter takes what the library prints by itself: help, the version, a script for a
// shell. That is text whatever the output format is.
type helpWriter struct{ *app }

// Write prints and notes that the command has had its answer.
func (w helpWriter) Write(b []byte) (int, error) {
	w.Streams()
	return w.Out.Write(b)
}

// checkTopics makes the help command refuse topics that there are not.
func checkTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Args = knownTopic
		}
	}
}

// knownTopic refuses the help of a command or topic that there is not.
func knownTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err == nil && found.HasSubCommands() {
		return command.UnknownCommand(found, rest)
	}
	return err
}

// strayCommand is [command.UnknownCommand] for a command line with a flag that is not known: of a
// word that is not a subcommand no flag can be.
func strayCommand(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err == nil && found == cmd && cmd.HasAvailableSubCommands() {
		cmd.FParseErrWhitelist.UnknownFlags = true
		if err = cmd.ParseFlags(rest); err == nil {
			return command.UnknownCommand(cmd, cmd.Flags().Args())
		}
	}
	return nil // the flag is what is reported
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
