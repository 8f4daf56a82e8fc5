package connector

import (
	"encoding/json"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestHeadFix: what is fixed is in no input schema.
func TestHeadFix(t *testing.T) {
	const schema = `{"type":"object","properties":{"tenant":{"type":"string"},"a.b":{"type":"string"},"body":{"type":"object","properties":{"tenant":{"type":"string"},"q":{}},"required":["tenant"],"anyOf":[{"properties":{"kind":{"const":"x"},"q":{}},"required":["kind","q"]}]}},"required":["tenant","body"]}`
	f := func(fixed, want string) {
		t.Helper()
		var values map[string]json.RawMessage
		if err := json.Unmarshal([]byte(fixed), &values); err != nil {
			t.Fatal(err)
		}
		h := Head{InputSchema: json.RawMessage(schema)}
		if got := h.Fix(values); string(got.InputSchema) != want {
			t.Errorf("%s:\n%s, want\n%s", fixed, got.InputSchema, want)
		}
		if string(h.InputSchema) != schema {
			t.Fatal("the head that was fixed changed")
		}
	}
	f(`{}`, schema)
	f(`{"nothing":1,"body.nothing":2,"tenant.x":3}`, schema)
	f(`{"tenant":"t"}`, `{"type":"object","properties":{"a.b":{"type":"string"},"body":{"type":"object","properties":{"tenant":{"type":"string"},"q":{}},"required":["tenant"],"anyOf":[{"properties":{"kind":{"const":"x"},"q":{}},"required":["kind","q"]}]}},"required":["body"]}`)
	f(`{"a.b":"t"}`, `{"type":"object","properties":{"tenant":{"type":"string"},"body":{"type":"object","properties":{"tenant":{"type":"string"},"q":{}},"required":["tenant"],"anyOf":[{"properties":{"kind":{"const":"x"},"q":{}},"required":["kind","q"]}]}},"required":["tenant","body"]}`)
	f(`{"body.tenant":"t","body.kind":"x"}`, `{"type":"object","properties":{"tenant":{"type":"string"},"a.b":{"type":"string"},"body":{"type":"object","properties":{"q":{}},"anyOf":[{"properties":{"q":{}},"required":["q"]}]}},"required":["tenant","body"]}`)
}

// TestFixArguments: a server gets the fixed values, whatever the model gave for them.
func TestFixArguments(t *testing.T) {
	h := Head{InputSchema: json.RawMessage(`{"properties":{"tenant":{},"filter":{"properties":{"region":{}}}}}`)}
	fixed := map[string]json.RawMessage{"tenant": json.RawMessage(`"t"`), "filter.region": json.RawMessage(`"eu"`), "other": json.RawMessage(`1`)}
	f := func(args, want string) {
		t.Helper()
		v := jsonscan.Value{}
		if args != "" {
			v = jsonscan.Trusted([]byte(args))
		}
		if got := string(h.FixArguments(v, fixed).Raw()); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	f(``, `{"tenant":"t","filter":{"region":"eu"}}`)
	f(`{}`, `{"tenant":"t","filter":{"region":"eu"}}`)
	f(`{"q":[1],"tenant":"mine","filter":{"region":"us","x":1}}`, `{"tenant":"t","filter":{"region":"eu","x":1},"q":[1]}`)
	f(`{"filter":"all"}`, `{"tenant":"t","filter":{"region":"eu"}}`)
}
