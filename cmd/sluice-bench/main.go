package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/sluicegate/sluice/cmd/internal/tool"
)

// benchmarks run in this order, one after the other.
var benchmarks = []benchmark{
	{[]string{"mcp.call.cpu_vs_gosdk.modern", "mcp.call.cpu_vs_gosdk.legacy"}, benchMCPCall},
	{[]string{"mcp.proxy.vs_direct", "mcp.proxy.added.ms"}, benchMCPProxy},
	{[]string{"mcp.list.1000tools"}, benchList},
	{[]string{"mcp.sessions.10000.mb"}, benchSessions},
	{[]string{"mcp.listen.10000.mb", "mcp.listen.10000.publish.ms"}, benchListen},
	{restNames(), benchREST},
	{[]string{"engine.vs_native", "engine.vs_fastjson", "engine.vs_sonic_typed", "engine.vs_encodingjson"}, benchEngine},
	{[]string{
		"answers.engine.vs_reference", "answers.engine.small.vs_reference", "answers.engine.vs_fastjson", "answers.engine.vs_sonic_typed",
		"answers.engine.vs_gjson", "answers.engine.vs_encodingjson", "answers.merged_vs_single", "answers.table_vs_projection",
		"answers.throughput.64MB_vs_64KB", "answers.gc_stall.ms",
	}, benchAnswers},
	{[]string{"answers.hidden.vs_copy", "answers.redact.vs_copy"}, benchSearches},
	{[]string{"connectors.1000.time", "connectors.1000.kb"}, benchConnectors},
	{[]string{"extism.nop.vs_gosdk", "extism.load256k.vs_gosdk", "extism.echo256k.vs_gosdk"}, benchExtism},
	{[]string{"extism.rust_filter.vs_native"}, benchRustFilter},
	{[]string{"plugins.1000.kb"}, benchManyPlugins},
	{[]string{"plugins.untrusted.overhead_ms"}, benchPlugin},
	{[]string{"plugins.hostile.gc_stall.ms", "plugins.hostile.late.ms", "plugins.hostile.other.ms"}, benchHostile},
	{[]string{"plugins.foreign.added_p99.ms"}, benchForeign},
	{[]string{"compile.github"}, benchCompile},
	{[]string{"compile.github.yaml"}, benchCompileYAML},
	{[]string{"compile.github.mb"}, benchCompileMemory},
	{[]string{"toolsets.1000.kb", "start.warm"}, benchToolsets},
	{[]string{"control.publish.1of1000"}, benchFollow},
	{[]string{"control.swap.10000.p99"}, benchSwap},
	{[]string{"control.sqlite.vs_raw"}, benchStore},
	{[]string{"alerts.rules.2000.cpu_ms"}, benchRules},
	{[]string{"control.edges100.p99.ms"}, benchEdges},
	{[]string{"cluster.edges100.p99.ms"}, benchClusterEdges},
	{[]string{"sizing.2000.page.ms", "sizing.2000.publish.ms", "sizing.2000.edge_ready.ms"}, benchSizing},
	{[]string{"sizing.postgres.2000.page.ms", "sizing.postgres.2000.publish.ms"}, benchSizingPostgres},
	{[]string{
		"selection.query.1000.p95_ms", "selection.query.10000.p95_ms", "selection.query.40000.p95_ms", "selection.query.allocations",
		"selection.index.40000.s", "selection.index.40000.mb", "selection.index.load_vs_build",
		"selection.github.search.tokens", "selection.github.search_vs_all",
	}, benchSelection},
	{[]string{"batch.20x200.ms"}, benchBatch},
	{[]string{"workflow.8.l2.saved", "workflow.8.l0.saved"}, benchWorkflow},
	{[]string{"code.20x50.ms", "code.parallel20.beyond_ms"}, benchCode},
	{[]string{"code.nop.ms", "code.metering.vs_plain", "code.warm_start.ms"}, benchScriptEngine},
	{[]string{"code.typescript.vs_schema", "code.typescript.results.vs_schema"}, benchSignatures},
	{[]string{"code.task1.saved", "code.task2.saved", "code.task3.saved"}, benchTasks},
	{[]string{"tls.call.vs_plain"}, benchTLS},
	{[]string{"demo.rss.mb"}, benchDemo},
}

func main() { tool.Main("sluice-bench", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("sluice-bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	var (
		role     = fs.String("role", "", "be the server `NAME` of a benchmark (used by the harness itself)")
		only     = fs.String("only", "", "comma-separated `PREFIXES` of names; others are neither run nor required")
		binary   = fs.String("sluice", "bin/sluice", "`PATH` of the sluice binary under test")
		spec     = fs.String("github", "", "`PATH` of GitHub's specification as JSON")
		keep     = fs.String("keep", "", "keep the 1,000 toolsets in `DIR` and use them again, to look for where time and memory go")
		count    = fs.Int("count", 5, "repetitions; the median counts")
		quick    = fs.Bool("quick", false, "half as long and three repetitions, for work on one line of rest.*")
		markdown = fs.String("markdown", "", "also write the table of docs/benchmarks.md to `FILE`")
		sizing   = fs.String("sizing", "", "also write the table of docs/operate/sizing.md to `FILE`, with sizing.")
		report   = fs.Bool("report", false, "a missed goal is shown but does not fail the run")
	)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *role != "" {
		serve, ok := roles[*role]
		if !ok {
			return fmt.Errorf("no role %q", *role)
		}
		return serve(ctx, fs.Args())
	}
	if *count < 1 {
		return errors.New("-count must be at least 1")
	}
	var prefixes []string
	if *only != "" {
		prefixes = strings.Split(*only, ",")
		if !wanted(prefixes, names(goals)) {
			return fmt.Errorf("-only %s matches no name", *only)
		}
	}
	b := &bench{out: stderr, sluice: *binary, spec: *spec, keep: *keep, sizing: *sizing, count: *count, only: prefixes, quick: *quick}
	if b.quick {
		b.count = min(b.count, 3)
	}
	var faults []error
	for _, bm := range benchmarks {
		if !wanted(prefixes, bm.names) {
			continue
		}
		b.logf("%s", strings.Join(bm.names, " "))
		if err := bm.run(ctx, b); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", bm.names[0], err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, g := range goals { // in the order of the table, whatever ran first
		for _, l := range b.lines {
			if l.name != g.name {
				continue
			}
			fmt.Fprintln(stdout, l)
			if !l.ok() && !*report {
				faults = append(faults, fmt.Errorf("%s is %s, the goal is %s%s", l.name, figure(l.value), l.op, figure(l.limit)))
			}
		}
	}
	for _, name := range missing(prefixes, b.lines, b.left) {
		faults = append(faults, fmt.Errorf("%s was not reported", name))
	}
	if *markdown != "" {
		if err := writeMarkdown(*markdown, b.lines); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

func names(gs []goal) []string {
	out := make([]string, len(gs))
	for i, g := range gs {
		out[i] = g.name
	}
	return out
}
