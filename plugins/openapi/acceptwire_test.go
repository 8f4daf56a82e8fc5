package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// A serializer of requests written from OpenAPI's rules ("Style Values", "Encoding
// Object"), RFC 6570 and docs/request-plans.md, to compare with what is sent. It
// shares no code with the product.

// sentParam is a parameter as its document has it, with a value.
type sentParam struct {
	name, in, style string
	explode         bool
	reserved        bool
	content         bool // serialised as JSON
	nested          []string
	v               any
}

func scalarText(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case fileValue:
		return string(x)
	}
	return string(mustJSON(v))
}

func unreserved(s, also string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~"+also, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func nothing(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case []any:
		return !slices.ContainsFunc(x, func(e any) bool { return e != nil })
	case object:
		return !slices.ContainsFunc(x, func(m member) bool { return m.v != nil })
	}
	return false
}

// joinedValue writes a value as one text, items joined by sep.
func joinedValue(v any, sep, pair string, nested []string, esc func(string) string) string {
	var parts []string
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			if e == nil {
				continue
			}
			if l, ok := e.([]any); ok && len(nested) > 0 {
				parts = append(parts, joinedValue(l, separator(nested[0], esc), "", nested[1:], esc))
				continue
			}
			parts = append(parts, esc(scalarText(e)))
		}
	case object:
		for _, m := range x {
			if m.v != nil {
				parts = append(parts, esc(m.name)+pair+esc(scalarText(m.v)))
			}
		}
	default:
		return esc(scalarText(v))
	}
	return strings.Join(parts, sep)
}

func separator(style string, esc func(string) string) string {
	switch style {
	case "spaceDelimited", "ssv":
		return esc(" ")
	case "pipeDelimited", "pipes":
		return esc("|")
	case "tsv":
		return esc("\t")
	}
	return ","
}

// inPath writes a path parameter.
func (p *sentParam) inPath() string {
	esc := func(s string) string { return unreserved(s, "") }
	if p.reserved {
		esc = func(s string) string { return unreserved(s, "!$&'()*+,;=:@") }
	}
	if p.content {
		return esc(string(mustJSON(p.v)))
	}
	sep := separator(p.style, esc)
	pair := sep
	if p.explode {
		pair = "="
	}
	switch p.style {
	case "label":
		if p.explode {
			sep = "."
		}
		return "." + joinedValue(p.v, sep, pair, nil, esc)
	case "matrix":
		name := esc(p.name)
		if !p.explode {
			return ";" + name + "=" + joinedValue(p.v, ",", ",", nil, esc)
		}
		switch x := p.v.(type) {
		case []any:
			var b strings.Builder
			for _, e := range x {
				b.WriteString(";" + name + "=" + esc(scalarText(e)))
			}
			return b.String()
		case object:
			return ";" + joinedValue(x, ";", "=", nil, esc)
		}
		return ";" + name + "=" + esc(scalarText(p.v))
	}
	return joinedValue(p.v, sep, pair, p.nested, esc)
}

// pairsOf writes a query parameter or a styled member of a form.
func (p *sentParam) pairsOf(name func(string) string) []string {
	esc := func(s string) string { return unreserved(s, "") }
	if p.reserved {
		esc = func(s string) string { return unreserved(s, "!$'()*,;:@/?") }
	}
	if p.content {
		return []string{name(p.name) + "=" + esc(string(mustJSON(p.v)))}
	}
	if nothing(p.v) {
		return nil
	}
	var out []string
	if p.style == "deepObject" {
		var deep func(prefix string, v any)
		deep = func(prefix string, v any) {
			switch x := v.(type) {
			case nil:
			case object:
				for _, m := range x {
					deep(prefix+"%5B"+name(m.name)+"%5D", m.v)
				}
			case []any:
				for i, e := range x {
					switch e.(type) {
					case object, []any:
						deep(fmt.Sprintf("%s%%5B%d%%5D", prefix, i), e)
					default:
						deep(prefix+"%5B%5D", e)
					}
				}
			default:
				out = append(out, prefix+"="+esc(scalarText(v)))
			}
		}
		deep(name(p.name), p.v)
		return out
	}
	if p.explode || p.style == "multi" {
		switch x := p.v.(type) {
		case []any:
			for _, e := range x {
				if e == nil {
					continue
				}
				if l, ok := e.([]any); ok && len(p.nested) > 0 {
					out = append(out, name(p.name)+"="+joinedValue(l, separator(p.nested[0], esc), "", p.nested[1:], esc))
					continue
				}
				out = append(out, name(p.name)+"="+esc(scalarText(e)))
			}
			return out
		case object:
			for _, m := range x {
				if m.v != nil {
					out = append(out, name(m.name)+"="+esc(scalarText(m.v)))
				}
			}
			return out
		}
	}
	sep := separator(p.style, esc)
	return []string{name(p.name) + "=" + joinedValue(p.v, sep, sep, p.nested, esc)}
}

func (p *sentParam) inHeader() string {
	raw := func(s string) string { return s }
	if p.content {
		return string(mustJSON(p.v))
	}
	sep := separator(p.style, raw)
	pair := sep
	if p.explode {
		pair = "="
	}
	return joinedValue(p.v, sep, pair, p.nested, raw)
}

// sentBody is a body as its document has it.
type sentBody struct {
	media    string
	v        any
	encoding sourceNode
	formats  map[string]string // Swagger 2.0: collectionFormat by field
}

// compareBody tells how a body differs from what the rules make of its value.
func (b *sentBody) compare(r *operation.Request) string {
	base, params, err := mime.ParseMediaType(string(r.ContentType))
	if err != nil {
		base = string(r.ContentType)
	}
	if want, _, err := mime.ParseMediaType(b.media); err == nil && base != want && !strings.Contains(want, "*") && mediaType(want) != base && !(want == "application/octet-stream" && base == "application/x-test") {
		return fmt.Sprintf("content type %s, want %s", r.ContentType, b.media)
	}
	switch kindOf(base) {
	case bodyJSON:
		return sameJSON(r.Body, mustJSON(b.v))
	case bodyLines:
		var want []byte
		if text, is := b.v.(string); is {
			want = []byte(text)
		}
		list, _ := b.v.([]any)
		for _, e := range list {
			want = append(append(want, mustJSON(e)...), '\n')
		}
		if !bytes.Equal(want, r.Body) {
			return fmt.Sprintf("lines %q, want %q", r.Body, want)
		}
	case bodyForm:
		want := strings.Join(b.form(), "&")
		if want != string(r.Body) {
			return fmt.Sprintf("form %q, want %q", r.Body, want)
		}
	case bodyMultipart:
		return b.multipart(r.Body, params["boundary"])
	default:
		if want := scalarText(b.v); want != string(r.Body) {
			return fmt.Sprintf("body %q, want %q", r.Body, want)
		}
	}
	return ""
}

func sameJSON(got, want []byte) string {
	read := func(b []byte) (v any, err error) {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		err = d.Decode(&v)
		return v, err
	}
	g, err := read(got)
	if err != nil {
		return fmt.Sprintf("%s is not JSON: %v", got, err)
	}
	w, err := read(want)
	if err != nil {
		return err.Error()
	}
	if !reflect.DeepEqual(g, w) {
		return fmt.Sprintf("JSON %s, want %s", got, want)
	}
	return ""
}

// styled is a member that is written as a parameter: with an Encoding Object that
// says a style, or a collectionFormat.
func (b *sentBody) styled(m member) (*sentParam, bool) {
	enc := b.encoding.get(m.name)
	style, explode, reserved := enc.get("style").str(), enc.get("explode").v, enc.get("allowReserved").truth()
	p := &sentParam{name: m.name, style: style, explode: style == "" || style == "form", reserved: reserved, v: m.v}
	if f := b.formats[m.name]; f != "" {
		p.style, p.explode = f, false
		return p, true
	}
	if e, ok := explode.(bool); ok {
		p.explode = e
	}
	return p, style != "" || explode != nil || reserved
}

func (b *sentBody) form() []string {
	var out []string
	o, _ := b.v.(object)
	for _, m := range o {
		enc := b.encoding.get(m.name)
		if p, styled := b.styled(m); styled {
			out = append(out, p.pairsOf(func(s string) string { return unreserved(s, "") })...)
			continue
		}
		if first, _, _ := strings.Cut(enc.get("contentType").str(), ","); isJSON(mediaType(first)) && first != "" {
			out = append(out, url.QueryEscape(m.name)+"="+formEscape(string(mustJSON(m.v))))
			continue
		}
		if nothing(m.v) {
			continue
		}
		if l, ok := m.v.([]any); ok {
			for _, e := range l {
				if e != nil {
					out = append(out, formEscape(m.name)+"="+formEscape(scalarText(e)))
				}
			}
			continue
		}
		out = append(out, formEscape(m.name)+"="+formEscape(scalarText(m.v)))
	}
	return out
}

// formEscape is WHATWG's application/x-www-form-urlencoded percent-encode set.
func formEscape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(unreserved(s, "* "), " ", "+"), "~", "%7E")
}

func (b *sentBody) multipart(body []byte, boundary string) string {
	type part struct{ name, filename, media, content string }
	var want, got []part
	o, _ := b.v.(object)
	for _, m := range o {
		if nothing(m.v) {
			continue
		}
		enc := b.encoding.get(m.name)
		if p, styled := b.styled(m); styled {
			for _, pair := range p.pairsOf(func(s string) string { return unreserved(s, "") }) {
				name, value, _ := strings.Cut(pair, "=")
				name, _ = url.PathUnescape(name)
				value, _ = url.PathUnescape(value)
				want = append(want, part{name: name, content: value})
			}
			continue
		}
		media, _, _ := strings.Cut(enc.get("contentType").str(), ",")
		if strings.Contains(media, "*") {
			media = ""
		}
		add := func(v any) {
			p := part{name: m.name, content: scalarText(v), media: media}
			switch v.(type) {
			case fileValue:
				p.filename, p.media = "f.bin", "application/x-test"
			case object, []any:
				if media == "" {
					p.media = "application/json"
				}
			default:
				if isJSON(mediaType(media)) && media != "" {
					p.content = string(mustJSON(v))
				}
			}
			want = append(want, p)
		}
		if l, ok := m.v.([]any); ok && !(isJSON(mediaType(media)) && media != "") {
			for _, e := range l {
				if e != nil {
					add(e)
				}
			}
			continue
		}
		add(m.v)
	}
	mr := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := mr.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err.Error()
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return err.Error()
		}
		got = append(got, part{p.FormName(), p.FileName(), p.Header.Get("Content-Type"), string(content)})
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d parts %q, want %d %q", len(got), got, len(want), want)
	}
	for i := range got {
		if got[i].media == "application/json" && want[i].media == "application/json" && sameJSON([]byte(got[i].content), []byte(want[i].content)) == "" {
			got[i].content = want[i].content
		}
		if got[i] != want[i] {
			return fmt.Sprintf("part %q, want %q", got[i], want[i])
		}
	}
	return ""
}

// linesOf is what a body of JSON Lines is given: a list of documents, or all lines as one text.
func linesOf(v any) any {
	switch v.(type) {
	case []any:
		return v
	case string:
		return "{}\n"
	}
	return []any{v}
}
