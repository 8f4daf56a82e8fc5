package operation

import (
	"bytes"
	"encoding/base64"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// multipart writes a multipart body (RFC 7578 for form-data, RFC 2046 for the
// others). The boundary depends on the content only, so that equal arguments make
// equal requests, and is chosen anew while the content contains it.
func (b *builder) multipart(body *Body, whole jsonscan.Value) {
	start := len(b.r.Body)
	boundary := b.r.boundary
	healed := b.r.Healed
	for seed := uint64(0); ; seed++ {
		if b.r.boundary == "" {
			boundary = b.boundary(seed, whole)
		}
		b.r.Healed = healed
		parts := b.parts(body, whole, boundary)
		if b.err != nil || b.r.boundary != "" || bytes.Count(b.r.Body[start:], []byte(boundary)) == parts+1 {
			break
		}
		b.r.Body = b.r.Body[:start]
	}
	b.r.ContentType = append(b.r.ContentType, "; boundary="...)
	b.r.ContentType = append(b.r.ContentType, boundary...)
}

func (b *builder) boundary(seed uint64, whole jsonscan.Value) string {
	h := fnv.New64a()
	var s [8]byte
	for i := range s {
		s[i] = byte(seed >> (8 * i))
	}
	_, _ = h.Write(s[:])
	_, _ = h.Write(whole.Raw())
	for _, v := range b.r.values {
		_, _ = h.Write(v.Raw())
		_, _ = h.Write([]byte{0})
	}
	return "sluice-" + strconv.FormatUint(h.Sum64(), 36)
}

// parts writes all parts and the end, and returns how many parts there are.
func (b *builder) parts(body *Body, whole jsonscan.Value, boundary string) int {
	m := mixed{b: b, boundary: boundary, disposition: "form-data"}
	if b.form.mediaType != "multipart/form-data" {
		m.disposition = "attachment"
	}
	if whole.Exists() {
		for it := whole.Members(); it.Next(); {
			name := string(it.KeyText(nil))
			m.member(name, body.encoding([]byte(name)), property(body.Schema, &it), it.Value())
		}
	} else {
		for i := range body.Fields {
			f := &body.Fields[i]
			m.member(f.Name, body.encoding([]byte(f.Name)), f.Schema, b.member(i))
		}
	}
	b.r.Body = append(b.r.Body, "--"...)
	b.r.Body = append(b.r.Body, boundary...)
	b.r.Body = append(b.r.Body, "--\r\n"...)
	return m.n
}

// mixed is the state of one multipart body.
type mixed struct {
	b           *builder
	boundary    string
	disposition string
	n           int
}

// member writes the part or parts of one member: a part for each item of an array.
func (m *mixed) member(name string, e *Encoding, s *Schema, v jsonscan.Value) {
	if !isFile(s) {
		v = m.b.heal(s, v)
	}
	if undefined(v) {
		return
	}
	if e != nil && e.styled() {
		before := bytes.Count(m.b.r.Body, []byte("--"+m.boundary+"\r\n"))
		p := pairs{b: m.b, dst: m.b.r.Body, boundary: m.boundary, esc: escNone, nameEsc: escNone}
		p.style(name, e.Style, e.Explode, s, nil, v)
		m.b.r.Body = p.dst
		m.n += bytes.Count(m.b.r.Body, []byte("--"+m.boundary+"\r\n")) - before
		return
	}
	jsonPart := e != nil && e.ContentType != "" && isJSONType(firstType(e.ContentType)) && !isFile(element(s, 0))
	if v.Kind() == jsonscan.Array && !isFile(s) && !jsonPart {
		i := 0
		for it := v.Elements(); it.Next(); i++ {
			if it.Value().Kind() != jsonscan.Null {
				m.part(name, e, element(s, i), it.Value())
			}
		}
		return
	}
	m.part(name, e, s, v)
}

// part writes one part.
func (m *mixed) part(name string, e *Encoding, s *Schema, v jsonscan.Value) {
	m.n++
	b := m.b
	contentType := ""
	if e != nil && !strings.Contains(firstType(e.ContentType), "*") {
		contentType, _, _ = strings.Cut(e.ContentType, ",") // with its parameters
		contentType = strings.TrimSpace(contentType)
	}
	if isFile(s) || isFileObject(s, v) {
		f, ok := b.fileOf(name, s, v, false)
		if !ok {
			return
		}
		filename := f.filename
		if filename == "" {
			filename = name
		}
		b.r.Body = appendPartHead(b.r.Body, m.boundary, []byte(name), m.disposition)
		b.r.Body = b.r.Body[:len(b.r.Body)-2]
		b.r.Body = append(b.r.Body, `; filename="`...)
		b.r.Body = appendQuoted(b.r.Body, []byte(filename))
		b.r.Body = append(b.r.Body, "\"\r\n"...)
		switch {
		case f.mediaType != "":
			contentType = f.mediaType
		case contentType == "" && e != nil && isRange(firstType(e.ContentType)):
			contentType = f.sniffed(firstType(e.ContentType))
		case contentType == "" && s != nil && s.Media != "":
			contentType = s.Media
		case contentType == "":
			contentType = "application/octet-stream"
		}
		m.head(contentType, e)
		if e != nil && e.Base64() {
			b.r.Body = base64.StdEncoding.AppendEncode(b.r.Body, f.data)
		} else {
			b.r.Body = append(b.r.Body, f.data...)
		}
		b.r.Body = append(b.r.Body, "\r\n"...)
		return
	}
	v = b.heal(s, v)
	isJSON := v.Kind() == jsonscan.Object || v.Kind() == jsonscan.Array
	switch {
	case contentType == "" && isJSON:
		contentType = "application/json"
	case contentType == "" && s != nil && s.Media != "":
		contentType = s.Media
	case contentType != "" && isJSONType(firstType(contentType)):
		isJSON = true
	}
	b.r.Body = appendPartHead(b.r.Body, m.boundary, []byte(name), m.disposition)
	m.head(contentType, e)
	switch {
	case isJSON && v.Kind() == jsonscan.String && s != nil && s.Media != "":
		b.r.Body = v.AppendText(b.r.Body) // contentMediaType JSON: the string is the document
	case isJSON:
		b.r.Body = b.appendJSON(b.r.Body, s, v)
	default:
		b.r.Body = b.appendScalar(b.r.Body, s, v, escNone)
	}
	b.r.Body = append(b.r.Body, "\r\n"...)
}

// TransferEncoding is the header of a part whose content is written as text.
const TransferEncoding = "Content-Transfer-Encoding"

// Base64 tells that the part of a file has its content in base64.
func (e *Encoding) Base64() bool {
	return slices.ContainsFunc(e.Headers, func(h Param) bool {
		return strings.EqualFold(h.Name, TransferEncoding) && strings.EqualFold(h.Const, `"base64"`)
	})
}

// head writes a part's content type and fixed headers, and the empty line.
func (m *mixed) head(contentType string, e *Encoding) {
	dst := m.b.r.Body
	if contentType != "" {
		dst = append(dst, "Content-Type: "...)
		dst = append(append(dst, contentType...), "\r\n"...)
	}
	if e != nil {
		for i := range e.Headers {
			h := &e.Headers[i]
			dst = append(append(dst, h.Name...), ": "...)
			dst = jsonscan.Trusted([]byte(h.Const)).AppendText(dst)
			dst = append(dst, "\r\n"...)
		}
	}
	m.b.r.Body = append(dst, "\r\n"...)
}

// isFileObject reports an argument that is written as a file where the schema says
// nothing of objects.
func isFileObject(s *Schema, v jsonscan.Value) bool {
	if v.Kind() != jsonscan.Object || s != nil && s.Media == "" {
		return false
	}
	return v.Get("data").Kind() == jsonscan.String || v.Get("text").Kind() == jsonscan.String || v.Get("url").Kind() == jsonscan.String
}

// appendPartHead writes the delimiter and the disposition line.
func appendPartHead(dst []byte, boundary string, name []byte, disposition string) []byte {
	dst = append(append(append(dst, "--"...), boundary...), "\r\n"...)
	dst = append(append(dst, "Content-Disposition: "...), disposition...)
	dst = append(dst, `; name="`...)
	return append(appendQuoted(dst, name), "\"\r\n"...)
}

// appendQuoted escapes a name as browsers do (WHATWG HTML "multipart/form-data
// encoding algorithm").
func appendQuoted(dst, s []byte) []byte {
	for _, c := range s {
		switch c {
		case '"':
			dst = append(dst, "%22"...)
		case '\r':
			dst = append(dst, "%0D"...)
		case '\n':
			dst = append(dst, "%0A"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
