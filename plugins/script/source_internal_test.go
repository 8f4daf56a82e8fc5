package script

import "testing"

// TestWithoutExport: what a script exports is its value, or stays declared, in its column.
func TestWithoutExport(t *testing.T) {
	for code, want := range map[string]string{
		"export default async () => 1":                     "void 0,        async () => 1",
		"let a = 1\n  export\tdefault function f() {}":     "let a = 1\n  void 0,        function f() {}",
		"export async function f() {}\nexport const a = 1": "       async function f() {}\n       const a = 1",
		"export {a}":                          "export {a}",
		"let s = `\nexport default 1\n`":      "let s = `\nexport default 1\n`",
		"exported default":                    "exported default",
		"a.export = 1; b = {export: 2}":       "a.export = 1; b = {export: 2}",
		"export defaults":                     "export defaults",
		"// export default\nexport default 7": "// export default\nvoid 0,        7",
		"":                                    "",
	} {
		if got := withoutExport(code); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}

// TestWithoutFence: a script may stand in a Markdown code block; its lines keep their numbers,
// and what only looks like a fence is left alone.
func TestWithoutFence(t *testing.T) {
	for code, want := range map[string]string{
		"```js\n1 + 1\n```":           "\n1 + 1\n",
		"\n```\nlet a = 1\na\n```\n ": "\n\nlet a = 1\na\n",
		"```javascript \r\n1```":      "\n1",
		"1 + 1":                       "1 + 1",
		"```js\n1 + 1":                "```js\n1 + 1",
		"```1 + 1```":                 "```1 + 1```",
		"f```a```":                    "f```a```",
		"```":                         "```",
		"``````":                      "``````",
		"```;f()\n```":                "```;f()\n```",
		"":                            "",
	} {
		if got := WithoutFence(code); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}
