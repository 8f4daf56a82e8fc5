package request

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

type patched struct {
	Name  *string                    `json:"name,omitempty"`
	On    *bool                      `json:"on,omitempty" null:"true"`
	Limit *int                       `json:"limit,omitempty"`
	Role  *string                    `json:"role,omitempty" null:"-"`
	Part  *part                      `json:"part,omitempty"`
	List  *[]string                  `json:"list,omitempty"`
	Map   map[string]json.RawMessage `json:"map,omitempty"`
}

type part struct {
	All bool `json:"all,omitempty"`
}

func (p *part) Restore() { p.All = true }

// TestUnmarshalPatch: null restores (RFC 7396), and what is absent stays.
func TestUnmarshalPatch(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		var p patched
		err := UnmarshalPatch([]byte(in), &p)
		got, _ := json.Marshal(p) //nolint:errchkjson // it can be encoded
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	f(`{}`, `{}`)
	f(`{"name":"a","on":false}`, `{"name":"a","on":false}`)
	f(`{"name":null,"on":null,"limit":null,"list":null,"map":null,"part":null,"unknown":null}`, `{"name":"","on":true,"limit":0,"part":{"all":true},"list":[]}`)
	f(`{"part":{}}`, `{"part":{}}`)
	f(`{"map":{"a":null}}`, `{"map":{"a":null}}`)
	f(`{"role":null}`, "role cannot be null")
	f(`[]`, "cannot unmarshal")
	if got := Nulls([]byte(`{"a":null,"b":{"c":null},"d":"null"}`)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q", got)
	}
	if got := Nulls([]byte(`null x`)); got != nil {
		t.Errorf("%q", got)
	}
}
