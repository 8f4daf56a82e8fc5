package call

import (
	"bytes"
	"encoding/base64"

	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// contentFiltered is contentMCP where a setting or a plugin redacts: the result is
// written from scratch, and everything in it was filtered. Text and structuredContent
// are rendered like any answer; files are filtered as
// files, links and what stands beside the content as JSON documents.
func (x *exchange) contentFiltered(r resultFacts, bad bool) error {
	x.openMember("content")
	x.written = append(x.written, '[')
	n, asText := len(x.written), false
	for e := x.lastContent().Elements(); e.Next(); {
		if len(x.written) > n {
			x.written = append(x.written, ',')
		}
		isJSON, err := x.filteredItem(e.Value(), bad)
		if err != nil {
			return err
		}
		asText = asText || isJSON
	}
	x.written = append(x.written, ']')
	if r.structured.Exists() {
		if err := x.structuredFiltered(r.structured, asText, bad); err != nil {
			return err
		}
	}
	if r.isError.Exists() {
		x.openMember("isError")
		x.written = append(x.written, jsonBool(bad)...)
	}
	x.beside = append(x.beside[:0], '{')
	for i := range x.parts {
		if m := &x.parts[i]; !m.content && !bytes.Equal(m.key, []byte("isError")) && !bytes.Equal(m.key, []byte("content")) {
			x.beside = jsonscan.AppendMember(x.beside, 1, m.key, m.value.Raw())
		}
	}
	x.writeMembers(x.filteredObject(append(x.beside, '}')))
	meta := jsonscan.Value{}
	if r.meta.Kind() == jsonscan.Object {
		x.beside = append(x.beside[:0], r.meta.Raw()...)
		meta = x.filteredObject(x.beside)
	}
	x.takeMeta(meta)
	x.answer.text = x.members
	return nil
}

// lastContent is the list of items; of several the last counts.
func (x *exchange) lastContent() (v jsonscan.Value) {
	for i := range x.parts {
		if x.parts[i].content {
			v = x.parts[i].value
		}
	}
	return v
}

func jsonBool(v bool) string {
	if v {
		return "true"
	}
	return "false"
}

// filteredObject filters an object that stands beside the content, and returns the
// object that is left: missing when there is nothing, or when it must not be shown. It
// is valid until the next piece is filtered.
func (x *exchange) filteredObject(doc []byte) jsonscan.Value {
	if len(doc) <= 2 {
		return jsonscan.Value{}
	}
	out, is, err := x.answer.filter(doc, manifest.TypeJSON, partMetadata)
	if v := jsonscan.Trusted(out); err == nil && is == manifest.TypeJSON && v.Kind() == jsonscan.Object {
		return v
	}
	return jsonscan.Value{}
}

// writeMembers appends the members of an object to the object that is written.
func (x *exchange) writeMembers(v jsonscan.Value) {
	for it := v.Members(); it.Next(); {
		x.openMember(string(it.Key()))
		x.written = append(x.written, it.Value().Raw()...)
	}
}

// filteredItem writes one item of the content, and reports whether it is text that
// holds a JSON object or array.
func (x *exchange) filteredItem(item jsonscan.Value, bad bool) (isJSON bool, err error) {
	var kind, text, data, mime, resource jsonscan.Value
	x.beside = append(x.beside[:0], '{')
	for it := item.Members(); it.Next(); {
		switch {
		case it.KeyEqual("type"):
			kind = it.Value()
		case it.KeyEqual("text"):
			text = it.Value()
		case it.KeyEqual("data"):
			data = it.Value()
		case it.KeyEqual("mimeType"):
			mime = it.Value()
		case it.KeyEqual("resource"):
			resource = it.Value()
		default:
			x.beside = jsonscan.AppendMember(x.beside, 1, it.Key(), it.Value().Raw())
		}
	}
	x.beside = append(x.beside, '}')
	switch {
	case kind.EqualText("text") && text.Kind() == jsonscan.String:
		x.scratch.item = text.AppendText(x.scratch.item[:0])
		isJSON = isDocument(x.scratch.item)
		read, err := x.filteredText(isJSON, bad)
		if err != nil {
			return isJSON, err
		}
		x.written = append(x.written, `{"type":"text","text":`...)
		x.written = jsonscan.AppendString(x.written, read)
	case (kind.EqualText("image") || kind.EqualText("audio")) && data.Kind() == jsonscan.String:
		x.written = append(x.written, `{"type":`...)
		x.written = append(append(x.written, kind.Raw()...), ',')
		if err := x.writeFile("data", data, mime); err != nil {
			return false, err
		}
	case kind.EqualText("resource") && resource.Kind() == jsonscan.Object:
		return false, x.filteredResource(resource)
	default: // a link, or what is not known here
		return false, x.filteredOther(item)
	}
	x.writeMembers(x.filteredObject(x.beside))
	x.written = append(x.written, '}')
	return isJSON, nil
}

// filteredText renders the text in item, or filters the text of a failure.
func (x *exchange) filteredText(isJSON, bad bool) ([]byte, error) {
	if !bad {
		a, err := x.renderItem(isJSON)
		return a.text, err
	}
	is := media.TypeText
	if isJSON {
		is = manifest.TypeJSON
	}
	out, _, err := x.answer.filter(x.scratch.item, is, partError)
	return out, err
}

// writeFile writes what a file in base64 is, and what is left of it as the member of
// that name.
func (x *exchange) writeFile(name string, data, mime jsonscan.Value) error {
	var err error
	if x.scratch.item, err = decodeBase64(x.scratch.item[:0], data); err != nil {
		return problem.New(problem.InvalidPlugin, "the answer is withheld: a file in it is not valid base64, and cannot be filtered").
			Fix("ask the operator of the MCP server")
	}
	m := string(media.Type(mime.AppendText(nil)))
	out, shown, err := x.answer.filterFile(x.scratch.item, m)
	if err != nil {
		return err
	}
	x.openMember(name)
	x.written = append(x.written, '"')
	x.written = base64.StdEncoding.AppendEncode(x.written, out)
	x.written = append(x.written, `","mimeType":`...)
	x.written = jsonscan.AppendStringOf(x.written, shown)
	return nil
}

// filteredResource writes an embedded resource: its content as text or as a file, its
// address and the rest as a document.
func (x *exchange) filteredResource(resource jsonscan.Value) error {
	var text, blob, mime jsonscan.Value
	beside := append([]byte(nil), x.beside...) // of the item around it
	x.beside = append(x.beside[:0], '{')
	for it := resource.Members(); it.Next(); {
		switch {
		case it.KeyEqual("text"):
			text = it.Value()
		case it.KeyEqual("blob"):
			blob = it.Value()
		case it.KeyEqual("mimeType"):
			mime = it.Value()
		default:
			x.beside = jsonscan.AppendMember(x.beside, 1, it.Key(), it.Value().Raw())
		}
	}
	x.beside = append(x.beside, '}')
	x.written = append(x.written, `{"type":"resource","resource":{`...)
	left := x.filteredObject(x.beside)
	if !left.Get("uri").Exists() { // which a resource must have
		x.openMember("uri")
		x.written = jsonscan.AppendStringOf(x.written, "sluice://"+x.ts.Slug+"/"+x.tool.Name)
	}
	x.writeMembers(left)
	switch {
	case text.Kind() == jsonscan.String:
		x.scratch.item = text.AppendText(x.scratch.item[:0])
		is, shown := media.TextType(media.Text, mime.AppendText(nil)), media.Shown(string(media.Type(mime.AppendText(nil))))
		if isDocument(x.scratch.item) {
			is = manifest.TypeJSON
		}
		out, _, err := x.answer.filter(x.scratch.item, is, partAnswer)
		if err != nil {
			return err
		}
		x.openMember("text")
		x.written = jsonscan.AppendString(x.written, out)
		if shown != "" {
			x.openMember("mimeType")
			x.written = jsonscan.AppendStringOf(x.written, shown)
		}
	case blob.Kind() == jsonscan.String:
		if err := x.writeFile("blob", blob, mime); err != nil {
			return err
		}
	}
	x.written = append(x.written, '}')
	x.writeMembers(x.filteredObject(beside))
	x.written = append(x.written, '}')
	return nil
}

// filteredOther writes an item as the filters leave it, which has to stay an item.
func (x *exchange) filteredOther(item jsonscan.Value) error {
	x.scratch.item = append(x.scratch.item[:0], item.Raw()...)
	out, is, err := x.answer.filter(x.scratch.item, manifest.TypeJSON, partMetadata)
	if err != nil {
		return err
	}
	if v := jsonscan.Trusted(out); is != manifest.TypeJSON || v.Kind() != jsonscan.Object || v.Get("type").Kind() != jsonscan.String {
		return problem.New(problem.InvalidPlugin, "the answer is withheld: nothing that a client can read is left of a part of it").
			Fix("ask the operator of %s to look at its plugins", x.ts.Slug)
	}
	x.written = append(x.written, out...)
	return nil
}

// structuredFiltered writes structuredContent as [exchange.structuredMCP] does, also
// that of a failed result.
func (x *exchange) structuredFiltered(v jsonscan.Value, asText, bad bool) error {
	if !bad {
		return x.structuredMCP(v, asText, false)
	}
	x.scratch.item = append(x.scratch.item[:0], v.Raw()...)
	out, is, err := x.answer.filter(x.scratch.item, manifest.TypeJSON, partError)
	if err != nil {
		return err
	}
	if is == manifest.TypeJSON {
		x.writeStructured(out)
	}
	return nil
}

// questionFiltered passes on what a server asks, if the filters leave its state, which
// the client sends back, as it is.
func (x *exchange) questionFiltered(result jsonscan.Value) error {
	x.beside = append(x.beside[:0], '{')
	for it := result.Members(); it.Next(); {
		if !it.KeyEqual("resultType") && !it.KeyEqual("_meta") {
			x.beside = jsonscan.AppendMember(x.beside, 1, it.Key(), it.Value().Raw())
		}
	}
	x.beside = append(x.beside, '}')
	out, is, err := x.answer.filter(x.beside, manifest.TypeJSON, partQuestion)
	if err != nil {
		return err
	}
	var v jsonscan.Value
	if is == manifest.TypeJSON {
		v = jsonscan.Trusted(out)
	}
	if v.Kind() != jsonscan.Object || !sameValue(result.Get("requestState"), v.Get("requestState")) {
		return problem.New(problem.InvalidPlugin, "the question of the MCP server is withheld: a filter changed what has to be sent back").
			Fix("ask the operator of %s to look at its plugins", x.ts.Slug)
	}
	x.writeMembers(v)
	return nil
}

// sameValue reports whether two values are the same text, or are written alike.
func sameValue(a, b jsonscan.Value) bool {
	if a.Kind() == jsonscan.String && b.Kind() == jsonscan.String {
		return bytes.Equal(a.AppendText(nil), b.AppendText(nil))
	}
	return bytes.Equal(jsonscan.AppendMinified(nil, a.Raw()), jsonscan.AppendMinified(nil, b.Raw()))
}
