package evaluate

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
)

// write makes a folder with one set.
func write(t *testing.T, tools, queries string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"tools.jsonl": tools, "queries.jsonl": queries} {
		if err := os.MkdirAll(filepath.Join(dir, "shop"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "shop", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const shopTools = `{"id":"a","name":"list_orders","description":"List the orders of a customer"}
{"id":"b","name":"cancel_order","description":"Cancel an order","params":[{"name":"id","description":"the order"}]}

{"id":"c","name":"get_weather","description":"Weather of a city","server":"meteo"}
`

func TestRun(t *testing.T) {
	sets, err := Load(write(t, shopTools, `{"id":"1","text":"cancel my order","relevant":["b","b"]}
{"id":"2","text":"weather in Bern","relevant":["c","gone"]}
{"id":"3","text":"weather in Bern","relevant":["gone"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(sets) != 1 || sets[0].Name != "shop" || len(sets[0].Tools) != 3 || sets[0].Queries[1].Needed != 2 {
		t.Fatalf("%+v", sets)
	}
	got := Run(sets[0], nil, nil)
	// The second request needs a tool that the set does not have, the third only
	// such a one.
	want := Score{
		NDCG10: 100 * (1 + 1/(1+1/math.Log2(3))) / 3, Recall5: 50, Recall10: 50,
		Hit1: 200. / 3, Complete10: 100. / 3, Queries: 3, Tools: 3,
	}
	for i, f := range got.figures() {
		if math.Abs(*f-*want.figures()[i]) > 1e-9 {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	if m := Macro(map[string]Score{"x": got, "y": {Queries: 1, Tools: 1}}).Macro; math.Abs(m.Recall10-25) > 1e-9 || m.Queries != 4 || m.Tools != 4 {
		t.Fatalf("macro %+v", m)
	}
	if one, err := Load(filepath.Join(write(t, shopTools, `{"id":"1","text":"x","relevant":["a"]}`), "shop")); err != nil || len(one) != 1 {
		t.Fatalf("a set as the folder: %v, %v", one, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	f := func(tools, queries string, kind problem.Kind, want string) {
		t.Helper()
		_, err := Load(write(t, tools, queries))
		if !problem.Is(err, kind) || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v, want %q", err, want)
		}
	}
	f(shopTools, "", problem.NotFound, "no set")
	f(shopTools, `{"id":"1","relevant":["a"]}`+"\nnull x", problem.InvalidArgument, "queries.jsonl")
	f(shopTools, `{"id":"1","text":"x","relevant":[]}`, problem.InvalidArgument, "needs no tool")
	f(shopTools+shopTools, `{"id":"1","text":"x","relevant":["a"]}`, problem.InvalidArgument, "listed twice")
	f(`{"id":"a","name":"`+strings.Repeat("x", maxLine)+`"}`, `{}`, problem.InvalidArgument, "tools.jsonl")
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !problem.Is(err, problem.NotFound) {
		t.Fatal(err)
	}
}

// TestFit gives examples that one feature decides, and noise in another.
func TestFit(t *testing.T) {
	var e []Example
	for i := range 40 {
		var right, wrong selection.Features
		right[selection.FeatureCoverage] = 1
		wrong[selection.FeatureChar] = float32(i%7) / 7
		right[selection.FeatureChar] = float32(i%5) / 5
		e = append(e, Example{Candidates: []selection.Features{wrong, right, wrong}, Relevant: []bool{false, true, false}})
	}
	w := Fit([][]Example{e})
	if w != Fit([][]Example{e}) {
		t.Fatal("the same examples give other weights")
	}
	if w[selection.FeatureCoverage] < 2*float32(math.Abs(float64(w[selection.FeatureChar]))) || w[selection.FeatureCoverage] <= 0 {
		t.Fatalf("weights %v", w)
	}
}

// TestCorpus holds the promise that no set is worse than plain BM25 by more than
// a point, on the public sets.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set: no sets of tools and requests")
	}
	sets, err := Load(filepath.Join(dir, "selection"))
	if err != nil {
		t.Fatal(err)
	}
	words := &selection.Features{selection.FeatureBM25: 1}
	for _, s := range sets {
		s.Queries = s.Queries[:min(len(s.Queries), 100)]
		got, plain := Run(s, selection.DefaultTable(), nil), Run(s, nil, words)
		if got.NDCG10 < plain.NDCG10-1 {
			t.Errorf("%s: nDCG@10 %.1f, words alone %.1f", s.Name, got.NDCG10, plain.NDCG10)
		}
	}
}
