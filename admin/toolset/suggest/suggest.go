package suggest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is offered.
const (
	// MaxName of a proposed name in bytes: with a server's name before it, it stays
	// under the limits of every known client, as the generated names do.
	MaxName = 40
	// MaxDescription in bytes. Agents read every description before their first call;
	// twice what the longest good one needs.
	MaxDescription = 1024
	// MaxReason in bytes: a sentence or two. A longer one is cut.
	MaxReason = 300
)

// Tool is what is known of a tool.
type Tool struct {
	Name        string // its present name
	Title       string
	Description string
	Method      string // of its operation
	Path        string
	InputSchema json.RawMessage // JSON Schema of its arguments
}

// Suggestion is a proposal for one tool. A field that is empty stays as it is; at least
// one is not.
type Suggestion struct {
	Tool        string // the tool's present name
	Name        string
	Description string
	Reason      string // why, never empty
}

// Dropped is a tool for which something was proposed that cannot be offered. What was
// proposed besides, a description beside a bad name, is offered.
type Dropped struct {
	Tool   string
	Reason string
}

// Result is what is offered, and what is not and why, in the order of the tools.
type Result struct {
	Suggestions []Suggestion
	Dropped     []Dropped
}

// nameForm is how names are generated too: lower case words with underscores, which
// every client and model API accepts.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$`)

// links are what a proposed description may not add: it comes from a model that read
// texts of strangers.
var links = regexp.MustCompile(`(?i)\b(?:https?://|www\.)[^\s)>\]"']+`)

// names keeps proposed names apart from each other and from every name the toolset has.
type names map[string]string // lower case → the tool that has it

// namesOf takes the present names of all tools.
func namesOf(all []string) names {
	n := make(names, len(all))
	for _, name := range all {
		n[strings.ToLower(name)] = name
	}
	return n
}

// accept checks one proposal, whose name has at most longest bytes. It answers with what can be offered of it, which may be
// nothing, and why something cannot. Names of other tools stay taken even when those
// are to be renamed, so that any part of the proposals can be accepted.
func (n names) accept(t *Tool, s Suggestion, longest int) (ok Suggestion, why string) {
	ok = Suggestion{Tool: t.Name, Reason: tidy(s.Reason, MaxReason)}
	name, description := strings.TrimSpace(s.Name), strings.TrimSpace(s.Description)
	if name == t.Name {
		name = ""
	}
	if description == strings.TrimSpace(t.Description) {
		description = ""
	}
	if (name != "" || description != "") && ok.Reason == "" {
		return ok, "the proposal has no reason"
	}
	if name != "" {
		if why = n.fault(t, name, longest); why == "" {
			ok.Name, n[name] = name, t.Name
		}
	}
	if description != "" {
		fault := descriptionFault(t, description)
		if fault == "" {
			ok.Description = description
		} else if why == "" {
			why = fault
		}
	}
	return ok, why
}

// fault says why a tool cannot have a name; "" when it can.
func (n names) fault(t *Tool, name string, longest int) string {
	other, taken := n[name]
	switch {
	case len(name) > longest:
		return fmt.Sprintf("the name %s is longer than %d characters", quoted(name), longest)
	case !nameForm.MatchString(name):
		return "the name " + quoted(name) + " is not of lower case words, digits and single underscores"
	case taken && other != t.Name:
		return "the name " + quoted(name) + " belongs to another tool"
	}
	return ""
}

// descriptionFault says why a tool cannot have a description; "" when it can.
func descriptionFault(t *Tool, d string) string {
	switch {
	case len(d) > MaxDescription:
		return "the description is longer than 1,024 bytes"
	case !utf8.ValidString(d) || strings.ContainsFunc(d, hidden):
		return "the description has characters that do not print"
	}
	for _, link := range links.FindAllString(d, -1) {
		if !strings.Contains(t.Description, link) {
			return "the description has a link that the present one does not have"
		}
	}
	return ""
}

// hidden reports what a person who reads a proposal would not see: control and format
// characters, and private ones.
func hidden(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs))
}

// tidy makes one printable line of at most n bytes.
func tidy(s string, n int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	s = strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, s)
	return cut(s, n)
}

// cut shortens s to n bytes at a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// quoted shows a proposed name in a reason.
func quoted(s string) string { return `"` + tidy(s, 60) + `"` }

// add puts what accept said of one tool into the result.
func (r *Result) add(t *Tool, s Suggestion, why string) {
	if why != "" {
		r.Dropped = append(r.Dropped, Dropped{Tool: t.Name, Reason: why})
	}
	if s.Name != "" || s.Description != "" {
		r.Suggestions = append(r.Suggestions, s)
	}
}

// argument is one member of an input schema.
type argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// arguments lists at most n members of an input schema, required ones first, then by
// name.
func arguments(schema json.RawMessage, n int) []argument {
	var s struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil // a schema of another form names none
	}
	out := make([]argument, 0, len(s.Properties))
	for name, p := range s.Properties {
		const longest = 100 // enough to know what it is
		out = append(out, argument{tidy(name, 64), tidy(p.Description, longest), slices.Contains(s.Required, name)})
	}
	slices.SortFunc(out, func(a, b argument) int {
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out[:min(n, len(out))]
}
