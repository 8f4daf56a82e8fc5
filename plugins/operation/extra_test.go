package operation

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestExtra: arguments that the plan does not name are members of a lifted JSON body whose
// specification allows others; they never stand for what the plan sends itself.
func TestExtra(t *testing.T) {
	const optional = `{"v":1,"method":"POST","path":"/x","params":[{"arg":"dry_run","name":"dry","in":"query","schema":{"t":2}}],` +
		`"body":{"type":"application/json","schema":{"add":{}},"least":1,"fields":[{"arg":"name","name":"name","required":true},{"arg":"a_b","name":"a.b"},{"name":"kind","const":"\"k\""}]}}`
	for _, c := range []struct{ plan, args, want string }{
		{optional, `{"name":"n","Note":null,"size":{ "w" : 1 }}`, `{"name":"n","kind":"k","Note":null,"size":{"w":1}}`},
		{optional, `{"Note":1}`, `/name: required but missing`},
		{optional, `{"dry_run":true}`, ``},
		{optional, `{"name":"n","kind":"other"}`, `/kind`},
		{optional, `{"name":"n","a.b":"mine"}`, `/a.b: unknown argument`},
		{optional, `{"name":"n","dry":true}`, `/dry: unknown argument`},
		{optional, `{"name":"n","dryrun":true}`, `/dryrun: unknown argument, did you mean "dry_run"?`},
		{optional, `{"name":"n","q\"\u00e9":"\u00e9"}`, `{"name":"n","kind":"k","q\"\u00e9":"\u00e9"}`},
		{strings.Replace(optional, `"schema":{"add":{}},`, `"schema":{},`, 1), `{"name":"n","Note":1}`, `/Note: unknown argument`},
		{strings.Replace(optional, "application/json", "application/x-www-form-urlencoded", 1), `{"name":"n","Note":1}`, `/Note: unknown argument`},
	} {
		p := compiledPlan(t, c.plan)
		args, err := jsonscan.Parse([]byte(c.args), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(args); err != nil {
			if !strings.HasPrefix(c.want, "/") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.args, err, c.want)
			}
			continue
		}
		var r Request
		if err := p.Build(&r, args); err != nil || string(r.Body) != c.want {
			t.Errorf("%s: sent %s, %v, want %s", c.args, r.Body, err, c.want)
		}
	}
}

// TestExtraFixed: what an operator fixed is not replaced by an argument of its name.
func TestExtraFixed(t *testing.T) {
	p, err := compiledPlan(t, `{"v":1,"method":"POST","path":"/x","body":{"type":"application/json","schema":{"add":{}},"fields":[{"arg":"tenant","name":"tenant"},{"arg":"q","name":"q"}]}}`).
		Fix(map[string]json.RawMessage{"tenant": json.RawMessage(`"ours"`)})
	if err != nil {
		t.Fatal(err)
	}
	args, err := jsonscan.Parse([]byte(`{"q":1,"ten\u0061nt":"mine"}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(args); err == nil {
		t.Error("an argument named as what is fixed is accepted")
	}
	var r Request
	if err := p.Build(&r, args); err != nil || string(r.Body) != `{"tenant":"ours","q":1}` {
		t.Errorf("sent %s, %v", r.Body, err)
	}
}
