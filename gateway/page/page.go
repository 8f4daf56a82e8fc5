package page

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
)

const (
	// NoteTokens is what the last line costs.
	NoteTokens = 90
	// longLine is where a line of text is split into several items, so that every
	// part of it can be fetched.
	longLine = 4096
	// pageTries bounds how often a page is written to fit its budget.
	pageTries = 6
	// firstTry is how many bytes of JSON for each token of the budget are written first: a
	// fifth to a third of what fits, which tells how many tokens the items take.
	firstTry = 1
	// fullPage is the share of the budget, in percent, from which a page is full; aimedPage
	// is what a try is written for.
	fullPage  = 90
	aimedPage = 97
	// indexed is of how many items the place is kept: of more than a page of the usual
	// budget shows.
	indexed = 1 << 13
)

// Items are the whole items of an answer: the elements of its main list, the
// members of an object without one, or the lines of a text.
type Items struct {
	Doc        []byte
	Text       bool
	Members    bool            // of an object, not elements of a list
	Known      []jsonscan.Span // where the first elements of the list are
	start, end int             // of the list in Doc, brackets included
	count      int             // of the elements of the list; 0: not known
}

// Around is how many bytes of the document are not of its list.
func (it *Items) Around() int { return it.start + len(it.Doc) - it.end }

// ItemsOf finds the items of a minified JSON document: its longest list, looked for in
// objects inside objects three deep, when that is most of it. index is memory for where
// they are.
func ItemsOf(doc []byte, index []jsonscan.Span) Items {
	it := Items{Doc: doc, end: len(doc)}
	if k := jsonscan.Trusted(doc).Kind(); k != jsonscan.Array && k != jsonscan.Object {
		it.Text = true
		return it
	}
	list := jsonscan.LongestList(doc, 2, index, indexed)
	if it.Known = list.Indexed; 2*(list.To-list.From) > len(doc) {
		it.start, it.end, it.count = list.From, list.To, list.Count
		return it
	}
	it.Members, it.Known = true, it.Known[:0]
	return it
}

// Each calls f with the place of every item in the document until f returns false.
func (it *Items) Each(f func(at jsonscan.Span) bool) {
	switch {
	case it.Text:
		for at := 0; at < len(it.Doc); {
			rest := it.Doc[at:]
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
	case it.Members:
		at := 1 // {
		for m := jsonscan.Trusted(it.Doc).Members(); m.Next(); {
			n := len(m.Key()) + 3 + len(m.Value().Raw())
			if !f(jsonscan.Span{From: at, To: at + n}) {
				return
			}
			at += n + 1 // ,
		}
	default:
		at := it.start + 1 // [
		for _, s := range it.Known {
			if !f(s) {
				return
			}
			at = s.To
		}
		if it.count > 0 && len(it.Known) == it.count {
			return
		}
		for e := jsonscan.ElementsFrom(it.Doc[:it.end], at); e.Next(); {
			if !f(e.Span()) {
				return
			}
		}
	}
}

// Pick is which items a page may hold.
type Pick struct {
	Offset, Limit int // Limit 0: all
	Grep          *regexp.Regexp
}

// Shown says what a page holds.
type Shown struct {
	From, To int // items, of those that match
	Matching int
	Total    int
	Clipped  int // bytes of a single item that is larger than the budget, that are shown
	Whole    int // bytes of that item
	Form     compress.Form
	Full     bool // more items would be over the budget, or nearly all of it is used
}

// Writer is the memory for pages. It is used by one goroutine.
type Writer struct {
	// Doc is the document of the items that the last page holds, before it was written in a form.
	Doc     []byte
	picked  []jsonscan.Span
	counter tokens.Counter
	read    []byte // what is over the budget as Exceeds found, until a page is written
}

// Reset makes the writer ready for another answer. Of memory over keep bytes nothing is kept.
func (w *Writer) Reset(keep int) {
	if w.Doc = w.Doc[:0]; cap(w.Doc) > keep {
		w.Doc = nil
	}
	if w.picked = w.picked[:0]; cap(w.picked) > 2*indexed {
		w.picked = nil
	}
	w.counter.Reset(keep)
	w.read = nil
}

// Exceeds is [tokens.Exceeds]. Of text that is over the budget a page must follow before that
// changes: it is not counted from its begin again.
func (w *Writer) Exceeds(text []byte, budget int) bool {
	if !w.counter.Exceeds(text, budget) {
		return false
	}
	w.read = text
	return true
}

// Mask makes another document of the items of a page before they are written.
type Mask func(doc []byte) ([]byte, error)

// Append appends to dst as many whole items as fit into budget tokens, in the
// format, and says which. around keeps what is around the list. mask, when not nil,
// is run over the items before they are written; without one nothing can fail.
func (w *Writer) Append(dst []byte, it *Items, p Pick, format compress.Form, budget int, around bool, mask Mask) ([]byte, Shown, error) {
	s := Shown{From: p.Offset}
	// The bytes that may fit: table text says up to 24 bytes in a token.
	room := 24 * budget
	fit, most, size, open := 0, 0, 0, true // items that are tried, and that there are
	w.picked = w.picked[:0]
	it.Each(func(at jsonscan.Span) bool {
		n := at.To - at.From
		s.Total++
		if p.Grep != nil && !p.Grep.Match(it.Doc[at.From:at.To]) {
			return true
		}
		s.Matching++
		if s.Matching <= p.Offset {
			return true
		}
		if open = open && (p.Limit == 0 || most < p.Limit) && (most == 0 || size+n <= room); !open {
			return it.count == 0 || p.Grep != nil // else how many there are is known
		}
		most++
		if fit == 0 || size+n <= firstTry*budget {
			fit = most
		}
		size += n
		w.picked = append(w.picked, at)
		return true
	})
	if !open && it.count > 0 && p.Grep == nil {
		s.Total, s.Matching = it.count, it.count
	}
	mark := len(dst)
	budget = max(budget-NoteTokens, budget/2)
	known := w.read // what was counted last
	w.read = nil
	for try, shrunk := 0, false; fit > 0; try++ {
		var n int
		if it.Text {
			dst = dst[:mark]
			for _, at := range w.picked[:fit] {
				dst = append(dst, it.Doc[at.From:at.To]...)
			}
			n = tokens.Estimate(dst[mark:])
		} else {
			w.Doc = it.Wrap(w.Doc[:0], w.picked[:fit], around)
			doc := w.Doc
			if mask != nil {
				out, err := mask(doc)
				if err != nil {
					return dst[:mark], s, err
				}
				doc = out
			}
			if format == compress.JSON && mask == nil {
				dst, s.Form = append(dst[:mark], doc...), compress.JSON
				n = w.count(doc, known, it.behind(around))
				known = doc
			} else {
				dst, s.Form, n = compress.AppendForm(dst[:mark], doc, format, compress.Estimated)
			}
		}
		switch {
		case n <= budget && fit < most && !shrunk && try < pageTries && 100*n < fullPage*budget:
			fit = min(max(int(int64(fit)*int64(budget)*aimedPage/100/int64(max(n, 1))), fit+1), most)
			continue
		case n <= budget:
			s.Full = shrunk || 100*n >= fullPage*budget
			s.To = s.From + fit
			return dst, s, nil
		case fit == 1:
			s.To, s.Full = s.From+1, true
			s.Whole = len(dst) - mark
			dst = clipTo(dst, mark, s.Whole*budget/n)
			s.Clipped = len(dst) - mark
			return dst, s, nil
		}
		less := fit * budget / n
		if try >= pageTries {
			less = fit / 2
		}
		fit, shrunk = max(min(less, fit-1), 1), true
	}
	s.To = s.From
	return dst, s, nil
}

// count returns what doc costs. known is what was counted before it: a document of the same list
// with more items or fewer, which memory is written over, or any other text. behind is how many
// bytes follow the items.
func (w *Writer) count(doc, known []byte, behind int) int {
	same := min(len(doc), len(known)) - behind
	if same < 0 || !bytes.Equal(doc[:same], known[:same]) {
		same = 0
	}
	return w.counter.Estimate(doc, same)
}

// behind is how many bytes follow the items in what Wrap appends.
func (it *Items) behind(around bool) int {
	if around && !it.Members {
		return 1 + len(it.Doc) - it.end
	}
	return 1
}

// Wrap appends a document with some of the items: their list with what is around
// it, or the list alone.
func (it *Items) Wrap(dst []byte, picked []jsonscan.Span, around bool) []byte {
	open, end := byte('['), byte(']')
	if it.Members {
		open, end = '{', '}'
	}
	around = around && !it.Members
	if around {
		dst = append(dst, it.Doc[:it.start]...)
	}
	dst = append(dst, open)
	for i, at := range picked {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, it.Doc[at.From:at.To]...)
	}
	dst = append(dst, end)
	if around {
		dst = append(dst, it.Doc[it.end:]...)
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

// Noun is what the items are called.
func (it *Items) Noun() string {
	switch {
	case it.Text:
		return "lines"
	case it.Members:
		return "members"
	}
	return "items"
}

// AppendNote appends the line behind a page. handle is of the rest, and fetch the name of the
// tool that gives it; "": there is none. reads says that the call changed nothing, so that it
// can be repeated.
func AppendNote(dst []byte, it *Items, s Shown, handle, fetch string, reads bool, p Pick) []byte {
	if len(dst) > 0 && dst[len(dst)-1] != '\n' {
		dst = append(dst, '\n')
	}
	noun := it.Noun()
	one := noun[:len(noun)-1]
	switch n := s.To - s.From; {
	case s.Whole > 0:
		dst = fmt.Appendf(dst, "[cut: the first %d of %d bytes of %s %d of %d, which alone is over the token budget; ask for parts of it with fields",
			s.Clipped, s.Whole, one, s.From+1, s.Matching)
	case n == 0 && s.Matching > 0:
		dst = fmt.Appendf(dst, "[nothing beyond %s %d", one, s.Matching)
	case n == 0:
		dst = fmt.Appendf(dst, "[no %s", noun)
	default:
		dst = fmt.Appendf(dst, "[%s %d-%d of %d", noun, s.From+1, s.To, s.Matching)
	}
	if p.Grep != nil {
		dst = fmt.Appendf(dst, " that match, of %d", s.Total)
	}
	if s.To < s.Matching && s.To > s.From || s.Whole > 0 {
		switch {
		case (handle == "" || fetch == "") && !reads:
			return append(dst, "; the rest is not held: what the call did is done, so do not repeat it, but read what you need with another tool]"...)
		case handle == "" || fetch == "":
			return append(dst, "; the rest is not held: ask for less, with a smaller page, fewer fields or a narrower filter]"...)
		}
		dst = fmt.Appendf(dst, `; the rest: %s {"handle":"%s"`, fetch, handle)
		if s.To < s.Matching {
			dst = fmt.Appendf(dst, `,"offset":%d`, s.To)
		}
		if dst = append(dst, '}'); p.Grep != nil {
			dst = append(dst, " with the same grep"...)
		} else {
			dst = append(dst, ", grep and fields narrow it"...)
		}
	}
	return append(dst, ']')
}
