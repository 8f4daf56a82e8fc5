package operation

import (
	"bytes"
	"encoding/base64"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// A file argument is an object {data?, url?, text?, filename?, mediaType?} with one
// of the first three, or a plain string (docs/request-plans.md, "Files").

// file is a decoded file. data is valid until the next file is decoded.
type file struct {
	data      []byte
	mediaType string
	filename  string
}

// sniffed is the type of a file of which nobody said it, by its content and by its
// name; only one of the range that is allowed.
func (f *file) sniffed(mediaRange string) string {
	prefix := strings.TrimSuffix(mediaRange, "*")
	if prefix == "*/" {
		prefix = ""
	}
	for _, t := range []string{http.DetectContentType(f.data), mime.TypeByExtension(path.Ext(f.filename))} {
		if t, _, _ = strings.Cut(t, ";"); t != "" && t != "application/octet-stream" && strings.HasPrefix(t, prefix) {
			return t
		}
	}
	return "application/octet-stream"
}

// fileOf decodes a file argument. whole says that it is a whole binary body, where
// a plain string that decodes as base64 is base64: JSON has no other way to hold
// binary.
func (b *builder) fileOf(arg string, s *Schema, v jsonscan.Value, whole bool) (file, bool) {
	b.r.file = b.r.file[:0]
	switch v.Kind() {
	case jsonscan.Object:
		return b.fileObject(arg, v)
	case jsonscan.String:
	default: // a number or boolean as its text
		b.r.file = append(b.r.file, v.Raw()...)
		return file{data: b.r.file}, true
	}
	b.r.file = v.AppendText(b.r.file)
	text := b.r.file
	if bytes.HasPrefix(text, []byte("data:")) {
		return b.dataURI(arg, text)
	}
	if whole || s != nil && s.Base64 {
		if data, ok := decodeBase64(text); ok {
			return file{data: data}, true
		}
		if s != nil && s.Base64 {
			b.fail(arg, "expected base64, or a file object {\"text\": …}")
			return file{}, false
		}
	}
	return file{data: text}, true
}

func (b *builder) fileObject(arg string, v jsonscan.Value) (file, bool) {
	var f file
	data, link, text := v.Get("data"), v.Get("url"), v.Get("text")
	switch {
	case data.Kind() == jsonscan.String:
		b.r.file = data.AppendText(b.r.file)
		if bytes.HasPrefix(b.r.file, []byte("data:")) {
			var ok bool
			if f, ok = b.dataURI(arg, b.r.file); !ok {
				return f, false
			}
			break
		}
		decoded, ok := decodeBase64(b.r.file)
		if !ok {
			b.fail(arg, "\"data\" is not base64; put plain text into \"text\"")
			return f, false
		}
		f.data = decoded
	case text.Kind() == jsonscan.String:
		b.r.file = text.AppendText(b.r.file)
		f.data = b.r.file
	case link.Kind() == jsonscan.String:
		if b.r.Files == nil {
			b.fail(arg, "files by \"url\" are not available here; send the content as base64 in \"data\" or as \"text\"")
			return f, false
		}
		var err error
		if f.data, f.mediaType, f.filename, err = b.r.Files.Fetch(string(link.AppendText(nil))); err != nil {
			b.fail(arg, "fetching the file: %s", err)
			return f, false
		}
	default:
		b.fail(arg, "expected a file: an object with \"data\" (base64), \"text\" or \"url\"")
		return f, false
	}
	if t := v.Get("mediaType"); t.Kind() == jsonscan.String {
		f.mediaType = string(t.AppendText(nil))
	}
	if n := v.Get("filename"); n.Kind() == jsonscan.String {
		f.filename = string(n.AppendText(nil))
	}
	if !isHeaderValue([]byte(f.mediaType)) {
		b.fail(arg, "\"mediaType\" must not have line breaks or control characters")
		return f, false
	}
	return f, true
}

// dataURI decodes an RFC 2397 URI.
func (b *builder) dataURI(arg string, uri []byte) (file, bool) {
	head, data, ok := bytes.Cut(uri[len("data:"):], []byte(","))
	if !ok {
		b.fail(arg, "the data: URI has no comma")
		return file{}, false
	}
	f := file{}
	media, isBase64 := bytes.CutSuffix(head, []byte(";base64"))
	f.mediaType = string(media)
	if !isHeaderValue(media) {
		b.fail(arg, "the data: URI has control characters in its media type")
		return f, false
	}
	if isBase64 {
		if f.data, ok = decodeBase64(data); !ok {
			b.fail(arg, "the data: URI is not base64")
			return f, false
		}
		return f, true
	}
	plain, err := url.PathUnescape(string(data))
	if err != nil {
		b.fail(arg, "the data: URI has a bad percent-encoding")
		return f, false
	}
	f.data = []byte(plain)
	return f, true
}

// decodeBase64 decodes in place: standard or URL alphabet (RFC 4648 §4, §5), with
// or without padding, line breaks allowed.
func decodeBase64(b []byte) ([]byte, bool) {
	n := 0
	for _, c := range b {
		switch c {
		case '\n', '\r':
			continue
		case '-':
			c = '+'
		case '_':
			c = '/'
		}
		b[n] = c
		n++
	}
	b = b[:n]
	for len(b) > 0 && b[len(b)-1] == '=' && len(b) > n-2 {
		b = b[:len(b)-1]
	}
	if n%4 != 0 && n != len(b) {
		return nil, false // padded, but to a wrong length
	}
	// Decoding reads four bytes ahead of the three it writes, so in place is safe.
	m, err := base64.RawStdEncoding.Decode(b, b)
	return b[:max(m, 0)], err == nil
}

// fileInJSON writes a file member of a JSON body: base64 text.
func (b *builder) fileInJSON(dst []byte, s *Schema, v jsonscan.Value) []byte {
	if v.Kind() != jsonscan.Object {
		return jsonscan.AppendMinified(dst, v.Raw())
	}
	f, ok := b.fileOf(s.Media, s, v, false)
	if !ok {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, f.data)
	return append(dst, '"')
}
