package mcp

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestMessagesAreChecked: what is not a message of JSON-RPC is refused for what is wrong with
// it, with its id where it has one that can be matched.
func TestMessagesAreChecked(t *testing.T) {
	for _, c := range []struct {
		text, id, method string
		fault            *fault
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "1", "ping", nil},
		{`{"jsonrpc":"2.0","id":"a","method":"p\u0069ng","params":{"_meta":{}}}`, `"a"`, "ping", nil},
		{`{"jsonrpc":"2.0","method":"notifications/x"}`, "", "notifications/x", nil},
		{`{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, "1", "b", nil},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, "1", "", nil},
		{`{"jsonrpc":"2.0","id":1,"error":{}}`, "1", "", nil},
		{`{"jsonrpc":"2.0","id":-1,"method":"ping"}`, "-1", "ping", nil},
		{`[]`, "", "", &faultNotObject},
		{`"ping"`, "", "", &faultNotObject},
		{`{"id":1,"method":"ping"}`, "1", "", &faultVersion},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", "", &faultVersion},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, "1", "", &faultVersion},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "", "", &faultID},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "", "", &faultID},
		{`{"jsonrpc":"2.0","id":1e2,"method":"ping"}`, "", "", &faultID},
		{`{"jsonrpc":"2.0","id":1E2,"method":"ping"}`, "", "", &faultID},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, "", "", &faultID},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "", "", &faultID},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, "1", "", &faultMethod},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, "1", "", &faultMethod},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, "1", "", &faultMethod},
		{`{"jsonrpc":"2.0","id":1}`, "1", "", &faultMethod},
		{`{"jsonrpc":"2.0","result":{}}`, "", "", &faultMethod},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, "1", "ping", &faultParams},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`, "1", "ping", &faultParams},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, "1", "ping", &faultParams},
	} {
		var m message
		m.method = []byte("of the message before")
		_, fault := m.parse(jsonscan.Trusted([]byte(c.text)), nil)
		if fault != c.fault || string(m.id) != c.id || fault == nil && string(m.method) != c.method {
			t.Errorf("%s: %+v, id %s, method %s", c.text, fault, m.id, m.method)
		}
	}
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`: `false {"a":1}`, `{"jsonrpc":"2.0","id":1,"error":{"b":1}}`: `true {"b":1}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"b":1}}`: `true {"b":1}`,
	} {
		var m message
		if _, fault := m.parse(jsonscan.Trusted([]byte(text)), nil); fault != nil || strconv.FormatBool(m.refused)+" "+string(m.result.Raw()) != want {
			t.Errorf("%s: %+v, refused %v, result %s", text, fault, m.refused, m.result.Raw())
		}
	}
	var m message
	if _, fault := m.parse(jsonscan.Trusted([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1,"_meta":{"k":2}}}`)), nil); fault != nil || string(m.params.Get("a").Raw()) != "1" || string(m.meta.Get("k").Raw()) != "2" {
		t.Errorf("parameters %s, _meta %s", m.params.Raw(), m.meta.Raw())
	}
}

// TestAnswersOfErrors: an error has the id of its message, or none, and repeats a client's
// text as a JSON string does.
func TestAnswersOfErrors(t *testing.T) {
	for _, c := range []struct {
		id, text string
		quote    []byte
		want     string
	}{
		{"7", "no", nil, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`},
		{"", "no", nil, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}`},
		{"7", "no", []byte("it"), `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no \"it\""}}`},
		{"7", "no", []byte(""), `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no \"\""}}`},
		{"7", "no", []byte(`a"\`), `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no \"a\"\\\""}}`},
	} {
		var id []byte
		if c.id != "" {
			id = []byte(c.id)
		}
		if got := string(appendError(nil, id, &fault{code: codeMethodNotFound, text: c.text, quote: c.quote})); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	for _, n := range []int{0, 1, 9, 10, 11, 99, 100, 32600, -1, -9, -10, -32022, math.MaxInt64, -math.MaxInt64} {
		if got := string(appendInt([]byte("x"), n)); got != "x"+strconv.Itoa(n) {
			t.Errorf("%d is %s", n, got)
		}
	}
}

// TestVersions: each revision by its name, in the order of time, and which have sessions.
func TestVersions(t *testing.T) {
	names := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	for i, name := range names {
		v := versionOf([]byte(name))
		if v != Version(i+1) || v.String() != name || HasSessions([]byte(name)) != (name != modernName) {
			t.Errorf("%s is %d, %s, has sessions: %v", name, v, v, HasSessions([]byte(name)))
		}
	}
	for _, name := range []string{"", "2025-03-27", "2024-11-05 ", "2027-01-01"} {
		if v := versionOf([]byte(name)); v != VersionNone || v.String() != "" || HasSessions([]byte(name)) {
			t.Errorf("%q is %d", name, v)
		}
	}
	slices.Reverse(names)
	if got := string(appendVersions([]byte("x"))); got != `x["`+strings.Join(names, `","`)+`"]` {
		t.Error(got)
	}
}

// TestMarksOfHeaders: where a schema marks an argument as a header, with what type, and
// which marks make a client drop the tool.
func TestMarksOfHeaders(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`: "", `{"properties":{"a":{"type":"string"}}}`: "",
		`{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`:                                                            "Mcp-Param-Region a string",
		`{"properties":{"a":{"type":"integer","x-mcp-header":"A"},"b":{"properties":{"c":{"type":"boolean","x-mcp-header":"C"}}}}}`: "Mcp-Param-A a integer, Mcp-Param-C b.c boolean",
		`{"properties":{"a":{"properties":{"x":{"type":"string","x-mcp-header":"X"},"y":{"type":"string","x-mcp-header":"Y"}}}}}`:   "Mcp-Param-X a.x string, Mcp-Param-Y a.y string",
		`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`:                                                                 "a needs the type",
		`{"properties":{"a":{"x-mcp-header":"A"}}}`:                                                                                 "a needs the type",
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`:                                                                  "a is not a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`:                                                               "a is not a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":7}}}`:                                                                   "a is not a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`:                        "Mcp-Param-a is used twice",
		`{"properties":{"o":{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}}}`:                                            "o.a needs the type",
	} {
		params, err := HeaderParams([]byte(schema))
		var got []string
		for _, p := range params {
			got = append(got, p.Header+" "+strings.Join(p.Path, ".")+" "+p.Kind)
		}
		text := strings.Join(got, ", ")
		if err != nil {
			text = err.Error()
		}
		if err == nil && text != want || err != nil && (want == "" || !strings.Contains(text, want) || params != nil) {
			t.Errorf("%s: %s, want %s", schema, text, want)
		}
	}
	for text, want := range map[string]bool{"": false, "a": true, "~!#$": true, " ": false, "a b": false, "a\x7f": false, "a(": false, "a]": false, "a:": false, "ä": false, "a/": false, "@": false, "{": false, `"`: false, `\`: false} {
		if got := isToken(text); got != want {
			t.Errorf("%q is a token: %v", text, got)
		}
	}
}

// TestValuesOfHeaders: what a header says, in base64 or as it is, and which arguments it
// repeats.
func TestValuesOfHeaders(t *testing.T) {
	for header, want := range map[string]string{
		"a": "a", " a ": "a", "": "", "=?base64?w6Q=?=": "ä", "=?base64??=": "", "=?base64?!?=": "bad", "=?base64?w6Q=": "=?base64?w6Q=", "=?base64?=": "=?base64?=", "=?BASE64?w6Q=?=": "=?BASE64?w6Q=?=",
	} {
		got, ok := appendHeaderValue([]byte("x"), []byte(header))
		if text := string(got); ok != (want != "bad") || ok && text != "x"+want {
			t.Errorf("%q: %q, %v", header, text, ok)
		}
	}
	for _, c := range []struct {
		argument, header string
		want             bool
	}{
		{`"a"`, "a", true},
		{`"a"`, "b", false},
		{`"\u0061"`, "a", true},
		{`"\u0061"`, "b", false},
		{`true`, "true", true},
		{`true`, "True", false},
		{`false`, "true", false},
		{`7`, "7", true},
		{`7.0`, "7", true},
		{`7`, "8", false},
		{`{}`, "{}", false},
		{`[]`, "[]", false},
		{`null`, "null", false},
	} {
		scratch := []byte("method")
		if got := sameValue(jsonscan.Trusted([]byte(c.argument)), []byte(c.header), &scratch); got != c.want || !bytes.HasPrefix(scratch, []byte("method")) {
			t.Errorf("%s and %q: %v, scratch %q", c.argument, c.header, got, scratch)
		}
	}
}

// TestBodyIsReadInItsOrder: what is shared stands where it belongs, however a body is read,
// and a body that is used again has nothing of the one before.
func TestBodyIsReadInItsOrder(t *testing.T) {
	long, longer := bytes.Repeat([]byte("L"), shareFrom), bytes.Repeat([]byte("M"), shareFrom+1)
	short := bytes.Repeat([]byte("s"), shareFrom-1)
	for name, parts := range map[string][][]byte{
		"nothing": nil, "one long": {long}, "one short": {short}, "long at the ends": {long, []byte("own"), longer}, "long in the middle": {[]byte("own"), long, []byte("own")},
		"two long": {long, longer}, "two between": {[]byte("a"), long, longer, []byte("b")},
	} {
		build := func() (*body, int) {
			x := &exchange{}
			for _, p := range parts {
				x.insertShared(p)
			}
			shared := 0
			for _, p := range parts {
				if len(p) >= shareFrom {
					shared++
				}
			}
			if len(x.inserts) != shared {
				t.Errorf("%s: %d parts are shared, want %d", name, len(x.inserts), shared)
			}
			return x.sharedBody()
		}
		want := bytes.Join(parts, nil)
		for how, read := range map[string]func(*body) ([]byte, error){
			"at once":   func(b *body) ([]byte, error) { var w bytes.Buffer; _, err := b.WriteTo(&w); return w.Bytes(), err },
			"in pieces": func(b *body) ([]byte, error) { return io.ReadAll(struct{ io.Reader }{b}) },
			"both": func(b *body) ([]byte, error) {
				head := make([]byte, 2)
				n, err := b.Read(head)
				if err == io.EOF {
					return nil, nil
				}
				var w bytes.Buffer
				_, err = b.WriteTo(&w)
				return append(head[:n], w.Bytes()...), err
			},
		} {
			b, size := build()
			got, err := read(b)
			if err != nil || !bytes.Equal(got, want) || size != len(want) {
				t.Errorf("%s, %s: %d bytes of %d (said to be %d), %v", name, how, len(got), len(want), size, err)
			}
			if err := b.Close(); err != nil || len(b.own) != 0 || len(b.inserts) != 0 || b.done != 0 || b.read != 0 || b.inside != 0 {
				t.Errorf("%s: %+v is kept", name, b)
			}
		}
	}
	b, _ := (&exchange{out: []byte("abcdef")}).sharedBody()
	if n, err := b.WriteTo(halfWriter{}); n != 3 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if rest, err := io.ReadAll(struct{ io.Reader }{b}); err != nil || string(rest) != "def" {
		t.Errorf("the rest is %q, %v", rest, err)
	}
	for size, kept := range map[int]bool{0: true, keepOutput: true, keepOutput + 1: false} {
		o := &output{b: make([]byte, size)}
		if err := o.Close(); err != nil || (o.b != nil) != kept || len(o.b) != 0 {
			t.Errorf("memory of %d bytes is kept: %v", size, o.b != nil)
		}
	}
}

// halfWriter writes three bytes and fails.
type halfWriter struct{}

func (halfWriter) Write([]byte) (int, error) { return 3, io.ErrShortWrite }
