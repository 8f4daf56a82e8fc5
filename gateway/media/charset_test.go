package media

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestUntoldCharset: without a charset the text tells which it has, where that is certain.
func TestUntoldCharset(t *testing.T) {
	long := strings.Repeat(" ", maxDeclaration)
	for _, c := range []struct{ contentType, body, want string }{
		{"application/json", "\xff\xfe{\x00}\x00", "{}"},
		{"application/json", "\xfe\xff\x00{\x00}", "{}"},
		{"application/json", "\xff\xfe{\x00}", "\xff\xfe{\x00}"},
		{"application/json", "\"caf\xe9\"", "\"café\""}, // no JSON (RFC 8259 §8.1), but what is meant is plain
		{"application/json", "[\"café\",\"caf\xe9\"]", "[\"café\",\"caf\xe9\"]"},
		{"application/json; charset=utf-8", "\"caf\xe9\"", "\"caf\xe9\""},
		{"application/json", "[\x001\x00]\x00 \x00", "[1] "},
		{"application/json", "\x00[\x001\x00]\x00 ", "[1] "},
		{"application/json", "[\x001\x00]\x00 ", "[\x001\x00]\x00 "}, // half a character
		{"application/json", "[\x00\x00\x00]\x00\x00\x00", "[]"},
		{"application/json", "\x00\x00\x00[\x00\x00\x00]", "[]"},
		{"application/json", "\xff\xfe\x00\x00[\x00\x00\x00]\x00\x00\x00", "[]"},
		{"text/plain", "\x00\x00\xfe\xff\x00\x00\x00\xe9", "é"},
		{"text/plain; charset=utf-32", "\x00\x00\xfe\xff\x00\x01\xf6\x00", "😀"},
		{"text/plain; charset=UTF-32", "h\x00\x00\x00i\x00\x00\x00", "hi"},
		{"text/plain; charset=UTF-32BE", "\x00\x00\x00h", "h"},
		{"text/plain; charset=utf-32le", "h\x00\x00\x00", "h"},
		{"text/plain", "h\x00i\x00", "h\x00i\x00"}, // no JSON, so nothing is known of it
		{"text/plain", "\xff\xfeh\x00i\x00", "hi"},
		{"text/plain", "caf\xe9 \x80", "café €"},
		{"text/csv; header=present", "caf\xe9;1\n", "café;1\n"},
		{"text/plain", "café \xe9", "café \xe9"},     // damaged UTF-8
		{"text/plain", "caf\xe9\x00", "caf\xe9\x00"}, // a file
		{"text/plain", "café", "café"},
		{"text/plain; charset=utf-8", "caf\xe9", "caf\xe9"},
		{"application/octet-stream", "\xff\xfeh\x00i\x00", "\xff\xfeh\x00i\x00"},
		{"image/png", "\xff\xfeh\x00i\x00", "\xff\xfeh\x00i\x00"},
		{"", "\xff\xfeh\x00i\x00", "\xff\xfeh\x00i\x00"},
		{"application/xml", `<?xml version="1.0" encoding="ISO-8859-1"?><a>caf` + "\xe9</a>", `<?xml version="1.0" encoding="ISO-8859-1"?><a>café</a>`},
		{"text/xml", `<?xml version='1.0' encoding='windows-1251' standalone='yes'?><a>` + "\xcf</a>", `<?xml version='1.0' encoding='windows-1251' standalone='yes'?><a>П</a>`},
		{"text/xml; charset=utf-8", `<?xml version="1.0" encoding="ISO-8859-1"?><a>café</a>`, `<?xml version="1.0" encoding="ISO-8859-1"?><a>café</a>`},
		{"text/xml", `<?xml version="1.0" encoding="utf-16"?><a>b</a>`, `<?xml version="1.0" encoding="utf-16"?><a>b</a>`},
		{"text/xml", `<?xml version="1.0"` + long + `encoding="ISO-8859-1"?><a>caf` + "\xe9</a>", `<?xml version="1.0"` + long + `encoding="ISO-8859-1"?><a>caf` + "\xe9</a>"},
		{"text/html", `<html><head><META http-equiv=x content="text/html; charset=windows-1251"><p>` + "\xcf", `<html><head><META http-equiv=x content="text/html; charset=windows-1251"><p>П`},
		{"text/html; charset=utf-8", `<meta charset='windows-1251'>П`, `<meta charset='windows-1251'>П`},
		{"text/html", `<meta charset="utf-16">П`, `<meta charset="utf-16">П`},
		{"text/html", "<p>caf\xe9", "<p>café"},
		{"text/html", strings.Repeat(" ", maxPrescan-18) + "<meta charset=sjis>\x82\xb1", strings.Repeat(" ", maxPrescan-18) + "<meta charset=sjis>こ"},
		{"text/html", strings.Repeat(" ", maxPrescan) + "<meta charset=sjis>\x82\xb1", strings.Repeat(" ", maxPrescan) + "<meta charset=sjis>‚±"},
		{"text/xml", `<a encoding="ISO-8859-1">caf` + "\xe9</a>", `<a encoding="ISO-8859-1">caf` + "\xe9</a>"},
	} {
		var buffer []byte
		out, err := UTF8(&buffer, []byte(c.contentType), []byte(c.body), 1<<11)
		if err != nil || string(out) != c.want {
			t.Errorf("%s %q: %q, %v; want %q", c.contentType, c.body, out, err, c.want)
		}
	}
}

// TestDeclaredXML: an XML document is read as what it is, whatever its declaration says of its
// bytes before they were made UTF-8.
func TestDeclaredXML(t *testing.T) {
	if out, err := AppendXML(nil, []byte(`<?xml version="1.0" encoding="ISO-8859-1"?><a>café</a>`)); err != nil || string(out) != `{"a":"café"}` {
		t.Errorf("%s, %v", out, err)
	}
	if out, err := AppendXML(nil, []byte(`<?xml version="1.0" encoding="ISO-8859-1"?><a>caf`+"\xe9</a>")); err == nil {
		t.Errorf("of bytes that are not UTF-8: %s", out)
	}
}

// FuzzCharset: whatever the type says and the body holds, the text stays within the
// bound, and what was decoded is UTF-8.
func FuzzCharset(f *testing.F) {
	for _, s := range []string{"text/plain; charset=latin1", "application/json;charset=Shift_JIS", "text/plain; charset=utf-16le", "text/plain; charset=utf-7", "text/html; charset=\"gb18030\"", ";charset=x", "text/plain; charset=replacement", "text/plain", "text/xml"} {
		f.Add(s, []byte("caf\xe9\x00\x1b$B"))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		const most = 1 << 10
		before, buffer := bytes.Clone(body), []byte(nil)
		out, err := UTF8(&buffer, []byte(contentType), body, most)
		if !bytes.Equal(before, body) {
			t.Fatal("the upstream's bytes were changed")
		}
		if err != nil || bytes.Equal(out, before) {
			return
		}
		if len(out) > most || !utf8.Valid(out) {
			t.Fatalf("%q: %d bytes %q of %q", contentType, len(out), out, before)
		}
	})
}
