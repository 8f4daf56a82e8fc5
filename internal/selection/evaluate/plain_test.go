package evaluate

import (
	"slices"
	"testing"

	"github.com/sluicegate/sluice/internal/selection"
)

func shopSet(t *testing.T) *Set {
	t.Helper()
	sets, err := Load(write(t, shopTools, `{"id":"1","text":"Cancel an order","relevant":["b"],"split":"test"}
{"id":"2","text":"the weather","relevant":["c"],"split":"train"}
{"id":"3","text":"orders","relevant":["a"],"split":"train"}`))
	if err != nil {
		t.Fatal(err)
	}
	return sets[0]
}

// TestRunPlain: plain BM25 finds the same words and no others.
func TestRunPlain(t *testing.T) {
	s := shopSet(t)
	if got := RunPlain(s); got.Hit1 != 100 || got.Queries != 3 || got.Tools != 3 {
		t.Errorf("%+v", got)
	}
	s.Queries = []Query{{ID: "4", Text: "cancelled ordering", Relevant: []int{1}, Needed: 1}}
	if got := RunPlain(s); got.Recall10 != 0 {
		t.Errorf("plain BM25 stems: %+v", got)
	}
	if got := plainWords("The list_orders of A-1, x and Zürich"); !slices.Equal(got, []string{"list_orders", "zürich"}) {
		t.Errorf("%q", got)
	}
}

func TestUnfit(t *testing.T) {
	s := shopSet(t)
	other := &Set{Queries: []Query{{Text: "quantum chromodynamics"}, {Text: "weather in Bern"}}}
	if right, wrong := Unfit(s, []*Set{other}, nil, 10); right != 50 || wrong != 0 {
		t.Errorf("%g %% of others' requests, %g %% of its own", right, wrong)
	}
	if right, _ := Unfit(s, []*Set{other}, nil, 1); right != 100 {
		t.Errorf("one request of each: %g %%", right)
	}
}

func TestWithExamples(t *testing.T) {
	s := shopSet(t)
	taught, plain := WithExamples(s, 0)
	if len(taught.Queries) != 1 || taught.Queries[0].ID != "1" || len(taught.Tools[0].Examples) != 1 || len(taught.Tools[1].Examples) != 0 {
		t.Errorf("%+v", taught)
	}
	if len(plain.Queries) != 1 || len(plain.Tools[0].Examples) != 0 {
		t.Errorf("the set itself was taught: %+v", plain)
	}
	if taught, _ = WithExamples(s, 2); len(taught.Queries) != 2 || !slices.Equal(taught.Tools[2].Examples, []selection.Example{{Text: "the weather", Weight: 1}}) {
		t.Errorf("%+v", taught)
	}
}
