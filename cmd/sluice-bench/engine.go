package main

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// benchEngine compares one projection of a 247 KB document in WebAssembly with
// other ways to do it. That all give the same result is a test of plugins/enginepool.
func benchEngine(ctx context.Context, b *bench) error {
	r, err := b.goBench(ctx, "./plugins/enginepool", "^BenchmarkProject$/^size=247KB$", "")
	if err != nil {
		return err
	}
	for _, c := range []struct{ name, baseline string }{
		{"engine.vs_native", "reference"},
		{"engine.vs_fastjson", "fastjson"},
		{"engine.vs_sonic_typed", "sonic_typed"},
		{"engine.vs_encodingjson", "encodingjson"},
	} {
		value, of, over, err := r.ratio("BenchmarkProject/size=247KB/impl=wasm", "BenchmarkProject/size=247KB/impl="+c.baseline)
		if err != nil {
			return err
		}
		b.report(c.name, value, fmt.Sprintf("%s over %s", nanoseconds(of), nanoseconds(over)))
	}
	return nil
}

// benchConnectors loads 1,000 connectors both ways, once in each process.
func benchConnectors(ctx context.Context, b *bench) error {
	const ours, modules = "BenchmarkLoad1000/impl=sluice", "BenchmarkLoad1000/impl=separate_modules"
	r := results{}
	for _, impl := range []string{"sluice", "separate_modules"} {
		one, err := b.goBench(ctx, "./plugins/enginepool", "^BenchmarkLoad1000$/^impl="+impl+"$", "1x")
		if err != nil {
			return err
		}
		maps.Copy(r, one)
	}
	value, of, over, err := r.ratio(ours, modules)
	if err != nil {
		return err
	}
	const unit = "rss-KB/connector"
	kb, err := r.median(ours, unit)
	if err != nil {
		return err
	}
	kbModules, err := r.median(modules, unit)
	if err != nil {
		return err
	}
	b.report("connectors.1000.time", value, fmt.Sprintf("%s over %s", nanoseconds(of), nanoseconds(over)))
	b.report("connectors.1000.kb", kb, fmt.Sprintf("a module each: %.0f KB", kbModules))
	return nil
}

// nanoseconds prints a duration that a Go benchmark reported, to three digits.
func nanoseconds(ns float64) string {
	d := time.Duration(ns)
	for unit := time.Second; unit >= time.Microsecond; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
