package script_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/script"
)

// TestCheck: what models write compiles in one of its forms, nothing of it runs, and what does
// not compile has its place.
func TestCheck(t *testing.T) {
	e := script.New(script.Options{})
	t.Cleanup(func() { _ = e.Close(t.Context()) })
	for _, code := range []string{
		`tools.a.b({})`,
		`return await tools.a.b(args)`,
		`async ({ id, n = 2 }) => { return await tools.a.b({ id, n }); }`,
		`function ({ id }) { return id }`,
		`async function main() { return 1 }`,
		"const x = 1;\nfor (const y of [x]) { await tools.a.b({ y }) }\nx",
		`({ a: 1 })`,
		`throw new Error("not run")`,
		`while (true) {}`,
		`args.id // a comment`,
		"",
		strings.Repeat("x", script.MaxCode),
	} {
		if err := e.Check(t.Context(), code); err != nil {
			t.Errorf("%.60q: %v", code, err)
		}
	}
	for code, line := range map[string]int{
		`return await tools.a.b({`:                              0,
		"const a = 1;\nconst a = 2;\nreturn a":                  2,
		"const n: number = 1;\nreturn n":                        1,
		"return {\n  a: 1,\n  b: 2 3,\n}":                       3,
		"async ({ id }) => {\n  return await tools.a.b({ id })": 0,
	} {
		err := e.Check(t.Context(), code)
		wrong, ok := errors.AsType[*script.Error](err)
		if !ok || !strings.HasPrefix(wrong.Message, "SyntaxError") || line > 0 && wrong.Line != line {
			t.Errorf("%q: %v, want a SyntaxError in line %d", code, err, line)
		}
	}
	if err := e.Check(t.Context(), strings.Repeat("x", script.MaxCode+1)); err == nil {
		t.Error("a script that is too long compiles")
	}
}
