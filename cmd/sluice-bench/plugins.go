package main

import (
	"context"
	"fmt"
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
