package suggest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicegate/sluice/admin/toolset/suggest/naming"
)

// Namer makes a name in the style of generated tools of another, at most [MaxName]
// bytes; "" when it has no letters that names may have.
type Namer func(name string) string

// Rules proposes what needs no model: names that say what is done and with what, by
// package naming, names in the style of generated ones for tools of MCP servers that come
// with other names, and descriptions that agents find by the words of people. all are the
// names of every tool of the toolset.
func Rules(tools []Tool, all []string, namer Namer) Result {
	taken := namesOf(all)
	known := make([]naming.Tool, len(tools))
	for i := range tools {
		known[i] = tools[i].known()
	}
	named := naming.Names(known, all)
	var r Result
	for i := range tools {
		t := &tools[i]
		var s Suggestion
		var why []string
		fault := nameFault(t.Name)
		operation := strings.HasPrefix(t.Path, "/") && t.Method != ""
		if operation && len(t.Name) <= naming.LongName && nameForm.MatchString(t.Name) {
			fault = "" // a long name that was accepted says more than a cut one
		}
		if fault != "" && named[i].Name == "" {
			if s.Name = namer(t.Name); s.Name == "" {
				s.Name = namer(t.Method + " " + t.Path)
			}
			if other, used := taken[s.Name]; used && other != t.Name {
				s.Name = "" // a rule proposes nothing that cannot be accepted
			}
			if s.Name != "" {
				why = append(why, fault)
			}
		} else if named[i].Name != "" {
			s.Name, why = named[i].Name, append(why, named[i].Reason)
		}
		final := t.Name
		if s.Name != "" {
			final = s.Name
		}
		says := strings.TrimSpace(t.Description)
		if !operation || fault != "" {
			needs := required(t)
			// Of a good name for a tool that needs nothing, a rule knows no more to say.
			if says == "" || len(why)+len(needs) > 0 && (sameWords(says, t.Name) || says == t.Title) {
				s.Description = plainDescription(t, needs)
				fault := "there is no description, and agents choose tools by it"
				if says != "" {
					fault = "the description only repeats the name"
				}
				why = append(why, fault)
			}
		} else if text, fault := naming.Describe(&known[i], final); text != "" {
			s.Description, why = text, append(why, fault)
		}
		s.Reason = strings.Join(why, "; ")
		accepted, dropped := taken.accept(t, s, naming.LongName)
		r.add(t, accepted, dropped)
	}
	return r
}

// known is a tool as package naming sees it.
func (t *Tool) known() naming.Tool {
	return naming.Tool{Name: t.Name, Title: t.Title, Description: t.Description, Method: t.Method, Path: t.Path, Needs: required(t)}
}

// nameFault says what is wrong with a name; "" when nothing is.
func nameFault(name string) string {
	switch {
	case len(name) > MaxName:
		return "the name is longer than 40 characters; some clients leave such tools out"
	case !nameForm.MatchString(name):
		return "names of lower case words with underscores are read best and accepted everywhere"
	}
	return ""
}

// sameWords reports whether two texts have the same letters and digits.
func sameWords(a, b string) bool {
	return letters(a) == letters(b)
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r > 127:
			return r
		case 'A' <= r && r <= 'Z':
			return r + ('a' - 'A')
		}
		return -1
	}, s)
}

// plainDescription says what is known: the words of the title or name, the operation,
// and the arguments a call needs.
func plainDescription(t *Tool, needs []string) string {
	says := t.Title
	if says == "" {
		says = strings.ReplaceAll(t.Name, "_", " ")
	}
	var b strings.Builder
	first, size := utf8.DecodeRuneInString(says)
	b.WriteRune(unicode.ToUpper(first))
	b.WriteString(says[size:])
	if strings.HasPrefix(t.Path, "/") {
		b.WriteString(" (" + t.Method + " " + tidy(t.Path, 200) + ")")
	}
	b.WriteByte('.')
	if len(needs) > 0 {
		b.WriteString(" Needs " + strings.Join(needs, ", ") + ".")
	}
	return b.String()
}

// required are the names of arguments that must be given.
func required(t *Tool) []string {
	const most = 8 // more are in the schema
	var needs []string
	for _, a := range arguments(t.InputSchema, most) {
		if a.Required {
			needs = append(needs, a.Name)
		}
	}
	return needs
}
