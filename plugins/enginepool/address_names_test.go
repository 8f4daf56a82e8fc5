package enginepool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

// TestAddressNames drops the address of an API under a name that says that it is one, and
// under no other, in both implementations.
func TestAddressNames(t *testing.T) {
	h := newPool(t, Options{})
	root := &engine.Node{Rules: engine.DropURL | engine.KeepPages | engine.OnlyNamed}
	root.Rest = root
	program := &engine.Program{Root: root}
	table, err := engine.Compile(program)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{
		"zone": false, "": false, "ur": false, "l": false, "urlx": false, "id": false, "paren": false, "revious": false, "urlé": false, `ur\u006d`: false, "dıref": true,
		`ur\u006c`: true, `\u0040id`: true, "URL": true, "HtmlUrl": true, "sELF": true, "a-very-long-name-of-more-than-one-word_href": true,
		strings.Repeat("n", engine.MaxName-3) + "url": true, strings.Repeat("n", engine.MaxName-2) + "url": false,
		"[rl": false, "U@L": false, "ur,": false,
	}
	for w := range strings.FieldsSeq("url urls uri uris iri href hrefs link links self ref @id first last prev previous parent avatar icon") {
		names[w], names["x"+strings.ToUpper(w)] = true, true
	}
	for name, dropped := range names {
		in := fmt.Sprintf(`{"%s":"https://api.x/1"}`, name)
		want := in
		if dropped {
			want = "{}"
		}
		got, _, err := engine.Reference(nil, table, []byte(in), engine.Limits{})
		if err != nil || string(got) != want {
			t.Errorf("reference: %s gives %s, %v", in, got, err)
		}
		agree(t, h, program, []byte(in), engine.Limits{})
	}
}
