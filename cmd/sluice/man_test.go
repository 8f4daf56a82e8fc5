//go:build !race

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// roffText is what a page says, without the marks of roff.
var roffText = strings.NewReplacer(`\-`, "-", `\&`, "", `\fB`, "", `\fP`, "", `\fR`, "", `\fI`, "", `\(aq`, "'", `\e`, `\`, "\n", " ")

// Every command has a page with its flags and the words of its help, and the topics of the
// help are in the first page.
func TestManualPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dir := filepath.Join(t.TempDir(), "man", "man1")
	if code, out, text := sluice(t.Context(), []string{"man", dir}); code != 0 || !strings.HasSuffix(out, " pages in "+dir+"\n") {
		t.Fatalf("sluice man: exit code %d, %q, %q", code, out, text)
	}
	page := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "sluice.1" && !strings.Contains(string(b), `.TH "SLUICE" "1" "Nov 2023" "Sluice `+version+`" "Sluice Manual"`) {
			t.Errorf("%s has another header: %.200s", name, b)
		}
		return strings.Join(strings.Fields(roffText.Replace(string(b))), " ")
	}
	pages := 0
	forEachCommand((&app{}).rootCommand(), func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c.HasParent() || c.IsAdditionalHelpTopicCommand() {
			return
		}
		pages++
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		text := page(name)
		if !strings.Contains(text, strings.Join(strings.Fields(c.Short), " ")) {
			t.Errorf("%s does not say %q", name, c.Short)
		}
		for line := range strings.Lines(c.Long) {
			if words := strings.Join(strings.Fields(line), " "); !strings.Contains(text, words) {
				t.Errorf("%s does not say %q", name, words)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(f)
			if f.Name != "help" && !f.Hidden && (!strings.Contains(text, "--"+f.Name) || !strings.Contains(text, strings.Join(strings.Fields(usage), " "))) {
				t.Errorf("%s does not say --%s %q", name, f.Name, usage)
			}
		})
	})
	if files, err := os.ReadDir(dir); err != nil || len(files) < pages || pages < 150 {
		t.Errorf("%d pages for %d commands: %v", len(files), pages, err)
	}
	first := page("sluice.1")
	for _, want := range []string{".SH EXIT CODES", "7 conflict, failed precondition, quota", ".SH ENVIRONMENT", "$XDG_CONFIG_HOME/sluice/config.yaml", "<data>/admin.token"} {
		if !strings.Contains(first, want) {
			t.Errorf("sluice.1 does not say %q", want)
		}
	}
}

func TestManualPagesRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"create the directory of the manual pages": {"man", filepath.Join(file, "man1")},
		"a directory": {"man"},
	} {
		if code, _, text := sluice(t.Context(), args); code == 0 || !strings.Contains(text, want) {
			t.Errorf("sluice %q: exit code %d, %q; want %q", args, code, text, want)
		}
	}
}
