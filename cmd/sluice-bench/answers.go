package main

import (
	"context"
	"fmt"
)

// benchAnswers measures what is done to an answer: the engine against its Go
// implementation and other ways, merged programs against one, table text against
// the projection it follows, long inputs, and the garbage collector.
func benchAnswers(ctx context.Context, b *bench) error {
	r, err := b.goBench(ctx, "./plugins/enginepool", "^(BenchmarkProject|BenchmarkProjectSmall|BenchmarkAnswers|BenchmarkScale|BenchmarkStall)$", "")
	if err != nil {
		return err
	}
	const large, small = "BenchmarkProject/size=247KB/impl=", "BenchmarkProjectSmall/size=2KB/impl="
	for _, c := range []struct{ name, of, over string }{
		{"answers.engine.vs_reference", large + "wasm", large + "reference"},
		{"answers.engine.small.vs_reference", small + "wasm", small + "reference"},
		{"answers.engine.vs_fastjson", large + "wasm", large + "fastjson"},
		{"answers.engine.vs_sonic_typed", large + "wasm", large + "sonic_typed"},
		{"answers.engine.vs_gjson", large + "wasm", large + "gjson"},
		{"answers.engine.vs_encodingjson", large + "wasm", large + "encodingjson"},
		{"answers.merged_vs_single", "BenchmarkAnswers/work=merged", "BenchmarkAnswers/work=single"},
		{"answers.table_vs_projection", "BenchmarkAnswers/work=table", "BenchmarkAnswers/work=single"},
	} {
		value, of, over, err := r.ratio(c.of, c.over)
		if err != nil {
			return err
		}
		b.report(c.name, value, fmt.Sprintf("%s over %s", nanoseconds(of), nanoseconds(over)))
	}
	of, err := r.median("BenchmarkScale/size=60000KB/impl=wasm", "MB/s")
	if err != nil {
		return err
	}
	over, err := r.median("BenchmarkScale/size=64KB/impl=wasm", "MB/s")
	if err != nil {
		return err
	}
	b.report("answers.throughput.64MB_vs_64KB", of/over, fmt.Sprintf("%.0f MB/s over %.0f MB/s", of, over))
	stall, err := r.median("BenchmarkStall", "p99-ms")
	if err != nil {
		return err
	}
	b.report("answers.gc_stall.ms", stall, "4 MB answers back to back on all processors")
	return nil
}

// benchSearches measures what every answer is searched for, which nearly all have none
// of: hidden characters and the credential that the upstream was called with.
func benchSearches(ctx context.Context, b *bench) error {
	for _, c := range []struct{ name, pkg, pattern, at string }{
		{"answers.hidden.vs_copy", "./internal/textfilter", "^BenchmarkClean$/form=document", "BenchmarkClean/form=document/"},
		{"answers.redact.vs_copy", "./gateway/credentials", "^BenchmarkRedact$", "BenchmarkRedact/"},
	} {
		r, err := b.goBench(ctx, c.pkg, c.pattern, "")
		if err != nil {
			return err
		}
		value, of, over, err := r.ratio(c.at+"impl=sluice", c.at+"impl=copy")
		if err != nil {
			return err
		}
		b.report(c.name, value, fmt.Sprintf("%s over %s", nanoseconds(of), nanoseconds(over)))
	}
	return nil
}
