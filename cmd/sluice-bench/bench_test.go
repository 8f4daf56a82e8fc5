package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	f := func(name string, value float64, ok bool, want string) {
		t.Helper()
		b := &bench{}
		b.report(name, value, "")
		if got := b.lines[0]; got.String() != want || got.ok() != ok {
			t.Fatalf("report(%s, %v) = %q, ok %v; want %q, ok %v", name, value, got, got.ok(), want, ok)
		}
	}
	f("engine.vs_native", 1.3, true, "ratio engine.vs_native 1.30 goal <=1.30")
	f("engine.vs_native", 1.31, false, "ratio engine.vs_native 1.31 goal <=1.30")
	f("engine.vs_encodingjson", 0.0301, true, "ratio engine.vs_encodingjson 0.030 goal <=0.050")
	f("mcp.call.cpu_vs_gosdk.modern", 10, true, "ratio mcp.call.cpu_vs_gosdk.modern 10 goal >=10")
	f("mcp.call.cpu_vs_gosdk.modern", 9.99, false, "ratio mcp.call.cpu_vs_gosdk.modern 9.99 goal >=10")
	f("compile.github.mb", 150.4, false, "bound compile.github.mb 150 limit <=150")
	f("connectors.1000.time", 0.0024, true, "ratio connectors.1000.time 0.00240 goal <=0.020")
}

func TestUnknownNamePanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil {
			t.Fatal("reporting a name that is not a goal went unnoticed")
		}
	}()
	(&bench{}).report("engine.vs_nothing", 1, "")
}

func TestMissing(t *testing.T) {
	b := &bench{}
	for _, g := range goals {
		if g.name != "start.warm" {
			b.report(g.name, 1, "")
		}
	}
	if got := missing(nil, b.lines, nil); !slices.Equal(got, []string{"start.warm"}) {
		t.Fatalf("missing = %q; want start.warm only", got)
	}
	if got := missing(nil, b.lines, []string{"start.warm"}); got != nil {
		t.Fatalf("missing = %q although start.warm was left out", got)
	}
	if got := missing([]string{"engine."}, b.lines, nil); got != nil {
		t.Fatalf("missing with -only engine. = %q; want none", got)
	}
}

// TestRunNamesTheMissing proves that a benchmark that forgets a name fails the run.
func TestRunNamesTheMissing(t *testing.T) {
	old := benchmarks
	t.Cleanup(func() { benchmarks = old })
	benchmarks = nil
	var out, progress bytes.Buffer
	err := run(t.Context(), []string{"-only", "engine.vs_native"}, &out, &progress)
	if err == nil || !strings.Contains(err.Error(), "engine.vs_native was not reported") {
		t.Fatalf("run = %v; want the missing name", err)
	}
	if err := run(t.Context(), []string{"-only", "nothing."}, &out, &progress); err == nil {
		t.Fatal("-only that matches nothing was accepted")
	}
}

func TestMedian(t *testing.T) {
	f := func(want float64, v ...float64) {
		t.Helper()
		if got := median(v); got != want {
			t.Fatalf("median = %v; want %v", got, want)
		}
	}
	f(3, 3)
	f(2.5, 3, 2)
	f(3, 9, 1, 3)
	f(4, 9, 1, 3, 5)
}

func TestParseStat(t *testing.T) {
	// Fields 14 and 15 are 7 and 5; the command holds what could fool a splitter.
	got, err := parseStat([]byte("42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 7 5 0 0 20"))
	if want := 120 * time.Millisecond; err != nil || got != want {
		t.Fatalf("parseStat = %v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"", "42 a S", "42 (a) S 1 2", "42 (a) S 1 2 3 4 5 6 7 8 9 10 x 5 0"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("parseStat(%q) succeeded", bad)
		}
	}
}

func TestParseStatus(t *testing.T) {
	status := []byte("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t3\n")
	if got, err := parseStatus(status, "VmRSS"); err != nil || got != 1<<20 {
		t.Fatalf("VmRSS = %d, %v; want %d", got, err, 1<<20)
	}
	for _, field := range []string{"VmSize", "Threads"} {
		if _, err := parseStatus(status, field); err == nil {
			t.Errorf("parseStatus(%s) succeeded", field)
		}
	}
}

func TestReplaceTable(t *testing.T) {
	b := &bench{}
	b.report("start.warm", 2.5, "100 ms over 40 ms")
	doc := "# Speed\n" + tableBegin + "old\n" + tableEnd + "after\n"
	got, err := replaceTable([]byte(doc), b.lines)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Speed\n", "| `start.warm` | 2.50 | <= 3 | yes |", "100 ms over 40 ms", "after\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old\n") {
		t.Error("the old table stayed")
	}
	if _, err := replaceTable([]byte("no marks"), b.lines); err == nil {
		t.Error("a document without marks was accepted")
	}
}

func TestResults(t *testing.T) {
	r := results{}
	for _, ns := range []string{"300", "100", "200.5"} {
		r.add([]byte("goos: linux\nBenchmarkX/size=1KB/impl=a-2 \t 10 \t " + ns + " ns/op \t 7.50 rss-KB/connector\t 0 B/op\nBenchmarkX/size=1KB/impl=b-b \t 10 \t 401 ns/op\nPASS\n"))
	}
	value, of, over, err := r.ratio("BenchmarkX/size=1KB/impl=a", "BenchmarkX/size=1KB/impl=b-b")
	if err != nil || value != 0.5 || of != 200.5 || over != 401 {
		t.Fatalf("ratio = %v, %v, %v, %v; want 0.5, 200.5, 401", value, of, over, err)
	}
	if kb, err := r.median("BenchmarkX/size=1KB/impl=a", "rss-KB/connector"); err != nil || kb != 7.5 {
		t.Fatalf("median of a custom unit = %v, %v; want 7.5", kb, err)
	}
	if _, _, _, err := r.ratio("BenchmarkX/size=1KB/impl=a", "BenchmarkX/size=1KB/impl=gone"); err == nil {
		t.Fatal("a benchmark that did not run was compared")
	}
}

func TestNanoseconds(t *testing.T) {
	f := func(ns float64, want string) {
		t.Helper()
		if got := nanoseconds(ns); got != want {
			t.Fatalf("nanoseconds(%v) = %s; want %s", ns, got, want)
		}
	}
	f(512, "512ns")
	f(104_567, "104.57µs")
	f(3_456_789_000, "3.46s")
}
