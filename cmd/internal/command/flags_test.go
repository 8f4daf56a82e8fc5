package command

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func allFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	f.Bool("yes", false, "answer")
	f.Int("limit", 50, "most records")
	f.Int("tries", 0, "how many")
	f.Uint64("rows", 0, "rows")
	f.Float64("share", 0, "part")
	f.Duration("timeout", 30*time.Second, "time limit")
	f.Duration("after", 0, "when")
	f.String("api-key-file", "", "the key")
	f.String("note", "", "for others")
	f.String("mode", "pin", "how")
	f.StringSlice("tools", nil, "which")
	f.StringArray("auth", nil, "how")
	f.StringToString("label", nil, "labels")
	f.String("to", "", "another `TOOLSET`")
	return f
}

func TestUsages(t *testing.T) {
	const want = `      --after DURATION      when
      --api-key-file FILE   the key
      --auth TEXT           how
      --label NAME=VALUE    labels
      --limit N             most records (default 50)
      --mode TEXT           how (default pin)
      --note TEXT           for others
      --rows N              rows
      --share N             part
      --timeout DURATION    time limit (default 30s)
      --to TOOLSET          another TOOLSET
      --tools LIST          which
      --tries N             how many
      --yes                 answer
`
	if got := Usages(allFlags(), 0); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestFlagError(t *testing.T) {
	f := func(arg, want string) {
		t.Helper()
		err := allFlags().Parse([]string{arg})
		if err == nil {
			t.Errorf("%s is accepted", arg)
		} else if got := FlagError(err).Error(); got != want {
			t.Errorf("%s: got %q, want %q", arg, got, want)
		}
	}
	f("--yes=7", "--yes 7 is not true or false")
	f("--limit=x", "--limit x is not a whole number")
	f("--rows=-1", "--rows -1 is not a whole number from 0 on")
	f("--share=x", "--share x is not a number")
	f("--timeout=abc", "--timeout abc is not a duration such as 30s or 5m")
	f("--unheard", "unknown flag: --unheard")
	if err := FlagError(allFlags().Parse([]string{"--label=x"})); strings.Contains(err.Error(), "invalid argument") {
		t.Errorf("got %q", err)
	}
}
