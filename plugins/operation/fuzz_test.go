package operation

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// FuzzBuild: what is built is read back by net/url, mime/multipart and
// encoding/json as the same values, whatever they are.
func FuzzBuild(f *testing.F) {
	f.Add("a", "b", "c d", "--sluice-1\r\n")
	f.Add("..", ".", "é&=+%#", "\x00;,\"\\")
	f.Add("%2e%2e", "a/b?c#d", "[]", "😀")
	plan := func(media string) *Plan {
		str := &Schema{Type: TypeString}
		p := &Plan{
			Version: 1, Method: "POST", Path: "/x/{a}/y/{b}.json",
			Params: []Param{
				{Arg: "a", Name: "a", In: InPath, Schema: str},
				{Arg: "b", Name: "b", In: InPath, AllowReserved: true, Schema: str},
				{Arg: "c", Name: "c[]&=", In: InQuery, Style: StyleForm, Explode: true, Schema: str},
				{Arg: "d", Name: "d", In: InQuery, Style: StyleDeep, Schema: &Schema{}},
				{Arg: "h", Name: "X-H", In: InHeader, Schema: str},
				{Arg: "k", Name: "k", In: InCookie, Style: StyleForm, Schema: str},
			},
			Body: &Body{MediaType: media, Fields: []Field{{Arg: "c", Name: "c\"\r\n", Schema: str}, {Arg: "d", Name: "d", Schema: str}}},
		}
		return p
	}
	compiled := map[string]*Compiled{}
	for _, media := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data"} {
		compiled[media] = compile(f, plan(media))
	}
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		args := []byte(`{"a":`)
		for i, s := range []string{a, b, c, d, a, b} {
			if !utf8.ValidString(s) {
				return
			}
			if i > 0 {
				args = append(args, `,"`+"abcdhk"[i:i+1]+`":`...)
			}
			args = jsonscan.AppendStringOf(args, s)
		}
		args = append(args, '}')
		for media, plan := range compiled {
			var r Request
			if err := plan.Build(&r, parse(t, string(args))); err != nil {
				if a != "" && a != "." && a != ".." && b != "" && !strings.ContainsFunc(a, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
					t.Fatalf("%q: %v", args, err)
				}
				continue
			}
			u, err := url.ParseRequestURI(string(r.Target))
			if err != nil {
				t.Fatal(err)
			}
			segments := strings.Split(u.EscapedPath(), "/")
			if len(segments) != 5 || segments[1] != "x" || segments[3] != "y" {
				t.Fatalf("a value left its segment: %s", r.Target)
			}
			gotA, err := url.PathUnescape(segments[2])
			if err != nil || gotA != a {
				t.Fatalf("a = %q, want %q", gotA, a)
			}
			gotB, err := url.PathUnescape(segments[4])
			if err != nil || gotB != b+".json" {
				t.Fatalf("b = %q, want %q", gotB, b)
			}
			q, err := url.ParseQuery(u.RawQuery)
			if err != nil || q.Get("c[]&=") != c || q.Get("d") != d || len(q) != 2 {
				t.Fatalf("query %s: %q, want %q %q", u.RawQuery, q, c, d)
			}
			for _, h := range r.Header {
				if bytes.ContainsAny(h.Value, "\r\n\x00") {
					t.Fatalf("header %q", h.Value)
				}
				if h.Name == "X-H" && string(h.Value) != a {
					t.Fatalf("header %q, want %q", h.Value, a)
				}
				if h.Name == "Cookie" {
					got, err := url.PathUnescape(strings.TrimPrefix(string(h.Value), "k="))
					if err != nil || got != b {
						t.Fatalf("cookie %q, want %q", h.Value, b)
					}
				}
			}
			checkBody(t, media, &r, c, d)
		}
	})
}

func checkBody(t *testing.T, media string, r *Request, c, d string) {
	t.Helper()
	switch media {
	case "application/json":
		var m map[string]string
		if err := json.Unmarshal(r.Body, &m); err != nil || m["c\"\r\n"] != c || m["d"] != d {
			t.Fatalf("body %q, %v", r.Body, err)
		}
	case "application/x-www-form-urlencoded":
		m, err := url.ParseQuery(string(r.Body))
		if err != nil || m.Get("c\"\r\n") != c || m.Get("d") != d || len(m) != 2 {
			t.Fatalf("body %q, %v", r.Body, err)
		}
	default:
		_, params, err := mime.ParseMediaType(string(r.ContentType))
		if err != nil {
			t.Fatal(err)
		}
		m := multipart.NewReader(bytes.NewReader(r.Body), params["boundary"])
		for i, want := range []string{c, d} {
			p, err := m.NextRawPart()
			if err != nil {
				t.Fatalf("part %d: %v in %q", i, err, r.Body)
			}
			got, err := io.ReadAll(p)
			if err != nil || string(got) != want || p.FormName() != []string{"c%22%0D%0A", "d"}[i] {
				t.Fatalf("part %s = %q, %v; want %q", p.FormName(), got, err, want)
			}
		}
		if _, err := m.NextRawPart(); err != io.EOF {
			t.Fatalf("more parts: %v", err)
		}
	}
}

// FuzzDecodePlan: whatever a plugin holds as a plan, reading it ends, and what is
// accepted compiles or is refused, checks and builds without panic, and is written
// back equal.
func FuzzDecodePlan(f *testing.F) {
	p := checkPlan(&Schema{Type: TypeObject, Pattern: "^a", Properties: []Property{{"x", &Schema{Type: TypeInteger, Min: "1"}}}, XML: &XML{Name: "a"}})
	f.Add(p.Append(nil), []byte(`{"id":"1","v":{"x":"2"}}`))
	mp := &Plan{Version: 1, Method: "POST", Path: "/", Query: "a=b", Body: &Body{MediaType: "multipart/form-data", Arg: "v", Encoding: []Encoding{{Name: "f", Style: StyleDeep, Headers: []Param{{Name: "X", Const: `"y"`}}}}}}
	f.Add(mp.Append(nil), []byte(`{"v":{"f":{"a":[1]},"g":{"data":"aGk="}}}`))
	xml := &Plan{Version: 1, Method: "POST", Path: "/", Body: &Body{MediaType: "application/xml", Arg: "v", Schema: &Schema{AnyOf: []*Schema{{Type: TypeArray, Items: &Schema{XML: &XML{Attribute: true}}}}}}}
	f.Add(xml.Append(nil), []byte(`{"v":[1,{"a":2}]}`))
	f.Fuzz(func(t *testing.T, plan, args []byte) {
		p, err := DecodePlan(plan)
		if err != nil {
			return
		}
		first := p.Append(nil)
		back, err := DecodePlan(first)
		if err != nil || !bytes.Equal(back.Append(nil), first) {
			t.Fatalf("%s written again: %v", first, err)
		}
		c, err := p.Compile()
		if err != nil {
			return
		}
		v, err := jsonscan.Parse(args, 0)
		if err != nil {
			return
		}
		checked := c.Check(v)
		var r Request
		if err := c.Build(&r, v); err != nil {
			return
		}
		for _, h := range r.Header {
			if !isHeaderValue(h.Value) {
				t.Fatalf("header %q", h.Value)
			}
		}
		if r.Target[0] != '/' || bytes.ContainsAny(r.Target, " \r\n#") {
			t.Fatalf("target %q", r.Target)
		}
		if checked == nil && r.HasBody && c.bodies[0].kind == bodyJSON && !json.Valid(r.Body) {
			t.Fatalf("body %q of %s", r.Body, args)
		}
	})
}

func TestPlanCodec(t *testing.T) {
	p := checkPlan(&Schema{Type: TypeString, Pattern: "<&>", MaxLen: new(3)})
	b := p.Append([]byte("x"))
	if b[0] != 'x' || bytes.Contains(b, []byte(`\u003c`)) {
		t.Fatalf("%s", b)
	}
	back, err := DecodePlan(b[1:])
	if err != nil || !bytes.Equal(back.Append(nil), b[1:]) {
		t.Fatalf("%s, %v", b, err)
	}
	f := func(in, want string) {
		t.Helper()
		if _, err := DecodePlan([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want %q", err, want)
		}
	}
	f(`{"v":2}`, "version 2")
	f(`{"v":1,"nope":1}`, "does not know")
	f(`{"v":1,"v":1}`, "twice")
	f(`{"v":1,"path":"/"} x`, "after the value")
	f(`{"v":1,"method":1}`, "decode request plan")
	f(`{"v":1,"query":"`+strings.Repeat("x", MaxPlanBytes)+`"}`, "the limit is")
	f(strings.Repeat(`{"body":`, 300)+"1"+strings.Repeat("}", 300), "nested")
}
