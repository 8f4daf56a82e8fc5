package call

import (
	"bytes"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// keepsHidden reports whether hidden characters stay in the answer: where
// the operator wants it, and in what a workflow gets, whose own answer is treated.
func (a *rendering) keepsHidden() bool {
	return a.inner || a.hidden || a.ready != nil && a.ready.Answer != nil && a.ready.Answer.KeepHidden
}

// stripDocument returns a JSON answer without the hidden characters, raw and
// escaped: doc itself in nearly all cases. It is done before the answer is written as
// text, in which an escape would be six ordinary characters.
func (a *rendering) stripDocument(doc []byte) []byte {
	if a.keepsHidden() || textfilter.IndexJSON(doc) < 0 {
		return doc
	}
	a.spare = textfilter.AppendJSON(a.spare[:0], doc)
	a.small, a.spare = a.spare, a.small
	return a.small
}

// stripResult removes such characters from the members of the result, which begin at
// mark. Whatever a result is made of, an answer, an error, a page, the result of an MCP
// server, is in it. dst[from:to] is a string of it that has none; from is to when that
// is not known of any.
func (x *exchange) stripResult(mark, from, to int) {
	switch {
	case x.answer.keepsHidden():
		return
	case from < to:
		if textfilter.IndexJSON(x.dst[mark:from]) < 0 && textfilter.IndexJSON(x.dst[to:]) < 0 {
			return
		}
	case textfilter.IndexJSON(x.dst[mark:]) < 0:
		return
	}
	x.pages.Doc = textfilter.AppendJSON(x.pages.Doc[:0], x.dst[mark:])
	x.dst = append(x.dst[:mark], x.pages.Doc...)
}

// escapesHidden reports whether the text of an item of an MCP server, given as JSON
// with its quotes, may be a document that escapes such characters.
func (x *exchange) escapesHidden(raw []byte) bool {
	return !x.answer.keepsHidden() && bytes.Contains(raw, []byte(`\\`))
}

// stripItem removes such characters from the text in item, which is a JSON document,
// and reports whether there were any.
func (x *exchange) stripItem() bool {
	if x.answer.keepsHidden() || textfilter.IndexJSON(x.scratch.item) < 0 {
		return false
	}
	clean := textfilter.AppendJSON(nil, x.scratch.item)
	if bytes.Equal(clean, x.scratch.item) {
		return false
	}
	x.scratch.item = x.bound.Redact(clean) // what they split is together now
	return true
}

// stripMeta returns members of a result's _meta without such characters.
func (x *exchange) stripMeta(members []byte) []byte {
	if x.answer.keepsHidden() {
		return bytes.Clone(members)
	}
	return textfilter.AppendJSON(nil, members)
}

// appendItemText appends an item of an MCP server with another text.
func appendItemText(dst []byte, item jsonscan.Value, text []byte) []byte {
	dst = append(dst, '{')
	mark := len(dst)
	for it := item.Members(); it.Next(); {
		if dst = jsonscan.AppendKey(dst, mark, it.Key()); it.KeyEqual("text") {
			dst = jsonscan.AppendString(dst, text)
		} else {
			dst = append(dst, it.Value().Raw()...)
		}
	}
	return append(dst, '}')
}
