package page

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/internal/jsonscan"
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
		w := &Writer{}
		it := ItemsOf(f.doc, nil)
		out, s, err := w.Append(nil, &it, Pick{}, f.format, budget, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := tokens.Estimate(out)
		if n > budget-NoteTokens || s.To < s.Total && n < budget/2 {
			t.Errorf("%s: items %d to %d of %d are %d tokens of %d", name, s.From, s.To, s.Total, n, budget)
		}
		if full := n >= budget/2; s.Full != full {
			t.Errorf("%s: %d tokens of %d are a full page: %v", name, n, budget, s.Full)
		}
		if strings.HasSuffix(name, "all fit") && s.To != s.Total {
			t.Errorf("%s: %d of %d items are shown", name, s.To, s.Total)
		}
	}
}

// TestPageIsNotFull: a page ends also at a number of bytes. Then nothing says that the
// whole answer is over the budget.
func TestPageIsNotFull(t *testing.T) {
	const budget = 2000
	it := ItemsOf(pageDocument(60, func(int) string { return strings.Repeat("each item says the same. ", 40) }), nil)
	w := &Writer{}
	_, s, err := w.Append(nil, &it, Pick{}, compress.Auto, budget, true, nil)
	if err != nil || s.To == s.Total || s.Full {
		t.Fatalf("%d of %d items, full %v, %v; want some of them and a page that is not full", s.To, s.Total, s.Full, err)
	}
}

// TestPageBeyondIndex: items whose place is not kept are found, too, and all are counted.
func TestPageBeyondIndex(t *testing.T) {
	doc := []byte(`{"items":[0`)
	for i := 1; i < indexed+100; i++ {
		doc = fmt.Appendf(doc, ",%d", i)
	}
	doc = append(doc, `],"next":null}`...)
	it := ItemsOf(doc, nil)
	if len(it.Known) != indexed {
		t.Fatalf("%d places are kept", len(it.Known))
	}
	for _, c := range []struct {
		Pick
		want     string
		matching int
	}{
		{Pick{Offset: indexed - 2, Limit: 4}, fmt.Sprintf("[%d,%d,%d,%d]", indexed-2, indexed-1, indexed, indexed+1), indexed + 100},
		{Pick{Offset: indexed + 98}, fmt.Sprintf("[%d,%d]", indexed+98, indexed+99), indexed + 100},
		{Pick{Limit: 2}, "[0,1]", indexed + 100},
		{Pick{Offset: indexed + 100}, "", indexed + 100},
		{Pick{Grep: regexp.MustCompile(`^82\d\d$`)}, "", 92},
		{Pick{Grep: regexp.MustCompile(`^8291$`)}, "[8291]", 1},
	} {
		w := &Writer{}
		out, s, err := w.Append(nil, &it, c.Pick, compress.JSON, 2000, false, nil)
		if err != nil || s.Total != indexed+100 || s.Matching != c.matching || c.want != "" && string(out) != c.want {
			t.Errorf("%+v: %s, %+v, %v; want %s", c.Pick, out, s, err, c.want)
		}
	}
}

// TestPatternOfFetchIsBounded guards the expression that an agent gives.
func TestPatternOfFetchIsBounded(t *testing.T) {
	for over := range 2 {
		args := jsonscan.Trusted([]byte(`{"handle":"h","grep":"` + strings.Repeat("a", maxPattern+over) + `"}`))
		if err := new(Request).Read(args); (err == nil) != (over == 0) {
			t.Errorf("a pattern of %d bytes: %v", maxPattern+over, err)
		}
	}
}

// TestPageIsCountedAsEver: a page of JSON holds what one does of which each try is counted from
// its begin, whatever the writer counted before.
func TestPageIsCountedAsEver(t *testing.T) {
	words := func(i int) string { return fmt.Sprintf("item number %d says %x", i, i*i*7919) }
	late := func(i int) string { return strings.Repeat(fmt.Sprintf("%d ", i), max(1, 200-i)) }
	early := func(i int) string { return strings.Repeat(fmt.Sprintf("wörd %d ", i), max(1, min(i, 200))) }
	anew := func(doc []byte) ([]byte, error) { return doc, nil }
	used := &Writer{}
	for name, doc := range map[string][]byte{
		"words": pageDocument(5000, words), "late": pageDocument(3000, late), "early": pageDocument(500, early), "few": pageDocument(3, late),
		"members": []byte(`{"a":"` + strings.Repeat("word ", 900) + `","b":[1,2],"c":"` + strings.Repeat("0123,", 4000) + `"}`),
		"a list":  []byte("[" + strings.Repeat(`"text 1",`, 20_000) + "1]"),
		"ending":  []byte(`{"items":[` + strings.Repeat(`{"a":1},`, 4000) + `2],"end":"` + strings.Repeat("the end ", 300) + `"}`),
	} {
		for _, budget := range []int{200, 2000, 20_000} {
			for _, around := range []bool{false, true} {
				for _, pick := range []Pick{{}, {Offset: 1, Limit: 300}, {Grep: regexp.MustCompile(`1`)}} {
					for _, counted := range []bool{false, true} {
						it := ItemsOf(doc, nil)
						want, shown, err := (&Writer{}).Append(nil, &it, pick, compress.JSON, budget, around, anew)
						if err != nil {
							t.Fatal(err)
						}
						if counted {
							if got, over := used.Exceeds(doc, budget), tokens.Exceeds(doc, budget); got != over {
								t.Fatalf("%s: over %d tokens: %v, want %v", name, budget, got, over)
							}
						}
						got, s, err := used.Append(nil, &it, pick, compress.JSON, budget, around, nil)
						if err != nil || string(got) != string(want) || s != shown {
							t.Errorf("%s, %d tokens, around %v, %+v, counted %v: %d bytes and %+v, want %d and %+v; %v", name, budget, around, pick, counted, len(got), s, len(want), shown, err)
						}
					}
				}
			}
		}
	}
}
