package command

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestUnknownAction: what follows the name in a command with actions is mistyped, or lacks
// an argument.
func TestUnknownAction(t *testing.T) {
	cmd := &cobra.Command{Use: "tools TOOLSET [list | get TOOL | rename OLD NEW | kind [a|b]]", Run: func(*cobra.Command, []string) {}}
	for words, want := range map[string]string{
		"gte x":    `tools has no action "gte"; did you mean get?`,
		"get":      `tools: these are not the arguments of "get"`,
		"rename x": `tools: these are not the arguments of "rename"`,
		"kind c":   `tools: these are not the arguments of "kind"`,
		"sing":     `tools has no action "sing"`,
	} {
		first, usage, _ := strings.Cut(UnknownAction(cmd, strings.Fields(words)).Error(), "\n")
		if first != want || !strings.HasPrefix(usage, "usage: tools TOOLSET [list |") {
			t.Errorf("%s: %q, %q; want %q", words, first, usage, want)
		}
	}
}

// TestStrayWord: a word after a command that takes none may be one of its subcommands.
func TestStrayWord(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	cmd := &cobra.Command{Use: "release", Args: Exactly(0, "no arguments"), Run: run}
	if err := cmd.Args(cmd, []string{"resum"}); err == nil || !strings.HasPrefix(err.Error(), "release takes no arguments") {
		t.Errorf("without subcommands: %v", err)
	}
	cmd.AddCommand(&cobra.Command{Use: "resume", Run: run})
	for word, want := range map[string]string{
		"resum": "\"resum\" is not a command of \"release\"\nDid you mean:\n  release resume",
		"xyz":   "\"xyz\" is not a command of \"release\"\nsee: release --help",
	} {
		if err := cmd.Args(cmd, []string{word}); err == nil || err.Error() != want {
			t.Errorf("%s: %v", word, err)
		}
	}
	if err := cmd.Args(cmd, nil); err != nil {
		t.Error(err)
	}
}

// TestLooseValue: a value behind a blank, of a flag that needs none, is said to be one.
func TestLooseValue(t *testing.T) {
	for flags, want := range map[string]string{
		"--allow": "serve takes no arguments\nfor a value of --allow write: --allow=10.0.0.0/8\nusage: serve",
		"--page":  "serve takes no arguments\nusage: serve",
	} {
		cmd := &cobra.Command{Use: "serve", Args: Exactly(0, "no arguments"), Run: func(*cobra.Command, []string) {}}
		cmd.Flags().StringSlice("allow", nil, "networks")
		cmd.Flags().Lookup("allow").NoOptDefVal = "all"
		cmd.Flags().Bool("page", false, "")
		if err := cmd.ParseFlags([]string{flags}); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Args(cmd, []string{"10.0.0.0/8"}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", flags, err)
		}
	}
}

func TestLifetimeVar(t *testing.T) {
	for value, want := range map[string]time.Duration{"90m": 90 * time.Minute, "5d": 120 * time.Hour, "0": 0} {
		var d time.Duration
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		LifetimeVar(fs, &d, "ttl", time.Hour, "how long")
		if d != time.Hour {
			t.Errorf("the default is %s", d)
		}
		if err := fs.Parse([]string{"--ttl", value}); err != nil || d != want {
			t.Errorf("%s: %s, %v", value, d, err)
		}
		if help := Usages(fs, 0); !strings.Contains(help, "--ttl DURATION   how long (default 1h0m0s)") {
			t.Errorf("the help is %q", help)
		}
	}
	for _, value := range []string{"5x", "-1h", "d", "0d", "36501d"} {
		var d time.Duration
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		LifetimeVar(fs, &d, "ttl", 0, "how long")
		if err := fs.Parse([]string{"--ttl", value}); err == nil || FlagError(err).Error() != "--ttl "+value+" is not a duration such as 12h or 90d" {
			t.Errorf("%s: %v", value, err)
		}
	}
}
