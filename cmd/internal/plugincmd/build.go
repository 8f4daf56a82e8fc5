package plugincmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/javascript"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

// toolchain builds the projects of one language.
type toolchain struct {
	marker  string // file of the project that tells the language
	install string // how to get the compiler
	// steps are the commands, run in the project's directory; the last one writes out.
	steps func(ctx context.Context, dir, out string) []*exec.Cmd
	// product is where the compiler puts the module; nil: out.
	product func(dir string, m *manifest.Manifest) string
	// make builds the module itself, without any compiler; nil: steps do.
	make func(ctx context.Context, dir, out string, m *manifest.Manifest) error
}

var toolchains = []toolchain{
	{
		marker: "go.mod", install: "install Go 1.24 or newer: https://go.dev/dl",
		steps: func(ctx context.Context, _, out string) []*exec.Cmd {
			c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-buildmode=c-shared", "-o", out, ".") //nolint:gosec // out is ours
			c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=")
			return []*exec.Cmd{c}
		},
	},
	{
		marker: "Cargo.toml", install: "install Rust, then: rustup target add wasm32-unknown-unknown, or of Debian: apt-get install cargo rustc libstd-rust-dev-wasm32",
		steps: func(ctx context.Context, _, _ string) []*exec.Cmd {
			return []*exec.Cmd{cargo(ctx, "build", "--quiet", "--release", "--target", wasmTarget)}
		},
		product: func(dir string, m *manifest.Manifest) string {
			return filepath.Join(dir, "target", wasmTarget, "release", strings.ReplaceAll(m.Name, "-", "_")+".wasm")
		},
	},
	{
		marker: "plugin.c", install: "install clang and lld",
		steps: func(ctx context.Context, _, out string) []*exec.Cmd { return clang(ctx, "plugin.c", out, "-std=c11") },
	},
	{
		marker: "plugin.cc", install: "install clang and lld",
		steps: func(ctx context.Context, _, out string) []*exec.Cmd {
			return clang(ctx, "plugin.cc", out, "-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")
		},
	},
	{
		marker: "plugin.ts", install: "install Node.js 20 or newer with npm",
		steps: func(ctx context.Context, dir, out string) []*exec.Cmd {
			const compiler = "node_modules/assemblyscript/bin/asc.js"
			c := exec.CommandContext(ctx, "node", compiler, "plugin.ts", "--outFile", out, "-O3", "--exportStart", "_initialize", "--use", "abort=sluice/abort") //nolint:gosec // out is ours
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(compiler))); err == nil {
				return []*exec.Cmd{c}
			}
			return []*exec.Cmd{exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"), c}
		},
	},
	{
		marker: "plugin.zig", install: "install Zig: pip install ziglang, or https://ziglang.org/download",
		steps: func(ctx context.Context, _, out string) []*exec.Cmd {
			// The package of PyPI calls it python-zig.
			args := []string{"build-exe", "plugin.zig", "-target", "wasm32-freestanding", "-O", "ReleaseSmall", "-fno-entry", "-rdynamic", "-femit-bin=" + out}
			program := firstProgram("zig", "python-zig")
			return []*exec.Cmd{exec.CommandContext(ctx, program, args...)} //nolint:gosec // one of these names
		},
	},
	{marker: "plugin.js", make: makeJavaScript},
}

// wasmTarget is what plugins in Rust are built for.
const wasmTarget = "wasm32-unknown-unknown"

// cargo runs the first Rust of the PATH that has the library of wasmTarget: who has one of
// rustup and one of Debian has it of one of them only. If none has it, the first one says so.
func cargo(ctx context.Context, args ...string) *exec.Cmd {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		program, compiler := filepath.Join(dir, "cargo"), filepath.Join(dir, "rustc")
		if _, err := exec.LookPath(program); err != nil {
			continue
		}
		libdir, err := exec.CommandContext(ctx, compiler, "--print", "target-libdir", "--target", wasmTarget).Output() //nolint:gosec // of the PATH
		if err != nil {
			continue
		}
		if _, err := os.Stat(strings.TrimSpace(string(libdir))); err != nil { //nolint:gosec // what the compiler said
			continue
		}
		c := exec.CommandContext(ctx, program, args...) //nolint:gosec // of the PATH
		c.Env = append(os.Environ(), "RUSTC="+compiler)
		return c
	}
	return exec.CommandContext(ctx, "cargo", args...) //nolint:gosec // our own words
}

// makeJavaScript builds plugin.js.
func makeJavaScript(ctx context.Context, dir, out string, m *manifest.Manifest) error {
	source, err := os.ReadFile(filepath.Join(dir, "plugin.js"))
	if err != nil {
		return fmt.Errorf("reading the program: %w", err)
	}
	k := javascript.Kind{Entry: "transform_response"}
	switch {
	case m.Kind == manifest.Workflow:
		k.Entry = "run_workflow"
	case m.Kind == manifest.Auth:
		k.Entry = "transform_request"
	}
	switch {
	case m.Entry != "" && m.Entry != k.Entry:
		return problem.New(problem.InvalidPlugin, "plugin.json: entry is %q, and programs in JavaScript export %q", m.Entry, k.Entry).Fix("leave entry out of plugin.json")
	}
	k.Text = m.Output != nil && m.Output.Effect == manifest.EffectText
	if m.Limits != nil {
		k.Memory = m.Limits.MemoryBytes
	}
	code, err := javascript.Build(ctx, source, k)
	if wrong, ok := errors.AsType[*javascript.SourceError](err); ok {
		return problem.New(problem.InvalidPlugin, "%s", wrong).Fix("correct the program: it is one ECMAScript module whose default export is the function to call")
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, code, 0o600); err != nil { //nolint:gosec // out is in a directory of ours
		return fmt.Errorf("writing the module: %w", err)
	}
	return nil
}

// clang compiles a file of C or C++. In two steps, because the driver runs wasm-opt when
// that is installed, with its own idea of the features to use.
func clang(ctx context.Context, source, out string, flags ...string) []*exec.Cmd {
	flags = append(flags, "--target=wasm32", "-O2", "-ffreestanding", "-fno-builtin", "-mbulk-memory", "-msign-ext", "-mnontrapping-fptoint",
		"-Wall", "-Wextra", "-c", source, "-o", out+".o")
	return []*exec.Cmd{
		exec.CommandContext(ctx, firstProgram( //nolint:gosec // one of these names
			"clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14"), flags...),
		exec.CommandContext(ctx, firstProgram( //nolint:gosec // one of these names
			"wasm-ld", "wasm-ld-19", "wasm-ld-18", "wasm-ld-17", "wasm-ld-16", "wasm-ld-15", "wasm-ld-14"),
			"--no-entry", "--stack-first", "--strip-all", "-O2", out+".o", "-o", out),
	}
}

// firstProgram returns the first of the names that is installed, or the first.
func firstProgram(names ...string) string {
	for _, n := range names {
		if _, err := exec.LookPath(n); err == nil {
			return n
		}
	}
	return names[0]
}

func (a plugins) pluginBuild() *cobra.Command {
	return &cobra.Command{
		Use:   "build [DIR]",
		Short: "Compile a project and embed its manifest",
		Long: `Compile the project in DIR, whose language is told by go.mod, Cargo.toml, plugin.c,
plugin.cc, plugin.ts (AssemblyScript), plugin.zig or plugin.js (which needs no compiler),
put plugin.json into the module as its manifest, check it against the contract and write
NAME.wasm.`,
		Args: command.Between(0, 1, "at most one directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.buildPlugin(cmd.Context(), dir)
		},
	}
}

func readManifest(dir string) (*manifest.Manifest, error) {
	return readManifestFile(filepath.Join(dir, "plugin.json"))
}

func readManifestFile(path string) (*manifest.Manifest, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, problem.New(problem.NotFound, "there is no %s", path).Fix(`make a project with "sluice plugin new", or name its directory`).Because(err)
	}
	m, err := manifest.Parse(raw)
	if wrong, ok := errors.AsType[*problem.Error](err); ok { // it is the author's, not a generated one
		return nil, wrong.Fix("correct %s; what it may have is in docs/manifest.md", path)
	}
	return m, err
}

func (a plugins) buildPlugin(ctx context.Context, dir string) error {
	m, err := readManifest(dir)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "sluice-plugin-")
	if err != nil {
		return fmt.Errorf("making a temporary directory: %w", err)
	}
	defer os.RemoveAll(tmp)
	start := time.Now()
	path, err := compilePlugin(ctx, dir, filepath.Join(tmp, "plugin.wasm"), m)
	if err != nil {
		return err
	}
	return a.embed(ctx, m, path, filepath.Join(dir, m.Name+".wasm"), start)
}

// embed writes a module with its manifest, when it keeps the contract.
func (a plugins) embed(ctx context.Context, m *manifest.Manifest, path, out string, start time.Time) error {
	code, err := readPluginFile(path)
	if err != nil {
		return err
	}
	if code, err = module.AppendCustom(nil, code, manifest.Section, m.Append(nil)); err != nil {
		fault, remedy := module.Explain(err)
		return problem.New(problem.InvalidPlugin, "%s cannot be used as a plugin: %s", filepath.Base(path), fault).Fix("%s", remedy)
	}
	p, err := guest.Open(code)
	if err != nil {
		return err
	}
	if err := p.CheckCode(); err != nil {
		return err
	}
	if err := p.CheckSchemas(); err != nil {
		return err
	}
	h, err := a.newAuthor()
	if err != nil {
		return err
	}
	defer h.close(ctx)
	err = p.CheckModule(ctx, h.host)
	if _, ok := errors.AsType[*problem.Error](err); err != nil && !ok {
		err = pluginFailed(p, err)
	}
	if err != nil {
		return err
	}
	if err := atomicfile.Write(out, code, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	a.Say("%s %s, %s, %s, in %s", m.Name, m.Version, terminal.ByteSize(len(code)), terminal.ShortDigest(p.Digest), terminal.ShortDuration(time.Since(start)))
	return a.Wrote(out)
}

func (a plugins) pluginEmbed() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "embed MANIFEST MODULE",
		Short: "Put a manifest into a module that another tool built",
		Long: `Put a manifest into a module that was built with tools of its own, check it against the
contract and write NAME.wasm beside it. Modules made with any Extism PDK can be used:
"entry" in the manifest names the function that they export.`,
		Example: "  sluice plugin embed plugin.json target/wasm32-unknown-unknown/release/mask.wasm\n  sluice plugin embed plugin.json dist/plugin.wasm --to mask.wasm",
		Args:    command.Exactly(2, "a manifest and a module"),
		RunE: func(cmd *cobra.Command, args []string) error {
			start := time.Now()
			m, err := readManifestFile(args[0])
			if err != nil {
				return err
			}
			if to == "" {
				to = filepath.Join(filepath.Dir(args[1]), m.Name+".wasm")
			}
			return a.embed(cmd.Context(), m, args[1], to, start)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "file to write (default: NAME.wasm beside the module)")
	return cmd
}

// compilePlugin runs the compiler of the project's language and returns the module's path.
func compilePlugin(ctx context.Context, dir, out string, m *manifest.Manifest) (string, error) {
	for _, t := range toolchains {
		if _, err := os.Stat(filepath.Join(dir, t.marker)); err != nil {
			continue
		}
		if t.make != nil {
			return out, t.make(ctx, dir, out, m)
		}
		for _, c := range t.steps(ctx, dir, out) {
			c.Dir = dir
			if c.Err != nil {
				return "", problem.New(problem.Unsupported, "%s is not installed, which builds this project", filepath.Base(c.Args[0])).Fix("%s", t.install)
			}
			var said bytes.Buffer
			c.Stdout, c.Stderr = &said, &said
			if err := c.Run(); err != nil {
				return "", problem.New(problem.InvalidPlugin, "%s: %v\n%s", filepath.Base(c.Args[0]), err, bytes.TrimSpace(said.Bytes())).Fix("correct the program; or %s", t.install)
			}
		}
		if t.product != nil {
			out = t.product(dir, m)
		}
		return out, nil
	}
	return "", problem.New(problem.NotFound, "%s holds no project that can be built: no go.mod, Cargo.toml, plugin.c, plugin.cc, plugin.ts, plugin.zig or plugin.js", dir).Fix("a module that other tools built gets its manifest with: sluice plugin embed plugin.json MODULE")
}
