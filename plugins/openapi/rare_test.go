package openapi

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestRules: what members of an object ask of each other, and values that are not
// allowed, is told to the agent and checked; what is neither is reported.
func TestRules(t *testing.T) {
	ops := fixture(t, "rules.yaml", Limits{})
	for _, c := range []struct{ tool, args, want string }{ // want: the body that is sent, or the fault
		{"add_payment", `{"amount":10}`, ""},
		{"add_payment", `{"amount":10,"card":"1","expires":"2","code":"3"}`, ""},
		{"add_payment", `{"amount":10,"card":"1","code":"3"}`, `/expires: required but missing, expected string (card is given)`},
		{"add_payment", `{"amount":10,"card":null}`, `{"amount":10}`},
		{"add_payment", `{"amount":10,"iban":"1","card":null}`, `{"amount":10,"iban":"1"}`},
		{"add_payment", `{"amount":10,"iban":"1","card":"1","expires":"2","code":"3"}`, `/card: not together with iban, leave one out`},
		{"add_payment", `{"amount":12}`, `/amount: expected a multiple of 5`},
		{"add_payment", `{"amount":10,"currency":"XAG"}`, `/currency: expected another value than string "XAG"`},
		{"add_payment", `{"amount":10,"currency":"EUR"}`, ""},
		{"add_payment", `{"amount":10,"method":"transfer"}`, `/method: expected one of "cash", "card"`},
		{"add_refund", `{}`, ""},
		{"add_refund", `{"reason":"broken"}`, ""},
		{"add_refund", `{"reason":"other"}`, `/note: required but missing, expected string (reason is "other")`},
		{"add_refund", `{"reason":"other","note":"x"}`, ""},
		{"add_refund", `{"reason":"broken","note":"x"}`, `/note: not allowed here, leave it out (reason is not "other")`},
		{"add_refund", `{"labels":{"a":"x"}}`, ""},
		{"add_refund", `{"labels":{"A1":"x"}}`, `/labels/A1: expected text that matches ^[a-z]+$`},
		{"add_refund", `{"lines":[{"sku":"1","size":"s"},{"sku":"1","color":"red"}]}`, ""},
		{"add_refund", `{"lines":[{"size":"s"}]}`, `/lines/0/sku: required but missing, expected string (size is given)`},
		{"add_refund", `{"lines":[{"color":"red"}]}`, `/lines/0/sku: required but missing, expected string (color is given)`},
		{"add_refund", `{"lines":[{"sku":"1","size":"s","color":"red"}]}`, `/lines/0/size: not together with color`},
		{"add_refund", `{"lines":[{"sku":"1","size":"s","color":null}]}`, `{"lines":[{"sku":"1","size":"s"}]}`},
		{"add_check", `{"id":"1"}`, ""},
		{"add_check", `{"slug":"1","kind":"2"}`, ""},
		{"add_check", `{"slug":"1"}`, `/id: one of these must be given: id, or slug and kind`},
		{"add_check", `{"id":"1","slug":"1","kind":"2"}`, `/id: not together with slug`},
		{"add_check", `{"id":"1","kind":"2"}`, `/id: not together with kind`},
		{"add_labels", `{"shut":{"id":"1","x-a":5},"open":{"x-a":5,"b":"s"},"pair":[1,"a"]}`, ""},
		{"add_labels", `{"shut":{"y":5}}`, `/shut/y: expected text that matches ^id$|^x-`},
		{"add_labels", `{"shut":{"x-a":"s"}}`, `/shut/x-a: expected integer`},
		{"add_labels", `{"pair":[1,"a",2]}`, `/pair: expected at most 2`},
		{"add_left", `{"a":"xy","b":["y"]}`, ""},
	} {
		got := request(t, ops[c.tool], c.args)
		switch {
		case strings.HasPrefix(c.want, "/"):
			if got, refused := strings.CutPrefix(got, "refused: "); !refused || !strings.Contains(got, c.want) {
				t.Errorf("%s %s:\n%s\nwant %s", c.tool, c.args, got, c.want)
			}
		case !strings.HasSuffix(got, " application/json "+map[bool]string{true: c.args, false: c.want}[c.want == ""]):
			t.Errorf("%s %s: %s", c.tool, c.args, got)
		}
	}
	for tool, texts := range map[string][]string{
		"add_payment": {"Needs with card: expires and code; not both card and iban.", "Anything but XAG, XTS.", "Multiple of 5.", `"enum":["cash","card"]`},
		"add_refund": {
			"Needs where reason is other: note; where reason is not other: no note.", "Names match ^[a-z]+$",
			"Needs: with size: sku; with color: sku; not both size and color.",
		},
		"add_labels": {"Names match ^id$|^x-"},
		"add_check":  {"Needs id, or slug and kind; and not both id and slug; not both id and kind."},
	} {
		told := ops[tool].Description + string(ops[tool].InputSchema)
		for _, text := range texts {
			if !strings.Contains(told, text) {
				t.Errorf("%s does not say %q:\n%s", tool, text, told)
			}
		}
	}
	data, err := os.ReadFile("testdata/arguments/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	res, _ := compileAll(t, Source{Name: "rules.yaml", Data: data}, Options{})
	var left []string
	for _, w := range res.Warnings {
		if w.Code == codeSchemaKeyword {
			word, _, _ := strings.Cut(w.Detail, " ")
			left = append(left, word)
		}
	}
	slices.Sort(left)
	if want := []string{"contains", "dependentSchemas", "not"}; !slices.Equal(left, want) {
		t.Errorf("left to the upstream: %q, want %q", left, want)
	}
}

// TestRulesAsJSONSchema: of bodies at random, those are refused which a validator of JSON
// Schema refuses.
func TestRulesAsJSONSchema(t *testing.T) {
	const file = "rules.yaml"
	data, err := os.ReadFile("testdata/arguments/" + file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := readSource(Source{Name: file, Data: data, Path: file})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d.files[file])
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	validator := jsonschema.NewCompiler()
	if err := validator.AddResource("https://rules.invalid/a", doc); err != nil {
		t.Fatal(err)
	}
	pick := func(r *rand.Rand, names ...string) string { return names[r.IntN(len(names))] }
	line := func(r *rand.Rand) map[string]any {
		out := map[string]any{}
		for _, name := range []string{"sku", "size", "color"} {
			if r.IntN(2) == 0 {
				out[name] = "x"
			}
		}
		return out
	}
	members := map[string]func(*rand.Rand) any{
		"amount": func(r *rand.Rand) any { return r.IntN(4) * 5 }, "currency": func(r *rand.Rand) any { return pick(r, "EUR", "XAG", "XTS") },
		"method": func(r *rand.Rand) any { return pick(r, "cash", "card", "transfer") }, "reason": func(r *rand.Rand) any { return pick(r, "other", "broken") },
		"lines":  func(r *rand.Rand) any { return []any{line(r), line(r)} },
		"labels": func(r *rand.Rand) any { return map[string]any{pick(r, "a", "b", "A"): "x"} },
	}
	ops := fixture(t, file, Limits{})
	verdicts := map[bool]int{}
	for tool, path := range map[string]string{"add_payment": "payments", "add_refund": "refunds", "add_check": "checks"} {
		schema, err := validator.Compile("https://rules.invalid/a#/paths/~1" + path + "/post/requestBody/content/application~1json/schema")
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := ops[tool].Plan.Compile()
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			body := map[string]any{}
			for i := range ops[tool].Plan.Body.Fields {
				f := &ops[tool].Plan.Body.Fields[i]
				if value := members[f.Name]; r.IntN(2) == 0 && value != nil {
					body[f.Name] = value(r)
				} else if r.IntN(2) == 0 && value == nil {
					body[f.Name] = "x"
				}
			}
			args, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonscan.Parse(args, 0)
			if err != nil {
				t.Fatal(err)
			}
			want, got := schema.Validate(instance), compiled.Check(v)
			verdicts[want == nil]++
			if (want == nil) != (got == nil) {
				t.Fatalf("%s %s: JSON Schema says %v, the check %v", tool, args, want, got)
			}
		}
	}
	if verdicts[true] < 300 || verdicts[false] < 300 {
		t.Errorf("%v", verdicts)
	}
}

// TestRulesAtTheirBounds: one more rule, name or value than is kept is left out, and a
// list of values that is not kept whole is reported.
func TestRulesAtTheirBounds(t *testing.T) {
	for _, c := range []struct {
		name                 string
		rules, values, names int
		warned               bool
	}{
		{"at the bounds", maxRules, maxRuleValues, maxRuleNames, false},
		{"a rule past", maxRules + 1, maxRuleValues, maxRuleNames, true},
		{"a value past", maxRules, maxRuleValues + 1, maxRuleNames, true},
		{"a name past", maxRules, maxRuleValues, maxRuleNames + 1, true},
	} {
		props, needs, not := map[string]any{"v": nil}, map[string]any{}, []any{}
		for i := range c.rules {
			name := "a" + strings.Repeat("x", i)
			props[name] = map[string]any{"type": "string"}
			needs[name] = []string{"v"}
		}
		var named []string
		for i := range c.names {
			name := "n" + strings.Repeat("x", i)
			props[name], named = map[string]any{"type": "string"}, append(named, name)
		}
		needs["a"] = named
		for i := range c.values {
			not = append(not, strings.Repeat("y", i+1))
		}
		props["v"] = map[string]any{"type": "string", "not": map[string]any{"enum": not}}
		doc, err := json.Marshal(map[string]any{
			"openapi": "3.1.0", "info": map[string]any{"title": "a", "version": "1"}, "servers": []any{map[string]any{"url": "https://a.example"}},
			"paths": map[string]any{"/a": map[string]any{"post": map[string]any{
				"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{
					"type": "object", "properties": props, "dependentRequired": needs,
				}}}},
				"responses": map[string]any{"204": map[string]any{"description": "done"}},
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		res, ops := compileAll(t, Source{Name: "a.json", Data: doc}, Options{})
		body := ops[0].Plan.Body.Schema
		if n := len(body.Rare.Rules); n != maxRules {
			t.Errorf("%s: %d rules", c.name, n)
		}
		i := slices.IndexFunc(res.Warnings, func(w Diagnostic) bool { return w.Code == codeSchemaKeyword })
		if (i >= 0) != c.warned {
			t.Errorf("%s: warnings %+v", c.name, res.Warnings)
		}
		for i := range body.Rare.Rules {
			if r := &body.Rare.Rules[i]; r.If == "a" && len(r.Needs) != maxRuleNames {
				t.Errorf("%s: %d names", c.name, len(r.Needs))
			}
		}
		for _, f := range body.Properties {
			if f.Name == "v" && (f.Schema.Rare == nil || len(f.Schema.Rare.Except) != maxRuleValues) {
				t.Errorf("%s: %+v", c.name, f.Schema.Rare)
			}
		}
	}
}
