package errorbody

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/gateway/page"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

// messageFields are the members APIs put their message in, best first: RFC 9457,
// then what GitHub, Stripe, Jira, Google, Microsoft, OAuth and Spring use.
var messageFields = [...]string{
	"detail", "message", "error_description", "errorMessage", "error_message", "msg", "description", "reason", "title",
}

// Max is the longest part of an error's body that is repeated.
const Max = 2000

// maxErrorItems is the room for the items of an error's body that is longer than
// Max: 80 faults of a validation with 100 bytes each.
const maxErrorItems = 8000

// maxMessages bounds how many messages are taken from one answer.
const maxMessages = 8

// Append appends the useful part of an error answer: of JSON, and of XML as JSON, its
// messages, and behind them the body (codes and field names help), when it is long
// as many whole items of it as there is room for; of a web page, its text; of anything else, its beginning.
func Append(dst, contentType, body []byte) []byte {
	switch media.KindOf(contentType, body, true) {
	case media.JSON:
		return appendDocument(dst, body)
	case media.HTML:
		mark := len(dst)
		return media.Clip(media.AppendHTMLText(dst, body), mark, Max)
	case media.Text:
		return appendEnds(dst, bytes.TrimSpace(body))
	case media.XML:
		if doc, err := media.AppendXML(nil, body); err == nil { // else it is the text that it is
			return appendDocument(dst, doc)
		}
		return media.AppendClipped(dst, bytes.TrimSpace(body), Max)
	case media.Stream:
		return media.AppendClipped(dst, bytes.TrimSpace(body), Max)
	}
	return dst
}

// appendDocument appends the useful part of a JSON document.
func appendDocument(dst, body []byte) []byte {
	v, err := jsonscan.Parse(body, 0)
	if err != nil {
		return media.AppendClipped(dst, body, Max)
	}
	m := messages{dst: dst, mark: len(dst)}
	m.collect(v, 0)
	whole := jsonscan.AppendMinified(nil, v.Raw())
	short := whole
	if len(whole) > Max {
		short = appendTraceless(nil, jsonscan.Trusted(whole), maxTextInError, 0)
	}
	if len(short) > maxErrorItems { // shorter texts of more items
		short = appendTraceless(nil, jsonscan.Trusted(whole), maxTextInErrors, 0)
	}
	it, list := errorItems(short)
	if len(m.dst) > m.mark && (len(short) > Max && !list || m.covers(short)) {
		return media.Clip(m.dst, m.mark, Max)
	}
	if len(short) > Max && list {
		m = messages{dst: m.dst[:m.mark], mark: m.mark, outer: true}
		m.collect(v, 0)
		if len(m.dst) > m.mark {
			m.dst = append(media.Clip(m.dst, m.mark, Max), '\n')
		}
		return appendErrorItems(m.dst, it)
	}
	if len(m.dst) > m.mark {
		m.dst = media.Clip(m.dst, m.mark, Max)
		m.dst = append(m.dst, '\n')
	}
	return media.AppendClipped(m.dst, short, Max)
}

// appendEnds appends a text, of one that is too long its beginning and its end: what a trace
// is of stands at one of them.
func appendEnds(dst, text []byte) []byte {
	if len(text) <= Max {
		return media.AppendClipped(dst, text, Max)
	}
	end := text[len(text)-Max/2:]
	if i := bytes.IndexByte(end, '\n'); i >= 0 && i < len(end)-1 { // whole lines
		end = end[i+1:]
	} else {
		for len(end) > 0 && !utf8.RuneStart(end[0]) {
			end = end[1:]
		}
	}
	dst = append(media.AppendClipped(dst, text, Max/2), '\n')
	return append(dst, end...)
}

// errorItems finds the items of the body of an error: those of the list that is most of
// it, or what is wrong by the name of each field.
func errorItems(doc []byte) (page.Items, bool) {
	if it := page.ItemsOf(doc, nil); !it.Text && !it.Members {
		return it, true
	}
	if f := jsonscan.Trusted(doc).Get("errors"); f.Kind() == jsonscan.Object && 2*len(f.Raw()) > len(doc) {
		return page.Items{Doc: f.Raw(), Members: true}, true
	}
	return page.Items{}, false
}

// appendErrorItems appends as many whole items as fit in maxErrorItems bytes, and says
// how many there are; the beginning of the first when none does.
func appendErrorItems(dst []byte, it page.Items) []byte {
	around := it.Around() <= Max
	room, total, full := maxErrorItems, 0, false
	var picked []jsonscan.Span
	it.Each(func(at jsonscan.Span) bool {
		total++
		n := at.To - at.From
		if full = full || n > room; !full {
			room -= n + 1 // a comma
			picked = append(picked, at)
		}
		return true
	})
	if len(picked) == 0 {
		if inner, is := errorItems(firstItem(it)); is { // {"details":[{"violations":[…]}]}
			return appendErrorItems(dst, inner)
		}
		return media.AppendClipped(dst, it.Doc, Max)
	}
	dst = it.Wrap(dst, picked, around)
	if len(picked) == total {
		return dst
	}
	dst = append(append(append(dst, "\n["...), it.Noun()...), " 1-"...)
	dst = strconv.AppendInt(dst, int64(len(picked)), 10)
	dst = append(strconv.AppendInt(append(dst, " of "...), int64(total), 10), ']')
	return dst
}

// firstItem is the first of the items of a list.
func firstItem(it page.Items) []byte {
	var item []byte
	it.Each(func(at jsonscan.Span) bool {
		item = it.Doc[at.From:at.To]
		return false
	})
	if it.Members {
		return nil
	}
	return item
}

// messages collects the texts of an error, each once.
type messages struct {
	dst   []byte
	mark  int
	count int
	outer bool // of no list and no map: its items are shown beside
}

// collect looks for messages in v: a text, an object's message fields, the error
// or errors in it, the elements of a list.
func (m *messages) collect(v jsonscan.Value, depth int) {
	if depth > 4 || m.count >= maxMessages {
		return
	}
	switch v.Kind() {
	case jsonscan.String:
		m.add(v)
	case jsonscan.Array:
		if m.outer {
			return
		}
		it := v.Elements()
		for it.Next() {
			m.collect(it.Value(), depth+1)
		}
	case jsonscan.Object:
		for _, name := range messageFields {
			if f := v.Get(name); f.Kind() == jsonscan.String {
				m.add(f)
			}
		}
		for _, name := range [...]string{"error", "errors", "errorMessages", "fault", "details"} {
			f := v.Get(name)
			if name == "errors" && f.Kind() == jsonscan.Object && !m.outer { // {"field": "what is wrong"}
				it := f.Members()
				for it.Next() && m.count < maxMessages {
					m.collect(it.Value(), depth+1)
				}
				continue
			}
			m.collect(f, depth+1)
		}
	}
}

func (m *messages) add(v jsonscan.Value) {
	before := len(m.dst)
	if before > m.mark {
		m.dst = append(m.dst, "; "...)
	}
	start := len(m.dst)
	m.dst = v.AppendText(m.dst)
	text := m.dst[start:]
	if len(bytes.TrimSpace(text)) == 0 || bytes.Contains(m.dst[m.mark:before], text) {
		m.dst = m.dst[:before]
		return
	}
	m.count++
}

// covers reports whether the messages say nearly all that the body says, so that
// repeating it would only cost tokens.
func (m *messages) covers(body []byte) bool {
	const syntax = 24 // {"message":"…"} and a little more
	said := len(m.dst) - m.mark
	return said <= Max && len(body) <= said+syntax
}
