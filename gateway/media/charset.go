package media

import (
	"bytes"
	"errors"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"

	"github.com/sluicegate/sluice/internal/problem"
)

// maxContentType: a longer Content-Type is not looked at for its charset.
const maxContentType = 1024

// UTF8 returns a text as UTF-8 whose Content-Type names another character encoding, by
// the names of the WHATWG Encoding Standard: body itself, or what it
// writes into buffer. Without such a name the text says it: a byte order mark of UTF-16 or UTF-32, zeros in JSON (RFC 4627 §3), the
// declaration of an XML document (RFC 7303 §3), a `meta` of a web page, and plain text, JSON or a page with bytes of which none is UTF-8 is windows-1252, as for browsers. An
// encoding that is not known, and bytes that cannot be decoded, leave
// body as it is. Text grows to three times its size at most; one over most bytes fails with
// [problem.UpstreamMalformed].
func UTF8(buffer *[]byte, contentType, body []byte, most int64) ([]byte, error) {
	label, text := named(contentType), body
	if label == "" && len(contentType) <= maxContentType {
		label, text = told(contentType, body)
	}
	if label == "" || len(body) == 0 {
		return body, nil
	}
	enc := wide(label, text)
	if enc == nil {
		var err error
		if enc, err = htmlindex.Get(label); err != nil {
			return body, nil //nolint:nilerr // an encoding that is not known stays
		}
		if name, err := htmlindex.Name(enc); err != nil || name == "utf-8" || name == "replacement" {
			return body, nil //nolint:nilerr // nothing to do
		}
	}
	w := &boundedText{dst: (*buffer)[:0], most: most}
	t := transform.NewWriter(w, enc.NewDecoder())
	_, err := t.Write(text)
	if err == nil {
		err = t.Close()
	}
	if *buffer = w.dst; errors.Is(err, errDecodedTooLarge) {
		return nil, problem.New(problem.UpstreamMalformed, "the upstream's answer is larger than %d bytes as UTF-8", most).
			Fix("ask for less, with a smaller page, fewer fields or a narrower filter; or raise the limit: sluice toolset optimize TOOLSET --max-response MIB")
	}
	if err != nil {
		return body, nil //nolint:nilerr // what cannot be decoded stays as it came
	}
	return *buffer, nil
}

// wide is the encoding of a text in UTF-32, which browsers do not know and the standard leaves
// out; nil of any other. Without a byte order it is big endian (Unicode 16 D99), unless the zeros
// of its first character say otherwise.
func wide(label string, text []byte) encoding.Encoding {
	order := utf32.BigEndian
	switch strings.ToLower(label) {
	case "utf-32", "utf32":
		if len(text) >= 4 && text[3] == 0 && text[0] != 0 {
			order = utf32.LittleEndian
		}
	case "utf-32be":
	case "utf-32le":
		order = utf32.LittleEndian
	default:
		return nil
	}
	return utf32.UTF32(order, utf32.UseBOM)
}

// named is the encoding that a Content-Type names; "" when it names none, or none that
// means anything for its type.
func named(contentType []byte) string {
	i := bytes.IndexByte(contentType, ';')
	if i < 0 || len(contentType) > maxContentType || len(bytes.TrimSpace(contentType[i:])) < len(";charset=x") {
		return ""
	}
	if charsetIsUTF8(contentType[i:]) {
		return "utf-8"
	}
	media, params, err := mime.ParseMediaType(string(contentType))
	if err != nil || params["charset"] == "" || !isText(media) {
		return "" // a type that cannot be read names no charset
	}
	return params["charset"]
}

// told is the encoding that a text itself names, and the text behind its byte order mark.
func told(contentType, body []byte) (label string, text []byte) {
	kind := KindOf(contentType, nil, false)
	if kind == Text && !isText(string(Type(contentType))) {
		return "", body
	}
	switch kind {
	case JSON, XML, HTML, Text:
	default:
		return "", body
	}
	switch {
	case bytes.HasPrefix(body, []byte{0xff, 0xfe, 0, 0}) && len(body)%4 == 0, bytes.HasPrefix(body, []byte{0, 0, 0xfe, 0xff}) && len(body)%4 == 0:
		return "utf-32", body
	case kind == JSON && len(body) >= 4 && len(body)%2 == 0 && bytes.IndexByte(body[:4], 0) >= 0:
		if label := unmarked(body); label != "" {
			return label, body
		}
	}
	switch {
	case bytes.HasPrefix(body, []byte{0xff, 0xfe}) && len(body)%2 == 0:
		return "utf-16le", body[2:]
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}) && len(body)%2 == 0:
		return "utf-16be", body[2:]
	case kind == XML:
		if m := declaration.FindSubmatch(body[:min(len(body), maxDeclaration)]); m != nil && !bytes.HasPrefix(bytes.ToLower(m[1]), []byte("utf-16")) {
			return string(m[1]), body // one that can be read is not in UTF-16
		}
	case kind == HTML && metaCharset.Match(body[:min(len(body), maxPrescan)]):
		label := string(metaCharset.FindSubmatch(body[:min(len(body), maxPrescan)])[1])
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			label = "utf-8" // as the standard says: it can be read
		}
		return label, body
	case (kind == Text || kind == JSON || kind == HTML) && !utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 && !hasUTF8(body):
		return "windows-1252", body
	}
	return "", body
}

// unmarked is the encoding of JSON without a byte order mark, by where zeros are in its first
// characters, which are of ASCII (RFC 4627 §3); "" where they are nowhere that says one.
func unmarked(body []byte) string {
	zero := [4]bool{body[0] == 0, body[1] == 0, body[2] == 0, body[3] == 0}
	switch {
	case zero == [4]bool{true, true, true, false} && len(body)%4 == 0:
		return "utf-32be"
	case zero == [4]bool{false, true, true, true} && len(body)%4 == 0:
		return "utf-32le"
	case zero == [4]bool{true, false, true, false}:
		return "utf-16be"
	case zero == [4]bool{false, true, false, true}:
		return "utf-16le"
	}
	return ""
}

// hasUTF8 reports whether a character beyond ASCII is in a text, as UTF-8: what is beside it
// is damaged then, not in another encoding.
func hasUTF8(text []byte) bool {
	for len(text) > 0 {
		_, n := utf8.DecodeRune(text)
		if n > 1 {
			return true
		}
		text = text[n:]
	}
	return false
}

// maxDeclaration is how far the declaration of an XML document is looked for.
const maxDeclaration = 256

var declaration = regexp.MustCompile(`^<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']`)

// maxPrescan is how far a web page is searched for the encoding that it names, as browsers do.
const maxPrescan = 1024

var metaCharset = regexp.MustCompile(`(?i)<meta\s[^>]*?charset\s*=\s*["']?([a-z][a-z0-9._:-]*)`)

// charsetIsUTF8 reports the usual parameters, without parsing them.
func charsetIsUTF8(params []byte) bool {
	params = bytes.TrimSpace(params[1:])
	for _, s := range [...]string{"charset=utf-8", `charset="utf-8"`, "charset=us-ascii"} {
		if bytes.EqualFold(params, []byte(s)) {
			return true
		}
	}
	return false
}

// isText reports whether a charset means something for a media type.
func isText(media string) bool {
	switch k := KindOf([]byte(media), nil, false); k {
	case Image, Audio:
		return false
	case Text: // which an empty body is taken for
		return len(media) > 5 && media[:5] == "text/" || bytes.HasSuffix([]byte(media), []byte("yaml"))
	}
	return true
}

var errDecodedTooLarge = errors.New("text too large")

// boundedText is a writer that ends at a limit.
type boundedText struct {
	dst  []byte
	most int64
}

func (w *boundedText) Write(p []byte) (int, error) {
	if int64(len(w.dst)+len(p)) > w.most {
		return 0, errDecodedTooLarge
	}
	w.dst = append(w.dst, p...)
	return len(p), nil
}
