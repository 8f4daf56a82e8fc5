package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEveryGoalHasABenchmark holds the table of goals and the list of benchmarks together.
func TestEveryGoalHasABenchmark(t *testing.T) {
	var have []string
	for _, bm := range benchmarks {
		have = append(have, bm.names...)
	}
	for _, g := range goals {
		if n := len(slices.DeleteFunc(slices.Clone(have), func(s string) bool { return s != g.name })); n != 1 {
			t.Errorf("%d benchmarks report %s; want 1", n, g.name)
		}
	}
	if len(have) != len(goals) {
		t.Errorf("benchmarks report %d names, goals has %d", len(have), len(goals))
	}
}

// TestDocs keeps docs/benchmarks.md writable by make bench.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replaceTable(doc, nil); err != nil {
		t.Fatalf("docs/benchmarks.md: %v", err)
	}
	for _, g := range goals {
		if !strings.Contains(string(doc), "`"+g.name+"`") {
			t.Errorf("docs/benchmarks.md does not mention %s", g.name)
		}
	}
}
