package textfilter

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// document is an answer of 21 KB like GitHub's repositories, half of it links.
func document() []byte {
	out := []byte{'['}
	for i := range 14 {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"id":%d,"name":"project-%d","description":"The project that does thing number %d.","stars":%d,"license":null,`, i, i, i, i)
		for l := range 20 {
			out = fmt.Appendf(out, `"link%d_url":"https://api.example.com/repos/acme/project-%d/links/%d{/x}",`, l, i, l)
		}
		out = append(out, `"language":"Go"}`...)
	}
	return append(out, ']')
}

// BenchmarkClean measures the search for hidden characters in text that has none, as
// nearly all answers: a copy of the text, the document as the API sent it, the same as
// the text of a result, where each quote is escaped, and with line feeds.
func BenchmarkClean(b *testing.B) {
	doc := document()
	text := jsonscan.AppendString(nil, doc)
	lines := jsonscan.AppendString(nil, bytes.ReplaceAll(doc, []byte(","), []byte(",\n  ")))
	dst := make([]byte, 0, len(lines))
	for name, in := range map[string][]byte{"document": doc, "text": text, "lines": lines} {
		b.Run("form="+name+"/impl=copy", func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				dst = append(dst[:0], in...)
			}
		})
		b.Run("form="+name+"/impl=sluice", func(b *testing.B) {
			if at := IndexJSON(in); at >= 0 {
				b.Fatalf("found something at %d", at)
			}
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				IndexJSON(in)
			}
		})
	}
}

// BenchmarkScripts is BenchmarkClean for 20 KB in other scripts.
func BenchmarkScripts(b *testing.B) {
	for name, text := range map[string]string{
		"chinese": "服务器返回了错误的结果，", "russian": "Привет мир и всем ", "german": "Grüße aus München, schön ist es hier ", "escaped": `Gr\u00fc\u00dfe aus M\u00fcnchen `,
	} {
		doc := []byte(`{"a":"` + strings.Repeat(text, 20<<10/len(text)) + `"}`)
		b.Run("form="+name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if at := IndexJSON(doc); at >= 0 {
					b.Fatalf("found something at %d", at)
				}
			}
		})
	}
}
