package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

// measures are size and speed of the selection on copies of GitHub's tools.
type measures struct {
	P95Milliseconds map[string]float64 `json:"p95Milliseconds"` // of a search, by number of tools
	Allocations     float64            `json:"allocations"`     // of a search after warm-up
	BuildSeconds    float64            `json:"buildSeconds"`    // of processor time for 40,000 tools, garbage collection included
	BuildMegabytes  float64            `json:"buildMegabytes"`  // the most it needed beyond the tools' own text, index included
	StoredMegabytes float64            `json:"storedMegabytes"` // of those
	OpenOverBuild   float64            `json:"openOverBuild"`   // time
	Tools           int                `json:"tools"`           // of GitHub
	TokensAll       int                `json:"tokensAll"`       // tools/list, every tool
	TokensSearch    int                `json:"tokensSearch"`    // tools/list in search mode
}

// sizes are the catalogues that searches are timed in.
var sizes = []int{1000, 10_000, 40_000}

// measure builds catalogues of GitHub's tools: copies under other service names,
// so that texts and queries are as long as real ones.
func measure(ctx context.Context, file string) (*measures, error) {
	if file == "" {
		return nil, errors.New("-github names no specification")
	}
	c, err := readCatalogue(ctx, "github", file)
	if err != nil {
		return nil, err
	}
	m := &measures{P95Milliseconds: map[string]float64{}, Tools: len(c.tools)}
	if err := m.list(c); err != nil {
		return nil, err
	}
	queries := requests(c.tools)
	for _, n := range sizes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tools := copies(c.tools, n)
		var x *selection.Index
		if n == sizes[len(sizes)-1] {
			x = m.build(tools)
		} else {
			x = selection.Build(tools, selection.DefaultTable())
		}
		m.P95Milliseconds[fmt.Sprint(n)] = p95(x.NewSearcher(), queries)
		if n == sizes[0] {
			m.Allocations = allocations(x.NewSearcher(), queries)
		}
	}
	return m, nil
}

func copies(tools []selection.Tool, n int) []selection.Tool {
	out := make([]selection.Tool, n)
	for i := range out {
		t := tools[i%len(tools)]
		if round := i / len(tools); round > 0 {
			t.Server = fmt.Sprintf("service%d", round)
			t.Name = fmt.Sprintf("%s_%s", t.Server, t.Name)
		}
		out[i] = t
	}
	return out
}

// requests are the first sentences of every ninth description, and every fourth of
// them asks for a second thing.
func requests(tools []selection.Tool) []string {
	var out []string
	last := ""
	for i := 0; i < len(tools); i += 9 {
		q, _, _ := strings.Cut(tools[i].Description, ". ")
		q = q[:min(len(q), 200)]
		if q == "" {
			continue
		}
		if len(out)%4 == 3 {
			out = append(out, q+" and then "+last)
		} else {
			out = append(out, q)
		}
		last = q
	}
	return out
}

// rounds is how often a request is timed; the fastest counts.
const rounds = 3

// p95 is the 95th percentile of the milliseconds of processor time of the requests.
func p95(s *selection.Searcher, queries []string) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := make([]float64, len(queries))
	for round := range rounds {
		for i, q := range queries {
			start := threadTime()
			s.Search(q, found)
			if t := (threadTime() - start).Seconds() * 1000; round == 0 || t < took[i] {
				took[i] = t
			}
		}
	}
	slices.Sort(took)
	return took[len(took)*95/100]
}

// allocations is how many allocations a search makes.
func allocations(s *selection.Searcher, queries []string) float64 {
	for _, q := range queries {
		s.Search(q, found)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, q := range queries {
		s.Search(q, found)
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / uint64(len(queries)))
}

// build measures making and opening the index of tools.
func (m *measures) build(tools []selection.Tool) *selection.Index {
	runtime.GC()
	before := resident()
	start := processTime()
	x := selection.Build(tools, selection.DefaultTable())
	m.BuildSeconds = (processTime() - start).Seconds()
	m.BuildMegabytes = max(peak()-before, 0)
	stored := x.Append(nil)
	m.StoredMegabytes = float64(len(stored)) / 1e6
	var opened []float64
	for range 3 {
		start = processTime()
		if _, err := selection.Open(stored, selection.DefaultTable()); err != nil {
			panic("BUG: the index that was just stored: " + err.Error())
		}
		opened = append(opened, (processTime() - start).Seconds())
	}
	m.OpenOverBuild = slices.Min(opened) / m.BuildSeconds
	return x
}

// resident and peak are the resident memory of this process in megabytes, now and
// at most; 0 where the system does not tell.
func resident() float64 { return status("VmRSS:") }
func peak() float64     { return status("VmHWM:") }

func status(key string) float64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), key)
	var kb float64
	_, _ = fmt.Sscan(rest, &kb)
	return kb * 1024 / 1e6
}

// list counts the tokens of tools/list in the modes all and search.
func (m *measures) list(c *catalogue) error {
	index := selection.Build(c.tools, selection.DefaultTable()).Append(nil)
	for _, mode := range []string{registry.SelectAll, registry.SelectSearch} {
		t := *c.toolset
		t.Selection = &registry.Selection{Mode: mode}
		snap, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{{
			ID: t.ID, Slug: t.Slug, Bundle: &t, Connectors: c.connectors, Index: index,
		}}}, nil)
		if err != nil {
			return err
		}
		list, err := snap.Slug(t.Slug).List()
		if err != nil {
			return err
		}
		n := 0
		var cursor []byte
		for {
			page, next, _ := list.Page(cursor)
			n += tokens.Count(page)
			if next == "" {
				break
			}
			cursor = []byte(next)
		}
		if mode == registry.SelectAll {
			m.TokensAll = n
		} else {
			m.TokensSearch = n
		}
	}
	return nil
}
