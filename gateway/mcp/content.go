package mcp

import (
	"bytes"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// ContentFault says what is wrong with an item of the content of a tool's result; "": nothing.
func ContentFault(item jsonscan.Value) string {
	if item.Kind() != jsonscan.Object {
		return "is not an object"
	}
	var kind, text, data, mime, resource, uri, name jsonscan.Value
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
		case it.KeyEqual("uri"):
			uri = it.Value()
		case it.KeyEqual("name"):
			name = it.Value()
		}
	}
	str := func(v jsonscan.Value) bool { return v.Kind() == jsonscan.String }
	switch {
	case kind.EqualText("text"):
		if !str(text) {
			return "has no text"
		}
	case kind.EqualText("image"), kind.EqualText("audio"):
		if !str(data) || !str(mime) {
			return "has no data or mimeType"
		}
	case kind.EqualText("resource"):
		body, blob := resource.Get("text"), resource.Get("blob")
		there := func(v jsonscan.Value) bool { return v.Kind() > jsonscan.Null }
		if resource.Kind() != jsonscan.Object || !str(resource.Get("uri")) || str(body) == str(blob) || there(body) && !str(body) || there(blob) && !str(blob) {
			return "has no resource with uri and either text or blob"
		}
	case kind.EqualText("resource_link"):
		if !str(uri) || !str(name) {
			return "has no uri or name"
		}
	default:
		return "is of an unknown type"
	}
	return ""
}

// IsPage reports a result of resources/read that is nothing but pages of MCP Apps: programs
// that the client runs in a frame, and no text that a model reads.
func IsPage(result jsonscan.Value) bool {
	pages := 0
	for it := result.Get("contents").Elements(); it.Next(); pages++ {
		mime := it.Value().Get("mimeType")
		if !bytes.HasPrefix(it.Value().Get("uri").AppendText(nil), []byte("ui://")) || !mime.EqualText("text/html;profile=mcp-app") && !mime.EqualText("text/html+skybridge") {
			return false
		}
	}
	return pages > 0
}

// AppendPublic appends v, in which the members called uri are URIs of the server: of
// links and of what is embedded. public is how clients know one.
func AppendPublic(dst []byte, v jsonscan.Value, public func(own string) string) []byte {
	switch v.Kind() {
	case jsonscan.Array:
		dst = append(dst, '[')
		mark := len(dst)
		for it := v.Elements(); it.Next(); {
			if len(dst) > mark {
				dst = append(dst, ',')
			}
			dst = AppendPublic(dst, it.Value(), public)
		}
		return append(dst, ']')
	case jsonscan.Object:
		dst = append(dst, '{')
		mark := len(dst)
		for it := v.Members(); it.Next(); {
			dst = jsonscan.AppendKey(dst, mark, it.Key())
			switch w := it.Value(); {
			case it.KeyEqual("_meta"):
				dst = append(dst, w.Raw()...)
			case it.KeyEqual("uri") && w.Kind() == jsonscan.String:
				own := string(w.AppendText(nil))
				if known := public(own); known != own {
					dst = jsonscan.AppendStringOf(dst, known)
				} else {
					dst = append(dst, w.Raw()...)
				}
			default:
				dst = AppendPublic(dst, w, public)
			}
		}
		return append(dst, '}')
	}
	return append(dst, v.Raw()...)
}
