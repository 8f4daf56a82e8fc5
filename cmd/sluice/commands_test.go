//go:build !race

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// unwalked are the commands that TestEveryCommand does not run to their end, and why.
var unwalked = map[string]string{
	"member passkey remove": "passkeys are made in a browser",
	"domain verify":         "no test host proves a domain in DNS; package node tries it against a server of its own",
	"run":                   "is a node; run_*.txtar", "serve": "is a node; serve_*.txtar", "connect": "is a bridge; connect_test.go",
	"plugin build": "needs a compiler; plugin_quickstart.txtar", "plugin sign": "plugin.txtar", "plugin verify": "plugin.txtar",
	"plugin run": "plugin.txtar", "plugin test": "plugin.txtar", "plugin embed": "plugin.txtar", "plugin publish": "plugin_publish.txtar",
	"plugin yank": "plugin_publish.txtar", "plugin show": "plugin_publish.txtar", "plugin bind": "plugin_publish.txtar",
	"plugin unbind": "plugin_publish.txtar", "release resume": "backup_restore.txtar", "restore": "backup_restore.txtar",
	"notify channel test": "alerts.txtar", "notify redeliver": "alerts.txtar", "alert show": "alerts.txtar", "alert ack": "alerts.txtar",
	"alert snooze": "alerts.txtar", "session revoke": "session.txtar", "edge revoke": "edge_login.txtar", "job show": "api of jobs",
	"toolset accept": "mcp_changes.txtar", "toolset draft show": "toolset_edit.txtar", "toolset draft apply": "toolset_edit.txtar",
	"toolset draft drop": "toolset_edit.txtar", "catalog add": "catalog.txtar", "catalog update": "catalog_update.txtar", "catalog push": "catalog_publish.txtar", "catalog verify": "catalog_publish.txtar", "catalog pull": "catalog_publish.txtar", "key rotate": "member.txtar",
}

// askNoNode are the commands that ask no node.
var askNoNode = []string{
	"version", "openapi", "connector generate", "plugin new", "plugin build", "plugin inspect", "plugin run", "plugin sign", "plugin verify",
	"plugin test", "plugin embed", "preview", "projection", "eval", "decode", "catalog lint", "catalog push", "catalog pull", "catalog verify", "restore", "run", "serve", "backup", "mcp", "doctor",
}

// walker runs commands in this process, in a directory with the files of testdata/commands.
type walker struct {
	t     *testing.T
	words *strings.Replacer
	codes map[string]map[int]bool // by the first word
	ran   map[string]bool         // commands that succeeded
}

// sluice runs the command line and returns its exit code and what it printed.
func sluice(ctx context.Context, args []string) (code int, out, text string) {
	var stdout, stderr bytes.Buffer
	a := &app{mainProcess: func() []string { return nil }}
	a.Env, a.Version = config.ReadEnvironment(func(name string) string {
		if name == "HOME" {
			return os.Getenv("HOME")
		}
		return ""
	}), version
	a.Session.Terminal = terminal.Terminal{In: strings.NewReader(""), Out: &stdout, Err: &stderr, NoInput: true}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	code = a.execute(ctx, args)
	return code, stdout.String(), stderr.String()
}

// TestEveryCommand runs every command with every format for machines: what it prints is
// what the format says, of results, of nothing to do and of errors, and it ends with the
// exit code of the table in docs/cli.md.
func TestEveryCommand(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/commands")); err != nil {
		t.Fatal(err)
	}
	plugins, err := filepath.Abs("../../testdata/plugins")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Abs("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	exe := program(t)
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	notes := sdkServer(t, &mcp.StreamableHTTPOptions{Stateless: true})
	startNode(t, exe) // ends before the server that it listens to
	if code, _, text := sluice(t.Context(), []string{"add", notes, "--mcp", "--slug", "notes"}); code > 1 {
		t.Fatalf("adding the MCP server: exit code %d, %s", code, text)
	}
	lines, err := os.ReadFile("commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{t: t, codes: map[string]map[int]bool{}, ran: map[string]bool{}}
	for _, format := range []string{"json", "jsonl", "name"} {
		id := ""
		for line := range strings.Lines(string(lines)) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			w.words = strings.NewReplacer("$PLUGINS", plugins, "$NOTES", notes, "$P", format, "$ID", id)
			if command, ok := strings.CutPrefix(line, "id "); ok {
				_, out, _ := sluice(t.Context(), append(w.args(command), "-o", "name"))
				id, _, _ = strings.Cut(out, "\n")
				continue
			}
			w.line(format, line)
		}
	}
	w.everyCommandRan()
	w.refusals()
	w.table(docs)
}

// TestListExamples: what --help proposes for --filter and --sort is taken by that list.
func TestListExamples(t *testing.T) {
	exe := program(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	startNode(t, exe)
	if code, _, text := sluice(t.Context(), []string{"member", "add", "ada@example.com"}); code != 0 {
		t.Fatal(text)
	}
	of := map[string]string{"toolset tools": "demo", "member passkey list": "ada@example.com"}
	example := func(usage string) string {
		_, rest, _ := strings.Cut(usage, "such as '")
		value, _, _ := strings.Cut(rest, "'")
		return value
	}
	lists := 0
	forEachCommand((&app{}).rootCommand(), func(c *cobra.Command) {
		filter, sort := c.Flags().Lookup("filter"), c.Flags().Lookup("sort")
		if filter == nil || sort == nil {
			return
		}
		lists++
		path := strings.TrimPrefix(c.CommandPath(), "sluice ")
		args := append(strings.Fields(path), strings.Fields(of[path])...)
		args = append(args, "--filter", example(filter.Usage), "--sort", example(sort.Usage))
		if code, _, text := sluice(t.Context(), args); code != 0 || example(filter.Usage) == "" || example(sort.Usage) == "" {
			t.Errorf("sluice %s: exit code %d\n%s", strings.Join(args, " "), code, text)
		}
	})
	if lists < 19 {
		t.Errorf("only %d lists are filtered", lists)
	}
}

// startNode runs the demonstration in ./sluice-data until the test ends.
func startNode(t *testing.T, exe string) {
	t.Helper()
	node := exec.Command(exe, "run", "--demo", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--no-input")
	var log bytes.Buffer
	node.Stdout, node.Stderr = &log, &log
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = node.Process.Signal(os.Interrupt) // it may have ended
		_ = node.Wait()
	})
	deadline := time.Now().Add(readyTimeout)
	for {
		if code, _, _ := sluice(t.Context(), []string{"doctor", "--live"}); code == 0 {
			if code, _, _ := sluice(t.Context(), []string{"call", "demo", "list_my_issues", "per_page=1"}); code == 0 {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the node is not ready:\n%s", log.String())
		}
	}
}

func (w *walker) args(line string) []string {
	args := strings.Fields(line)
	for i := range args {
		args[i] = w.words.Replace(args[i])
	}
	return args
}

func (w *walker) line(format, line string) {
	w.t.Helper()
	first, rest, _ := strings.Cut(line, " ")
	want, err := strconv.Atoi(first)
	if err != nil {
		w.t.Fatalf("%q begins with no exit code", line)
	}
	args := w.args(rest)
	code, out, text := sluice(w.t.Context(), append(slices.Clone(args), "-o", format))
	if code != want {
		w.t.Errorf("sluice %s -o %s: exit code %d, want %d\n%s%s", rest, format, code, want, out, text)
		return
	}
	w.note(args, code)
	w.output(strings.Join(args, " "), format, code, out, text)
}

// note keeps for the table what a command ended with.
func (w *walker) note(args []string, code int) {
	found, _, err := (&app{}).rootCommand().Find(args)
	if err != nil {
		w.t.Fatalf("sluice %s: %v", strings.Join(args, " "), err)
	}
	path := strings.TrimPrefix(found.CommandPath(), "sluice ")
	if code == 0 {
		w.ran[path] = true
	}
	top, _, _ := strings.Cut(path, " ")
	if w.codes[top] == nil {
		w.codes[top] = map[int]bool{}
	}
	w.codes[top][code] = true
}

// output checks what a command printed on the standard output.
func (w *walker) output(what, format string, code int, out, text string) {
	w.t.Helper()
	switch format {
	case "name":
		if code > 1 && !strings.HasPrefix(text, "✗ ") && !strings.Contains(text, "\n✗ ") {
			w.t.Errorf("sluice %s -o name: the error is %q", what, text)
		}
		for line := range strings.Lines(out) {
			if strings.ContainsAny(line, "{}\t") && !strings.HasPrefix(what, "decode ") {
				w.t.Errorf("sluice %s -o name prints %q, which is not a name", what, line)
			}
		}
		return
	case "json":
		if !json.Valid([]byte(out)) {
			w.t.Errorf("sluice %s -o json prints no JSON document: %q, and says %q", what, out, text)
			return
		}
	case "jsonl":
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				w.t.Errorf("sluice %s -o jsonl prints %q", what, line)
				return
			}
		}
	}
	if code < 2 || code == 5 || strings.HasPrefix(what, "openapi check ") {
		return // the result says what is the matter
	}
	var p struct{ Type, Title, Detail, Code, Remedy string }
	last := out
	if format == "jsonl" {
		last = out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:]
	}
	if json.Unmarshal([]byte(last), &p) == nil && (p.Type == "" || p.Title == "" || p.Detail == "" || !strings.HasSuffix(p.Type, "#"+p.Code)) {
		w.t.Errorf("sluice %s -o %s: the error is not a problem document: %s", what, format, out)
	}
	if strings.Contains(p.Detail, "\nsee: ") || strings.Contains(p.Detail, "\nDid you mean") {
		w.t.Errorf("sluice %s -o %s: the remedy stands in the detail: %s", what, format, out)
	}
}

// everyCommandRan finds the commands that no line runs.
func (w *walker) everyCommandRan() {
	forEachCommand((&app{}).rootCommand(), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "sluice ")
		if c.Hidden || c.HasSubCommands() || !c.Runnable() || strings.HasPrefix(path, "completion") {
			return
		}
		if why := unwalked[path]; why != "" == w.ran[path] {
			w.t.Errorf("sluice %s: ran to its end: %v, but the list of those that do not says %q", path, w.ran[path], why)
		}
	})
}

// refusals checks what every command does with a flag that it does not have, without a
// node, and with a token that the node does not know.
func (w *walker) refusals() {
	if err := os.WriteFile("wrong.token", []byte("slu_wrong\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	forEachCommand((&app{}).rootCommand(), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "sluice ")
		if c.Hidden || c.HasSubCommands() || !c.Runnable() || strings.HasPrefix(path, "completion") {
			return
		}
		w.refused(path, strings.Fields(path), 2, "--no-such-flag")
		if slices.ContainsFunc(askNoNode, func(l string) bool { return path == l || strings.HasPrefix(path, l+" ") }) {
			return
		}
		if path == "plugin publish" || path == "release resume" || path == "key rotate" {
			return // refuse what is missing on the command line first
		}
		args := w.example(path)
		w.refused(path, args, 8, "--server", "http://127.0.0.1:1", "--token-file", "wrong.token")
		w.refused(path, args, 4, "--token-file", "wrong.token")
	})
}

// example is the first line of a command.
func (w *walker) example(path string) []string {
	lines, err := os.ReadFile("commands.txt")
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		if _, command, _ := strings.Cut(strings.TrimSpace(line), " "); command == path || strings.HasPrefix(command, path+" ") {
			return w.args(command)
		}
	}
	w.t.Errorf("commands.txt has no line of sluice %s", path)
	return strings.Fields(path)
}

func (w *walker) refused(path string, args []string, want int, more ...string) {
	w.t.Helper()
	code, out, text := sluice(w.t.Context(), slices.Concat(args, more, []string{"-o", "json"}))
	if code != want {
		w.t.Errorf("sluice %s %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), strings.Join(more, " "), code, want, out, text)
		return
	}
	w.note(args, code)
	w.output(path+" "+strings.Join(more, " "), "json", code, out, text)
}

// table compares the table of the documentation with what the commands ended with.
func (w *walker) table(file string) {
	const begin, end = "<!-- exit codes: go test ./cmd/sluice -run TestEveryCommand -update -->\n", "<!-- end -->"
	var b strings.Builder
	b.WriteString("\n| command | exit codes |\n| --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(w.codes)) {
		var codes []string
		for _, c := range slices.Sorted(maps.Keys(w.codes[name])) {
			codes = append(codes, strconv.Itoa(c))
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.Join(codes, ", "))
	}
	b.WriteString("\n")
	doc, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		w.t.Fatalf("%s has no place for the table of exit codes", file)
	}
	if table == b.String() || w.t.Failed() {
		return
	}
	if !*update {
		w.t.Errorf("the table of exit codes is not what the commands end with; run this test with -update\n%s", b.String())
		return
	}
	if err := os.WriteFile(file, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
		w.t.Fatal(err)
	}
}
