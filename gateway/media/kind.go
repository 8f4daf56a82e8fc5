package media

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf8"
)

// Kind is what an answer is, as far as it matters to an agent.
type Kind uint8

// The kinds of answers.
const (
	JSON   Kind = iota
	Stream      // of JSON documents: newline delimited, or a JSON text sequence
	XML
	HTML
	Text
	Image
	Audio
	Binary
)

// KindOf judges an answer by its media type and, where that says too little, by
// its first bytes: many APIs send JSON as text/plain or without a type.
func KindOf(contentType, body []byte, wantsJSON bool) Kind {
	media := Type(contentType)
	switch {
	case len(body) > 0 && body[0] == '<' && bytes.HasPrefix(body, []byte("<?xml")) && isJSONType(media):
		return XML
	case isStream(media):
		return Stream
	case isJSONType(media):
		return JSON
	case string(media) == "application/xml", string(media) == "text/xml", bytes.HasSuffix(media, []byte("+xml")) && !bytes.HasPrefix(media, []byte("image/")) &&
		string(media) != "application/xhtml+xml":
		return XML
	case (string(media) == "text/html" || wantsJSON && isScript(media)) && sentAsJSON(body):
		return JSON // the default type of PHP, or JSONP
	case string(media) == "text/html", string(media) == "application/xhtml+xml":
		return HTML
	case bytes.HasPrefix(media, []byte("image/")) && !bytes.HasSuffix(media, []byte("+xml")):
		return Image
	case bytes.HasPrefix(media, []byte("audio/")):
		return Audio
	}
	start := bytes.TrimLeft(body[:min(len(body), 512)], blanks)
	switch {
	case (wantsJSON || len(media) == 0) && beginsJSON(start):
		return JSON
	case len(media) == 0 && len(start) > 0 && start[0] == '<' && hasHTML(start):
		return HTML
	case bytes.HasPrefix(media, []byte("text/")), bytes.HasSuffix(media, []byte("xml")), bytes.HasSuffix(media, []byte("yaml")):
		return Text
	case utf8.Valid(body) && bytes.IndexByte(body, 0) < 0:
		return Text
	}
	return Binary
}

const blanks = " \t\r\n"

// beginsJSON reports whether text begins as an object or array of JSON does, with its first
// key or item: "[INFO] ready", "[ ] to do" and "{name} is here" do not.
func beginsJSON(text []byte) bool {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return false
	}
	next := bytes.TrimLeft(text[1:], blanks)
	switch {
	case len(next) == 0: // it was cut, here or by who sent it
		return true
	case text[0] == '{':
		return next[0] == '"' || next[0] == '}'
	case next[0] == '"':
		return true
	case next[0] == '{', next[0] == '[':
		return beginsJSON(next)
	}
	n := bytes.IndexAny(next, ",]"+blanks)
	if n < 0 {
		n = len(next)
	}
	item, end := next[:n], bytes.TrimLeft(next[n:], blanks)
	var scalar bool
	switch string(item) {
	case "":
		scalar = next[0] == ']'
	case "true", "false", "null":
		scalar = true
	default:
		_, err := strconv.ParseFloat(string(item), 64)
		scalar = (item[0] == '-' || item[0] >= '0' && item[0] <= '9') && (err == nil || errors.Is(err, strconv.ErrRange))
	}
	switch {
	case !scalar || len(end) == 0:
		return scalar
	case end[0] == ',':
		return true
	}
	after := bytes.TrimLeft(end[1:], blanks)
	return end[0] == ']' && (len(after) == 0 || after[0] == ',' || after[0] == ']') // the latter where it is in another one
}

func isJSONType(media []byte) bool {
	return string(media) == "application/json" || string(media) == "text/json" || bytes.HasSuffix(media, []byte("+json"))
}

// isScript reports the media types of JavaScript.
func isScript(media []byte) bool {
	switch string(media) {
	case "application/javascript", "text/javascript", "application/x-javascript":
		return true
	}
	return false
}

// sentAsJSON reports whether a body is JSON whatever its type says: it begins as that, or
// as a call with it.
func sentAsJSON(body []byte) bool {
	start := bytes.TrimPrefix(bytes.TrimLeft(body[:min(len(body), 512)], blanks), []byte("/**/"))
	if beginsJSON(start) {
		return true
	}
	n := 0
	for n < len(start) && (isName(start[n]) || n > 0 && (start[n] == '.' || start[n] >= '0' && start[n] <= '9')) {
		n++
	}
	return n > 0 && n < len(start) && start[n] == '(' && beginsJSON(start[n+1:])
}

// isStream reports the media types of streams of JSON documents.
func isStream(media []byte) bool {
	switch string(media) {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl", "application/jsonlines", "application/x-jsonlines",
		"application/json-seq", "application/json-lines", "application/stream+json", "text/x-ndjson":
		return true
	}
	return false
}

func hasHTML(start []byte) bool {
	low := bytes.ToLower(start[:min(len(start), 64)])
	return bytes.HasPrefix(low, []byte("<!doctype html")) || bytes.HasPrefix(low, []byte("<html"))
}

// Type is a Content-Type without parameters, as sent: media types are
// compared in lower case, which all but a few servers send.
func Type(contentType []byte) []byte {
	if i := bytes.IndexByte(contentType, ';'); i >= 0 {
		contentType = contentType[:i]
	}
	contentType = bytes.TrimSpace(contentType)
	for _, c := range contentType {
		if c >= 'A' && c <= 'Z' {
			return bytes.ToLower(contentType)
		}
	}
	return contentType
}
