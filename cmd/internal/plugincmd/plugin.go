package plugincmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/sdk/scaffold"
)

// plugins has the commands about plugins.
type plugins struct{ *command.Session }

// Command is plugin, with all of its commands.
func Command(s *command.Session) *cobra.Command {
	a := plugins{s}

	cmd := &cobra.Command{Use: "plugin", Aliases: []string{"plugins"}, Short: "Write, build, test, publish and bind plugins"}
	cmd.AddCommand(a.pluginNew(), a.pluginBuild(), a.pluginEmbed(), a.pluginTest(), a.pluginCapture(), a.pluginRun(), a.pluginInspect(), a.pluginSign(), a.pluginVerify(),
		a.pluginPublish(), a.pluginList(), a.pluginShow(), a.pluginYank(), a.pluginKey(), a.pluginBind(), a.pluginUnbind(), a.pluginBindings())
	return cmd
}

func (a plugins) pluginNew() *cobra.Command {
	var kind, language string
	kinds := []string{string(manifest.Filter), string(manifest.Projection), string(manifest.Auth), string(manifest.Workflow)}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create a plugin project that builds and passes its golden case",
		Long: `Create a directory NAME with a plugin, a test of it and a golden case. The guest
package is copied into it, so that it builds without a network.`,
		Example: "  sluice plugin new drop-empty --lang go\n  sluice plugin new mask --lang javascript\n  sluice plugin new aws --kind auth\n  sluice plugin new discussions --kind workflow",
		Args:    command.Exactly(1, "the name of the plugin"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if !pluginName(name) {
				return exit.Usagef("%q cannot be a name: use a-z, 0-9 and -, beginning with a letter, at most 64", name)
			}
			if !slices.Contains(kinds, kind) {
				return exit.Usagef("--kind %s is not a kind; there are: %s", kind, strings.Join(kinds, ", "))
			}
			if language == "js" {
				language = "javascript"
			}
			if !slices.Contains(scaffold.Languages(), language) {
				return exit.Usagef("--lang %s is not known; there are: %s", language, strings.Join(scaffold.Languages(), ", "))
			}
			if _, err := os.Stat(name); err == nil {
				return problem.New(problem.Conflict, "%s exists already", name).Fix("choose another name, or remove it")
			}
			files, err := scaffold.Files(language, scaffold.Data{Name: name, Kind: kind})
			if err != nil {
				return err
			}
			for _, f := range files {
				path := filepath.Join(name, filepath.FromSlash(strings.Replace(f.Path, "gitignore", ".gitignore", 1)))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a project is meant to be read
					return fmt.Errorf("making the project: %w", err)
				}
				if err := atomicfile.Write(path, f.Content, 0o644); err != nil {
					return fmt.Errorf("writing %s: %w", path, err)
				}
			}
			a.Say("%s: %s. Next:", name, terminal.Plural(len(files), "file"))
			made := struct {
				Name string   `json:"name"`
				Next []string `json:"next"`
			}{name, []string{"sluice plugin build " + name, "sluice plugin test " + name}}
			return a.Object(made, func(w io.Writer) { fmt.Fprintln(w, strings.Join(made.Next, "\n")) })
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "filter", "kind: "+strings.Join(kinds, ", "))
	cmd.Flags().StringVar(&language, "lang", "go", "language: "+strings.Join(scaffold.Languages(), ", "))
	command.MustComplete(cmd, "kind", kinds)
	command.MustComplete(cmd, "lang", scaffold.Languages())
	return cmd
}

// pluginName reports whether a plugin can have the name in all its languages.
func pluginName(s string) bool {
	for i, c := range s {
		if (c < 'a' || c > 'z') && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	return s != "" && len(s) <= manifest.MaxName && !strings.HasSuffix(s, "-")
}

// openPlugin reads a plugin: a .wasm file, or the one that was built in a directory.
func openPlugin(path string) (*guest.Package, string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		m, err := readManifest(path)
		if err != nil {
			return nil, "", err
		}
		path = filepath.Join(path, m.Name+".wasm")
	}
	code, err := readPluginFile(path)
	if err != nil {
		return nil, "", err
	}
	p, err := guest.Open(code)
	if err != nil {
		return nil, "", err
	}
	return p, path, p.CheckCode()
}

func readPluginFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, problem.New(problem.NotFound, "there is no plugin %s", path).Fix(`build it: "sluice plugin build"`).Because(err)
	}
	if info.Size() > module.MaxBytes {
		large := module.TooLarge(info.Size())
		return nil, problem.New(problem.TooLarge, "%s cannot be used as a plugin: %s", path, large).Fix("%s", large.Remedy)
	}
	code, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return code, nil
}

// inspected is the report of "sluice plugin inspect".
type inspected struct {
	File     string          `json:"file"`
	Digest   string          `json:"digest"`
	Bytes    int             `json:"bytes"`
	Manifest json.RawMessage `json:"manifest"`
	Imports  []string        `json:"imports"`
	Exports  []string        `json:"exports"`
	Memory   int64           `json:"memoryBytes"` // what it begins with
	Metered  bool            `json:"metered"`     // always: what cannot be metered is refused
	Sections []string        `json:"sections"`
}

func (a plugins) pluginInspect() *cobra.Command {
	return &cobra.Command{
		Use: "inspect FILE.wasm|DIR", Short: "Show the manifest, imports and grants of a plugin", Args: command.Exactly(1, "one plugin"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, path, err := openPlugin(args[0])
			if err != nil {
				return err
			}
			raw, _ := p.Module.Custom(manifest.Section)
			r := inspected{File: path, Digest: p.Digest, Bytes: len(p.Code), Manifest: raw, Imports: []string{}, Exports: []string{}, Metered: true}
			for _, i := range p.Module.Imports {
				r.Imports = append(r.Imports, i.Module+" "+i.Name)
			}
			for _, e := range p.Module.Exports {
				r.Exports = append(r.Exports, e.Name)
			}
			for _, m := range p.Module.Memories {
				r.Memory += int64(m.Min) << 16
			}
			for _, c := range p.Module.Customs {
				r.Sections = append(r.Sections, c.Name)
			}
			return a.Object(r, func(w io.Writer) {
				m := p.Manifest
				line := func(k, format string, args ...any) { // one: a plugin must not write lines of its own
					fmt.Fprintf(w, "%-10s %s\n", k, terminal.Printable(fmt.Sprintf(format, args...)))
				}
				article := "a"
				if m.Kind == manifest.Auth {
					article = "an"
				}
				line("plugin", "%s %s, %s %s", m.Name, m.Version, article, m.Kind)
				if m.Description != "" {
					line("", "%s", m.Description)
				}
				line("digest", "%s", r.Digest)
				line("size", "%s, begins with %s of memory", terminal.ByteSize(r.Bytes), terminal.ByteSize(r.Memory))
				line("limits", "%s", limitsText(m.Limits))
				line("asks for", "%s", capabilitiesText(m.Capabilities))
				if asks := m.Asks(); !asks.Empty() {
					line("to grant", "--grant %s", asks.String())
				}
				if p.Manifest.Kind == manifest.Filter || p.Manifest.Kind == manifest.Projection {
					line("reads", "%s", readsText(p))
				}
				if m.Output != nil {
					line("output", "%s", m.Output.Effect)
				}
				if m.Tool != nil {
					line("tool", "%s: %s", m.Tool.Name, m.Tool.Description)
				}
				if m.Config != nil {
					line("config", "%s", m.Config)
				}
				line("imports", "%s", strings.Join(r.Imports, ", "))
				line("exports", "%s", strings.Join(r.Exports, ", "))
			})
		},
	}
}

// readsText says which kinds of answers a filter or projection understands, and what
// becomes of the others.
func readsText(p *guest.Package) string {
	types := []string{manifest.TypeJSON}
	if p.Manifest.Input != nil {
		types = p.Manifest.Input.Types
	}
	reads, said := p.Manifest.ReadsErrors()
	errors := "no errors"
	switch {
	case p.Errors:
		errors = "errors by " + guest.ErrorEntry
	case reads || !said && p.Manifest.Redacts():
		errors = "errors"
	}
	rest := "the rest goes on without it"
	if p.Manifest.Redacts() {
		rest = "the rest is withheld, unless its binding says pass"
	}
	if p.NoAnswers {
		return errors + " alone; " + rest
	}
	return strings.Join(types, ", ") + "; " + errors + "; " + rest
}

func limitsText(l *manifest.Limits) string {
	memory, deadline := 8<<20, 100
	if l != nil && l.MemoryBytes > 0 {
		memory = l.MemoryBytes
	}
	if l != nil && l.DeadlineMS > 0 {
		deadline = l.DeadlineMS
	}
	return fmt.Sprintf("%s of memory, %d ms", terminal.ByteSize(memory), deadline)
}

func capabilitiesText(c *manifest.Capabilities) string {
	var list []string
	if c != nil && c.Clock {
		list = append(list, "the real time")
	}
	if c != nil && c.Random {
		list = append(list, "randomness")
	}
	if c != nil && len(c.Hosts) > 0 {
		list = append(list, "requests to "+strings.Join(c.Hosts, ", "))
	}
	if c != nil && c.Signing != nil {
		list = append(list, fmt.Sprintf("signing with the toolset's credentials (%s, %s)", c.Signing.Algorithm, terminal.Plural(c.Signing.Derivations, "derivation")))
	}
	if c != nil && len(c.Tools) > 0 {
		list = append(list, "calls of the tools "+strings.Join(c.Tools, ", "))
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, "; ")
}

// author runs plugins on the author's machine: what they ask for is granted. Requests of
// golden cases get the answers of the case, and are not sent.
type author struct {
	host *extism.Host
	app  plugins
	// reference is the program of the reference host; "": it was not asked for.
	reference string
	// quiet keeps the log of plugins back: one call of thousands says nothing of its own.
	quiet bool
}

func (a plugins) newAuthor() (*author, error) {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "sluice", "plugins")
	}
	grace, err := a.PluginGrace()
	if err != nil {
		return nil, err
	}
	// What an author runs at the own machine may ask any host of it.
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		return nil, err
	}
	h, err := extism.New(extism.Options{CacheDir: dir, Functions: guest.Functions(), Grace: grace, HTTP: safehttp.NewPluginClient(d)})
	if err != nil {
		return nil, err
	}
	return &author{host: h, app: a}, nil
}

// say shows what a plugin logs.
func (h *author) say(level int, m string) {
	levels := []string{"trace", "debug", "info", "warn", "error"}
	if !h.quiet {
		h.app.Say("%-5s %s", levels[level], m)
	}
}

func (h *author) close(ctx context.Context) { _ = h.host.Close(ctx) }

func (a plugins) pluginRun() *cobra.Command {
	var in, config string
	c := golden.Context{}
	cmd := &cobra.Command{
		Use:     "run FILE.wasm|DIR",
		Short:   "Run a plugin on a body and print the result",
		Example: `  sluice plugin run drop-empty --in answer.json --set '{"keep":"id"}'`,
		Args:    command.Exactly(1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, _, err := openPlugin(args[0])
			if err != nil {
				return err
			}
			body, err := a.readBody(in)
			if err != nil {
				return err
			}
			h, err := a.newAuthor()
			if err != nil {
				return err
			}
			defer h.close(cmd.Context())
			g, err := guest.Load(h.host, p, guest.Options{Policy: guest.AuthorPolicy(p), Config: json.RawMessage(config), Log: h.say})
			if err != nil {
				return err
			}
			defer g.Close()
			start := time.Now()
			if err := g.Compile(cmd.Context()); err != nil {
				return err
			}
			compiled := time.Since(start)
			start = time.Now()
			out, err := g.Transform(cmd.Context(), nil, body, c.Guest())
			if err != nil {
				return pluginFailed(p, err)
			}
			a.Say("%s → %s in %s, compiled in %s", terminal.ByteSize(len(body)), terminal.ByteSize(len(out)), terminal.ShortDuration(time.Since(start)), terminal.ShortDuration(compiled))
			refused := asCase(c, body).Refused(p, body, out)
			if err := a.WriteResult(append(out, '\n')); err != nil || refused == nil {
				return err
			}
			return problem.New(problem.InvalidPlugin, "a gateway does not take what plugin %s made: %v", p.Manifest.Name, refused).
				Fix("correct the plugin, or what output in plugin.json says of it")
		},
	}
	f := cmd.Flags()
	f.StringVar(&in, "in", "-", "file with the body, - for stdin")
	f.StringVar(&config, "set", "", "configuration, a JSON object")
	f.StringVar(&c.Tool, "tool", "tool", "name of the tool, for the plugin")
	f.StringVar(&c.Operation, "operation", "GET /", "method and path, for the plugin")
	f.StringVar(&c.ContentType, "content-type", "application/json", "content type of the body, for the plugin")
	f.IntVar(&c.Status, "status", 200, "status of the answer, for the plugin")
	return cmd
}

// asCase is a golden case with a body as its input.
func asCase(c golden.Context, body []byte) *golden.Case {
	one := &golden.Case{Context: c}
	if _, err := jsonscan.Parse(body, jsonscan.DefaultMaxDepth); err != nil {
		text := string(body)
		one.InputText = &text
	}
	return one
}

func (a plugins) readBody(path string) ([]byte, error) {
	const most = 64 << 20
	r := a.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, problem.New(problem.NotFound, "the body %s cannot be read", path).Because(err)
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading the body: %w", err)
	}
	if len(b) > most {
		return nil, problem.New(problem.TooLarge, "the body has more than %s", terminal.ByteSize(most))
	}
	return b, nil
}

// pluginFailed turns what a plugin did wrong into what its author reads.
func pluginFailed(p *guest.Package, err error) error {
	if said, ok := errors.AsType[*extism.PluginError](err); ok {
		return problem.New(problem.InvalidPlugin, "plugin %s failed: %s", p.Manifest.Name, said)
	}
	remedy := "run it on a smaller body, with more memory (limits.memoryBytes in plugin.json), or under a debugger of its language"
	switch trap, _ := errors.AsType[*extism.TrapError](err); {
	case trap != nil && trap.Denied:
		remedy = "ask for it in capabilities of plugin.json; whoever binds the plugin grants it"
	case trap != nil && trap.Rule:
		remedy = "correct what it hands to the host: docs/plugins/reference.md has the rules"
	case trap != nil && trap.Start:
		remedy = "look at its start function, and whether its segments of data and elements are within the memory and the table"
	case errors.Is(err, extism.ErrNotStarted):
		remedy = "do less in its start function and _initialize: no manifest can ask for more time there"
	case errors.Is(err, extism.ErrDeadline):
		remedy = "raise limits.deadlineMs in plugin.json, or make it faster"
	case errors.Is(err, extism.ErrTooLarge):
		remedy = "raise limits.memoryBytes in plugin.json where the input did not fit; no plugin may make more than 16 MB"
	case errors.Is(err, extism.ErrBusy):
		remedy = "this machine has too much to do: run it again"
	}
	return problem.New(problem.InvalidPlugin, "plugin %s: %v", p.Manifest.Name, err).Fix("%s", remedy)
}
