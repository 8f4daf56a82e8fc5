package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/cmd/internal/plugincmd"
)

// urls stand for each other: a script has the address of a server it started.
var urls = regexp.MustCompile(`(https?://|\$)[A-Za-z0-9.:$_/-]+`)

func normalized(command string) string {
	command, _, _ = strings.Cut(command, "  #")
	command = strings.TrimSuffix(strings.TrimSpace(command), " &node&")
	return strings.Join(strings.Fields(urls.ReplaceAllString(command, "URL")), " ")
}

// Every flag of the commands for plugins is in the overview.
func TestPluginFlagsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "\n## Plugins\n")
	section, _, _ = strings.Cut(section, "\n## ")
	flags := 0
	for _, c := range plugincmd.Command(&(&app{}).Session).Commands() {
		if !strings.Contains(section, "`plugin "+c.Name()) && !c.Hidden {
			t.Errorf("docs/cli.md says nothing of plugin %s", c.Name())
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if flags++; f.Name != "help" && !strings.Contains(section, "`--"+f.Name) {
				t.Errorf("docs/cli.md says nothing of plugin %s --%s", c.Name(), f.Name)
			}
		})
	}
	if flags < 20 {
		t.Errorf("found %d flags, want at least 20", flags)
	}
}

// scripted are the documents whose commands are run by scripts.
var scripted = []string{"README.md", "docs/getting-started.md", "docs/cli.md", "docs/clients.md", "docs/authentication.md", "docs/plugins/quick-start.md"}

// Every "$ sluice …" of the documents is run by a script, so that they cannot rot.
func TestDocumentedCommands(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, s := range scripts {
		b, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if _, command, ok := strings.Cut(line, "exec sluice "); ok {
				ran[normalized(command)] = true
			}
			if toolset, ok := strings.CutPrefix(strings.TrimSpace(line), "login "); ok {
				ran["toolset auth "+toolset+" login"] = true
			}
		}
	}
	found := 0
	for _, doc := range scripted {
		b, err := os.ReadFile(filepath.Join("../..", doc))
		if os.IsNotExist(err) && doc == "README.md" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ sluice ")
			if !ok {
				continue
			}
			found++
			if !ran[normalized(command)] {
				t.Errorf("%s: no script runs: sluice %s", doc, strings.TrimSpace(command))
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d commands in the documents, want at least 10", found)
	}
}
