package call

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/gateway/held"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
)

const (
	// noteTokens is what the last line costs.
	noteTokens = 90
	// longLine is where a line of text is split into several items, so that every
	// part of it can be fetched.
	longLine = 4096
	// pageTries bounds how often a page is written to fit its budget.
	pageTries = 6
	// firstTry is how many bytes of JSON for each token of the budget are written first: a
	// fifth to a third of what fits, which tells how many tokens the items take.
	firstTry = 1
	// largeAnswer is from how many bytes for each token of the budget an answer is taken
	// to be over it, before all of it is written in another form.
	largeAnswer = 12
	// fullPage is the share of the budget, in percent, from which a page is full; aimedPage
	// is what a try is written for.
	fullPage  = 90
	aimedPage = 97
	// indexed is of how many items the place is kept: of more than a page of the usual
	// budget shows.
	indexed = 1 << 13
)

// items are the whole items of an answer: the elements of its main list, the
// members of an object without one, or the lines of a text.
type items struct {
	doc        []byte
	text       bool
	members    bool            // of an object, not elements of a list
	start, end int             // of the list in doc, brackets included
	count      int             // of the elements of the list; 0: not known
	known      []jsonscan.Span // where the first of them are
}

// itemsOf finds the items of a minified JSON document: its longest list, looked for in
// objects inside objects three deep, when that is most of it. index is memory for where
// they are.
func itemsOf(doc []byte, index []jsonscan.Span) items {
	it := items{doc: doc, end: len(doc)}
	if k := jsonscan.Trusted(doc).Kind(); k != jsonscan.Array && k != jsonscan.Object {
		it.text = true
		return it
	}
	list := jsonscan.LongestList(doc, 2, index, indexed)
	if it.known = list.Indexed; 2*(list.To-list.From) > len(doc) {
		it.start, it.end, it.count = list.From, list.To, list.Count
		return it
	}
	it.members, it.known = true, it.known[:0]
	return it
}

// each calls f with the place of every item in the document until f returns false.
func (it *items) each(f func(at jsonscan.Span) bool) {
	switch {
	case it.text:
		for at := 0; at < len(it.doc); {
			rest := it.doc[at:]
			n := bytes.IndexByte(rest, '\n') + 1
			if n == 0 {
				n = len(rest)
			}
			if n > longLine {
				n = longLine
				for n > longLine-utf8.UTFMax && !utf8.RuneStart(rest[n]) {
					n--
				}
			}
			if !f(jsonscan.Span{From: at, To: at + n}) {
				return
			}
			at += n
		}
	case it.members:
		at := 1 // {
		for m := jsonscan.Trusted(it.doc).Members(); m.Next(); {
			n := len(m.Key()) + 3 + len(m.Value().Raw())
			if !f(jsonscan.Span{From: at, To: at + n}) {
				return
			}
			at += n + 1 // ,
		}
	default:
		at := it.start + 1 // [
		for _, s := range it.known {
			if !f(s) {
				return
			}
			at = s.To
		}
		if it.count > 0 && len(it.known) == it.count {
			return
		}
		for e := jsonscan.ElementsFrom(it.doc[:it.end], at); e.Next(); {
			if !f(e.Span()) {
				return
			}
		}
	}
}

// pick is which items a page may hold.
type pick struct {
	offset, limit int // limit 0: all
	grep          *regexp.Regexp
}

// shown says what a page holds.
type shown struct {
	from, to int // items, of those that match
	matching int
	total    int
	clipped  int // bytes of a single item that is larger than the budget, that are shown
	whole    int // bytes of that item
	form     compress.Form
	full     bool // more items would be over the budget, or nearly all of it is used
}

// appendPage appends to dst as many whole items as fit into budget tokens, in the
// format, and says which. first keeps what is around the list. mask, when not nil,
// is run over the items before they are written.
func (a *rendering) appendPage(dst []byte, it *items, p pick, format compress.Form, budget int, around bool, mask *answer.Program) ([]byte, shown, error) {
	s := shown{from: p.offset}
	// The bytes that may fit: table text says up to 24 bytes in a token.
	room := 24 * budget
	fit, most, size, open := 0, 0, 0, true // items that are tried, and that there are
	a.picked = a.picked[:0]
	it.each(func(at jsonscan.Span) bool {
		n := at.To - at.From
		s.total++
		if p.grep != nil && !p.grep.Match(it.doc[at.From:at.To]) {
			return true
		}
		s.matching++
		if s.matching <= p.offset {
			return true
		}
		if open = open && (p.limit == 0 || most < p.limit) && (most == 0 || size+n <= room); !open {
			return it.count == 0 || p.grep != nil // else how many there are is known
		}
		most++
		if fit == 0 || size+n <= firstTry*budget {
			fit = most
		}
		size += n
		a.picked = append(a.picked, at)
		return true
	})
	if !open && it.count > 0 && p.grep == nil {
		s.total, s.matching = it.count, it.count
	}
	mark := len(dst)
	budget = max(budget-noteTokens, budget/2)
	for try, shrunk := 0, false; fit > 0; try++ {
		var n int
		if it.text {
			dst = dst[:mark]
			for _, at := range a.picked[:fit] {
				dst = append(dst, it.doc[at.From:at.To]...)
			}
			n = tokens.Estimate(dst[mark:])
		} else {
			a.doc = it.wrap(a.doc[:0], a.picked[:fit], around)
			doc := a.doc
			if mask != nil {
				for _, t := range mask.Tables {
					out, _, err := a.c.host.Transform(nil, t, doc)
					if err != nil {
						return dst[:mark], s, err
					}
					doc = out
				}
			}
			dst, s.form, n = compress.AppendForm(dst[:mark], doc, format, compress.Estimated)
		}
		switch {
		case n <= budget && fit < most && !shrunk && try < pageTries && 100*n < fullPage*budget:
			fit = min(max(int(int64(fit)*int64(budget)*aimedPage/100/int64(max(n, 1))), fit+1), most)
			continue
		case n <= budget:
			s.full = shrunk || 100*n >= fullPage*budget
			s.to = s.from + fit
			return dst, s, nil
		case fit == 1:
			s.to, s.full = s.from+1, true
			s.whole = len(dst) - mark
			dst = clipTo(dst, mark, s.whole*budget/n)
			s.clipped = len(dst) - mark
			return dst, s, nil
		}
		less := fit * budget / n
		if try >= pageTries {
			less = fit / 2
		}
		fit, shrunk = max(min(less, fit-1), 1), true
	}
	s.to = s.from
	return dst, s, nil
}

// wrap appends a document with some of the items: their list with what is around
// it, or the list alone.
func (it *items) wrap(dst []byte, picked []jsonscan.Span, around bool) []byte {
	open, end := byte('['), byte(']')
	if it.members {
		open, end = '{', '}'
	}
	around = around && !it.members
	if around {
		dst = append(dst, it.doc[:it.start]...)
	}
	dst = append(dst, open)
	for i, at := range picked {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, it.doc[at.From:at.To]...)
	}
	dst = append(dst, end)
	if around {
		dst = append(dst, it.doc[it.end:]...)
	}
	return dst
}

// clipTo cuts what was appended after mark to n bytes, between characters.
func clipTo(dst []byte, mark, n int) []byte {
	end := min(mark+max(n, 1), len(dst))
	for end > mark && end < len(dst) && !utf8.RuneStart(dst[end]) {
		end--
	}
	return dst[:end]
}

// page cuts the answer at the budget: as many whole items as fit, and a last line
// that says how many there are and how to get the rest, which is held for a time.
func (a *rendering) page() { a.pageUnless(false) }

// pageUnless is page. With whole it leaves the answer alone and returns false when the
// page is not full, so that all of the answer may be within the budget.
func (a *rendering) pageUnless(whole bool) bool {
	plan := a.ready.Answer
	var it items
	h := &held.Answer{Owner: a.owner(), Format: a.format(), Budget: plan.Budget, Tool: a.tool.Name, Hidden: a.keepsHidden(), Made: a.ts.Digest}
	if a.isJSON {
		it = itemsOf(a.small, a.index)
		a.index = it.known
		h.Doc = bytes.Clone(a.small)
	} else {
		it = items{doc: a.text, text: true}
		h.Doc, h.Text = bytes.Clone(a.text), true
	}
	it.doc = h.Doc // the buffers are used for the page
	out, s, err := a.appendPage(a.form[:0], &it, pick{}, h.Format, plan.Budget, true, nil)
	if err != nil || whole && (!s.full || s.whole == 0 && s.to == s.total) { // no mask: cannot fail
		a.form = out
		return false
	}
	if a.structured != nil {
		a.structured = a.doc // the same items
	}
	if !it.text && !it.members {
		a.listed = a.doc
	}
	handle := a.hold(h)
	a.form = appendNote(out, &it, s, handle, a.ts.Fetch(), a.tool.OnlyReads(), pick{})
	a.text = a.form
	if a.trace != nil {
		a.trace.Shown, a.trace.Items = s.to-s.from, s.total
		if whole {
			a.trace.Form = s.form.String()
		}
	}
	return true
}

func (it *items) noun() string {
	switch {
	case it.text:
		return "lines"
	case it.members:
		return "members"
	}
	return "items"
}

// appendNote appends the line behind a page.
func appendNote(dst []byte, it *items, s shown, handle string, fetch *snapshot.Tool, reads bool, p pick) []byte {
	if len(dst) > 0 && dst[len(dst)-1] != '\n' {
		dst = append(dst, '\n')
	}
	noun := it.noun()
	one := noun[:len(noun)-1]
	switch n := s.to - s.from; {
	case s.whole > 0:
		dst = fmt.Appendf(dst, "[cut: the first %d of %d bytes of %s %d of %d, which alone is over the token budget; ask for parts of it with fields",
			s.clipped, s.whole, one, s.from+1, s.matching)
	case n == 0 && s.matching > 0:
		dst = fmt.Appendf(dst, "[nothing beyond %s %d", one, s.matching)
	case n == 0:
		dst = fmt.Appendf(dst, "[no %s", noun)
	default:
		dst = fmt.Appendf(dst, "[%s %d-%d of %d", noun, s.from+1, s.to, s.matching)
	}
	if p.grep != nil {
		dst = fmt.Appendf(dst, " that match, of %d", s.total)
	}
	if s.to < s.matching && s.to > s.from || s.whole > 0 {
		switch {
		case (handle == "" || fetch == nil) && !reads:
			return append(dst, "; the rest is not held: what the call did is done, so do not repeat it, but read what you need with another tool]"...)
		case handle == "" || fetch == nil:
			return append(dst, "; the rest is not held: ask for less, with a smaller page, fewer fields or a narrower filter]"...)
		}
		dst = fmt.Appendf(dst, `; the rest: %s {"handle":"%s"`, fetch.Name, handle)
		if s.to < s.matching {
			dst = fmt.Appendf(dst, `,"offset":%d`, s.to)
		}
		if dst = append(dst, '}'); p.grep != nil {
			dst = append(dst, " with the same grep"...)
		} else {
			dst = append(dst, ", grep and fields narrow it"...)
		}
	}
	return append(dst, ']')
}
