package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// selectionMeasures is what sluice-selection measure prints.
type selectionMeasures struct {
	P95Milliseconds map[string]float64 `json:"p95Milliseconds"`
	Allocations     float64            `json:"allocations"`
	BuildSeconds    float64            `json:"buildSeconds"`
	BuildMegabytes  float64            `json:"buildMegabytes"`
	StoredMegabytes float64            `json:"storedMegabytes"`
	OpenOverBuild   float64            `json:"openOverBuild"`
	Tools           int                `json:"tools"`
	TokensAll       float64            `json:"tokensAll"`
	TokensSearch    float64            `json:"tokensSearch"`
}

// benchSelection measures the tool search in a process of its own, whose memory is
// nobody else's.
func benchSelection(ctx context.Context, b *bench) error {
	if b.spec == "" {
		return errors.New("-github names no specification")
	}
	spec, err := filepath.Abs(b.spec)
	if err != nil {
		return err
	}
	var all []selectionMeasures
	for range b.count {
		//nolint:gosec // the arguments are constants and a path of the operator's
		cmd := exec.CommandContext(ctx, "go", "run", "./cmd/sluice-selection", "measure", "-github", spec)
		var faults bytes.Buffer
		cmd.Stderr = &faults
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("sluice-selection measure: %w\n%.2000s", err, faults.Bytes())
		}
		var m selectionMeasures
		if err := json.Unmarshal(out, &m); err != nil {
			return fmt.Errorf("reading what sluice-selection measure printed: %w", err)
		}
		all = append(all, m)
	}
	of := func(get func(*selectionMeasures) float64) float64 {
		v := make([]float64, len(all))
		for i := range all {
			v[i] = get(&all[i])
		}
		return median(v)
	}
	for _, n := range []string{"1000", "10000", "40000"} {
		b.report("selection.query."+n+".p95_ms", of(func(m *selectionMeasures) float64 { return m.P95Milliseconds[n] }), "first sentences of descriptions, every fourth request asks for two things")
	}
	first := &all[0]
	b.report("selection.query.allocations", of(func(m *selectionMeasures) float64 { return m.Allocations }), "")
	b.report("selection.index.40000.s", of(func(m *selectionMeasures) float64 { return m.BuildSeconds }), "on one core")
	b.report("selection.index.40000.mb", of(func(m *selectionMeasures) float64 { return m.BuildMegabytes }), fmt.Sprintf("stored %.0f MB", first.StoredMegabytes))
	b.report("selection.index.load_vs_build", of(func(m *selectionMeasures) float64 { return m.OpenOverBuild }), "the fastest of three loads")
	b.report("selection.github.search.tokens", of(func(m *selectionMeasures) float64 { return m.TokensSearch }), fmt.Sprintf("%d tools, all of them %.0f tokens", first.Tools, first.TokensAll))
	b.report("selection.github.search_vs_all", of(func(m *selectionMeasures) float64 { return m.TokensSearch / m.TokensAll }), "")
	return nil
}
