package operation

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

func compile(t testing.TB, p *Plan) *Compiled {
	t.Helper()
	c, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t testing.TB, s string) jsonscan.Value {
	t.Helper()
	v, err := jsonscan.Parse([]byte(s), 0)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

// one is a plan with one parameter "v" named "p".
func one(x Param) *Plan {
	x.Arg, x.Name = "v", "p"
	p := &Plan{Version: 1, Method: "GET", Path: "/a", Params: []Param{x}}
	if x.In == InPath {
		p.Path = "/a/{p}/z"
	}
	return p
}

// TestStyles: independent of the corpus, from the tables of OpenAPI 3.2 "Style
// Examples", RFC 6570 §3.2 and Swagger 2.0 "collectionFormat".
func TestStyles(t *testing.T) {
	f := func(x Param, value, want string) {
		t.Helper()
		var r Request
		if err := compile(t, one(x)).Build(&r, parse(t, `{"v":`+value+`}`)); err != nil {
			t.Fatalf("%+v %s: %v", x, value, err)
		}
		got := string(r.Target)
		if len(r.Header) > 0 {
			got = r.Header[0].Name + ": " + string(r.Header[0].Value)
		}
		if got != want {
			t.Fatalf("%+v %s: got %s, want %s", x, value, got, want)
		}
	}
	list, object := `["x y","b/c"]`, `{"k 1":"v,1","n":2}`
	path := Param{In: InPath}
	f(path, `"…"`, "/a/%E2%80%A6/z")
	f(path, list, "/a/x%20y,b%2Fc/z")
	f(path, object, "/a/k%201,v%2C1,n,2/z")
	f(Param{In: InPath, Style: StyleLabel}, `true`, "/a/.true/z")
	f(Param{In: InPath, Style: StyleLabel, Explode: true}, object, "/a/.k%201=v%2C1.n=2/z")
	f(Param{In: InPath, Style: StyleMatrix}, `-1.5e3`, "/a/;p=-1.5e3/z")
	f(Param{In: InPath, Style: StyleMatrix, Explode: true}, `["a",null,"b"]`, "/a/;p=a;p=b/z")
	f(Param{In: InPath, Style: StylePipes}, `["a","b"]`, "/a/a%7Cb/z")
	f(Param{In: InPath, AllowReserved: true}, `"a/b?c#d%2e:@"`, "/a/a%2Fb%3Fc%23d%252e:@/z")
	f(Param{In: InPath, Content: "application/json"}, `{"a": [1]}`, "/a/%7B%22a%22%3A%5B1%5D%7D/z")
	f(path, `"..."`, "/a/.../z")

	query := Param{In: InQuery}
	f(query, `""`, "/a?p=")
	f(query, `null`, "/a")
	f(query, `[null]`, "/a")
	f(query, `{"a":null}`, "/a")
	f(query, list, "/a?p=x%20y,b%2Fc")
	f(query, `[[1,2],{"a":"b"}]`, "/a?p=%5B1%2C2%5D,%7B%22a%22%3A%22b%22%7D")
	f(Param{In: InQuery, Style: StyleForm, Explode: true}, list, "/a?p=x%20y&p=b%2Fc")
	f(Param{In: InQuery, Style: StyleSpace}, `["a","b"]`, "/a?p=a%20b")
	f(Param{In: InQuery, Style: StylePipe, AllowReserved: true}, `["a/b","c|d"]`, "/a?p=a/b%7Cc%7Cd")
	f(Param{In: InQuery, Style: StyleDeep}, `{"a":{"b c":[1,{"d":true}]},"e":[]}`, "/a?p%5Ba%5D%5Bb%20c%5D%5B%5D=1&p%5Ba%5D%5Bb%20c%5D%5B1%5D%5Bd%5D=true")
	f(Param{In: InQuery, Style: StyleCSV}, `["a","b"]`, "/a?p=a,b")
	f(Param{In: InQuery, Style: StyleMulti}, `["a","b"]`, "/a?p=a&p=b")
	f(Param{In: InQuery, Style: StyleMulti, Nested: []Style{StyleTSV, StylePipes}}, `[["a","b"],[["c","d"]]]`, "/a?p=a%09b&p=c%7Cd")
	f(Param{In: InQuery, Content: "text/plain"}, `"a&b"`, "/a?p=a%26b")
	f(Param{In: InQueryString, Content: "application/json"}, `{"a":1}`, "/a?%7B%22a%22%3A1%7D")
	f(Param{In: InQueryString, Content: "text/plain"}, `"a=1&b=%20#x y"`, "/a?a=1&b=%20%23x%20y")
	f(Param{In: InQueryString, Content: "application/x-www-form-urlencoded"}, `{"a":["x","y z"],"b":{"c":1},"d":null}`, "/a?a=x&a=y+z&b=%7B%22c%22%3A1%7D")
	f(query, `"\ud83d\ude00\u0000"`, "/a?p=%F0%9F%98%80%00")
	f(query, `"\ud800"`, "/a?p=%EF%BF%BD")

	header := Param{In: InHeader}
	f(header, list, "p: x y,b/c")
	f(header, `"a\tb é"`, "p: a\tb é")
	f(Param{In: InHeader, Explode: true}, object, "p: k 1=v,1,n=2")
	f(Param{In: InHeader, Style: StyleTSV}, `["a","b"]`, "p: a\tb")
	f(Param{In: InCookie, Style: StyleForm}, `"a;b c"`, "Cookie: p=a%3Bb%20c")
	f(Param{In: InCookie, Style: StyleForm, Explode: true}, `{"a":"1","b":"2 3"}`, "Cookie: a=1; b=2%203")
	f(Param{In: InCookie, Style: StyleCookie}, `"a%20b"`, "Cookie: p=a%20b")

	// Constants and healed values.
	f(Param{In: InQuery, Schema: &Schema{Type: TypeArray}, Explode: true}, `"[1,2]"`, "/a?p=1&p=2")
	f(Param{In: InQuery, Style: StyleDeep, Schema: &Schema{Type: TypeObject}}, `"{\"a\":1}"`, "/a?p%5Ba%5D=1")
	f(Param{In: InQuery, Schema: &Schema{Type: TypeInteger}}, `1e2`, "/a?p=100")
	f(Param{In: InQuery, Schema: &Schema{Type: TypeNumber}}, `1.10`, "/a?p=1.10")
	f(Param{In: InQuery, Schema: &Schema{Type: TypeInteger}}, `"9007199254740993"`, "/a?p=9007199254740993")
}

// TestWireRefuses: what cannot be on the wire is an error, never a different request.
func TestWireRefuses(t *testing.T) {
	f := func(x Param, value string) {
		t.Helper()
		var r Request
		err := compile(t, one(x)).Build(&r, parse(t, value))
		if p := problem.As(err); p == nil || p.Kind != problem.InvalidArguments || p.Place.Pointer != "/v" {
			t.Fatalf("%+v %s: built %s %v, %v; want an error at /v", x, value, r.Target, r.Header, err)
		}
	}
	for _, v := range []string{`{"v":""}`, `{"v":"."}`, `{"v":".."}`, `{"v":null}`, `{}`, `{"v":[]}`, `{"v":{}}`, `{"v":[""]}`} {
		f(Param{In: InPath}, v)
		f(Param{In: InPath, AllowReserved: true}, v)
	}
	f(Param{In: InPath, Style: StyleLabel}, `{"v":""}`)  // "."
	f(Param{In: InPath, Style: StyleLabel}, `{"v":"."}`) // ".."
	for _, v := range []string{`"a\r\nb"`, `"a\nb"`, `"\u0000"`, `"\u007f"`, `["a","\r"]`, `{"a\n":1}`} {
		f(Param{In: InHeader}, `{"v":`+v+`}`)
		f(Param{In: InHeader, Explode: true}, `{"v":`+v+`}`)
	}
	f(Param{In: InHeader, Content: "text/plain"}, `{"v":"a\nb"}`)
	for _, v := range []string{`"a; b=c"`, `"a;b"`, `"a b"`, `"a,b"`, `"a\"b"`, `"é"`, `"a\nb"`, `["a","b;c"]`} {
		f(Param{In: InCookie, Style: StyleCookie, Explode: true}, `{"v":`+v+`}`)
	}
	f(Param{In: InCookie, Style: StyleCookie, Explode: true}, `{"v":{"a;b":"c"}}`)
}

// TestTarget: several parameters together, fixed parts, order.
func TestTarget(t *testing.T) {
	p := &Plan{
		Version: 1, Method: "GET", Path: "/über/{a}.{b}/x y/{c}", Query: "action=list", Accept: "application/json",
		Params: []Param{
			{Arg: "b", Name: "b", In: InPath},
			{Arg: "a", Name: "a", In: InPath},
			{Const: `"v/1"`, Name: "c", In: InPath},
			{Arg: "q", Name: "q", In: InQuery},
			{Const: `2`, Name: "version", In: InQuery},
			{Const: `"2026"`, Name: "X-Version", In: InHeader},
			{Arg: "s", Name: "s", In: InCookie},
			{Arg: "s2", Name: "s2", In: InCookie},
		},
	}
	c := compile(t, p)
	var r Request
	if err := c.Build(&r, parse(t, `{"q":"1","a":"..","b":".","s":"x","s2":"y"}`)); err != nil {
		t.Fatal(err)
	}
	if got := string(r.Target); got != "/%C3%BCber/..../x%20y/v%2F1?action=list&q=1&version=2" {
		t.Errorf("target %s", got)
	}
	if len(r.Header) != 2 || string(r.Header[0].Value) != "2026" || string(r.Header[1].Value) != "s=x; s2=y" {
		t.Errorf("headers %s", r.Header)
	}
	if r.Method != http.MethodGet || r.Accept != "application/json" || r.HasBody {
		t.Errorf("%+v", r)
	}
}

func TestBodies(t *testing.T) {
	str, integer := &Schema{Type: TypeString}, &Schema{Type: TypeInteger}
	file := &Schema{Type: TypeString, Media: "application/octet-stream"}
	fields := []Field{{Arg: "a", Name: "A", Required: true, Schema: str}, {Arg: "n", Name: "n", Schema: integer}, {Const: `["x"]`, Name: "c"}}
	whole := func(media string, s *Schema) *Body { return &Body{MediaType: media, Arg: "v", Schema: s} }
	f := func(b *Body, args, wantType, want string) {
		t.Helper()
		r := Request{boundary: "B"}
		if err := compile(t, &Plan{Version: 1, Method: "POST", Path: "/", Body: b}).Build(&r, parse(t, args)); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		if got := string(r.Body); got != want || string(r.ContentType) != wantType || r.HasBody != (wantType != "") {
			t.Fatalf("%s:\ngot  %s %q\nwant %s %q", args, r.ContentType, got, wantType, want)
		}
	}
	const js, form, mp = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
	f(&Body{MediaType: js, Fields: fields}, `{"n":"5","a":"x\u00e9\n"}`, js, `{"A":"x\u00e9\n","n":5,"c":["x"]}`)
	f(&Body{MediaType: js, Fields: fields}, `{}`, "", "")
	f(&Body{MediaType: js, Fields: fields, Required: true}, `{}`, js, `{"c":["x"]}`)
	f(&Body{MediaType: js, Fields: fields}, `{"a":7,"n":null}`, js, `{"A":"7","c":["x"]}`)
	f(&Body{MediaType: "application/merge-patch+json", Fields: fields[:2]}, `{"a":null}`, "application/merge-patch+json", `{"A":null}`)
	f(whole(js, nil), `{"v": {"a" : 1.0} }`, js, `{"a":1.0}`)
	f(whole(js, &Schema{Type: TypeArray, Items: integer}), `{"v":"[1, \"2\", 3.0]"}`, js, `[1,2,3]`)
	f(whole(js, &Schema{Type: TypeObject, Properties: []Property{{"i", integer}, {"s", str}}}), `{"v":{"i":null,"s":null,"x":null}}`, js, `{"x":null}`)
	f(whole(js, &Schema{AnyOf: []*Schema{str, integer}}), `{"v":"5"}`, js, `"5"`)
	f(whole("application/jsonl", nil), `{"v":[{"a": 1},2]}`, "application/jsonl", "{\"a\":1}\n2\n")
	f(whole("application/x-ndjson", str), `{"v":"{\"a\":1}\n{}"}`, "application/x-ndjson", "{\"a\":1}\n{}\n") // the lines themselves
	f(whole("text/plain", str), `{"v":"a\nb"}`, "text/plain", "a\nb")
	f(whole("text/csv", str), `{"v":{"text":"a,b"}}`, "text/csv", "a,b")
	f(whole("application/octet-stream", file), `{"v":"aGk="}`, "application/octet-stream", "hi")
	f(whole("application/octet-stream", file), `{"v":"not base64!"}`, "application/octet-stream", "not base64!")
	f(whole("image/*", file), `{"v":{"data":"_-8","mediaType":"image/png"}}`, "image/png", "\xff\xef")
	// Of a range, the type that the file has, by its content or its name.
	f(whole("image/*", file), `{"v":{"data":"iVBORw0KGgo="}}`, "image/png", "\x89PNG\r\n\x1a\n")
	f(whole("image/*", file), `{"v":{"text":"x","filename":"a.jpg"}}`, "image/jpeg", "x")
	f(&Body{MediaType: mp, Fields: []Field{{Arg: "f", Name: "f", Schema: file}}, Encoding: []Encoding{{Name: "f", ContentType: "image/*"}}}, `{"f":{"data":"iVBORw0KGgo="}}`, mp+"; boundary=B",
		"--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n\r\n--B--\r\n")
	f(whole("image/*", file), `{"v":{"text":"x","filename":"a.txt"}}`, "application/octet-stream", "x")
	f(whole("application/pdf", file), `{"v":"data:text/plain;base64,aGk="}`, "application/pdf", "hi")
	f(whole("application/pdf", file), `{"v":"data:,a%20b"}`, "application/pdf", "a b")

	f(&Body{MediaType: form, Fields: fields}, `{"a":"x y","n":1}`, form, "A=x+y&n=1&c=x")
	f(whole(form, nil), `{"v":"a=b"}`, form, "a=b")
	enc := []Encoding{{Name: "o", Style: StyleDeep, Explode: true}, {Name: "l", Style: StylePipe}, {Name: "j", ContentType: "application/json"}, {Name: "r", AllowReserved: true}}
	f(&Body{MediaType: form, Arg: "v", Encoding: enc}, `{"v":{"o":{"a b":"c d"},"l":["a","b"],"j":[1],"r":"a/b c","x":{"y":1}}}`,
		form, "o%5Ba%20b%5D=c%20d&l=a%7Cb&j=%5B1%5D&r=a/b%20c&x=%7B%22y%22%3A1%7D")

	part := func(head, body string) string {
		return "--B\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + body + "\r\n"
	}
	f(&Body{MediaType: mp, Fields: []Field{{Arg: "f", Name: "f\"", Schema: file}, {Arg: "o", Name: "o"}, {Arg: "s", Name: "s", Schema: str}}},
		`{"f":{"text":"<é>","filename":"a\r\n\"b.txt","mediaType":"text/plain"},"o":{"a":1},"s":"data:x"}`, mp+"; boundary=B",
		part("name=\"f%22\"; filename=\"a%0D%0A%22b.txt\"\r\nContent-Type: text/plain", "<é>")+
			part("name=\"o\"\r\nContent-Type: application/json", `{"a":1}`)+part(`name="s"`, "data:x")+"--B--\r\n")
	f(&Body{
		MediaType: mp, Arg: "v", Encoding: []Encoding{{Name: "i", ContentType: "image/png, image/jpeg", Headers: []Param{{Name: "X-A", Const: `"b"`}}}},
		Schema: &Schema{Type: TypeObject, Properties: []Property{{"i", file}}},
	}, `{"v":{"i":{"data":"YQ"},"l":[1,null,2]}}`, mp+"; boundary=B",
		part("name=\"i\"; filename=\"i\"\r\nContent-Type: image/png\r\nX-A: b", "a")+part(`name="l"`, "1")+part(`name="l"`, "2")+"--B--\r\n")

	pet := &Schema{Type: TypeObject, XML: &XML{Name: "pet", Namespace: "urn:p", Prefix: "p"}, Properties: []Property{
		{"id", &Schema{Type: TypeInteger, XML: &XML{Attribute: true}}},
		{"tags", &Schema{Type: TypeArray, XML: &XML{Wrapped: true}, Items: &Schema{Type: TypeString, XML: &XML{Name: "tag"}}}},
		{"alias", &Schema{Type: TypeArray, Items: str}},
		{"name", str},
	}}
	f(whole("application/xml", pet), `{"v":{"name":"a<&\"b","id":"7","tags":["x","y"],"alias":["p","q"],"z":null}}`, "application/xml",
		`<p:pet xmlns:p="urn:p" id="7"><name>a&lt;&amp;&quot;b</name><tags><tag>x</tag><tag>y</tag></tags><alias>p</alias><alias>q</alias></p:pet>`)
	f(whole("text/xml", str), `{"v":"<a/>"}`, "text/xml", "<a/>")
	f(&Body{MediaType: "application/xml", Schema: pet, Fields: []Field{{Arg: "id", Name: "id", Schema: pet.Properties[0].Schema}, {Arg: "name", Name: "name", Schema: str}}},
		`{"name":"x","id":1}`, "application/xml", `<p:pet xmlns:p="urn:p" id="1"><name>x</name></p:pet>`)
}

// TestBoundaryIsNotInContent: a file that holds the boundary gets another one.
func TestBoundaryIsNotInContent(t *testing.T) {
	c := compile(t, &Plan{Version: 1, Method: "POST", Path: "/", Body: &Body{MediaType: "multipart/form-data", Arg: "v"}})
	b := builder{c: c, r: &Request{}}
	// The boundary depends on the arguments, so one inside them can only collide by
	// design: with the seed that a copy of the search finds.
	args := parse(t, `{"v":{"a":"x"}}`)
	var first, second Request
	if err := c.Build(&first, args); err != nil {
		t.Fatal(err)
	}
	if err := c.Build(&second, args); err != nil {
		t.Fatal(err)
	}
	if string(first.Body) != string(second.Body) || string(first.ContentType) != string(second.ContentType) {
		t.Error("equal arguments make different bodies")
	}
	if b.boundary(0, args) == b.boundary(1, args) {
		t.Error("the next seed gives the same boundary: a collision would never end")
	}
}

func TestBodyRefuses(t *testing.T) {
	f := func(b *Body, args, want string) {
		t.Helper()
		var r Request
		err := compile(t, &Plan{Version: 1, Method: "POST", Path: "/", Body: b}).Build(&r, parse(t, args))
		if !problem.Is(err, problem.InvalidArguments) || !strings.Contains(err.Error(), want) {
			t.Fatalf("%s: got %v, want %q", args, err, want)
		}
	}
	file := &Schema{Type: TypeString, Media: "application/octet-stream"}
	mp := &Body{MediaType: "multipart/form-data", Fields: []Field{{Arg: "f", Name: "f", Schema: file}}}
	f(mp, `{"f":{"data":"a%"}}`, "not base64")
	f(mp, `{"f":{"data":"aGk=="}}`, "not base64")
	f(mp, `{"f":{"url":"https://x/y"}}`, "not available")
	f(mp, `{"f":{"filename":"x"}}`, "expected a file")
	f(mp, `{"f":{"text":"x","mediaType":"a\r\nX: y"}}`, "mediaType")
	f(mp, `{"f":"data:nothing"}`, "no comma")
	f(mp, `{"f":"data:;base64,%"}`, "not base64")
	f(mp, `{"f":"data:a\nb,x"}`, "control characters")
	f(&Body{MediaType: "application/xml", Arg: "v"}, `{"v":{"a b":1}}`, "cannot be the name")
	f(&Body{MediaType: "application/xml", Arg: "v"}, `{"v":{"a":"\u0001"}}`, "U+0001")
	f(&Body{MediaType: "application/json", Arg: "v", Required: true}, `{}`, "required")
	bytes := &Body{MediaType: "multipart/form-data", Fields: []Field{{Arg: "f", Name: "f", Schema: &Schema{Media: "application/octet-stream", Base64: true}}}}
	f(bytes, `{"f":"not base64!"}`, "expected base64")
}

type memoryFiles struct{}

func (memoryFiles) Fetch(url string) (data []byte, mediaType, filename string, err error) {
	if url != "https://x/cat.png" {
		return nil, "", "", problem.New(problem.BlockedAddress, "127.0.0.1 is not public")
	}
	return []byte("png"), "image/png", "cat.png", nil
}

func TestFilesByURL(t *testing.T) {
	file := &Schema{Type: TypeString, Media: "application/octet-stream"}
	c := compile(t, &Plan{Version: 1, Method: "POST", Path: "/", Body: &Body{MediaType: "multipart/form-data", Fields: []Field{{Arg: "f", Name: "f", Schema: file}}}})
	r := Request{boundary: "B", Files: memoryFiles{}}
	if err := c.Build(&r, parse(t, `{"f":{"url":"https://x/cat.png"}}`)); err != nil {
		t.Fatal(err)
	}
	if want := "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"cat.png\"\r\nContent-Type: image/png\r\n\r\npng\r\n--B--\r\n"; string(r.Body) != want {
		t.Errorf("got %q", r.Body)
	}
	if err := c.Build(&r, parse(t, `{"f":{"url":"https://10.0.0.1/"}}`)); err == nil || !strings.Contains(err.Error(), "not public") {
		t.Errorf("got %v", err)
	}
}

func TestCompileRefuses(t *testing.T) {
	f := func(want string, change func(*Plan)) {
		t.Helper()
		p := &Plan{Version: 1, Method: "GET", Path: "/a/{id}", Params: []Param{{Arg: "id", Name: "id", In: InPath}}, Body: &Body{MediaType: "application/json", Arg: "b"}}
		compile(t, p)
		change(p)
		if _, err := p.Compile(); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want %q", err, want)
		}
	}
	f("version 2", func(p *Plan) { p.Version = 2 })
	f("method", func(p *Plan) { p.Method = "GE T" })
	f("start with /", func(p *Plan) { p.Path = "a/{id}" })
	f("not closed", func(p *Plan) { p.Path = "/a/{id" })
	f("no path parameter", func(p *Plan) { p.Path = "/a/{x}" })
	f("not in the path", func(p *Plan) { p.Path = "/a" })
	f("fixed query", func(p *Plan) { p.Query = "a b" })
	f("accept", func(p *Plan) { p.Accept = "a\r\nb" })
	f("location", func(p *Plan) { p.Params[0].In = "body" })
	f("style", func(p *Plan) { p.Params[0].Style = StyleDeep })
	f("header name", func(p *Plan) { p.Params = append(p.Params, Param{Arg: "h", Name: "a b", In: InHeader}) })
	f("belongs to the connection", func(p *Plan) { p.Params = append(p.Params, Param{Arg: "h", Name: "Host", In: InHeader}) })
	f("constant", func(p *Plan) { p.Params[0].Arg = "" })
	f("pattern", func(p *Plan) { p.Params[0].Schema = &Schema{Pattern: "(?=x)"} })
	f("bound", func(p *Plan) { p.Params[0].Schema = &Schema{Min: "x"} })
	f("enum", func(p *Plan) { p.Params[0].Schema = &Schema{Enum: []string{"x"}} })
	f("one argument", func(p *Plan) { p.Body = &Body{MediaType: "text/plain", Fields: []Field{{Arg: "x", Name: "x"}}} })
	f("media type", func(p *Plan) { p.Body.MediaType = "a\nb" })
	f("content type", func(p *Plan) { p.Body.Encoding = []Encoding{{Name: "x", ContentType: "a\nb"}} })
	f("fixed value", func(p *Plan) { p.Body.Encoding = []Encoding{{Name: "x", Headers: []Param{{Name: "a", Const: `"\n"`}}}} })
	nested := func(n int) *Schema {
		s := &Schema{}
		for range n - 1 {
			s = &Schema{Items: s}
		}
		return s
	}
	f("nested deeper", func(p *Plan) { p.Params[0].Schema = nested(MaxSchemaDepth + 1) })
	compile(t, &Plan{Version: 1, Method: "GET", Path: "/", Body: &Body{MediaType: "application/json", Arg: "b", Schema: nested(MaxSchemaDepth)}})
	many := make([]Param, MaxArgs)
	for i := range many {
		many[i] = Param{Arg: "a", Name: "q", In: InQuery}
	}
	compile(t, &Plan{Version: 1, Method: "GET", Path: "/", Params: many})
	f("more than", func(p *Plan) { p.Path, p.Params = "/", slices.Concat(many, many[:1]) })
}
