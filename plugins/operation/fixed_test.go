package operation

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// fixedPlans are operations with each kind of argument.
var fixedPlans = map[string]string{
	"params": `{"v":1,"method":"GET","path":"/t/{tenant}/x","params":[{"arg":"tenant","name":"tenant","in":"path","required":true,"schema":{"t":16}},
		{"arg":"tags","name":"tags","in":"query","explode":true,"schema":{"t":32,"items":{"t":16}}},{"arg":"version","name":"X-Version","in":"header","schema":{"t":4,"max":"9"}}]}`,
	"lifted": `{"v":1,"method":"POST","path":"/x","body":{"type":"application/json","fields":[{"arg":"key","name":"key","required":true,"schema":{"t":16}},{"arg":"q","name":"q"}]}}`,
	"form":   `{"v":1,"method":"POST","path":"/x","body":{"type":"application/x-www-form-urlencoded","required":true,"fields":[{"arg":"key","name":"key","required":true,"schema":{"t":16}},{"arg":"q","name":"q"}]}}`,
	"both": `{"v":1,"method":"PUT","path":"/x/{id}","params":[{"arg":"id","name":"id","in":"path","required":true,"schema":{"t":16}}],
		"body":{"type":"application/json","required":true,"fields":[{"arg":"id","name":"id","required":true},{"arg":"q","name":"q"}]}}`,
	"whole": `{"v":1,"method":"POST","path":"/x","body":{"type":"application/json","required":true,"arg":"body","schema":{"t":64,"props":[{"n":"tenant","s":{"t":16,"enum":["\"a\"","\"b\""]}},{"n":"q"}],"req":["tenant","q"]}}}`,
	"branches": `{"v":1,"method":"POST","path":"/x","body":{"type":"application/json","required":true,"arg":"body","schema":{"t":64,"any":[
		{"t":64,"props":[{"n":"tenant"},{"n":"a"}],"req":["tenant","a"],"closed":true},{"t":64,"props":[{"n":"tenant"},{"n":"b"}],"req":["tenant","b"],"closed":true}]}}}`,
}

func compiledPlan(t *testing.T, text string) *Compiled {
	t.Helper()
	p, err := DecodePlan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFix: what is fixed is sent with every request, and nobody can give it.
func TestFix(t *testing.T) {
	f := func(plan, fixed, args, want string) {
		t.Helper()
		var values map[string]json.RawMessage
		if err := json.Unmarshal([]byte(fixed), &values); err != nil {
			t.Fatal(err)
		}
		was := compiledPlan(t, fixedPlans[plan])
		before := strings.Join(was.Args(), " ")
		c, err := was.Fix(values)
		if err != nil {
			t.Fatalf("%s %s: %v", plan, fixed, err)
		}
		if now := strings.Join(was.Args(), " "); now != before {
			t.Errorf("%s: the operation that was fixed changed: %s to %s", plan, before, now)
		}
		v, err := jsonscan.Parse([]byte(args), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(v); err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s of %s: %v, want %s", plan, args, fixed, err, want)
			}
			return
		}
		var r Request
		if err := c.Build(&r, v); err != nil {
			t.Fatalf("%s %s: %v", plan, args, err)
		}
		got := r.Method + " " + string(r.Target)
		for _, h := range r.Header {
			got += " " + h.Name + ": " + string(h.Value)
		}
		if r.HasBody {
			got += " " + string(r.Body)
		}
		if got != want {
			t.Errorf("%s %s of %s: sent %s, want %s", plan, args, fixed, got, want)
		}
	}
	f("params", `{"tenant":"a/b","version":7}`, `{}`, `GET /t/a%2Fb/x X-Version: 7`)
	f("params", `{"tags":["x","y"]}`, `{"tenant":"t"}`, `GET /t/t/x?tags=x&tags=y`)
	f("params", `{"tenant":"a"}`, `{"tenant":"mine"}`, `unknown argument`)
	f("params", `{"other":1}`, `{"tenant":"t"}`, `GET /t/t/x`)
	f("lifted", `{"key":"k"}`, `{"q":1}`, `POST /x {"key":"k","q":1}`)
	f("lifted", `{"key":"k"}`, `{}`, `POST /x {"key":"k"}`)
	f("lifted", `{"key":"k"}`, `{"key":"mine"}`, `unknown argument`)
	f("form", `{"key":"a b"}`, `{"q":"1"}`, `POST /x key=a+b&q=1`)
	f("both", `{"id":"7"}`, `{"q":1}`, `PUT /x/7 {"id":"7","q":1}`)
	f("whole", `{"body.tenant":"a"}`, `{"body":{"q":1}}`, `POST /x {"tenant":"a","q":1}`)
	f("whole", `{"body.tenant":"a"}`, `{"body":{"q":1,"tenant":"b","ten\u0061nt":"b"}}`, `POST /x {"tenant":"a","q":1}`)
	f("whole", `{"body.tenant":"a","body.q":{"deep":[1]}}`, `{}`, `POST /x {"tenant":"a","q":{"deep":[1]}}`)
	f("whole", `{"body.tenant":"a"}`, `{"body":{}}`, `q`) // q is required still
	f("branches", `{"body.tenant":"a"}`, `{"body":{"b":1}}`, `POST /x {"tenant":"a","b":1}`)
	f("branches", `{"body.tenant":"a"}`, `{"body":{"b":1,"tenant":"mine"}}`, `tenant`)
}

func TestFixRefuses(t *testing.T) {
	f := func(plan, name, value string) {
		t.Helper()
		_, err := compiledPlan(t, fixedPlans[plan]).Fix(map[string]json.RawMessage{name: json.RawMessage(value)})
		if !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s of %s fixed at %s: %v", name, plan, value, err)
		}
	}
	f("params", "version", `10`)
	f("params", "version", `"x"`)
	f("params", "tenant", `null`)
	f("params", "tenant", `".."`)
	f("params", "tenant", `""`)
	f("params", "tenant", `"a`)
	f("whole", "body.tenant", `"c"`)
	for _, name := range []string{"body", "body.other", "other", "body."} {
		if compiledPlan(t, fixedPlans["whole"]).Fixes(name) {
			t.Errorf("%s can be fixed", name)
		}
	}
}
