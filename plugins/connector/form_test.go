package connector

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestAcceptForms: members that clients of the TypeScript SDK refuse a whole list for are left
// out, those that are null without a word.
func TestAcceptForms(t *testing.T) {
	for _, c := range []struct{ name, tool, want, notices string }{
		{
			"null everywhere", `{"name":"a","title":null,"description":null,"inputSchema":{"type":"object"},"outputSchema":null,"annotations":null,"icons":null,"_meta":null,"execution":null}`,
			`{"name":"a","inputSchema":{"type":"object"},"execution":null}`, "",
		},
		{"null in a schema", `{"name":"a","inputSchema":{"type":"object","properties":null,"required":null}}`, `{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{"null deeper in a schema", `{"name":"a","inputSchema":{"properties":{"q":{"default":null}}}}`, `{"name":"a","inputSchema":{"properties":{"q":{"default":null}}}}`, ""},
		{
			"properties that are not objects", `{"name":"a","inputSchema":{"properties":{"a":true,"b":false,"c":null,"d/e":"x"},"required":["a",1,null]}}`,
			`{"name":"a","inputSchema":{"properties":{"a":{},"b":{"not":{}},"c":{},"d/e":{}},"required":["a"]}}`,
			"/tools/0/inputSchema/properties/d~1e /tools/0/inputSchema/required/1",
		},
		{"properties that are a list", `{"name":"a","outputSchema":{"type":"object","properties":[]}}`, `{"name":"a","outputSchema":{"type":"object"}}`, "/tools/0/outputSchema/properties"},
		{
			"icons", `{"name":"a","icons":[{"src":"https://x.example/i.png","mimeType":null,"sizes":["48x48"],"theme":"dark","v":1},{"src":"s","sizes":"any","theme":"blue"},{"mimeType":"image/png"},"s",null]}`,
			`{"name":"a","icons":[{"src":"https://x.example/i.png","sizes":["48x48"],"theme":"dark","v":1},{"src":"s"}]}`,
			"/tools/0/icons/1/sizes /tools/0/icons/1/theme /tools/0/icons/2 /tools/0/icons/3",
		},
		{"other kinds", `{"name":"a","title":5,"description":["x"],"icons":{"a":1},"_meta":[1],"annotations":"x"}`, `{"name":"a"}`, "/tools/0/title /tools/0/description /tools/0/icons /tools/0/_meta /tools/0/annotations"},
		{"what no revision names", `{"name":"a","vendor":null,"_meta":{"a":null}}`, `{"name":"a","vendor":null,"_meta":{"a":null}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, notices, _ := accepted(t, c.tool)
			var want []string
			for at := range strings.FieldsSeq(c.notices) {
				want = append(want, CodeMalformed+" "+at)
			}
			if out != c.want || !slices.Equal(notices, want) {
				t.Errorf("it became\n%s with %q, want\n%s with %q", out, notices, c.want, want)
			}
		})
	}
}

// TestAcceptItemForms: the same of what a server has besides tools.
func TestAcceptItemForms(t *testing.T) {
	for _, c := range []struct {
		kind       manifest.ItemKind
		item, want string
		notices    int
	}{
		{
			manifest.Prompts, `{"name":"p","title":null,"arguments":[{"name":"a","required":null},{"name":"b","required":"yes","description":7},{"required":true},null]}`,
			`{"name":"p","arguments":[{"name":"a"},{"name":"b"}]}`, 3,
		},
		{manifest.Prompts, `{"name":"p","arguments":null,"_meta":null,"icons":null}`, `{"name":"p"}`, 0},
		{
			manifest.Resources, `{"uri":"x:y","name":"r","mimeType":null,"size":null,"annotations":{"audience":["user","all"],"priority":2,"lastModified":"yesterday"}}`,
			`{"uri":"x:y","name":"r","annotations":{"audience":["user"]}}`, 3,
		},
		{
			manifest.Resources, `{"uri":"x:y","name":"r","size":7,"annotations":{"priority":1,"lastModified":"2026-01-02T03:04:05Z"}}`,
			`{"uri":"x:y","name":"r","size":7,"annotations":{"priority":1,"lastModified":"2026-01-02T03:04:05Z"}}`, 0,
		},
		{manifest.Templates, `{"uriTemplate":"x:{y}","name":"t","mimeType":["a"],"description":null}`, `{"uriTemplate":"x:{y}","name":"t"}`, 1},
	} {
		s := server()
		s.Items[c.kind] = []json.RawMessage{json.RawMessage(c.item)}
		notices, refused := s.Accept()
		if got := string(s.Items[c.kind][0]); got != c.want || len(notices) != c.notices || len(refused) > 0 {
			t.Errorf("%s became\n%s with %+v, want\n%s and %d notices", c.item, got, notices, c.want, c.notices)
		}
	}
}

// TestAcceptHostileForms: the time is that of reading the definition.
func TestAcceptHostileForms(t *testing.T) {
	const n = 20_000
	tool := `{"name":"a","icons":[` + strings.TrimSuffix(strings.Repeat(`{},`, n), ",") + `],"inputSchema":{"properties":{` + strings.TrimSuffix(strings.Repeat(`"a":1,`, n), ",") + `}}}`
	s := server(tool)
	notices, refused := s.Accept()
	if len(notices) != maxNotices || len(refused) != 1 {
		t.Errorf("%d notices, refused %+v", len(notices), refused)
	}
}
