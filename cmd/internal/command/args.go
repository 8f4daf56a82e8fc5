package command

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// Exactly takes n arguments; what says in words which.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return exit.Usagef("%s takes %s\nusage: %s", cmd.CommandPath(), what, cmd.UseLine())
		}
		return nil
	}
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
