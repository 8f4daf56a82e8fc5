package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const consoleSources = "../../admin/console/src"

// place is a line of testdata/console.txt: a command, and a file with a text in it or why
// there is none.
var place = regexp.MustCompile(`^([a-z].*?) {2,}(?:- (\S.*)|(\S+\.tsx?) +(\S.*))$`)

// TestConsoleHasEveryCommand compares the commands with the places of the console that do
// the same, and these with its sources.
func TestConsoleHasEveryCommand(t *testing.T) {
	list, err := os.ReadFile("testdata/console.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := place.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%q is not a command, a file of the console and a text in it, or a command, a dash and a reason", line)
			continue
		}
		command, file, text := m[1], m[3], m[4]
		if listed[command] {
			t.Errorf("%s is listed twice", command)
		}
		listed[command] = true
		if file == "" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(consoleSources, file))
		if err != nil {
			t.Errorf("%s: %v", command, err)
		} else if !strings.Contains(string(source), text) {
			t.Errorf("%s: there is no %s in %s", command, text, file)
		}
	}
	known := map[string]bool{}
	forEachCommand((&app{}).rootCommand(), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "sluice ")
		if c.Hidden || !c.Runnable() || strings.HasPrefix(path, "completion") || c.Name() == "help" || path == "sluice" {
			return
		}
		known[path] = true
		if !listed[path] && !c.HasSubCommands() {
			t.Errorf("sluice %s has no place in the console: testdata/console.txt says where it is, or why there is none", path)
		}
	})
	for command := range listed {
		if words := strings.Fields(command); !known[command] && !known[strings.Join(words[:len(words)-1], " ")] {
			t.Errorf("testdata/console.txt lists %s, which is no command", command)
		}
	}
}

// page is one that the console's router opens.
var page = regexp.MustCompile(`import\("\./(pages/[^"]+)"\)`)

// TestConsolePagesHaveCommands: each page of the console names a command, but for what only
// joins pages, and the reference of the API, whose operations are said in curl.
func TestConsolePagesHaveCommands(t *testing.T) {
	read := func(file string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(consoleSources, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	pages := page.FindAllStringSubmatch(read("router.tsx"), -1)
	if len(pages) < 40 {
		t.Fatalf("found only %d pages in router.tsx", len(pages))
	}
	for _, m := range pages {
		text := read(m[1] + ".tsx")
		if strings.Contains(text, "<Outlet") || strings.HasPrefix(m[1], "pages/reference/") {
			continue
		}
		if !strings.Contains(text, "sluice ") {
			t.Errorf("%s names no command", m[1])
		}
	}
}
