package call

import (
	"bytes"

	"github.com/sluicegate/sluice/gateway/ask"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

// contentMCP turns an MCP server's result into the caller's: the server's own
// bytes, except that text is rendered like any answer: the response programs when it
// is JSON, the third-party plugins, the compression and the token budget. Each part
// of the result is walked once, and text is taken out of its string only where
// something may become of it: a result that passes as it came costs three walks.
func (x *exchange) contentMCP(body []byte) error {
	whole := x.render(x.received)
	if x.server().Fault() != nil {
		return x.faultMCP(whole)
	}
	x.written = x.written[:0]
	result := jsonscan.Trusted(body)
	r := x.readResult(result)
	switch {
	case len(x.call.AsTask) > 0 && result.Get("task").Exists():
		return x.taskStarted(result)
	case !r.kind.Exists(), r.kind.EqualText("complete"):
	case r.kind.EqualText("input_required"):
		return x.inputRequired(result)
	case r.kind.EqualText("task") && x.call.Tasks:
		return x.taskStarted(result)
	default:
		return problem.New(problem.Unsupported, "the MCP server answered with an unknown kind of result").
			Fix("update the gateway")
	}
	if err := x.checkResult(&r); err != nil {
		return err
	}
	bad, _ := r.isError.Bool()
	if whole.isError = bad; !bad {
		x.out.Status = 200
	}
	if x.redacts() {
		return x.contentFiltered(r, bad)
	}
	// Only then it matters whether a text says what structuredContent says.
	wanted := r.structured.Exists() && !x.ready.Answer.PassStructured
	asText := false
	for i := range x.parts {
		m := &x.parts[i]
		if !m.content || bad {
			x.written = jsonscan.AppendMember(x.written, 0, m.key, m.value.Raw())
			continue
		}
		x.openMember("content")
		x.written = append(x.written, '[')
		n := len(x.written)
		for e := m.value.Elements(); e.Next(); {
			if len(x.written) > n {
				x.written = append(x.written, ',')
			}
			isJSON, err := x.contentItem(e.Value(), wanted)
			if err != nil {
				return err
			}
			asText = asText || isJSON
		}
		x.written = append(x.written, ']')
	}
	if r.structured.Exists() {
		if err := x.structuredMCP(r.structured, asText, bad); err != nil {
			return err
		}
	}
	x.takeMeta(r.meta)
	whole.text = x.written
	x.publishLinks()
	return nil
}

// resultPart is a member of an MCP server's result that the caller gets.
type resultPart struct {
	key     []byte // between its quotes
	value   jsonscan.Value
	named   bool // it is called content
	content bool // it is the list of items
}

// resultFacts are the members of a result that say how it is to be read. Of several
// of a name the last counts.
type resultFacts struct{ kind, isError, structured, meta jsonscan.Value }

// readResult reads them and leaves the others in parts. A null is what is not there: servers in
// languages that write it for every member they do not set mean that.
func (x *exchange) readResult(result jsonscan.Value) (r resultFacts) {
	x.parts = x.parts[:0]
	for it := result.Members(); it.Next(); {
		switch v := it.Value(); {
		case v.Kind() == jsonscan.Null && (it.KeyEqual("_meta") || it.KeyEqual("isError") || it.KeyEqual("structuredContent") && !x.server().Modern):
		case it.KeyEqual("resultType"):
			r.kind = v
		case it.KeyEqual("_meta"):
			r.meta = v
		case it.KeyEqual("structuredContent"):
			r.structured = v
		default:
			if it.KeyEqual("isError") {
				r.isError = v
			}
			named := it.KeyEqual("content")
			x.parts = append(x.parts, resultPart{it.Key(), v, named, named && v.Kind() == jsonscan.Array})
		}
	}
	return r
}

// openMember begins a member of the result, or of an object in it.
func (x *exchange) openMember(key string) {
	mark := 0
	if n := len(x.written); n > 0 && (x.written[n-1] == '{' || x.written[n-1] == ',') {
		mark = n
	}
	x.written = jsonscan.AppendKey(x.written, mark, []byte(key))
}

// contentItem writes one item of the content and reports, where that is wanted,
// whether it is text that holds a JSON object or array.
func (x *exchange) contentItem(item jsonscan.Value, wanted bool) (isJSON bool, err error) {
	raw, budget := item.Raw(), x.budget()
	// Unescaping only ever shortens: what fits as it is written fits as text.
	fits := budget <= 0 || len(raw) <= budget
	rewrites, escapes := x.rewritesJSON(), x.escapesHidden(raw)
	if !rewrites && !wanted && fits && !escapes && !x.readsText() {
		x.written = append(x.written, raw...)
		return false, nil
	}
	var kind, text jsonscan.Value
	for it := item.Members(); it.Next(); {
		switch {
		case it.KeyEqual("type"):
			kind = it.Value()
		case it.KeyEqual("text"):
			text = it.Value()
		}
	}
	if text.Kind() != jsonscan.String || !kind.EqualText("text") {
		x.written = append(x.written, raw...)
		return false, nil
	}
	if !x.readsText() && fits && !mayBeDocument(text.Raw()) {
		x.written = append(x.written, raw...)
		return false, nil
	}
	x.scratch.item = text.AppendText(x.scratch.item[:0])
	isJSON = isDocument(x.scratch.item)
	if (isJSON || !x.readsText()) && (budget <= 0 || len(x.scratch.item) <= budget) && (!isJSON || !rewrites) {
		if isJSON && escapes && x.stripItem() {
			x.written = appendItemText(x.written, item, x.scratch.item)
		} else {
			x.written = append(x.written, raw...)
		}
		return isJSON, nil
	}
	a, err := x.renderItem(isJSON)
	if err != nil {
		return isJSON, err
	}
	x.written = appendItemText(x.written, item, a.text)
	return isJSON, nil
}

// rewritesJSON reports whether text that is JSON can become another than it is,
// though it is within the budget.
func (x *exchange) rewritesJSON() bool {
	a := x.ready.Answer
	return a.Profile != registry.ProfileOff || len(a.Program.Tables) > 0 || a.Reshape != nil || len(x.ready.Plugins) > 0
}

// readsText reports whether a plugin gets text that is not JSON.
func (x *exchange) readsText() bool {
	for _, p := range x.ready.Plugins {
		if p.Package.Manifest.Reads(media.TypeText) {
			return true
		}
	}
	return false
}

// mayBeDocument reports whether the text of a JSON string, given with its quotes, may
// begin as [isDocument] wants it. White space and brackets may be escaped.
func mayBeDocument(raw []byte) bool {
	for _, c := range raw[1:] {
		switch c {
		case ' ':
			continue
		case '{', '[', '\\':
			return true
		}
		return false
	}
	return false
}

// renderItem renders the text in item as an answer of its own.
func (x *exchange) renderItem(isJSON bool) (*rendering, error) { return x.renderPart(isJSON, false) }

// renderPart is renderItem; with asJSON the text is JSON, not a table.
func (x *exchange) renderPart(isJSON, asJSON bool) (*rendering, error) {
	in := received{status: 200, contentType: typeText, body: x.scratch.item}
	if isJSON {
		in.contentType = typeJSON
	}
	x.form, x.small = x.form[:0], x.small[:0]
	x.part = rendering{input: &x.input, scratch: x.scratch, args: x.args, received: in, asJSON: asJSON}
	return &x.part, x.part.run()
}

var (
	typeText = []byte("text/plain; charset=utf-8")
	typeJSON = []byte("application/json")
)

// isDocument reports whether text is a JSON object or array. Deeper nesting than
// we look at is none.
func isDocument(text []byte) bool {
	for _, c := range text {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{', '[':
			_, err := jsonscan.Parse(text, jsonscan.DefaultMaxDepth)
			return err == nil
		}
		return false
	}
	return false
}

// structuredMCP writes structuredContent: as it is or what the programs and the token
// budget leave of it. Where it is not passed on, the agent reads it as text, unless a
// text says it already.
func (x *exchange) structuredMCP(v jsonscan.Value, asText, bad bool) error {
	if bad || x.ready.Answer.PassStructured {
		return x.passStructured(v, bad)
	}
	if asText {
		return nil
	}
	x.scratch.item = append(x.scratch.item[:0], v.Raw()...)
	part, err := x.renderItem(true)
	if err != nil {
		return err
	}
	x.appendTextItem(part.text)
	return nil
}

// passStructured writes structuredContent for a program that reads it. One over the token
// budget loses whole items of its main list, so that it still is what the output schema
// says; one without such a list stays whole, since clients refuse a result that lacks
// a required member.
func (x *exchange) passStructured(v jsonscan.Value, bad bool) error {
	a := x.ready.Answer
	raw := v.Raw()
	budget := x.budget()
	over := budget > 0 && len(raw) > budget && tokens.Exceeds(raw, budget)
	if bad || !over && !a.Redact && len(a.Program.Tables) == 0 && len(x.ready.Plugins) == 0 {
		x.writeStructured(raw)
		return nil
	}
	x.scratch.item = append(x.scratch.item[:0], raw...)
	part, err := x.renderPart(true, true)
	if err != nil {
		return err
	}
	if a.Reshape != nil || part.isText { // no longer what the schema says
		return nil
	}
	raw = x.small
	if part.verbatim {
		raw = x.scratch.item
	}
	cut := part.listed != nil
	if cut {
		raw = part.listed
	}
	x.writeStructured(raw)
	if cut {
		note := part.text[bytes.LastIndexByte(part.text, '\n')+1:]
		x.appendTextItem(append([]byte("structuredContent: "), note...))
	}
	return nil
}

// writeStructured writes structuredContent. Clients of the older revisions refuse a whole result in
// which it is not an object: they get one around it, as servers give them that are made with the
// official TypeScript SDK.
func (x *exchange) writeStructured(raw []byte) {
	x.openMember("structuredContent")
	if x.request == nil || x.request.Modern() || jsonscan.Trusted(raw).Kind() == jsonscan.Object {
		x.written = append(x.written, raw...)
		return
	}
	x.written = append(append(append(x.written, `{"result":`...), raw...), '}')
}

// appendTextItem puts text behind the content that was written.
func (x *exchange) appendTextItem(text []byte) {
	w := jsonscan.Trusted(append(append([]byte{'{'}, x.written...), '}'))
	content := w.Get("content")
	x.written = x.written[:0]
	for it := w.Members(); it.Next(); {
		if !it.KeyEqual("content") {
			x.written = jsonscan.AppendMember(x.written, 0, it.Key(), it.Value().Raw())
		}
	}
	x.openMember("content")
	if content.Kind() == jsonscan.Array && content.Len() > 0 {
		raw := content.Raw()
		x.written = append(append(x.written, raw[:len(raw)-1]...), ',')
	} else {
		x.written = append(x.written, '[')
	}
	x.written = append(x.written, `{"type":"text","text":`...)
	x.written = append(jsonscan.AppendString(x.written, text), '}', ']')
}

// takeMeta keeps the members of a result's _meta: all but who the server is,
// which is this toolset for its clients.
func (x *exchange) takeMeta(meta jsonscan.Value) {
	if len(x.written) == 0 && x.tool.Item == nil && !x.aboutTask() {
		x.written = append(x.written, `"content":[]`...) // clients of every revision want it
	}
	mark := len(x.written)
	x.written = appendMetaMembers(x.written, meta)
	if len(x.written) > mark {
		x.meta = x.written[mark:]
	}
	x.members = x.written[:mark]
}

func appendMetaMembers(dst []byte, meta jsonscan.Value) []byte {
	mark := len(dst)
	for it := meta.Members(); it.Next(); {
		if it.KeyEqual("io.modelcontextprotocol/serverInfo") || it.KeyEqual(TraceKey) || it.KeyEqual(mcp.MetaRelatedTask) {
			continue
		}
		dst = jsonscan.AppendMember(dst, mark, it.Key(), it.Value().Raw())
	}
	return dst
}

// inputRequired passes a question of the server on to a client that can answer.
func (x *exchange) inputRequired(result jsonscan.Value) error {
	if x.request == nil || !x.request.Modern() {
		return problem.New(problem.Unsupported, "this tool asks its user something during the call (%s), and this client did not say in a session that it can answer", ask.AskedFor(result)).
			Fix("use another tool, or a client that can be asked")
	}
	meta := result.Get("_meta")
	if x.redacts() {
		if err := x.questionFiltered(result); err != nil {
			return err
		}
		x.beside = append(x.beside[:0], meta.Raw()...)
		meta = x.filteredObject(x.beside)
	} else {
		for it := result.Members(); it.Next(); {
			if !it.KeyEqual("resultType") && !it.KeyEqual("_meta") {
				x.written = jsonscan.AppendMember(x.written, 0, it.Key(), it.Value().Raw())
			}
		}
	}
	x.request.InputRequired, x.out.Status = true, 200
	x.answer.text = x.written
	x.takeMeta(meta)
	return nil
}
