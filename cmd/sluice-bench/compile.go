package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// benchCompileMemory runs "sluice connector generate" on GitHub's specification in a
// process of its own and takes what the kernel says was its largest resident set.
func benchCompileMemory(ctx context.Context, b *bench) error {
	if b.spec == "" {
		return errors.New("-github names no specification")
	}
	binary, err := filepath.Abs(b.sluice)
	if err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	var peaks []float64
	for i := range b.count {
		dir := filepath.Join(root, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		//nolint:gosec // the binary under test
		cmd := exec.CommandContext(ctx, binary, "connector", "generate", b.spec, "--to", dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("sluice connector generate: %w\n%.2000s", err, out)
		}
		if made, _ := filepath.Glob(filepath.Join(dir, "*.wasm")); len(made) != 1 {
			return fmt.Errorf("sluice connector generate made %d modules, want one", len(made))
		}
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return errors.New("no resource usage on this system")
		}
		peaks = append(peaks, float64(usage.Maxrss)/1024) // Linux: KiB
	}
	b.report("compile.github.mb", median(peaks), "largest resident set of `sluice connector generate`")
	return nil
}

// benchCompile compares the way from GitHub's specification to the bytes of a
// connector with encoding/json only decoding it.
func benchCompile(ctx context.Context, b *bench) error {
	return b.compile(ctx, "compile.github", "json", "encodingjson")
}

// benchCompileYAML does it for the same specification in YAML, with only parsing that
// into nodes.
func benchCompileYAML(ctx context.Context, b *bench) error {
	return b.compile(ctx, "compile.github.yaml", "yaml", "yamlnodes")
}

func (b *bench) compile(ctx context.Context, goal, format, alternative string) error {
	if b.spec == "" {
		return errors.New("-github names no specification")
	}
	spec, err := filepath.Abs(b.spec)
	if err != nil {
		return err
	}
	r, err := b.goBench(ctx, "./plugins/connector", "^BenchmarkGitHub$/^format="+format+"$", "3x", "SLUICE_GITHUB_SPEC="+spec)
	if err != nil {
		return err
	}
	name := "BenchmarkGitHub/format=" + format + "/impl="
	value, of, over, err := r.ratio(name+"sluice", name+alternative)
	if err != nil {
		return err
	}
	b.report(goal, value, fmt.Sprintf("%s over %s", nanoseconds(of), nanoseconds(over)))
	return nil
}
