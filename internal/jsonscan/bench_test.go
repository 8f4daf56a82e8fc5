package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fastjson"
)

// BenchmarkCall reads method, tool name and one argument of a tools/call.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{0, 20 << 10} {
		in := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"create_issue","arguments":{"owner":"octo","repo":"hello","body":%q}}}`,
			bytes.Repeat([]byte("some words of text, "), size/20))
		check := func(method, name, owner string) {
			if method != "tools/call" || name != "create_issue" || owner != "octo" {
				b.Fatal(method, name, owner)
			}
		}
		run := func(impl string, f func()) {
			b.Run(fmt.Sprintf("size=%dB/impl=%s", len(in), impl), func(b *testing.B) {
				b.SetBytes(int64(len(in)))
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
		run("baseline", func() {
			var m struct {
				Method string
				Params struct {
					Name      string
					Arguments map[string]json.RawMessage
				}
			}
			if err := json.Unmarshal(in, &m); err != nil {
				b.Fatal(err)
			}
			check(m.Method, m.Params.Name, string(bytes.Trim(m.Params.Arguments["owner"], `"`)))
		})
		var p fastjson.Parser
		run("fastjson", func() {
			v, err := p.ParseBytes(in)
			if err != nil {
				b.Fatal(err)
			}
			if string(v.GetStringBytes("method")) != "tools/call" || string(v.GetStringBytes("params", "arguments", "owner")) != "octo" {
				b.Fatal("wrong")
			}
		})
		run("sluice", func() {
			v, err := Parse(in, 0)
			if err != nil {
				b.Fatal(err)
			}
			p := v.Get("params")
			if !v.Get("method").EqualText("tools/call") || !p.Get("name").EqualText("create_issue") || !p.Get("arguments").Get("owner").EqualText("octo") {
				b.Fatal("wrong")
			}
		})
	}
}

// BenchmarkText reads the result of a tools/call: JSON inside a string, where every
// quote is escaped, and prose.
func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"json":  strings.Repeat(`{"id":16,"name":"user-16","email":"user16@example.com"},`, 17),
		"prose": strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 20),
	} {
		in := AppendStringOf([]byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":`), text)
		in = append(in, `}],"isError":false}}`...)
		run := func(impl string, f func()) {
			b.Run(fmt.Sprintf("text=%s/impl=%s", name, impl), func(b *testing.B) {
				b.SetBytes(int64(len(in)))
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
		run("baseline", func() {
			if !json.Valid(in) {
				b.Fatal("invalid")
			}
		})
		run("parse", func() {
			if _, err := Parse(in, 0); err != nil {
				b.Fatal(err)
			}
		})
		v := Trusted(in)
		run("get", func() {
			if !v.Get("result").Exists() {
				b.Fatal("missing")
			}
		})
		var quoted []byte
		run("parse and quote", func() {
			if _, err := Parse(in, 0); err != nil {
				b.Fatal(err)
			}
			quoted, _ = AppendPlain(quoted[:0], in)
		})
		item := v.Get("result").Get("content")
		it := item.Elements()
		it.Next()
		value := it.Value().Get("text")
		var dst []byte
		run("text", func() { dst = value.AppendText(dst[:0]) })
		plain := []byte(text)
		run("quote", func() { dst = AppendString(dst[:0], plain) })
	}
}

// BenchmarkQuoted validates an answer and writes it as a string.
func BenchmarkQuoted(b *testing.B) {
	var item []byte
	for i := range 130 {
		if i > 0 {
			item = append(item, ',')
		}
		item = fmt.Appendf(item, `{"id":%d,"name":"item-%d","status":"active","price":%d.5,"owner":{"email":"user%d@example.com","address":{"zip":"1%04d","city":"Lausanne"}},"tags":["a%d","b"]}`, i, i, i*7, i, i*13, i%9)
	}
	in := fmt.Appendf(nil, `{"items":[%s],"next":null,"end":"e"}`, item)
	var dst []byte
	run := func(impl string, f func() error) {
		b.Run("impl="+impl, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("baseline", func() error {
		_, err := Parse(in, 0)
		dst, _ = AppendPlain(dst[:0], in)
		return err
	})
}
