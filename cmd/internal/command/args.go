package command

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/nearest"
)

// Exactly takes n arguments; what says in words which.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n == 0 && len(args) > 0 && cmd.HasAvailableSubCommands() {
			return UnknownCommand(cmd, args)
		}
		if len(args) != n {
			return exit.Usagef("%s takes %s%s\nusage: %s", cmd.CommandPath(), what, Loose(cmd, args), cmd.UseLine())
		}
		return nil
	}
}

// Loose says how a flag gets a value that may be left out: behind a blank it is an argument.
func Loose(cmd *cobra.Command, args []string) (hint string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if len(args) > 0 && f.NoOptDefVal != "" && f.Value.Type() != "bool" {
			hint = fmt.Sprintf("\nfor a value of --%[1]s write: --%[1]s=%[2]s", f.Name, args[0])
		}
	})
	return hint
}

// Between takes low to high arguments, any number from low on when high is negative;
// what says in words which.
func Between(low, high int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < low || high >= 0 && len(args) > high {
			return exit.Usagef("%s takes %s\nusage: %s", cmd.CommandPath(), what, cmd.UseLine())
		}
		return nil
	}
}

// UnknownCommand refuses words that are not subcommands and says which was meant.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q is not a command of %q", args[0], cmd.CommandPath())
	if name := closest(cmd, args[0]); name != "" {
		b.WriteString("\nDid you mean:\n  " + cmd.CommandPath() + " " + name)
	} else if other, _, err := cmd.Root().Find(args[:1]); err == nil && other != cmd.Root() {
		b.WriteString("\nDid you mean:\n  " + other.CommandPath())
	} else {
		b.WriteString("\nsee: " + cmd.CommandPath() + " --help")
	}
	return exit.Usagef("%s", b.String())
}

// closest returns the subcommand or topic that a mistyped one is closest to.
func closest(cmd *cobra.Command, word string) string {
	var names []string
	commands := map[string]string{} // of each name and alias
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			continue
		}
		for _, name := range append([]string{c.Name()}, c.Aliases...) {
			names = append(names, name)
			commands[name] = c.Name()
		}
	}
	return commands[nearest.Name(word, slices.Values(names))]
}

// Names are the names of the subcommands of a command.
func Names(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// UnknownAction refuses what follows the name in a command such as "tools TOOLSET
// [list | get TOOL]". It says which action was meant, or what the action takes.
func UnknownAction(cmd *cobra.Command, words []string) error {
	_, list, _ := strings.Cut(cmd.UseLine(), " [")
	list, _, _ = strings.Cut(list, "] [flags]")
	actions := strings.Split(strings.TrimSuffix(list, "]"), " | ")
	verbs := make([]string, len(actions))
	for i, action := range actions {
		verbs[i], _, _ = strings.Cut(action, " ")
	}
	var b strings.Builder
	switch near := nearest.Name(words[0], slices.Values(verbs)); {
	case slices.Contains(verbs, words[0]):
		fmt.Fprintf(&b, "%s: these are not the arguments of %q", cmd.CommandPath(), words[0])
	case near != "":
		fmt.Fprintf(&b, "%s has no action %q; did you mean %s?", cmd.CommandPath(), words[0], near)
	default:
		fmt.Fprintf(&b, "%s has no action %q", cmd.CommandPath(), words[0])
	}
	return exit.Usagef("%s\nusage: %s", b.String(), cmd.UseLine())
}

// MustComplete offers fixed values for a flag to shell completion.
func MustComplete(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("BUG: " + err.Error())
	}
}

// Lifetime reads the value of a flag that is a duration which may be in days; 0 is forever.
func Lifetime(flag, s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	return 0, exit.Usagef("%s %s is not a duration such as 12h or 90d", flag, terminal.Printable(s))
}

// lifetimeType is the type of a flag of [LifetimeVar].
const lifetimeType = "lifetime"

// LifetimeVar defines a flag that is a duration which may be in days.
func LifetimeVar(fs *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	fs.Var((*lifetime)(to), name, usage)
}

type lifetime time.Duration

func (l *lifetime) String() string { return time.Duration(*l).String() }
func (l *lifetime) Type() string   { return lifetimeType }

// Set implements [pflag.Value].
func (l *lifetime) Set(s string) error {
	d, err := Lifetime("", s)
	if err == nil {
		*l = lifetime(d)
	}
	return err
}

// ParseLabels reads labels written NAME=VALUE.
func ParseLabels(pairs []string) (map[string]string, error) {
	l := make(map[string]string, len(pairs))
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" || v == "" {
			return nil, exit.Usagef("the label %s is not written NAME=VALUE", terminal.Printable(p))
		}
		l[k] = v
	}
	return l, nil
}

// LabelsText writes labels as the command line takes them.
func LabelsText(l map[string]string) string {
	pairs := make([]string, 0, len(l))
	for _, k := range slices.Sorted(maps.Keys(l)) {
		pairs = append(pairs, k+"="+l[k])
	}
	return strings.Join(pairs, ",")
}
