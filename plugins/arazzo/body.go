package arazzo

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"strings"
)

// read makes the payload. Expressions in the text of a JSON document are written as JSON has
// them where they stand in a string: a quote in an input is a quote in the value. In an XML
// document they are text.
func (b *body) read(s scope) (any, error) {
	if b.payload.kind != valueText {
		return b.payload.read(s)
	}
	quoted := b.payload
	quoted.json = jsonKind(b.contentType) && strings.ContainsAny(b.payload.text[0].literal, "{[")
	quoted.xml = xmlKind(b.contentType)
	return quoted.read(s)
}

// xmlKind reports whether a body of a content type is XML.
func xmlKind(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/xml" || kind == "text/xml" || strings.HasSuffix(kind, "+xml")
}

// inXML is a text as it stands between tags, or in an attribute.
func inXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}

// jsonKind reports whether a body of a content type may be JSON.
func jsonKind(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "" || kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// inString reports whether a JSON text that goes on ends in a string; in: it begins in one.
func inString(text string, in bool) bool {
	escaped := false
	for i := range len(text) {
		switch c := text[i]; {
		case escaped:
			escaped = false
		case in && c == '\\':
			escaped = true
		case c == '"':
			in = !in
		}
	}
	return in
}

// ReadText reads a body or query string that is written as text of a content type: JSON, or a
// form. What is neither stays as it is.
func ReadText(contentType string, v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	kind, _, _ := strings.Cut(contentType, ";")
	switch {
	case strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded"):
		if form, err := url.ParseQuery(text); err == nil {
			out := map[string]any{}
			for k, values := range form {
				if out[k] = values[0]; len(values) > 1 {
					list := make([]any, len(values))
					for i := range values {
						list[i] = values[i]
					}
					out[k] = list
				}
			}
			return out
		}
	case jsonKind(contentType):
		if v, err := decode([]byte(text)); err == nil {
			switch v.(type) {
			case map[string]any, []any:
				return v
			}
		}
	}
	return v
}

// replace puts a value into a copy of a body. The last name of the pointer may be new.
func replace(body any, pointer string, v any) (any, error) {
	if pointer == "" {
		return v, nil
	}
	token, rest, more := strings.Cut(pointer[1:], "/")
	token = unescapePointer(token)
	if more {
		rest = "/" + rest
	}
	switch at := body.(type) {
	case map[string]any:
		old, has := at[token]
		if !has && more {
			break
		}
		inner, err := replace(old, rest, v)
		if err != nil {
			return nil, err
		}
		out := make(map[string]any, len(at)+1)
		maps.Copy(out, at)
		out[token] = inner
		return out, nil
	case []any:
		for i := range at {
			if itoa(i) != token {
				continue
			}
			inner, err := replace(at[i], rest, v)
			if err != nil {
				return nil, err
			}
			out := append([]any(nil), at...)
			out[i] = inner
			return out, nil
		}
	case nil:
		if !more {
			return map[string]any{token: v}, nil
		}
	}
	return nil, fmt.Errorf("the body has nothing at %.200q that could be replaced", pointer)
}
