package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// outputFlag finds the output format in a command line that could not be parsed,
// so that the error still comes in the form that was asked for.
func outputFlag(args []string) string {
	for i, arg := range args {
		switch {
		case arg == "--":
			return ""
		case arg == "-o" || arg == "--output":
			if i+1 < len(args) {
				return args[i+1]
			}
		case strings.HasPrefix(arg, "--output="):
			return strings.TrimPrefix(arg, "--output=")
		case strings.HasPrefix(arg, "-o"):
			return strings.TrimPrefix(strings.TrimPrefix(arg, "-o"), "=")
		}
	}
	return ""
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	visit := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.LocalFlags().VisitAll(visit)
	cmd.InheritedFlags().VisitAll(visit)
	return names
}

func forEachCommand(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		forEachCommand(sub, f)
	}
}
