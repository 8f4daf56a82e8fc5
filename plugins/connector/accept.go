package connector

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Bounds of what an MCP server says of itself and of its tools. Agents read all of it
// with every conversation; clients cut what is longer.
const (
	MaxServerInstructions = 8 << 10  // bytes of the server's instructions
	MaxServerTitle        = 200      // bytes of a name or title
	MaxServerDescription  = 8 << 10  // bytes of a tool's description: 2,000 tokens
	MaxServerTool         = 64 << 10 // bytes of one definition after all cuts; a larger tool is left out
	maxNotices            = 200      // of one server
	maxExtensions         = 500      // bytes of the names of its extensions
)

// Codes of a [Notice], listed in docs/diagnostics.md.
const (
	CodeHidden      = "hidden_characters"
	CodeInstruction = "model_instructions"
	CodeTextLong    = "text_too_long"
	CodeReference   = "reference_not_loaded"
	CodeMalformed   = "malformed_member"
	CodeExtensions  = "extensions_not_offered"
)

// Notice is something in the words of an MCP server that an operator should look at.
type Notice struct {
	Code    string
	Pointer string // into the document of the server: "/tools/3/description"
	Detail  string // quotes what was found, printable
	Remedy  string
}

// Accept makes the words of an MCP server fit to be stored and served: it removes
// hidden characters and external references, cuts what is too long, and takes tools
// out whose definition cannot be used without them. It reports that, and what is
// written for a model instead of for the reader of a description. It is to be applied
// before anything else looks at s; applied again it changes nothing.
func (s *MCPServer) Accept() (notices []Notice, refused []Refused) {
	a := acceptor{}
	s.Name = a.text(s.Name, "/name", MaxServerTitle)
	s.Title = a.text(s.Title, "/title", MaxServerTitle)
	s.Version = a.text(s.Version, "/version", MaxServerTitle)
	s.Instructions = a.text(s.Instructions, "/instructions", MaxServerInstructions)
	kept := make([]json.RawMessage, 0, len(s.Tools))
	for i, raw := range s.Tools {
		a.at = "/tools/" + strconv.Itoa(i)
		clean, err := a.tool(raw)
		if err != nil {
			refused = append(refused, Refused{ListTools, i, textfilter.Visible(NameMCP(raw), MaxServerTitle), err.Error()})
			continue
		}
		kept = append(kept, clean)
	}
	s.Tools = kept
	maps.DeleteFunc(s.Needs, func(name string, _ []string) bool {
		return !slices.ContainsFunc(kept, func(raw json.RawMessage) bool { return NameMCP(raw) == name })
	})
	if len(s.Extensions) > 0 {
		a.note(CodeExtensions, "/capabilities", "what they add is not there for clients of the toolset; its tools, prompts and resources are called without",
			"the server declares extensions of the protocol, which are not passed on: %s", textfilter.Visible(strings.Join(s.Extensions, ", "), maxExtensions))
	}
	return a.notices, append(refused, a.items(s)...)
}

type acceptor struct {
	at      string
	notices []Notice
	finder  textfilter.Finder // of all that the server offers
}

func (a *acceptor) note(code, pointer, remedy, format string, args ...any) {
	if len(a.notices) < maxNotices {
		a.notices = append(a.notices, Notice{code, pointer, fmt.Sprintf(format, args...), remedy})
	}
}

const (
	remedyHidden      = "they were removed; ask the server's operator what they are for"
	remedyInstruction = "read the text as an agent would; give the tool a text of your own, or disable it"
	remedyLong        = "it was cut; give the tool a text of your own"
)

// text is one text for people and models.
func (a *acceptor) text(s, pointer string, most int) string {
	clean := textfilter.Clean(s)
	if clean != s {
		a.note(CodeHidden, pointer, remedyHidden, "hidden characters: \"%s\"", quoteChange(s, clean))
	}
	if len(clean) > most {
		a.note(CodeTextLong, pointer, remedyLong, "%d bytes, at most %d are served", len(clean), most)
		clean = string(textfilter.Cut([]byte(clean), most))
	}
	a.instructions(textfilter.Find(clean), pointer)
	return clean
}

func (a *acceptor) instructions(found []textfilter.Finding, pointer string) {
	for _, f := range found {
		a.note(CodeInstruction, pointer+f.At, remedyInstruction, "written for a model (%s): \"%s\"", f.Kind, f.Quote)
	}
}

// quoteChange shows the place in s from where on it differs from clean.
func quoteChange(s, clean string) string {
	const around, most = 20, 100
	i := 0
	for i < len(s) && i < len(clean) && s[i] == clean[i] {
		i++
	}
	from := max(i-around, 0)
	for from > 0 && s[from]&0xc0 == 0x80 { // inside of a character
		from--
	}
	return textfilter.Visible(s[from:], most)
}

// tool is a definition as it may be served; an error says why it may not.
func (a *acceptor) tool(raw []byte) ([]byte, error) {
	v := jsonscan.Trusted(raw)
	if v.Kind() != jsonscan.Object {
		return raw, nil // BuildMCP says so
	}
	v = a.formed(toolForm, v)
	if name := v.Get("name"); name.Kind() == jsonscan.String {
		if text := string(name.AppendText(nil)); textfilter.Clean(text) != text || textfilter.IndexJSON(name.Raw()) >= 0 {
			return nil, fmt.Errorf("its name has hidden characters: \"%s\"", textfilter.Visible(text, MaxServerTitle))
		}
	}
	out := []byte{'{'}
	for m := v.Members(); m.Next(); {
		if textfilter.IndexJSON(m.Key()) >= 0 {
			a.note(CodeHidden, a.at, remedyHidden, "a member with hidden characters in its name: \"%s\"", textfilter.Visible(string(m.KeyText(nil)), MaxServerTitle))
			continue
		}
		var err error
		if out, err = a.member(jsonscan.AppendKey(out, 1, m.Key()), string(m.KeyText(nil)), m.Value()); err != nil {
			return nil, err
		}
	}
	a.across(jsonscan.Trusted(append(out, '}')))
	if out = append(out, '}'); len(out) > MaxServerTool {
		return nil, fmt.Errorf("its definition has %d bytes, more than %d", len(out), MaxServerTool)
	}
	return out, nil
}

func (a *acceptor) member(out []byte, name string, v jsonscan.Value) ([]byte, error) {
	pointer := a.at + "/" + textfilter.Visible(name, MaxServerTitle)
	switch name {
	case "title", "description":
		if v.Kind() != jsonscan.String {
			break
		}
		most := MaxServerDescription
		if name == "title" {
			most = MaxServerTitle
		}
		before := v.AppendText(nil)
		if after := a.text(string(before), pointer, most); after != string(before) {
			return jsonscan.AppendStringOf(out, after), nil
		}
		if textfilter.IndexJSON(v.Raw()) >= 0 { // half of a pair
			return textfilter.AppendJSON(out, v.Raw()), nil
		}
		return append(out, v.Raw()...), nil
	case "inputSchema", "outputSchema":
		mark := len(out)
		out, removed, err := textfilter.AppendSchema(out, v.Raw())
		if err != nil {
			return out, err
		}
		for _, r := range removed {
			switch r.Reason {
			case textfilter.HiddenCharacters:
				a.note(CodeHidden, pointer+r.At, remedyHidden, "hidden characters: \"%s\"", r.Quote)
			case textfilter.TooLong:
				a.note(CodeTextLong, pointer+r.At, remedyLong, "too long to be served: \"%s\"", r.Quote)
			case textfilter.ExternalReference:
				a.note(CodeReference, pointer+r.At, "ask the server's operator for a schema without references to other documents",
					"a reference to another document, which is left out: \"%s\"", r.Quote)
			}
		}
		a.instructions(a.finder.FindJSON(out[mark:]), pointer)
		return out, nil
	}
	mark := len(out)
	out = textfilter.AppendJSON(out, v.Raw())
	if string(out[mark:]) != string(v.Raw()) {
		a.note(CodeHidden, pointer, remedyHidden, "hidden characters: \"%s\"", textfilter.Visible(string(v.Raw()), MaxServerTitle))
	}
	a.instructions(a.finder.FindJSON(out[mark:]), pointer)
	return out, nil
}

// across looks for what stands in no single text of a tool, and in all of them together.
func (a *acceptor) across(tool jsonscan.Value) {
	texts := make([]string, 0, 3)
	for _, name := range []string{"name", "title", "description"} {
		if v := tool.Get(name); v.Kind() == jsonscan.String {
			texts = append(texts, string(v.AppendText(nil)))
		}
	}
	found := a.finder.FindJSON(tool.Raw())
	a.instructions(a.finder.FindAcross(found, texts, tool.Get("inputSchema").Raw())[len(found):], a.at)
}

// instructed are the findings in what agents read of a tool, each with its text, so
// that those of two versions can be compared.
func instructed(t *manifest.Tool) []textfilter.Finding {
	found := textfilter.Find(t.Title + "\n" + t.Description)
	found = append(found, textfilter.FindJSON(t.InputSchema)...)
	found = append(found, textfilter.FindJSON(t.OutputSchema)...)
	return textfilter.FindAcross(found, []string{t.Title, t.Description}, t.InputSchema)
}
