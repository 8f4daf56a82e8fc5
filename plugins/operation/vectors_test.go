package operation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// vector is one case of the corpus's vectors.json.
type vector struct {
	ID                  string
	In, Name            string
	Style               *string
	Explode             *bool
	AllowReserved       bool
	Value               json.RawMessage
	ValueLiteral        string `json:"value_literal"`
	Absent              bool
	Expect              *string
	Error               string
	Template            string
	Content             string
	ContentType         string
	CollectionFormat    *string
	HasCollectionFormat bool
	Items               *struct{ CollectionFormat string }
	Params              []struct {
		Name, Style   string
		Explode       *bool
		AllowReserved bool
	}
	Encoding map[string]struct {
		ContentType   string
		Style         string
		Explode       *bool
		AllowReserved bool
	}
	Schema map[string]any
}

// plan makes the request plan that a compiler makes of the case.
func (v *vector) plan(t *testing.T, raw map[string]json.RawMessage) (p *Plan, args string) {
	t.Helper()
	value := string(v.Value)
	if v.ValueLiteral != "" {
		value = v.ValueLiteral
	}
	var schema *Schema
	if v.Schema["type"] == "integer" {
		schema = &Schema{Type: TypeInteger}
	}
	p = &Plan{Version: 1, Method: "POST", Path: "/x"}
	explode := func(style string, e *bool) bool {
		if e != nil {
			return *e
		}
		return style == "form" || style == "cookie"
	}
	args = `{"v":` + value + `}`
	if v.Absent {
		args = `{}`
	}
	_, swagger := raw["collectionFormat"]
	switch {
	case v.In == "body" || v.In == "formData":
		media, _, _ := strings.Cut(v.ContentType, ";")
		p.Body = &Body{MediaType: media, Arg: "v"}
		if v.In == "formData" {
			args = `{"v":{"` + v.Name + `":` + value + `}}`
		}
		if k := kindOf(media); k == bodyText || k == bodyBinary {
			args = `{"v":` + string(mustGet(t, value, "body")) + `}`
		}
		body := &Schema{Type: TypeObject}
		for name, kind := range v.Schema {
			s := &Schema{Type: TypeString, Media: "application/octet-stream"}
			if kind == "binary[]" {
				s = &Schema{Type: TypeArray, Items: s}
			}
			body.Properties = append(body.Properties, Property{name, s})
		}
		if len(v.Schema) > 0 {
			p.Body.Schema = body
		}
		for name, e := range v.Encoding {
			enc := Encoding{Name: name, ContentType: e.ContentType, Style: Style(e.Style), AllowReserved: e.AllowReserved}
			if e.Style == "" && e.Explode != nil {
				enc.Style = StyleForm
			}
			enc.Explode = explode(string(enc.Style), e.Explode)
			p.Body.Encoding = append(p.Body.Encoding, enc)
		}
	case v.Template != "":
		p.Path, args = v.Template, value
		for _, name := range []string{"owner", "repo", "sha"} {
			p.Params = append(p.Params, Param{Arg: name, Name: name, In: InPath})
		}
	case len(v.Params) > 0:
		args = value
		for _, x := range v.Params {
			p.Params = append(p.Params, Param{
				Arg: x.Name, Name: x.Name, In: Location(v.In), Style: Style(x.Style),
				Explode: explode(x.Style, x.Explode), AllowReserved: x.AllowReserved,
			})
		}
	default:
		x := Param{Arg: "v", Name: v.Name, In: Location(v.In), AllowReserved: v.AllowReserved, Content: v.Content, Schema: schema}
		if v.Style != nil {
			x.Style = Style(*v.Style)
		}
		x.Explode = explode(string(x.Style), v.Explode)
		if swagger {
			x.Style, x.Explode = StyleCSV, false
			if v.CollectionFormat != nil {
				x.Style = Style(*v.CollectionFormat)
			}
			if v.Items != nil {
				x.Nested = []Style{Style(v.Items.CollectionFormat)}
			}
		}
		if v.In == "path" {
			p.Path = "/x/{" + v.Name + "}"
			if v.ID == "path-label-emptystring" {
				p.Path = "/x{" + v.Name + "}" // "." as a whole segment is refused
			}
		}
		p.Params = []Param{x}
	}
	return p, args
}

func mustGet(t *testing.T, object, key string) []byte {
	t.Helper()
	v, err := jsonscan.Parse([]byte(object), 0)
	if err != nil {
		t.Fatal(err)
	}
	return v.Get(key).Raw()
}

// TestVectors runs every serialisation case of the corpus, byte for byte.
func TestVectors(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	data, err := os.ReadFile(filepath.Join(dir, "vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, one := range file.Vectors {
		var v vector
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(one, &v); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(one, &raw); err != nil {
			t.Fatal(err)
		}
		p, args := v.plan(t, raw)
		c, err := p.Compile()
		if err != nil {
			t.Errorf("%s: %v", v.ID, err)
			continue
		}
		r := Request{boundary: "B"}
		parsed, err := jsonscan.Parse([]byte(args), 0)
		if err != nil {
			t.Fatal(v.ID, err)
		}
		err = c.Build(&r, parsed)
		if v.Expect == nil {
			if err == nil {
				t.Errorf("%s: built %s, want the error %q", v.ID, r.Target, v.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", v.ID, err)
			continue
		}
		path, query, _ := strings.Cut(string(r.Target), "?")
		got := ""
		switch {
		case p.Body != nil:
			got = string(r.Body)
		case v.Template != "":
			got = path
		case v.In == "path":
			got = strings.TrimPrefix(strings.TrimPrefix(path, "/x"), "/")
		case v.In == "query" || v.In == "querystring":
			got = query
		default:
			if len(r.Header) > 0 {
				got = string(r.Header[0].Value)
			}
		}
		if got != *v.Expect {
			t.Errorf("%s: got  %q\n\twant %q", v.ID, got, *v.Expect)
		}
	}
	t.Logf("%d vectors", len(file.Vectors))
}
