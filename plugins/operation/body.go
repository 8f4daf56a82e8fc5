package operation

import (
	"cmp"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// body writes the request body; none when nothing was given and none is required.
func (b *builder) body() {
	r := b.r
	if b.form == nil {
		return
	}
	body := b.form.body
	if b.form.arg >= 0 {
		v := r.values[b.form.arg]
		if len(body.Fixed) > 0 {
			v = withFixed(body.Fixed, v)
		}
		if !v.Exists() {
			if body.Required {
				b.fail(body.Arg, "the body is required")
			}
			return
		}
		r.HasBody = true
		r.ContentType = append(r.ContentType, cmp.Or(body.Sent, body.MediaType)...)
		b.whole(body, v)
		return
	}
	given := body.Required || b.extras()
	for i := range body.Fields {
		slot := b.form.fieldArg[i]
		given = given || body.Fields[i].Fixed || slot >= 0 && r.values[slot].Exists() && !b.c.inPath(slot)
	}
	if !given {
		return
	}
	r.HasBody = true
	r.ContentType = append(r.ContentType, cmp.Or(body.Sent, body.MediaType)...)
	switch b.form.kind {
	case bodyForm:
		b.urlencoded(body, jsonscan.Value{})
	case bodyMultipart:
		b.multipart(body, jsonscan.Value{})
	case bodyXML:
		b.xml(body, jsonscan.Value{})
	default:
		b.object(body)
	}
}

// member is the value of lifted member i.
func (b *builder) member(i int) jsonscan.Value {
	v := b.value(b.form.fieldArg[i], b.form.body.Fields[i].Const)
	if slot := b.form.fieldElse[i]; slot >= 0 && !v.Exists() {
		return b.r.values[slot]
	}
	return v
}

func (b *builder) nullClears() bool { return b.form != nil && b.form.nullClears }

// whole writes a body that is one argument.
func (b *builder) whole(body *Body, v jsonscan.Value) {
	r := b.r
	if kind := b.form.kind; kind != bodyBinary && kind != bodyText && kind != bodyXML {
		v = b.heal(body.Schema, v)
	}
	switch b.form.kind {
	case bodyJSON:
		r.Body = b.appendJSON(r.Body, body.Schema, v)
	case bodyLines:
		r.Body = b.lines(r.Body, body.Schema, v)
	case bodyForm:
		if v.Kind() == jsonscan.String { // the agent wrote the form itself
			r.Body = v.AppendText(r.Body)
			return
		}
		b.urlencoded(body, v)
	case bodyMultipart:
		b.multipart(body, v)
	case bodyXML:
		b.xml(body, v)
	case bodyText:
		r.Body = b.text(r.Body, body, v)
	default:
		f, ok := b.fileOf(body.Arg, body.Schema, v, true)
		if !ok {
			return
		}
		r.Body = append(r.Body, f.data...)
		switch {
		case f.mediaType != "" && (b.form.mediaType == "application/octet-stream" || isRange(b.form.mediaType)):
			r.ContentType = append(r.ContentType[:0], f.mediaType...)
		case isRange(b.form.mediaType): // a range says what may be sent, not what is
			r.ContentType = append(r.ContentType[:0], f.sniffed(b.form.mediaType)...)
		}
	}
}

// isRange reports a media range: image/*.
func isRange(mediaType string) bool {
	return len(mediaType) > 1 && mediaType[len(mediaType)-1] == '*'
}

// text writes a text body. An object with a "text" member is accepted as files are.
func (b *builder) text(dst []byte, body *Body, v jsonscan.Value) []byte {
	if v.Kind() == jsonscan.Object && typesOf(body.Schema)&TypeObject == 0 {
		if t := v.Get("text"); t.Kind() == jsonscan.String {
			return t.AppendText(dst)
		}
		if f, ok := b.fileOf(body.Arg, body.Schema, v, false); ok {
			return append(dst, f.data...)
		}
		return dst
	}
	return v.AppendText(dst)
}

// object writes lifted members as one JSON object, in the plan's order.
func (b *builder) object(body *Body) {
	dst := append(b.r.Body, '{')
	some := false
	for i := range body.Fields {
		f := &body.Fields[i]
		v := b.member(i)
		if !v.Exists() {
			continue
		}
		if some {
			dst = append(dst, ',')
		}
		some = true
		dst = append(jsonscan.AppendStringOf(dst, f.Name), ':')
		dst = b.appendJSON(dst, f.Schema, v)
	}
	b.r.Body = append(b.appendExtras(dst, some), '}')
}

// lines writes one JSON text a line (JSON Lines, NDJSON).
func (b *builder) lines(dst []byte, s *Schema, v jsonscan.Value) []byte {
	if v.Kind() == jsonscan.String && s != nil && s.Type == TypeString { // the lines themselves
		if dst = v.AppendText(dst); len(dst) > 0 && dst[len(dst)-1] != '\n' {
			dst = append(dst, '\n')
		}
		return dst
	}
	if v.Kind() != jsonscan.Array {
		return append(b.appendJSON(dst, s, v), '\n')
	}
	i := 0
	for it := v.Elements(); it.Next(); i++ {
		dst = append(b.appendJSON(dst, element(s, i), it.Value()), '\n')
	}
	return dst
}

// appendJSON writes a value as minified JSON. Strings and numbers keep their bytes;
// only what has another type than the schema wants is healed, and 1.0 becomes 1
// where an integer is wanted.
func (b *builder) appendJSON(dst []byte, s *Schema, v jsonscan.Value) []byte {
	if s == nil {
		return jsonscan.AppendMinified(dst, v.Raw())
	}
	if isFile(s) {
		return b.fileInJSON(dst, s, v)
	}
	v = b.heal(s, v)
	switch v.Kind() {
	case jsonscan.Object:
		if len(s.Properties) == 0 && len(s.AnyOf) == 0 && len(s.All) == 0 && s.Additional == nil {
			break
		}
		branch := b.c.branch(s, v) // what it is says what its members are
		for depth := 0; branch != nil && len(branch.Properties) == 0 && len(branch.AnyOf) > 0 && depth < MaxSchemaDepth; depth++ {
			inner := b.c.branch(branch, v)
			if inner == nil {
				break
			}
			branch = inner
		}
		dst = append(dst, '{')
		some := false
		for it := v.Members(); it.Next(); {
			p, val := property(branch, &it), it.Value()
			if p == nil {
				p = property(s, &it)
			}
			if val.Kind() == jsonscan.Null && !b.nullClears() && !fits(typesOf(p), val) && !required(s, &it) {
				// Agents write null for "not given"; the schema has no other reading.
				b.r.Healed++
				continue
			}
			if some {
				dst = append(dst, ',')
			}
			some = true
			dst = append(append(append(dst, '"'), it.Key()...), '"', ':')
			dst = b.appendJSON(dst, p, val)
		}
		return append(dst, '}')
	case jsonscan.Array:
		if s.Items == nil && len(s.Prefix) == 0 && len(s.AnyOf) == 0 {
			break
		}
		if branch := b.c.branch(s, v); branch != nil {
			s = branch
		}
		dst = append(dst, '[')
		i := 0
		for it := v.Elements(); it.Next(); i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = b.appendJSON(dst, element(s, i), it.Value())
		}
		return append(dst, ']')
	case jsonscan.Number:
		return appendNumber(dst, s, v)
	}
	return jsonscan.AppendMinified(dst, v.Raw())
}

// required reports whether a member is required by an object's schema.
func required(s *Schema, it *jsonscan.MemberIter) bool {
	return slices.ContainsFunc(s.Required, it.KeyEqual)
}

// urlencoded writes an application/x-www-form-urlencoded body (OpenAPI 3.2 Appendix E).
// Members without a style follow WHATWG URL, those with one follow RFC 6570.
func (b *builder) urlencoded(body *Body, whole jsonscan.Value) {
	q := pairs{b: b, dst: b.r.Body, sep: "&"}
	if whole.Exists() {
		for it := whole.Members(); it.Next(); {
			b.r.name = it.KeyText(b.r.name[:0])
			b.formField(&q, body.encoding(b.r.name), property(body.Schema, &it), "", it.Value())
		}
	} else {
		for i := range body.Fields {
			f := &body.Fields[i]
			b.r.name = append(b.r.name[:0], f.Name...)
			b.formField(&q, body.encoding(b.r.name), f.Schema, f.Name, b.member(i))
		}
	}
	b.r.Body = q.dst
}

// formField writes one member, whose name is in the request's name buffer.
func (b *builder) formField(q *pairs, e *Encoding, s *Schema, name string, v jsonscan.Value) {
	if e != nil && e.styled() {
		q.nameEsc, q.esc = escStrict, escStrict
		if e.AllowReserved {
			q.esc = escReservedQuery
		}
		if name == "" {
			name = e.Name
		}
		q.style(name, e.Style, e.Explode, s, nil, v)
		return
	}
	q.nameEsc, q.esc = escForm, escForm
	b.r.prefix = appendEscaped(b.r.prefix[:0], b.r.name, escForm)
	if e != nil && e.ContentType != "" && isJSONType(firstType(e.ContentType)) && v.Exists() {
		b.r.text = b.appendJSON(b.r.text[:0], s, v)
		q.begin(b.r.prefix)
		q.dst = appendEscaped(q.dst, b.r.text, escForm)
		return
	}
	b.formMember(q, s, v)
}

// encoding finds the Encoding of a member.
func (body *Body) encoding(name []byte) *Encoding {
	for i := range body.Encoding {
		if body.Encoding[i].Name == string(name) {
			return &body.Encoding[i]
		}
	}
	return nil
}

// styled reports whether style rules apply. explode or allowReserved alone say so
// too (OpenAPI 3.2 "Encoding Object"); without a content type and with explode
// false that cannot be told from an empty Encoding, so a plan names the style.
func (e *Encoding) styled() bool { return e.Style != "" || e.Explode || e.AllowReserved }

// firstType is the first media type of a comma-separated list, without parameters.
func firstType(list string) string {
	end := len(list)
	for i := range len(list) {
		if list[i] == ',' || list[i] == ';' {
			end = i
			break
		}
	}
	for end > 0 && list[end-1] == ' ' {
		end--
	}
	return list[:end]
}
