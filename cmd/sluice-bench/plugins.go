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
