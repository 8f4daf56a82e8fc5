package call

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/internal/tokens"
)

// pageDocument is a list of n items of which each says text.
func pageDocument(n int, text func(i int) string) []byte {
	out := []byte(`{"items":[`)
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"id":%d,"text":%q}`, i, text(i))
	}
	return append(out, `],"next":null}`...)
}

// TestPageIsFull: what the first try writes is larger than the budget, or much smaller
// when the items say the same; either way the page takes most of the budget, or all items.
func TestPageIsFull(t *testing.T) {
	const budget = 2000
	words := func(i int) string { return fmt.Sprintf("item number %d says %x", i, i*i*7919) }
	same := func(int) string { return "the same in each item" }
	much := func(int) string { return strings.Repeat("each item says the same. ", 40) }
	late := func(i int) string { // the first items are much larger than the others
		return strings.Repeat(fmt.Sprintf("%d ", i), max(1, 200-i))
	}
	for name, f := range map[string]struct {
		doc    []byte
		format compress.Form
	}{
		"words as JSON":     {pageDocument(5000, words), compress.JSON},
		"words":             {pageDocument(5000, words), compress.Auto},
		"words, all fit":    {pageDocument(30, words), compress.Auto},
		"the same":          {pageDocument(5000, same), compress.Auto},
		"the same, all fit": {pageDocument(60, same), compress.Auto},
		"much, all fit":     {pageDocument(40, much), compress.Auto},
		"late":              {pageDocument(5000, late), compress.Auto},
	} {
		a := &rendering{scratch: &scratch{}}
		it := itemsOf(f.doc, nil)
		out, s, err := a.appendPage(nil, &it, pick{}, f.format, budget, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := tokens.Estimate(out)
		if n > budget-noteTokens || s.to < s.total && n < budget/2 {
			t.Errorf("%s: items %d to %d of %d are %d tokens of %d", name, s.from, s.to, s.total, n, budget)
		}
		if full := n >= budget/2; s.full != full {
			t.Errorf("%s: %d tokens of %d are a full page: %v", name, n, budget, s.full)
		}
		if strings.HasSuffix(name, "all fit") && s.to != s.total {
			t.Errorf("%s: %d of %d items are shown", name, s.to, s.total)
		}
	}
}

// TestPageIsNotFull: a page ends also at a number of bytes. Then nothing says that the
// whole answer is over the budget.
func TestPageIsNotFull(t *testing.T) {
	const budget = 2000
	it := itemsOf(pageDocument(60, func(int) string { return strings.Repeat("each item says the same. ", 40) }), nil)
	a := &rendering{scratch: &scratch{}}
	_, s, err := a.appendPage(nil, &it, pick{}, compress.Auto, budget, true, nil)
	if err != nil || s.to == s.total || s.full {
		t.Fatalf("%d of %d items, full %v, %v; want some of them and a page that is not full", s.to, s.total, s.full, err)
	}
}

// TestPageBeyondIndex: items whose place is not kept are found, too, and all are counted.
func TestPageBeyondIndex(t *testing.T) {
	doc := []byte(`{"items":[0`)
	for i := 1; i < indexed+100; i++ {
		doc = fmt.Appendf(doc, ",%d", i)
	}
	doc = append(doc, `],"next":null}`...)
	it := itemsOf(doc, nil)
	if len(it.known) != indexed {
		t.Fatalf("%d places are kept", len(it.known))
	}
	for _, c := range []struct {
		pick
		want     string
		matching int
	}{
		{pick{offset: indexed - 2, limit: 4}, fmt.Sprintf("[%d,%d,%d,%d]", indexed-2, indexed-1, indexed, indexed+1), indexed + 100},
		{pick{offset: indexed + 98}, fmt.Sprintf("[%d,%d]", indexed+98, indexed+99), indexed + 100},
		{pick{limit: 2}, "[0,1]", indexed + 100},
		{pick{offset: indexed + 100}, "", indexed + 100},
		{pick{grep: regexp.MustCompile(`^82\d\d$`)}, "", 92},
		{pick{grep: regexp.MustCompile(`^8291$`)}, "[8291]", 1},
	} {
		a := &rendering{scratch: &scratch{}}
		out, s, err := a.appendPage(nil, &it, c.pick, compress.JSON, 2000, false, nil)
		if err != nil || s.total != indexed+100 || s.matching != c.matching || c.want != "" && string(out) != c.want {
			t.Errorf("%+v: %s, %+v, %v; want %s", c.pick, out, s, err, c.want)
		}
	}
}
