package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// FuzzMessage compares the scanner with encoding/json: the same messages are
// accepted and the same values found.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"a\u00e9","method":"tools\/call","params":{"name":"x","arguments":{"a":[1,{"b":null}]},"_meta":{"k":true}}}`,
		`{"id":1,"id":2,"jsonrpc":"2.0","method":"a","method":"b","params":{},"params":{"_meta":1}}`,
		`{"jsonrpc":"2.0","id":-0,"result":{}}`, `{"jsonrpc":"2.0","id":1e2,"method":"x"}`, `[]`, `{"\u006aethod":1}`, `{"jsonrpc":"2.0","method":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) {
			t.Skip("encoding/json repairs what is not UTF-8; see package jsonscan")
		}
		v, err := jsonscan.Parse(data, maxDepth)
		if err != nil {
			return // FuzzParse of package jsonscan compares these
		}
		var m message
		_, fault := m.parse(v, nil)
		want, ok := reference(data)
		if ok != (fault == nil) {
			t.Fatalf("%q: fault %+v, the reference accepts: %v", data, fault, ok)
		}
		if !ok {
			return
		}
		if string(m.method) != want.method || !sameJSON(m.id, want.id) || !sameJSON(m.params.Raw(), want.params) || !sameJSON(m.meta.Raw(), want.meta) {
			t.Fatalf("%q: method %q id %s params %s meta %s, want %+v", data, m.method, m.id, m.params.Raw(), m.meta.Raw(), want)
		}
	})
}

type expected struct {
	method           string
	id, params, meta json.RawMessage
}

// reference reads a message the slow way.
func reference(data []byte) (e expected, ok bool) {
	var o map[string]json.RawMessage
	if json.Unmarshal(data, &o) != nil || o == nil {
		return e, false
	}
	var version string
	if json.Unmarshal(o["jsonrpc"], &version) != nil || version != "2.0" {
		return e, false
	}
	if raw, has := o["id"]; has {
		var id any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&id) != nil {
			return e, false
		}
		switch n := id.(type) {
		case string:
		case json.Number:
			if strings.ContainsAny(n.String(), ".eE") {
				return e, false
			}
		default:
			return e, false
		}
		e.id = raw
	}
	if raw, has := o["method"]; has {
		var method *string
		if json.Unmarshal(raw, &method) != nil || method == nil || *method == "" {
			return e, false
		}
		e.method = *method
	} else if o["result"] == nil && o["error"] == nil || e.id == nil {
		return e, false
	}
	if raw, has := o["params"]; has {
		var params map[string]json.RawMessage
		if json.Unmarshal(raw, &params) != nil || params == nil {
			return e, false
		}
		e.params, e.meta = raw, params["_meta"]
	}
	return e, true
}

func sameJSON(a []byte, b json.RawMessage) bool {
	return string(a) == string(bytes.TrimSpace(b))
}

// FuzzServe: whatever arrives, the answer is empty or one valid JSON document
// whose messages carry jsonrpc 2.0.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`), "2025-11-25", "", "")
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\u0065cho","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`),
		"2026-07-28", "tools/call", "=?base64?ZWNobw==?=")
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"x\"\u0000"},1]`), "", "", "")
	s, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, version, method, name string) {
		rc := &fasthttp.RequestCtx{}
		rc.Request.Header.SetMethod("POST")
		rc.Request.Header.SetContentType("application/json")
		rc.Request.Header.Set(headerVersion, version)
		rc.Request.Header.Set(headerMethod, method)
		rc.Request.Header.Set(headerName, name)
		rc.Request.SetBody(body)
		s.Serve(rc, newStub(t))
		out := rc.Response.Body()
		switch status := rc.Response.StatusCode(); {
		case len(out) == 0 && status != 202:
			t.Fatalf("%d without a body to %q", status, body)
		case len(out) > 0 && (status == 202 || !json.Valid(out) || !bytes.Contains(out, []byte(`"jsonrpc":"2.0"`))):
			t.Fatalf("%d %q to %q", status, out, body)
		}
	})
}

// FuzzHeaderValue: plain values arrive as they are, encoded ones as what was
// encoded, and integers compare as numbers.
func FuzzHeaderValue(f *testing.F) {
	f.Add("plain", int64(7))
	f.Add("=?base64?YQ==?=", int64(-1))
	f.Fuzz(func(t *testing.T, s string, n int64) {
		got, ok := appendHeaderValue(nil, []byte(s))
		if ok && !strings.HasPrefix(strings.Trim(s, " \t"), "=?base64?") && string(got) != strings.Trim(s, " \t") {
			t.Fatalf("%q became %q", s, got)
		}
		if n > math.MinInt64 {
			text := string(appendInt(nil, int(n)))
			raw, err := json.Marshal(n)
			if err != nil || string(raw) != text {
				t.Fatalf("appendInt(%d) = %s", n, text)
			}
			if !sameInteger(raw, []byte(text+".00")) || sameInteger(raw, []byte(text+".01")) || sameInteger(raw, []byte(text+"1")) && n != 0 {
				t.Fatalf("%d does not equal itself", n)
			}
		}
	})
}

func TestHeaderParams(t *testing.T) {
	got, err := HeaderParams(regionSchema)
	if err != nil || len(got) != 2 || got[0].Header != "Mcp-Param-Region" || strings.Join(got[1].Path, ".") != "zone.id" {
		t.Fatalf("HeaderParams = %+v, %v", got, err)
	}
	f := func(schema string) {
		t.Helper()
		if got, err := HeaderParams([]byte(schema)); err == nil {
			t.Fatalf("%s: accepted as %+v", schema, got)
		}
	}
	f(`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`)
	f(`{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`)
	f(`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`)
	f(`{"properties":{"a":{"type":"string","x-mcp-header":1}}}`)
	f(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`)
}
