package main

import (
	"fmt"
	"strconv"
)

// kind says how a figure may be read.
type kind string

const (
	ratio kind = "ratio" // one figure over another of the same run
	bound kind = "bound" // an absolute figure, in the unit of its goal
)

// goal is one promise: the figure called name must be on the op side of limit.
type goal struct {
	kind  kind
	name  string
	op    string // "<=" or ">="
	limit float64
	unit  string // of a bound: KB, MB, ms, s or tokens; "" for a ratio or a count
	what  string // one line for docs/benchmarks.md
}

// goals lists every promise in the order of the report.
var goals = []goal{
	{ratio, "mcp.call.cpu_vs_gosdk.modern", ">=", 10, "", "server CPU time of one tools/call answered without an upstream (2026-07-28): MCP go-sdk's stateless JSON server over ours"},
	{ratio, "mcp.call.cpu_vs_gosdk.legacy", ">=", 6, "", "the same with protocol version 2025-11-25"},
	{ratio, "mcp.proxy.vs_direct", ">=", 0.8, "", "tools/call/s of an MCP server of the go-sdk through the gateway, 16 connections, over calling it directly"},
	{bound, "mcp.proxy.added.ms", "<=", 0.3, "ms", "what the gateway adds to such a call on one connection"},
	{ratio, "mcp.list.1000tools", "<=", 1.5, "", "server CPU time of one tools/list of 1,000 tools over plain fasthttp writing the same bytes"},
	{bound, "mcp.sessions.10000.mb", "<=", 150, "MB", "resident memory of the binary with 10,000 idle sessions of clients of 2025, each with its open stream"},
	{bound, "mcp.listen.10000.mb", "<=", 400, "MB", "resident memory of a gateway with 10,000 idle subscriptions/listen streams"},
	{bound, "mcp.listen.10000.publish.ms", "<=", 1000, "ms", "from a new revision of the toolset until all of them were told"},
	{ratio, "rest.off.list.2k.vs_proxy", ">=", 0.75, "", "requests/s of tools/call REST → MCP on the binary with --profile off, 2 KB of a list, 16 connections, over a plain fasthttp reverse proxy passing the same answer"},
	{ratio, "rest.lossless.list.2k.vs_proxy", ">=", 0.65, "", "the same, --profile lossless, 2 KB of a list"},
	{ratio, "rest.concise.list.2k.vs_proxy", ">=", 0.65, "", "the same, --profile concise, 2 KB of a list"},
	{ratio, "rest.off.list.20k.vs_proxy", ">=", 0.6, "", "the same, --profile off, 20 KB of a list"},
	{ratio, "rest.lossless.list.20k.vs_proxy", ">=", 0.4, "", "the same, --profile lossless, 20 KB of a list"},
	{ratio, "rest.concise.list.20k.vs_proxy", ">=", 0.4, "", "the same, --profile concise, 20 KB of a list"},
	{ratio, "rest.off.list.247k.vs_proxy", ">=", 0.6, "", "the same, --profile off, 247 KB of a list"},
	{ratio, "rest.lossless.list.247k.vs_proxy", ">=", 0.25, "", "the same, --profile lossless, 247 KB of a list"},
	{ratio, "rest.concise.list.247k.vs_proxy", ">=", 0.25, "", "the same, --profile concise, 247 KB of a list"},
	{ratio, "rest.off.github.20k.vs_proxy", ">=", 0.6, "", "the same, --profile off, 20 KB of GitHub's issues"},
	{ratio, "rest.lossless.github.20k.vs_proxy", ">=", 0.4, "", "the same, --profile lossless, 20 KB of GitHub's issues"},
	{ratio, "rest.concise.github.20k.vs_proxy", ">=", 0.55, "", "the same, --profile concise, 20 KB of GitHub's issues"},
	{ratio, "rest.off.object.2k.vs_proxy", ">=", 0.75, "", "the same, --profile off, an object of 2 KB"},
	{ratio, "rest.lossless.object.2k.vs_proxy", ">=", 0.65, "", "the same, --profile lossless, an object of 2 KB"},
	{ratio, "rest.concise.object.2k.vs_proxy", ">=", 0.65, "", "the same, --profile concise, an object of 2 KB"},
	{ratio, "rest.off.text.20k.vs_proxy", ">=", 0.6, "", "the same, --profile off, 20 KB of Markdown in a string"},
	{ratio, "rest.lossless.text.20k.vs_proxy", ">=", 0.4, "", "the same, --profile lossless, 20 KB of Markdown in a string"},
	{ratio, "rest.concise.text.20k.vs_proxy", ">=", 0.4, "", "the same, --profile concise, 20 KB of Markdown in a string"},
	{ratio, "rest.concise.list.247k.cpu_vs_proxy", "<=", 4, "", "processor time of the binary for such an answer over the proxy's"},
	{ratio, "rest.concise.list.20k.p99_vs_proxy", "<=", 3, "", "99th percentile of the times of answers over the proxy's, both at half the rate that the binary reaches"},
	{bound, "rest.rss.mb", "<=", 80, "MB", "largest resident memory of the binary under that load, of the three profiles"},
	{ratio, "engine.vs_native", "<=", 1.3, "", "time of the 247 KB projection in WebAssembly over the Go implementation of the same program"},
	{ratio, "engine.vs_fastjson", "<=", 0.8, "", "the same over fastjson with a reused parser"},
	{ratio, "engine.vs_sonic_typed", "<=", 0.5, "", "the same over sonic with a typed struct"},
	{ratio, "engine.vs_encodingjson", "<=", 0.05, "", "the same over encoding/json: decode into a map, delete, encode"},
	{ratio, "answers.engine.vs_reference", "<=", 1.3, "", "time of the 247 KB projection in WebAssembly over the Go reference"},
	{ratio, "answers.engine.small.vs_reference", "<=", 2.5, "", "the same for an answer of 2 KB"},
	{ratio, "answers.engine.vs_fastjson", "<=", 0.8, "", "247 KB: over fastjson with a reused parser"},
	{ratio, "answers.engine.vs_sonic_typed", "<=", 0.5, "", "247 KB: over sonic with a typed struct"},
	{ratio, "answers.engine.vs_gjson", "<=", 0.2, "", "247 KB: over gjson"},
	{ratio, "answers.engine.vs_encodingjson", "<=", 0.05, "", "247 KB: over encoding/json with maps"},
	{ratio, "answers.merged_vs_single", "<=", 1.15, "", "247 KB: an operator's program (condition, limit, mask) merged with the connector's over the connector's alone"},
	{ratio, "answers.table_vs_projection", "<=", 2.5, "", "table text of what the projection left of 247 KB over the projection"},
	{ratio, "answers.throughput.64MB_vs_64KB", ">=", 0.5, "", "bytes a second of an answer of 64 MB over one of 64 KB: the time is linear"},
	{bound, "answers.gc_stall.ms", "<=", 10, "ms", "99th percentile of a garbage collection's stops while all processors run 4 MB answers back to back"},
	{ratio, "answers.hidden.vs_copy", "<=", 2, "", "the search for hidden characters in a JSON document of 21 KB without any, over copying it"},
	{ratio, "answers.redact.vs_copy", "<=", 8, "", "the search for an API key as calls do it, in all its forms and behind hidden characters and line breaks, in an answer of 21 KB without it, over copying it"},
	{ratio, "connectors.1000.time", "<=", 0.02, "", "loading 1,000 connectors of 10 operations over compiling 1,000 separate modules"},
	{bound, "connectors.1000.kb", "<=", 8, "KB", "engine-side resident memory of each of the 1,000 connectors"},
	{bound, "toolsets.1000.kb", "<=", 64, "KB", "resident memory of each of 1,000 live toolsets of 10 tools"},
	{ratio, "start.warm", "<=", 3, "", "process start to first served call with those 1,000 toolsets over a start with one"},
	{ratio, "compile.github", "<=", 1.5, "", "GitHub's specification (13 MB) to connector bytes over encoding/json decoding it into any"},
	{ratio, "compile.github.yaml", "<=", 1.5, "", "the same specification in YAML (10 MB) over go.yaml.in/yaml/v4 reading it into nodes"},
	{bound, "compile.github.mb", "<=", 150, "MB", "peak resident memory of a process that does that once"},
	{ratio, "extism.nop.vs_gosdk", "<=", 0.02, "", "a call of a plugin that does nothing on our Extism host over extism/go-sdk v1.7.1"},
	{ratio, "extism.load256k.vs_gosdk", "<=", 0.125, "", "the same for a plugin that loads 256 KB of input"},
	{ratio, "extism.echo256k.vs_gosdk", "<=", 0.125, "", "the same for one that gives them back"},
	{ratio, "extism.rust_filter.vs_native", "<=", 4, "", "a JSON filter in Rust (serde) on 20 KB through our Extism host over the same code built for this machine"},
	{bound, "plugins.1000.kb", "<=", 1000, "KB", "resident memory of each of 1,000 plugins of 100 KB, compiled from a warm cache at their first call and idle"},
	{bound, "plugins.untrusted.overhead_ms", "<=", 0.15, "ms", "what a third-party filter in C (masking e-mail addresses) takes for an answer of 20 KB, in its sandbox"},
	{bound, "plugins.hostile.gc_stall.ms", "<=", 10, "ms", "99th percentile of a garbage collection's stops while two plugins spin until they are stopped"},
	{bound, "plugins.hostile.late.ms", "<=", 5, "ms", "99th percentile of the processor time that they have beyond their 50 ms"},
	{bound, "plugins.hostile.other.ms", "<=", 10, "ms", "99th percentile of the calls of another plugin meanwhile"},
	{bound, "plugins.foreign.added_p99.ms", "<=", 5, "ms", "what 16 callers of plugins that loop, recurse and fill their memory add to the 99th percentile of another toolset's calls, on the binary"},
	{ratio, "control.publish.1of1000", "<=", 0.02, "", "one changed toolset of 1,000 becomes live at a node, over loading all of them; two modules are opened, counted"},
	{ratio, "control.swap.10000.p99", "<=", 2, "", "99th percentile of calls while a gateway with 10,000 toolsets swaps ten times a second, each time with one changed, over the same without"},
	{ratio, "control.sqlite.vs_raw", ">=", 0.5, "", "durable transactions/s of the store over the same statements on database/sql"},
	{bound, "control.edges100.p99.ms", "<=", 1000, "ms", "from the request that deploys until the revision is live at each of 100 edges, 99th percentile"},
	{bound, "cluster.edges100.p99.ms", "<=", 1000, "ms", "the same with three control planes that share a PostgreSQL, the deploys by a follower and the edges at all of them"},
	{bound, "sizing.2000.page.ms", "<=", 100, "ms", "listing toolsets of a control plane with 2,000 toolsets of 10 tools"},
	{bound, "sizing.2000.publish.ms", "<=", 150, "ms", "publishing one of them"},
	{bound, "sizing.2000.edge_ready.ms", "<=", 2000, "ms", "start of an edge that has them to ready"},
	{bound, "sizing.postgres.2000.page.ms", "<=", 100, "ms", "listing toolsets of a control plane with 2,000 of them whose records are in PostgreSQL; left out where none is installed"},
	{bound, "sizing.postgres.2000.publish.ms", "<=", 150, "ms", "publishing one of them"},
	{bound, "alerts.rules.2000.cpu_ms", "<=", 200, "ms", "processor time of one evaluation of three own rules and the presets of each of 2,000 toolsets with five tools, all of them called since the last one"},
	{bound, "selection.query.1000.p95_ms", "<=", 1, "ms", "tool search: 95th percentile of a request among 1,000 tools (copies of GitHub's)"},
	{bound, "selection.query.10000.p95_ms", "<=", 5, "ms", "the same among 10,000"},
	{bound, "selection.query.40000.p95_ms", "<=", 10, "ms", "the same among 40,000"},
	{bound, "selection.query.allocations", "<=", 0, "", "allocations of a search after warm-up"},
	{bound, "selection.index.40000.s", "<=", 8, "s", "making the index of 40,000 tools"},
	{bound, "selection.index.40000.mb", "<=", 200, "MB", "the most resident memory that takes beyond the tools themselves, index included"},
	{ratio, "selection.index.load_vs_build", "<=", 0.05, "", "opening that index at an edge over making it"},
	{bound, "selection.github.search.tokens", "<=", 1500, "tokens", "the first tools/list of GitHub's tools in search mode (o200k_base)"},
	{ratio, "selection.github.search_vs_all", "<=", 0.005, "", "that over the tools/list of all of them"},
	{bound, "batch.20x200.ms", "<=", 300, "ms", "a batch of 20 calls to one upstream that takes 200 ms for each"},
	{bound, "workflow.8.l2.saved", ">=", 78, "%", "time that a workflow of 8 steps in a row saves an agent with a model turn of 2 s before each call"},
	{bound, "workflow.8.l0.saved", ">=", 45, "%", "the same without any model turn, 8 steps of which 4 are in a row"},
	{bound, "code.20x50.ms", "<=", 160, "ms", "a script of 20 calls of 50 ms, 8 at once"},
	{bound, "code.parallel20.beyond_ms", "<=", 2.5, "ms", "what a script of 20 calls at once takes beyond the slowest of them"},
	{bound, "code.nop.ms", "<=", 0.25, "ms", "a script that does nothing"},
	{ratio, "code.metering.vs_plain", "<=", 1.25, "", "a script that computes, metered, over the same without metering"},
	{bound, "code.warm_start.ms", "<=", 100, "ms", "start of the script engine with its module compiled before"},
	{ratio, "code.typescript.vs_schema", "<=", 0.3, "", "tokens of the demo API's tools as TypeScript over those of tools/list"},
	{ratio, "code.typescript.results.vs_schema", "<=", 0.25, "", "the same with results, over tools/list with output schemas"},
	{bound, "code.task1.saved", ">=", 80, "%", "tokens that code mode saves an agent that reads 18 issues with details and comments, against concise tools without fields"},
	{bound, "code.task2.saved", ">=", 74, "%", "the same where it sums up the charges of customers"},
	{bound, "code.task3.saved", ">=", 50, "%", "the same for one lookup"},
	{ratio, "tls.call.vs_plain", ">=", 0.75, "", "tools/call/s of the binary with --tls-cert, 2 KB of an object, 16 kept connections, over the same in the clear"},
	{bound, "demo.rss.mb", "<=", 100, "MB", "resident memory of `sluice run --demo` under load"},
}

// line is one reported figure.
type line struct {
	goal
	value float64
	note  string // how the figure came about, for docs/benchmarks.md
}

// ok reports whether the figure reaches its goal.
func (l line) ok() bool {
	if l.op == ">=" {
		return l.value >= l.limit
	}
	return l.value <= l.limit
}

func (l line) String() string {
	word := "goal"
	if l.kind == bound {
		word = "limit"
	}
	return fmt.Sprintf("%s %s %s %s %s%s", l.kind, l.name, figure(l.value), word, l.op, figure(l.limit))
}

// figure prints three significant digits and never an exponent.
func figure(f float64) string {
	switch {
	case f >= 100 || f <= -100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f == float64(int64(f)):
		return strconv.FormatFloat(f, 'f', -1, 64)
	case f >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case f >= 1:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case f >= 0.01:
		return strconv.FormatFloat(f, 'f', 3, 64)
	default:
		return strconv.FormatFloat(f, 'f', 5, 64)
	}
}
