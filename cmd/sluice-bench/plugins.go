package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// benchExtism compares calls of plugins with extism/go-sdk. That both give the same
// results is a test of plugins/extism.
func benchExtism(ctx context.Context, b *bench) error {
	r, err := b.goBench(ctx, "./plugins/extism", "^BenchmarkHost$/^(nop|load256k|echo256k)$/^impl=(baseline|sluice)$", "300ms")
	if err != nil {
		return err
	}
	for _, c := range []string{"nop", "load256k", "echo256k"} {
		value, of, over, err := r.ratio("BenchmarkHost/"+c+"/impl=sluice", "BenchmarkHost/"+c+"/impl=baseline")
		if err != nil {
			return err
		}
		b.report("extism."+c+".vs_gosdk", value, fmt.Sprintf("%s over %s", nanoseconds(of), nanoseconds(over)))
	}
	return nil
}

// benchPlugin measures a filter on an answer of usual size.
func benchPlugin(ctx context.Context, b *bench) error {
	const name = "BenchmarkTransform/size=20KB/impl=sluice"
	r, err := b.goBench(ctx, "./plugins/guest", "^BenchmarkTransform$", "300ms")
	if err != nil {
		return err
	}
	ns, err := r.median(name, "ns/op")
	if err != nil {
		return err
	}
	b.report("plugins.untrusted.overhead_ms", ns/1e6, nanoseconds(ns))
	return nil
}

// benchRustFilter compares a filter in Rust in the sandbox with the same code built for
// this machine, which needs cargo.
func benchRustFilter(ctx context.Context, b *bench) error {
	if _, err := exec.LookPath("cargo"); err != nil {
		return errors.New("cargo is missing, which builds the native side: install Rust, or leave this name out with -only")
	}
	const dir = "testdata/plugins/prune"
	target, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(target)
	build := exec.CommandContext(ctx, "cargo", "build", "--quiet", "--release", "--bin", "native", "--manifest-path", dir+"/Cargo.toml")
	build.Env = append(os.Environ(), "CARGO_TARGET_DIR="+target)
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the native side: %w: %s", err, bytes.TrimSpace(said))
	}
	body, err := os.ReadFile(dir + "/body.json")
	if err != nil {
		return err
	}
	var native, ours []float64
	for range b.count { // the two take turns, so that a slow moment of the machine hits both
		run := exec.CommandContext(ctx, target+"/release/native") //nolint:gosec // built above
		run.Stdin = bytes.NewReader(body)
		out, err := run.Output()
		if err != nil {
			return fmt.Errorf("running the native side: %w", err)
		}
		digits, _, _ := strings.Cut(string(out), " ")
		ns, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return fmt.Errorf("reading the native side: %w", err)
		}
		native = append(native, ns)
		once := *b
		once.count = 1
		r, err := once.goBench(ctx, "./plugins/extism", "^BenchmarkRustFilter$", "500ms")
		if err != nil {
			return err
		}
		if ns, err = r.median("BenchmarkRustFilter", "ns/op"); err != nil {
			return err
		}
		ours = append(ours, ns)
	}
	slices.Sort(native)
	slices.Sort(ours)
	of, over := ours[len(ours)/2], native[len(native)/2]
	b.report("extism.rust_filter.vs_native", of/over, fmt.Sprintf("%s over %s", nanoseconds(of), nanoseconds(over)))
	return nil
}

// benchManyPlugins measures what plugins cost that nobody calls at the moment.
func benchManyPlugins(ctx context.Context, b *bench) error {
	once := *b
	once.count = 1 // its cache takes a minute
	r, err := once.goBench(ctx, "./plugins/extism", "^BenchmarkIdle1000$", "1x")
	if err != nil {
		return err
	}
	kb, err := r.median("BenchmarkIdle1000", "rss-KB/plugin")
	if err != nil {
		return err
	}
	b.report("plugins.1000.kb", kb, "compiled code, no instance")
	return nil
}

// benchHostile measures what two plugins that spin cost everybody else.
func benchHostile(ctx context.Context, b *bench) error {
	r, err := b.goBench(ctx, "./plugins/extism", "^BenchmarkHostile$", "3s")
	if err != nil {
		return err
	}
	for _, m := range []struct{ name, unit, note string }{
		{"plugins.hostile.gc_stall.ms", "p99-stall-ms", "two plugins spin"},
		{"plugins.hostile.late.ms", "p99-late-ms", "deadline 50 ms"},
		{"plugins.hostile.other.ms", "p99-other-ms", "20 KB through a plugin that copies it"},
	} {
		v, err := r.median("BenchmarkHostile", m.unit)
		if err != nil {
			return err
		}
		b.report(m.name, v, m.note)
	}
	return nil
}
