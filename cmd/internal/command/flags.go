package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// FlagError says what is wrong with a flag in the words of the command line, not in those
// of the package that reads numbers.
func FlagError(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	f, value := invalid.GetFlag(), terminal.Printable(invalid.GetValue())
	var want string
	switch f.Value.Type() {
	case "bool":
		want = "true or false"
	case "duration":
		want = "a duration such as 30s or 5m"
	case lifetimeType:
		want = "a duration such as 12h or 90d"
	case "int", "int64":
		want = "a whole number"
	case "uint", "uint64":
		want = "a whole number from 0 on"
	case "float64":
		want = "a number"
	default:
		return fmt.Errorf("--%s: %w", f.Name, errors.Unwrap(invalid))
	}
	return fmt.Errorf("--%s %s is not %s", f.Name, value, want)
}

// Usages is the help of flags, wrapped at width; 0 does not wrap. What stands for a value
// is called by what it is.
func Usages(flags *pflag.FlagSet, width int) string {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		named := *f
		if name := valueName(f); name != "" {
			named.Value = namedValue{f.Value, name}
			if f.DefValue == "0s" || f.DefValue == "[]" {
				named.DefValue = "" // nothing, as for other flags
			}
		}
		shown.AddFlag(&named)
	})
	return shown.FlagUsagesWrapped(width)
}

// namedValue is the value of a flag that help calls otherwise.
type namedValue struct {
	pflag.Value
	name string
}

// Type is the name.
func (v namedValue) Type() string { return v.name }

// valueNames are what the last words of the names of flags say about their values.
var valueNames = map[string]string{
	"file": "FILE", "cert": "FILE", "key": "FILE", "ca": "FILE", "config": "FILE", "identity": "FILE", "report": "FILE",
	"questions": "FILE", "in": "FILE", "spec": "SPEC", "response": "FILE", "overlay": "FILE|URL",
	"data": "DIR", "dir": "DIR", "corpus": "DIR", "cases": "DIR", "catalog": "DIR", "to": "PATH", "main": "PATH",
	"url": "URL", "server": "URL", "issuer": "URL", "plane": "URL", "resource": "URL", "database": "URL",
	"listen": "ADDRESS", "tool": "TOOL", "connector": "NAME", "name": "NAME", "slug": "NAME", "context": "NAME", "env": "NAME",
	"args": "JSON", "set": "JSON", "input": "JSON", "role": "ROLE", "output": "FORMAT",
}

// valueName is what a value of the flag is called; "" as its type or its usage says.
func valueName(f *pflag.Flag) string {
	if strings.Count(f.Usage, "`") >= 2 {
		return "" // the usage has it
	}
	last := f.Name[strings.LastIndexByte(f.Name, '-')+1:]
	switch f.Value.Type() {
	case "duration", lifetimeType:
		return "DURATION"
	case "int", "int64", "uint", "uint64", "float64":
		return "N"
	case "string", "stringArray":
		if name := valueNames[last]; name != "" {
			return name
		}
		return "TEXT"
	case "stringSlice":
		return "LIST"
	case "stringToString":
		return "NAME=VALUE"
	}
	return ""
}

// SetUsage makes the help of the command and of those below it name values. It writes what
// cobra's own template does; a template would keep every method of every type in the
// program, as the linker cannot know which of them it calls.
func SetUsage(root *cobra.Command, width int) {
	root.SetUsageFunc(func(c *cobra.Command) error {
		_, err := io.WriteString(c.OutOrStderr(), usage(c, width))
		return err
	})
}

func usage(c *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		b.WriteString("\n  " + c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n  " + c.CommandPath() + " [command]")
	}
	if len(c.Aliases) > 0 {
		b.WriteString("\n\nAliases:\n  " + c.NameAndAliases())
	}
	if c.HasExample() {
		b.WriteString("\n\nExamples:\n" + c.Example)
	}
	list := func(title, group string, grouped bool) {
		b.WriteString("\n\n" + title)
		for _, sub := range c.Commands() {
			if (!grouped || sub.GroupID == group) && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(&b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableSubCommands() {
		for _, g := range c.Groups() {
			list(g.Title, g.ID, true)
		}
		switch {
		case len(c.Groups()) == 0:
			list("Available Commands:", "", false)
		case !c.AllChildCommandsHaveGroup():
			list("Additional Commands:", "", true)
		}
	}
	if c.HasAvailableLocalFlags() {
		b.WriteString("\n\nFlags:\n" + strings.TrimRightFunc(Usages(c.LocalFlags(), width), unicode.IsSpace))
	}
	if c.HasAvailableInheritedFlags() {
		b.WriteString("\n\nGlobal Flags:\n" + strings.TrimRightFunc(Usages(c.InheritedFlags(), width), unicode.IsSpace))
	}
	if c.HasHelpSubCommands() {
		b.WriteString("\n\nAdditional help topics:")
		for _, sub := range c.Commands() {
			if sub.IsAdditionalHelpTopicCommand() {
				fmt.Fprintf(&b, "\n  %-*s %s", sub.CommandPathPadding(), sub.CommandPath(), sub.Short)
			}
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	return b.String() + "\n"
}
