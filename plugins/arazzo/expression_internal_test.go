package arazzo

import (
	"errors"
	"strings"
	"testing"
)

func decoded(t testing.TB, text string) any {
	t.Helper()
	v, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestJSONPath has the examples of RFC 9535 and what implementations differ in.
func TestJSONPath(t *testing.T) {
	store := `{"store":{"book":[
		{"category":"reference","author":"Nigel Rees","title":"Sayings","price":8.95},
		{"category":"fiction","author":"Evelyn Waugh","title":"Sword","price":12.99},
		{"category":"fiction","author":"Herman Melville","title":"Moby Dick","isbn":"0-553","price":8.99},
		{"category":"fiction","author":"Tolkien","title":"Rings","isbn":"0-395","price":22.99}],
		"bicycle":{"color":"red","price":399}}}`
	tests := []struct{ doc, path, want string }{
		{store, "$.store.book[*].author", `["Nigel Rees","Evelyn Waugh","Herman Melville","Tolkien"]`},
		{store, "$..author", `["Nigel Rees","Evelyn Waugh","Herman Melville","Tolkien"]`},
		{store, "$.store..price", `[399,8.95,12.99,8.99,22.99]`},
		{store, "$..book[2].title", `["Moby Dick"]`},
		{store, "$..book[-1].title", `["Rings"]`},
		{store, "$..book[0,1].title", `["Sayings","Sword"]`},
		{store, "$..book[:2].title", `["Sayings","Sword"]`},
		{store, "$..book[?@.isbn].title", `["Moby Dick","Rings"]`},
		{store, "$..book[?@.price<10].title", `["Sayings","Moby Dick"]`},
		{store, "$.store.book[?@.price < 10 && @.category == 'fiction'].title", `["Moby Dick"]`},
		{store, "$.store.book[?!@.isbn || @.price>20].title", `["Sayings","Sword","Rings"]`},
		{store, "$.store.book[?(@.price == $.store.book[0].price)].title", `["Sayings"]`},
		{store, "$.store.book[?match(@.title, 'M.*')].title", `["Moby Dick"]`},
		{store, "$.store.book[?search(@.title, 'i')].title", `["Sayings","Moby Dick","Rings"]`},
		{store, "$.store.book[?length(@.title) == 5].title", `["Sword","Rings"]`},
		{store, "$.store[?count(@[*]) == 4][0].title", `["Sayings"]`},
		{store, "$.store.book[?value(@..isbn) == '0-395'].title", `["Rings"]`},
		{`[0,1,2,3,4,5,6]`, "$[1:5:2]", `[1,3]`},
		{`[0,1,2,3,4,5,6]`, "$[5:1:-2]", `[5,3]`},
		{`[0,1,2,3,4,5,6]`, "$[::-1]", `[6,5,4,3,2,1,0]`},
		{`[0,1,2]`, "$[0:3:0]", `[]`},
		{`[0,1,2]`, "$[1:9007199254740991]", `[1,2]`},
		{`{"a b":{"'":1},"ü":2}`, `$["a b"]['\'']`, `[1]`},
		{`{"ü":2}`, `$.ü`, `[2]`},
		{`{"☺":3}`, `$["\u263A"]`, `[3]`},
		{`{"😀":3}`, `$["\ud83d\ude00"]`, `[3]`},
		{`{"a":null}`, "$[?@ == null]", `[null]`},
		{`[{"a":1},{}]`, "$[?@.b == @.c]", `[{"a":1},{}]`},
		{`[{"a":[1]},{"a":[1.0]}]`, "$[?@.a == $[0].a]", `[{"a":[1]},{"a":[1.0]}]`},
		{`[1,"1",true]`, "$[?@ == 1]", `[1]`},
		{`[1,"a","b"]`, "$[?@ >= 'b']", `["b"]`},
		{`[9007199254740993,9007199254740992]`, "$[?@ == 9007199254740993]", `[9007199254740993]`},
		{`["a","b\n"]`, "$[?match(@, 'b\\\\n')]", `["b\n"]`},
		{`{"a":1}`, "$", `[{"a":1}]`},
		{`{"a":1}`, "$ .a", `[1]`},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			p, err := parsePath(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.query(decoded(t, tt.doc))
			if err != nil {
				t.Fatal(err)
			}
			if got == nil {
				got = []any{}
			}
			if text, err := marshal(got); err != nil || string(text) != tt.want {
				t.Errorf("got %s, want %s (%v)", text, tt.want, err)
			}
		})
	}
	for _, bad := range []string{
		"", "a", "$.", "$..", "$[", "$[]", "$[01]", "$[-0]", "$[9007199254740992]", "$['a]", "$[?@.a = 1]", "$[?1]", "$[?@.* == 1]", "$[?count(1)]", "$[?count(@.a)]",
		"$[?match(@.a, 'b') == true]", "$[?length(@.a)]", "$[?nope(@)]", "$[?match(@.a, '(')]", "$[?!@.a == 1]", "$.a ", "$.[a]", "$['\\x']", "$['\\ud800']", "$[?@.a == .5]", "$[?@ ==]", "$ ",
	} {
		if _, err := parsePath(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestJSONPathVisits: a path that visits too much ends, and says so.
func TestJSONPathVisits(t *testing.T) {
	long := decoded(t, "["+strings.Repeat("[1,2,3,4],", 20_000)+"0]")
	for _, path := range []string{"$[?@..a == $..a || count($..*) > 0]", "$[?$[?@[0] == 7]]", "$..[?$..[?$..*]]", "$[?$ == @]", "$[0:,0:,0:,0:,0:][?$[0:]]"} {
		p, err := parsePath(path)
		if err != nil {
			if strings.Contains(path, "@..a == ") {
				continue // is not a path to one value
			}
			t.Fatal(err)
		}
		if _, err := p.query(long); !errors.Is(err, errVisits) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if p, err := parsePath("$..*"); err != nil {
		t.Fatal(err)
	} else if got, err := p.query(long); err != nil || len(got) != 100_001 {
		t.Errorf("%d values, %v, within %d visits", len(got), err, maxVisits)
	}
}

func TestRegexText(t *testing.T) {
	c := &Criterion{kind: kindRegex, context: &expression{root: "inputs", path: []string{"s"}}}
	var err error
	if c.regex, err = compileRegex("(a*)*b"); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]bool{maxRegexText: true, maxRegexText + 1: false} {
		f := &frame{given: map[string]any{"s": strings.Repeat("a", n)}}
		if _, err := c.met(&stepScope{f: f}); (err == nil) != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestCompare(t *testing.T) {
	for condition, want := range map[string]bool{
		"1 == 1.0": true, "'a' < 'B'": true, "'10' > 9": true, "null == false": false, "'' == null": false, "'it''s' == \"IT's\"": true,
		"true": true, "!null": true, "!!true": true, "1 != '1'": false, "true > false": false, "1e2 >= 100": true, "'a' != 'b' && 2 <= 2": true,
		strings.Repeat("9", maxDigits) + " == " + strings.Repeat("9", maxDigits-1) + "8": false,
		strings.Repeat("9", maxDigits+1) + " == " + strings.Repeat("9", maxDigits) + "8": true, // beyond that as floating point
	} {
		c, err := parseCondition(condition)
		if err != nil {
			t.Fatal(condition, err)
		}
		if got := truth(c.eval(nil)); got != want {
			t.Errorf("%s is %v", condition, got)
		}
	}
}

// FuzzExpressions: nothing that a document has for an expression, condition or path
// panics, and what is read can be evaluated.
func FuzzExpressions(f *testing.F) {
	for _, seed := range []string{"$response.body#/a/0", "$steps.a.outputs.b[0]['x y'].c", "x{$inputs.a}y", "$statusCode == 200 && !($inputs.a > '3' || true)", "$..a[?match(@.b,'c')][1:2:-1]", "$workflows.w.outputs.x#/~1~0", "^(a|b)*$"} {
		f.Add(seed)
	}
	answer := decoded(f, `{"a":[1,{"b":"c"}],"x":null}`)
	doc := &Document{}
	f.Fuzz(func(_ *testing.T, s string) {
		r := &run{plan: &Plan{Document: doc}, done: map[string]*frame{}}
		fr := &frame{r: r, given: map[string]any{"a": answer}, steps: map[string]map[string]any{"a": {"b": answer}}}
		sc := &stepScope{f: fr, response: &Response{Status: 200, Body: answer}}
		if v, err := parseText(s); err == nil {
			_, _ = v.read(sc)
		}
		if c, err := parseCondition(s); err == nil {
			c.eval(sc)
		}
		if p, err := parsePath(s); err == nil {
			_, _ = p.asks(answer)
		}
		_, _ = compileRegex(s)
	})
}

// FuzzParse: no document panics, and one that is accepted can be planned and drawn.
func FuzzParse(f *testing.F) {
	f.Add([]byte("arazzo: 1.0.1\nworkflows:\n- workflowId: w\n  inputs: {type: object, properties: {n: {default: 1}}}\n  steps:\n  - {stepId: a, operationId: get, outputs: {o: $response.body#/id}, successCriteria: [{context: $response.body, condition: '$[?@.a]', type: jsonpath}], onFailure: [{name: r, type: retry, retryAfter: 1, retryLimit: 2}]}\n  - {stepId: b, workflowId: v, parameters: [{reference: $components.parameters.p}]}\n- workflowId: v\n  steps: [{stepId: c, operationPath: x, requestBody: {payload: {a: '{$inputs.n}'}, replacements: [{target: /a, value: 1}]}}]\ncomponents: {parameters: {p: {name: n, value: 2}}}"))
	f.Add([]byte(`{"arazzo":"1.1.0","workflows":[{"workflowId":"w","dependsOn":["w"],"steps":[{"stepId":"a","operationId":"x","dependsOn":["a"],"timeout":1}]}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		d, err := Parse("f.yaml", data)
		if err != nil {
			return
		}
		p, err := d.Plan(nil)
		if err != nil {
			return
		}
		for _, w := range d.Workflows {
			p.Text(w)
			_ = d.Runnable(w.ID)
		}
	})
}
