package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// bodyKind is how a body is written.
type bodyKind uint8

const (
	bodyJSON bodyKind = iota + 1
	bodyForm
	bodyMultipart
	bodyText
	bodyXML
	bodyLines // one JSON value a line
	bodyBinary
)

// body is the request body chosen among those that are offered.
type body struct {
	at       value
	kind     bodyKind
	media    string // without parameters
	written  string // as the specification has it, parameters included, where that is what is sent
	required bool
	schema   *schema
	desc     value
	encoding []operation.Encoding
	variant  *body // another form that holds files, beside one that does not; nil: none
	keyed    bool  // a member is a credential that agents do not see
}

// mediaType is a media type without parameters, lower case; names that real
// specifications get wrong are repaired.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	switch s {
	case "", "*/*", "*", "application/*", "applicationjson", "json", "application-json", "app/json":
		return "application/json"
	case "application/form-data", "multipart/form", "form-data", "multipart/*":
		return "multipart/form-data"
	case "application/x-www-form-url-encoded", "application/form-urlencoded", "x-www-form-urlencoded", "form", "application/www-form-urlencoded":
		return "application/x-www-form-urlencoded"
	}
	return s
}

// withParameters is a media type t as it was written, when that has parameters to be sent:
// application/json;odata=verbose. Of multipart they are the boundary, which is ours.
func withParameters(written, t string) string {
	written = strings.TrimSpace(written)
	if !strings.Contains(written, ";") || !strings.HasPrefix(strings.ToLower(written), t) || strings.HasPrefix(t, "multipart/") || !headerSafe(written) {
		return ""
	}
	return written
}

// headerSafe reports a media type with parameters that may stand in a header alone.
func headerSafe(t string) bool {
	const longest = 200
	return len(t) <= longest && strings.IndexFunc(t, func(r rune) bool { return r < ' ' || r > '~' || r == ',' }) < 0
}

func isJSON(t string) bool {
	return t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json") || t == "application/x-json"
}

// validMediaType checks RFC 9110 §8.3.1 loosely: type "/" subtype of tokens.
func validMediaType(t string) bool {
	typ, sub, ok := strings.Cut(t, "/")
	return ok && headerToken(typ) && headerToken(sub)
}

func kindOf(t string) bodyKind {
	switch {
	case isJSON(t):
		return bodyJSON
	case t == "application/x-www-form-urlencoded":
		return bodyForm
	case strings.HasPrefix(t, "multipart/"):
		return bodyMultipart
	case t == "application/jsonl" || t == "application/x-ndjson" || t == "application/ndjson" || t == "application/x-jsonlines":
		return bodyLines
	case t == "application/xml" || t == "text/xml" || strings.HasSuffix(t, "+xml"):
		return bodyXML
	case strings.HasPrefix(t, "text/") || t == "application/graphql" || t == "application/javascript" || t == "application/yaml" ||
		t == "application/x-yaml" || strings.HasSuffix(t, "+yaml") || t == "application/sql" || t == "application/jwt":
		return bodyText
	default:
		return bodyBinary
	}
}

// rank orders the media types of a request body (rule 30): lower is better.
func rank(t, method string, files bool) int {
	switch kindOf(t) {
	case bodyJSON:
		switch {
		case t == "application/json":
			return 0
		case method == "PATCH" && t == "application/merge-patch+json":
			return 1
		case strings.HasSuffix(t, "json-patch+json"):
			return 4
		default:
			return 3
		}
	case bodyForm:
		if files {
			return 11
		}
		return 9
	case bodyMultipart:
		if t != "multipart/form-data" {
			return 40
		}
		return 10
	case bodyText:
		return 20
	case bodyBinary:
		if t == "application/octet-stream" {
			return 21
		}
		return 30
	case bodyXML:
		return 22
	default:
		return 23
	}
}

// requestBody reads an OpenAPI 3 request body and chooses its media type.
func (c *compiler) requestBody(e entry) (*body, error) {
	rb := e.at.get("requestBody")
	if !rb.exists() || rb.kind() == kindNull {
		return nil, nil
	}
	v, ok := c.follow(rb, "request body")
	if !ok {
		return nil, notCallable(codeBodyRef, "its request body is a reference that cannot be resolved")
	}
	if !v.isObject() {
		c.wrongType(rb, "requestBody", "an object")
		return nil, nil
	}
	content := v.get("content")
	if !content.isObject() || content.size() == 0 {
		if content.exists() || v.get("required").truth() {
			c.warn(codeBodyIgnored, v, "add content with a media type", "the request body has no media type; it is left out")
		}
		return nil, nil
	}
	best, bestRank := body{}, 1<<30
	var offered []body
	for k, m := range content.members() {
		mt, ok := c.follow(m, "media type")
		if !ok || !mt.isObject() {
			mt = value{}
		}
		written := k.text()
		t := mediaType(written)
		if !validMediaType(t) {
			c.warn(codeBodyTypeName, k, "write type/subtype", "%s is not a media type; it is left out", quoteShort(written))
			continue
		}
		schemaAt := mt.get("schema")
		files := kindOf(t) == bodyForm && c.hasFiles(c.schemaAt(schemaAt))
		if len(offered) < maxListedEnum {
			offered = append(offered, body{at: mt, kind: kindOf(t), media: t, written: withParameters(written, t)})
		}
		if r := rank(t, e.method, files); r < bestRank {
			bestRank = r
			best = body{at: mt, kind: kindOf(t), media: t}
			best.written = withParameters(written, t)
			if strings.TrimSpace(written) != "" && t != strings.ToLower(strings.TrimSpace(strings.Split(written, ";")[0])) && !strings.Contains(written, "*") {
				c.warn(codeBodyTypeName, k, "write "+t, "the media type %s is read as %s", quoteShort(written), t)
			}
		}
	}
	if bestRank == 1<<30 {
		return nil, nil
	}
	best.required, best.desc = v.get("required").truth(), v.get("description")
	schemaAt := best.at.get("schema")
	if !schemaAt.exists() {
		if item := best.at.get("itemSchema"); item.exists() {
			best.schema = &schema{at: item, types: operation.TypeArray, items: child{at: item}}
		}
	}
	if best.schema == nil {
		best.schema = c.schemaAt(schemaAt)
	}
	if best.kind == bodyXML && best.schema.types&operation.TypeObject == 0 {
		best.kind = bodyText // the document itself
	}
	best.encoding = c.transferred(c.encodings(best.at.get("encoding"), best.kind), best.schema, best.kind)
	best.variant = c.fileVariant(&best, offered)
	return &best, nil
}

// hasFiles reports whether a form's fields hold files.
func (c *compiler) hasFiles(s *schema) bool {
	for i := range s.props {
		p := c.normal(&s.props[i].child)
		if isFile(p) || p.types == operation.TypeArray && p.items.exists() && isFile(c.normal(&p.items)) {
			return true
		}
	}
	return false
}

// encodings reads the Encoding Objects of a form.
func (c *compiler) encodings(v value, kind bodyKind) []operation.Encoding {
	if kind != bodyForm && kind != bodyMultipart {
		return nil
	}
	var out []operation.Encoding
	for k, m := range v.members() {
		if !m.isObject() || len(out) >= maxParameters {
			continue
		}
		enc := operation.Encoding{Name: k.text(), AllowReserved: m.get("allowReserved").truth()}
		style, explode := m.get("style"), m.get("explode")
		switch s := operation.Style(style.str()); s {
		case operation.StyleForm, operation.StyleSpace, operation.StylePipe, operation.StyleDeep:
			enc.Style = s
		case "":
			if explode.kind() == kindBool || enc.AllowReserved {
				enc.Style = operation.StyleForm
			}
		default:
			c.warn(codeParamStyle, style, "use form, spaceDelimited, pipeDelimited or deepObject", "the style %s is not possible in a form; form is used", quoteShort(string(s)))
			enc.Style = operation.StyleForm
		}
		enc.Explode = enc.Style == operation.StyleForm
		if explode.kind() == kindBool {
			enc.Explode = explode.truth()
		}
		if enc.Style == "" {
			enc.Explode = false
			first, _, _ := strings.Cut(m.get("contentType").str(), ",")
			if first = strings.TrimSpace(first); first != "" && !strings.Contains(first, "*") {
				if t, _, _ := strings.Cut(first, ";"); validMediaType(strings.TrimSpace(t)) && len(first) <= 200 {
					enc.ContentType = first
				}
			}
			enc.Headers = c.partHeaders(m.get("headers"))
		}
		if enc.Style == "" && enc.ContentType == "" && len(enc.Headers) == 0 {
			continue
		}
		out = append(out, enc)
	}
	return out
}

// transferred adds the part header that contentEncoding: base64 of a member stands for.
func (c *compiler) transferred(list []operation.Encoding, s *schema, kind bodyKind) []operation.Encoding {
	if kind != bodyMultipart {
		return list
	}
	for i := range s.props {
		q := &s.props[i]
		p := c.normal(&q.child)
		if p.types == operation.TypeArray && p.items.exists() {
			p = c.normal(&p.items)
		}
		if p.encoding != "base64" {
			continue
		}
		at := slices.IndexFunc(list, func(e operation.Encoding) bool { return e.Name == q.name })
		if at < 0 {
			at, list = len(list), append(list, operation.Encoding{Name: q.name})
		}
		if e := &list[at]; e.Style == "" && !e.Base64() {
			e.Headers = append(e.Headers, operation.Param{Name: operation.TransferEncoding, In: operation.InHeader, Style: operation.StyleSimple, Const: `"base64"`})
		}
	}
	return list
}

// partHeaders keeps the headers of a part whose value is fixed; others would
// need arguments of their own and are optional in practice.
func (c *compiler) partHeaders(v value) []operation.Param {
	var out []operation.Param
	for k, m := range v.members() {
		h, ok := c.follow(m, "header")
		if !ok || !headerToken(k.text()) || strings.EqualFold(k.text(), "content-type") {
			continue
		}
		p := parameter{in: operation.InHeader, required: true, schema: c.schemaAt(h.get("schema"))}
		if lit := constant(&p); lit != "" && !strings.ContainsAny(lit, "\r\n") && len(out) < maxVariables {
			out = append(out, operation.Param{Name: k.text(), In: operation.InHeader, Style: operation.StyleSimple, Const: lit})
		}
	}
	return out
}

// swaggerBody makes the body of Swagger 2.0's body parameter or form fields.
func (c *compiler) swaggerBody(e entry, bodyParam value, fields []parameter) *body {
	consumes := e.at.get("consumes")
	if !consumes.exists() {
		consumes = c.main.root().get("consumes")
	}
	if bodyParam.exists() && len(fields) > 0 {
		c.warn(codeSwaggerLimitation, bodyParam, "use either a body or form fields", "an operation cannot have a body and form fields; the form fields are left out")
	}
	if bodyParam.exists() {
		b := &body{at: bodyParam, media: "application/json", required: bodyParam.get("required").truth(), desc: bodyParam.get("description"), schema: c.schemaAt(bodyParam.get("schema"))}
		best := 1 << 30
		for _, m := range consumes.elements() {
			t := mediaType(m.str())
			if !validMediaType(t) || kindOf(t) == bodyForm || kindOf(t) == bodyMultipart {
				continue // a body parameter is never a form
			}
			if r := rank(t, e.method, false); r < best {
				best, b.media, b.written = r, t, withParameters(m.str(), t)
			}
		}
		b.kind = kindOf(b.media)
		if b.kind == bodyBinary && b.schema.types&operation.TypeObject != 0 && len(b.schema.props) > 0 {
			b.kind, b.media, b.written = bodyJSON, "application/json", "" // an object is not a file
			c.warn(codeBodyTypeName, bodyParam, "add application/json to consumes", "the body is an object but consumes names no type for objects; JSON is sent")
		}
		return b
	}
	if len(fields) == 0 {
		return nil
	}
	s := c.newSchema(e.at)
	s.types = operation.TypeObject
	b := &body{at: e.at, media: "application/x-www-form-urlencoded", kind: bodyForm, schema: s}
	for _, f := range fields {
		fs := *f.schema
		fs.desc = f.desc
		s.props = append(s.props, prop{f.name, child{s: &fs}})
		if f.required {
			s.required = append(s.required, f.name)
			b.required = true
		}
		if f.style != "" && f.style != operation.StyleMulti {
			b.encoding = append(b.encoding, operation.Encoding{Name: f.name, Style: f.style})
		}
	}
	multipart := false
	urlencoded := false
	for _, m := range consumes.elements() {
		switch mediaType(m.str()) {
		case "multipart/form-data":
			multipart = true
		case "application/x-www-form-urlencoded":
			urlencoded = true
		}
	}
	if c.hasFiles(s) || slices.ContainsFunc(fields, func(f parameter) bool { return f.at.get("type").is("file") }) || multipart && !urlencoded {
		b.media, b.kind = "multipart/form-data", bodyMultipart
	}
	return b
}
