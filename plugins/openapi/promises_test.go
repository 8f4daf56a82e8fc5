package openapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
)

// TestPromises: what is promised of an answer is kept for the comparison of versions,
// whole objects as far as there is room.
func TestPromises(t *testing.T) {
	f := func(schema, want string) {
		t.Helper()
		doc := `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{"responses":{"200":{"description":"","content":{"application/json":{"schema":` + schema + `}}}}}}}}`
		_, ops := compileAll(t, Source{Data: []byte(doc)}, Options{})
		var out []string
		for _, p := range ops[0].Plan.Promises {
			out = append(out, fmt.Sprintf("%s %v %v %v", p.At, p.Required, p.Null, p.Values))
		}
		if got := strings.Join(out, "; "); got != want {
			t.Errorf("%s\ngot  %.300s\nwant %.300s", schema, got, want)
		}
	}
	f(`{"type":"object","required":["a","gone"],"properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":["string","null"]},"w":{"type":"string","writeOnly":true}}}`,
		` [a] [b] [{a ["x" "y"]}]`)
	f(`{"type":"array","items":{"type":"object","properties":{"a/b":{"type":"object","required":["c"],"properties":{"c":{"type":"string"}}}}}}`,
		`/result/items [] [] []; /result/items/a~1b [c] [] []`)
	f(`{"type":"string","enum":["a"]}`, `/result [] [] [{ ["a"]}]`)
	// Lists, maps, places of a list, patterns, numbers, alternatives of scalars and of objects.
	f(`{"type":"object","properties":{"l":{"type":"array","items":{"enum":["a"]}},"m":{"type":"object","additionalProperties":{"type":"integer","enum":[1,2]}},"p":{"type":"array","prefixItems":[{"type":"string"}]},"r":{"type":"object","patternProperties":{"^x":{"type":"number"}},"additionalProperties":false},"s":{"oneOf":[{"type":"string"},{"type":"integer"}]},"n":{"oneOf":[{"const":1},{"const":2}]}}}`,
		` [] [] [{n [1 2]}]; /l/items [] [] [{ ["a"]}]; /m [] [] [{* ["integer"]}]; /m/* [] [] [{ [1 2]}]; /p/0 [] [] [{? ["string"]}]; /r/^x [] [] [{? ["number"]}]; /s [] [] [{? ["integer" "string"]}]; /n [] [] [{? ["integer"]}]`)
	// Limits of numbers, texts and lists, but of what has values; not beyond their room.
	f(`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9},"t":{"type":"string","maxLength":8,"pattern":"^a"},"l":{"type":"array","minItems":2,"items":{"type":"string"}},"e":{"type":"integer","maximum":3,"enum":[1]}}}`,
		` [] [] [{#n [{"min":"1","max":"9"}]} {#t [{"maxl":8,"pat":"^a"}]} {#l [{"minl":2}]} {e [1]}]`)
	for more, want := range map[string]string{"": `{#n [{"maxl":1}]} {#t [{"pat":"PATTERN"}]}`, "x": `{#n [{"maxl":1}]} {# []}`} {
		pattern := strings.Repeat("a", maxPromisedLimits-len(`n{"maxl":1}t{"pat":""}`)) + more
		f(`{"type":"object","properties":{"n":{"type":"string","maxLength":1},"t":{"type":"string","pattern":"`+pattern+`"}}}`, ` [] [] [`+strings.Replace(want, "PATTERN", pattern, 1)+`]`)
	}
	// Deeper than the output schema nothing is kept, and nothing of what holds itself.
	level := `{"type":"object","required":["n"],"properties":{"n":{"type":"string"}}}`
	for range outputDepth + 1 {
		level = `{"type":"object","properties":{"o":` + level + `}}`
	}
	f(level, ` [] [] []; /o [] [] []; /o/o [] [] []`)
	// Every alternative must promise it.
	f(`{"oneOf":[{"type":"object","required":["a","b"],"properties":{"a":{},"b":{}}},{"type":"object","required":["a"],"properties":{"a":{}}}]}`, ` [a] [] []`)
	values := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"%d"`, i)
		}
		return strings.Join(list, ",")
	}
	f(`{"type":"object","properties":{"a":{"type":"string","enum":[`+values(maxPromised)+`]}}}`, ` [] [] [{a [`+strings.ReplaceAll(values(maxPromised), ",", " ")+`]}]`)
	f(`{"type":"object","properties":{"a":{"type":"string","enum":[`+values(maxPromised+1)+`]}}}`, ` [] [] []`)
}

func TestMaxPromises(t *testing.T) {
	const half = 128 // bytes of a name
	names, size := []string(nil), 0
	for i := 0; size+half <= maxPromises; i++ {
		names, size = append(names, fmt.Sprintf("%0*d", half, i)), size+half
	}
	names = append(names, strings.Repeat("x", maxPromises-size))
	for more, want := range map[string]int{"": 1, "y": 0} {
		var props, required []string
		for _, n := range append(names[:len(names)-1:len(names)-1], names[len(names)-1]+more) {
			props, required = append(props, `"`+n+`":{}`), append(required, `"`+n+`"`)
		}
		doc := `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{"responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"object","required":[` +
			strings.Join(required, ",") + `],"properties":{` + strings.Join(props, ",") + `}}}}}}}}}}`
		_, ops := compileAll(t, Source{Data: []byte(doc)}, Options{})
		if got := len(ops[0].Plan.Promises); got != want {
			t.Errorf("%d promises, want %d", got, want)
		}
	}
}

// TestLeast: minProperties of a body whose members are arguments is checked and told,
// where what is required anyhow is not enough.
func TestLeast(t *testing.T) {
	f := func(body string, least int, text string) *operation.Operation {
		t.Helper()
		doc := `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"patch":{"operationId":"change","summary":"Change it","requestBody":{"required":true,"content":{"application/json":{"schema":` + body + `}}},"responses":{"204":{"description":""}}}}}}`
		_, ops := compileAll(t, Source{Data: []byte(doc)}, Options{})
		if got := ops[0].Plan.Body.Least; got != least || !strings.Contains(ops[0].Description, text) || text == "" && strings.Contains(ops[0].Description, "Needs") {
			t.Errorf("%s: %d, %q", body, got, ops[0].Description)
		}
		return ops[0]
	}
	const props = `"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}}`
	op := f(`{"type":"object","minProperties":1,`+props+`}`, 1, "Needs at least one of the optional ones")
	f(`{"type":"object","minProperties":2,"required":["a"],`+props+`}`, 2, "Needs at least one of the optional ones")
	f(`{"type":"object","minProperties":3,"required":["a"],`+props+`}`, 3, "Needs at least 2 of the optional ones")
	f(`{"type":"object","minProperties":1,"required":["a"],`+props+`}`, 0, "")
	f(`{"type":"object","minProperties":4,`+props+`}`, 0, "") // cannot be
	f(`{"type":"object",`+props+`}`, 0, "")

	plan, err := op.Plan.Compile()
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"a":"x"}`: "", `{"b":null}`: "at least 1 of", `{}`: "at least 1 of the body's members must be given, 0 are: a, b, c",
	} {
		v, err := jsonscan.Parse([]byte(args), 0)
		if err != nil {
			t.Fatal(err)
		}
		err = plan.Check(v)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
