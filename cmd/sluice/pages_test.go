//go:build !race

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
)

// Pages whose blocks run: those with the info string "console", against a node that the page
// starts itself, or its script. A script in testdata/pages has their files and the stand-ins for
// example hosts, and names them: page $DOCS/docs/….md.

// block is a fenced block of a page.
type block struct {
	line  int    // of its first line
	info  string // behind the fence
	lines []string
}

// commands are the lines of a block that somebody would paste.
func (b *block) commands() (out []string) {
	for _, l := range b.lines {
		if c, ok := strings.CutPrefix(l, "$ "); ok {
			out = append(out, c)
		} else if b.info == "" && regexp.MustCompile(`^(sluice|curl|make|docker|podman|openssl|go) \S`).MatchString(l) {
			out = append(out, l)
		}
	}
	return out
}

// only reports whether all commands begin with one of these.
func (b *block) only(prefixes ...string) bool {
	for _, l := range b.lines {
		if strings.HasPrefix(l, "$ ") && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(l, p) }) {
			return false
		}
	}
	return true
}

func blocks(text string) (out []block) {
	var open *block
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open == nil:
			open = &block{line: i + 2, info: info}
		case fence:
			out, open = append(out, *open), nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
	}
	return out
}

// page runs the blocks of a page: page FILE [HOST=URL…].
func (s *scripts) page(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: page FILE [HOST=URL…]")
	}
	text, err := os.ReadFile(args[0])
	ts.Check(err)
	var kept string // variables that the page sets
	var pairs []string
	for _, a := range args[1:] {
		host, url, _ := strings.Cut(a, "=")
		pairs = append(pairs, host, url)
	}
	standIns := strings.NewReplacer(pairs...)
	var node *exec.Cmd
	stop := func() {
		if node != nil {
			_ = node.Process.Signal(os.Interrupt)
			_ = node.Wait()
			node = nil
		}
	}
	ts.Defer(stop)
	ran := 0
	for _, b := range blocks(string(text)) {
		if b.info != "console" {
			continue
		}
		output := ""
		for i, line := range b.lines {
			at := fmt.Sprintf("%s:%d", filepath.Base(args[0]), b.line+i)
			command, ok := strings.CutPrefix(line, "$ ")
			switch {
			case line == "^C":
				stop()
				continue
			case !ok:
				if !shown(line).MatchString(strings.Join(strings.Fields(output), " ")) {
					ts.Fatalf("%s: the page shows %q, and the command printed:\n%s", at, line, output)
				}
				continue
			}
			ran++
			command = standIns.Replace(command)
			ts.Logf("%s: $ %s", at, command)
			if regexp.MustCompile(`^(make|sluice) (run|serve)\b`).MatchString(command) {
				stop()
				command = strings.Replace(command, "make run", "sluice run --demo", 1)
				command, _, _ = strings.Cut(command, "  #")
				dir := "sluice-data"
				if m := regexp.MustCompile(`--data (\S+)`).FindStringSubmatch(command); m != nil {
					dir = m[1]
				}
				node = s.shell(ts, "exec "+command+" --no-input --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0")
				var printed bytes.Buffer
				node.Stdout, node.Stderr = &printed, &printed
				ts.Check(node.Start())
				s.waitReady(ts, false, []string{dir})
				output = ""
				continue
			}
			out, err := s.shell(ts, kept+command).CombinedOutput()
			if output = string(out); err != nil {
				ts.Fatalf("%s: $ %s\n%v\n%s", at, command, err, output)
			}
			if regexp.MustCompile(`^[A-Z]+=\S*$|^[A-Z]+=\$\(.*\)$`).MatchString(command) {
				kept += command + "\n"
			}
		}
	}
	if ran == 0 {
		ts.Fatalf("%s has no block that runs", args[0])
	}
}

// postgres starts a server and sets a variable to its address.
func (s *scripts) postgres(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: postgres VAR")
	}
	server, err := storetest.StartServer(s.t.Context())
	ts.Check(err)
	ts.Defer(func() { _ = server.Close() })
	ts.Setenv(args[0], server.Addr)
}

// shell is a command of bash in the directory and with the environment of a script.
func (s *scripts) shell(ts *testscript.TestScript, command string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), "bash", "-c", command)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "NO_COLOR=1", "SLUICE_PLUGIN_GRACE=10s"}
	return cmd
}

// shown is what a line of output in a page stands for: numbers differ from run to run, and …
// is anything.
func shown(line string) *regexp.Regexp {
	line = strings.Join(strings.Fields(line), " ")
	text := regexp.QuoteMeta(line)
	text = regexp.MustCompile(`[0-9][0-9.,]*`).ReplaceAllString(strings.ReplaceAll(text, `\.`, "."), `[0-9][0-9.,]*`)
	return regexp.MustCompile(strings.ReplaceAll(text, "…", ".*"))
}

// Every page with a script runs as it is written.
func TestPages(t *testing.T) {
	s := &scripts{t: t}
	docs, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/pages", RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("DOCS", docs)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"upstream": s.upstream, "waitready": s.waitReady, "endpoint": s.endpoint, "page": s.page, "postgres": s.postgres},
	})
}

// Blocks of commands run, or say that they do not.
func TestBlocksAreCovered(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	ran := map[string]bool{}
	files, err := filepath.Glob("testdata/pages/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^page \$DOCS/(\S+)`).FindAllSubmatch(text, -1) {
			ran[string(m[1])] = true
		}
	}
	for _, p := range pages {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.ToSlash(strings.TrimPrefix(p, "../../"))
		for _, b := range blocks(string(text)) {
			switch {
			case len(b.commands()) == 0 || b.info == "console illustration":
			case b.info == "" && slices.Contains(scripted, name) && b.only("$ sluice ", "$ make "):
				// TestDocumentedCommands, TestScripts and the demonstration run them.
			case b.info != "console":
				t.Errorf("%s:%d: the block neither runs nor says that it is an illustration: ```console, or ```console illustration", p, b.line)
			case !ran[name]:
				t.Errorf("%s:%d: the block says that it runs, and no script in testdata/pages has: page $DOCS/%s", p, b.line, name)
			}
		}
	}
}

// endpoint sets a variable to the address of the admin API of the node.
func (s *scripts) endpoint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: endpoint VAR")
	}
	b, err := os.ReadFile(ts.MkAbs(filepath.Join("sluice-data", datadir.Endpoint)))
	ts.Check(err)
	ts.Setenv(args[0], strings.TrimSpace(string(b)))
}
