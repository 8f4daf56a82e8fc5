package describe

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// MaxListed is how many findings are printed before the rest is only counted.
const MaxListed = 5

// Items says what an MCP server has besides tools, behind what it is: ", 2 prompts".
func Items(n *toolset.Items) string {
	if n == nil {
		return ""
	}
	var out strings.Builder
	for _, part := range []struct {
		count int
		noun  string
	}{{n.Prompts, "prompt"}, {n.Resources, "resource"}, {n.Templates, "resource template"}} {
		if part.count > 0 {
			out.WriteString(", " + terminal.Plural(part.count, part.noun))
		}
	}
	return out.String()
}

// LeftOut says where, why and until when a plugin is left out of calls.
func LeftOut(l *plugin.PluginLeftOut) string {
	where := ""
	if l.Edge != "" {
		where = " on edge " + terminal.Printable(l.Edge)
	}
	return fmt.Sprintf("left out of calls%s until %s: %s", where, l.Until.Local().Format("15:04:05"), terminal.SafeText(l.Reason))
}

// Methods counts and names the authentication methods of a specification.
func Methods(methods []credential.AuthMethod) string {
	if len(methods) == 0 {
		return "no authentication"
	}
	var parts []string
	for _, m := range methods {
		switch m.Type {
		case "apiKey":
			parts = append(parts, fmt.Sprintf("apiKey %s %s", m.In, m.Name))
		case "http":
			parts = append(parts, "http "+m.Scheme)
		default:
			parts = append(parts, m.Type+" "+m.ID)
		}
	}
	noun := "authentication methods"
	if len(methods) == 1 {
		noun = "authentication method"
	}
	return fmt.Sprintf("%d %s (%s)", len(methods), noun, strings.Join(parts, "; "))
}

// Diagnostic writes a finding about a specification with its place.
func Diagnostic(line, column int, pointer, detail string) string {
	at := exit.PlaceText(problem.Place{Line: line, Column: column, Pointer: pointer})
	return terminal.Printable(strings.TrimSpace(at + "   " + detail))
}

// Advice prints what each selection would cost.
func Advice(w io.Writer, d *advice.SelectionAdvice) {
	row := func(name string, m *advice.SelectionMode) {
		if m == nil {
			return
		}
		mark := " "
		if name == d.Recommended {
			mark = "→"
		}
		fmt.Fprintf(w, "  %s %-9s %6s tools  %9s tokens in tools/list\n", mark, name, terminal.Thousands(m.Tools), terminal.Thousands(m.Tokens))
	}
	row("all", &d.All)
	row("use-case", d.UseCase)
	row("search", &d.Search)
	row("code", &d.Code)
	fmt.Fprintf(w, "  %s\n", d.Reason)
}

// Addresses lists origins for people.
func Addresses(list []string) string {
	if len(list) == 0 {
		return "no address"
	}
	return terminal.Printable(strings.Join(list, ", "))
}
