package script

import (
	"regexp"
	"strings"
)

// Source is what runs of a script as a model writes it: without the fence of a Markdown code
// block, and without "export". Lines keep their numbers, and what stands in them its columns.
func Source(code string) string { return withoutExport(WithoutFence(code)) }

// WithoutFence takes away the fence of a Markdown code block around a script, as models write
// them. Lines keep their numbers.
func WithoutFence(code string) string {
	body, closed := strings.CutSuffix(strings.TrimRight(code, " \t\r\n"), "```")
	head, body, ok := strings.Cut(body, "```")
	if !closed || !ok || strings.TrimSpace(head) != "" {
		return code
	}
	language, body, ok := strings.Cut(body, "\n")
	if !ok || strings.ContainsAny(language, "`;(){}") {
		return code
	}
	return strings.Repeat("\n", 1+strings.Count(head, "\n")) + body
}

var exported = regexp.MustCompile(`(?m)^([ \t]*)(export[ \t]+default)\b|^([ \t]*)(export)[ \t]+(?:async|function|const|let|class)\b`)

// withoutExport takes away "export" before what a script declares, and makes what it exports as
// default its value: a function, as models write them, is called then. What stands behind it
// keeps its column.
func withoutExport(code string) string {
	at := exported.FindAllStringSubmatchIndex(code, -1)
	if at == nil {
		return code
	}
	out := []byte(code)
	ticks, counted := 0, 0
	for _, m := range at {
		ticks += strings.Count(code[counted:m[0]], "`")
		if counted = m[0]; ticks%2 == 1 { // a line of a template
			continue
		}
		from, to, instead := m[4], m[5], "void 0,"
		if from < 0 {
			from, to, instead = m[8], m[9], ""
		}
		copy(out[from:to], instead+strings.Repeat(" ", to-from-len(instead)))
	}
	return string(out)
}
