package media

import (
	"bytes"
	"strings"
	"testing"
)

func TestAppendHTMLText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(AppendHTMLText([]byte("> "), []byte(in))); got != "> "+want && got != strings.TrimRight("> "+want, " ") {
			t.Fatalf("text of %q = %q, want %q", in, got, want)
		}
	}
	f("plain", "plain")
	f("<h1>502 Bad Gateway</h1><hr><center>nginx</center>", "502 Bad Gateway nginx")
	f("a<b>b</b>c", "a b c")
	f("a &amp; b&nbsp;&lt;c&gt;", "a & b <c>")
	f("<script>if (a < b) {}</script>x", "x")
	f("<SCRIPT type=x>evil</SCRIPT >x<style>y{}</style>z", "x z")
	f("<script>never closed", "")
	f("<!-- <b>no</b> -->x", "x")
	f("<!-- never closed", "")
	f("a < b", "a")
	f("  a\n\n\tb  ", "a b")
	f("<scripted>x</scripted>", "x")
	f("", "")
}

// FuzzHTMLText: whatever the page, no tag is left (a "<" can only come from an
// entity), and the text is not longer than the page.
func FuzzHTMLText(f *testing.F) {
	for _, s := range []string{"<p>a</p>", "<script></script", "<!--", "&#x3c;b>", "<style>a</style><", "\xff<\xfe>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		out := AppendHTMLText(nil, page)
		if len(out) > len(page)+1 { // an invalid byte stays one byte; entities shrink
			t.Fatalf("%q became %q", page, out)
		}
		if bytes.IndexByte(page, '&') < 0 && bytes.IndexByte(out, '<') >= 0 {
			t.Fatalf("%q left a tag in %q", page, out)
		}
	})
}

func TestKindOf(t *testing.T) {
	f := func(contentType, body string, wantsJSON bool, want Kind) {
		t.Helper()
		if got := KindOf([]byte(contentType), []byte(body), wantsJSON); got != want {
			t.Fatalf("KindOf(%q, %q, %v) = %d, want %d", contentType, body, wantsJSON, got, want)
		}
	}
	f("application/json; charset=utf-8", "x", false, JSON)
	f("Application/HAL+JSON", "x", false, JSON)
	f("text/html; charset=utf-8", "{}", true, JSON) // the default type of PHP
	f("text/html", " [{\"a\":1}]", false, JSON)
	f("text/html", "{name} is here", true, HTML)
	f("application/javascript", "/**/cb({\"a\":1})", true, JSON)
	f("application/javascript", "cb({\"a\":1})", false, Text)
	f("application/javascript", "f(1)", true, Text)
	f("application/json", "<?xml version=\"1.0\"?><a/>", true, XML)
	f("text/plain", `{"a":1}`, true, JSON)
	f("text/plain", `{"a":1}`, false, Text)
	f("", ` [1]`, false, JSON)
	for _, body := range []string{
		"{}", "[]", " [ ] ", "{", "[", "[[", `[{"a":1}]`, "[[], 1]", "[[1], 2]", "[1, 2", "[-1.5e3]", "[1e999]", "[true]", "[null , 1]", "[false", `["a"]`, "{ \n}", "[\n  {\n    \"id\"", "[[1]]",
		"[" + strings.Repeat(" ", 600) + "1]", strings.Repeat("[", 600),
	} {
		f("text/plain", body, true, JSON)
		f("", body, false, JSON)
	}
	for _, body := range []string{
		"[INFO] ready", "[2026-11-26 19:00] ready", "[1] a footnote", "[ ] to do", "[x] done", "[[a page]]", "[a link](https://example.com)", "[section]\nkey=1", "[true north]",
		"[,", "[0x1f]", "[redacted] it says", "{name} is here", "{{ template }}", "{1}", "[NaN]", "[Inf]",
	} {
		f("text/plain", body, true, Text)
		f("", body, true, Text)
	}
	f("", "<!DOCTYPE HTML>x", true, HTML)
	f("", "hello", true, Text)
	f("application/xml", "<a/>", true, XML)
	f("application/atom+xml", "<a/>", true, XML)
	f("application/x-ndjson", "{}\n{}", true, Stream)
	f("text/csv", "a,b", true, Text)
	f("image/png", "x", true, Image)
	f("image/svg+xml", "<svg/>", true, Text)
	f("audio/wav", "x", true, Audio)
	f("application/octet-stream", "readable", true, Text)
	f("application/octet-stream", "a\x00b", true, Binary)
	f("application/pdf", "%PDF\xff", true, Binary)
}

// TestXMLIsBounded: neither size nor nesting of a document costs a tree without end.
func TestXMLIsBounded(t *testing.T) {
	for over := range 2 {
		n := maxXMLDepth + over
		doc := strings.Repeat("<a>", n) + "x" + strings.Repeat("</a>", n)
		if _, err := AppendXML(nil, []byte(doc)); (err == nil) != (over == 0) {
			t.Errorf("%d elements inside each other: %v", n, err)
		}
		// The parser ends at the first bytes of a document that fits.
		long := make([]byte, maxXMLBytes+over)
		copy(long, "</a>")
		if _, err := AppendXML(nil, long); (err == ErrXML) != (over == 1) { // ErrXML alone: not read at all
			t.Errorf("a document of %d bytes: %v", len(long), err)
		}
	}
}

// TestPageForMarkdownIsBounded: of a page that is too large only the text is taken.
func TestPageForMarkdownIsBounded(t *testing.T) {
	for over, want := range []string{"# Title", "Title"} {
		const page = "<h1>Title</h1>"
		got := string(AppendMarkdown(nil, []byte(page+strings.Repeat(" ", maxMarkdown-len(page)+over))))
		if strings.TrimSpace(got) != want {
			t.Errorf("%d bytes past the limit: %.60q, want %q", over, got, want)
		}
	}
}

// TestMediaTypeForPluginsIsBounded: a plugin is told no type that cannot be one.
func TestMediaTypeForPluginsIsBounded(t *testing.T) {
	for over := range 2 {
		media := "text/" + strings.Repeat("x", maxMediaType-len("text/")+over)
		if got := FileType([]byte(media)); (got == media) != (over == 0) {
			t.Errorf("a file of a type of %d bytes is %q", len(media), got)
		}
		if got := TextType(Text, []byte(media)); (got == media) != (over == 0) {
			t.Errorf("text of a type of %d bytes is %q", len(media), got)
		}
	}
}

// TestCharsetOfLongTypeIsNotRead guards the parser of Content-Type.
func TestCharsetOfLongTypeIsNotRead(t *testing.T) {
	for over, want := range []string{"é", "\xe9"} {
		const media = "text/plain; charset=iso-8859-1; a="
		var buffer []byte
		contentType := []byte(media + strings.Repeat("b", maxContentType-len(media)+over))
		if out, err := UTF8(&buffer, contentType, []byte("\xe9"), 100); err != nil || string(out) != want {
			t.Errorf("a Content-Type of %d bytes: %q, %v", len(contentType), out, err)
		}
	}
}
