// Package finding answers the queries of agents for tools, in search mode and in code mode:
// the tools that fit, their descriptions, and the likely meaning of a wrong name. It calls
// no tool.
package finding

import (
	"slices"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// Finder finds the tools of one toolset that one caller sees. It is not safe for concurrent use.
type Finder struct {
	Toolset *snapshot.Toolset
	Sees    func(tool string) bool // nil: every tool
	Found   []snapshot.Found       // by the last search; its memory is used again
}

// Forget drops what the last search left, but its memory.
func (f *Finder) Forget() {
	clear(f.Found)
	*f = Finder{Found: f.Found[:0]}
}

func (f *Finder) sees(tool string) bool { return f.Sees == nil || f.Sees(tool) }

// Search appends the found tools, a line each, and returns the query, which found something or
// nothing; "" where it could not be asked.
func (f *Finder) Search(dst []byte, args jsonscan.Value) (out []byte, text string, err error) {
	query := args.Get("query")
	if query.Kind() != jsonscan.String {
		return dst, "", argument("/query", "query must be a text: what the tool should do")
	}
	k := int64(snapshot.DefaultFound)
	if v := args.Get("k"); v.Exists() && v.Kind() != jsonscan.Null {
		n, ok := v.Int64()
		if !ok || n < 1 || n > snapshot.MaxFound {
			return dst, "", argument("/k", "k must be a number from 1 to 40")
		}
		k = n
	}
	tag := args.Get("tag")
	if tag.Exists() && tag.Kind() != jsonscan.String && tag.Kind() != jsonscan.Null {
		return dst, "", argument("/tag", "tag must be a text")
	}
	text = string(query.AppendText(nil))
	found, fits, err := f.Toolset.Find(f.Found[:0], text, string(tag.AppendText(nil)), int(k), f.Sees)
	f.Found = found
	switch {
	case err != nil:
		return dst, "", err
	case len(found) == 0:
		return append(dst, "Nothing fits. Name the service and what to do with it in other words."...), text, nil
	case !fits:
		dst = append(dst, "Nothing fits well; the nearest are:\n"...)
	}
	for _, f := range found {
		if dst, err = appendFound(dst, f.Tool); err != nil {
			return dst, text, err
		}
	}
	return dst[:len(dst)-1], text, nil
}

// appendFound appends the line of a found tool.
func appendFound(dst []byte, t *snapshot.Tool) ([]byte, error) {
	info, err := t.Info()
	if err != nil {
		return dst, err
	}
	dst = append(dst, t.Name...)
	dst = append(append(append(dst, ' '), snapshot.Effect(info.ReadOnly, info.Destructive)...), ": "...)
	text := info.Description
	if text == "" {
		text = info.Title
	}
	return append(append(dst, snapshot.FirstSentence(text)...), '\n'), nil
}

// Signatures appends the signatures of the tools that fit best, for a script.
func (f *Finder) Signatures(dst []byte, args jsonscan.Value) ([]byte, error) {
	query := args.Get("query")
	if query.Kind() != jsonscan.String {
		return dst, argument("/query", "query must be a text: what the tools should do")
	}
	limit := int64(snapshot.DefaultSignatures)
	if v := args.Get("limit"); v.Exists() && v.Kind() != jsonscan.Null {
		n, ok := v.Int64()
		if !ok || n < 1 || n > snapshot.MaxSignatures {
			return dst, argument("/limit", "limit must be a number from 1 to 20")
		}
		limit = n
	}
	found, fits, err := f.Toolset.Find(f.Found[:0], string(query.AppendText(nil)), "", int(limit), f.Sees)
	f.Found = found
	switch {
	case err != nil:
		return dst, err
	case len(found) == 0:
		return append(dst, "Nothing fits. Say what to do in other words."...), nil
	case !fits:
		dst = append(dst, "// Nothing fits well; the nearest are:\n"...)
	}
	tools := make([]*snapshot.Tool, len(found))
	for i, f := range found {
		tools[i] = f.Tool
	}
	dst, err = snapshot.AppendSignatures(dst, tools)
	if err != nil {
		return dst, err
	}
	return dst[:len(dst)-1], nil
}

// Describe appends the definitions of tools as tools/list would have them.
func (f *Finder) Describe(dst []byte, args jsonscan.Value) ([]byte, error) {
	names := args.Get("names")
	if n := names.Len(); names.Kind() != jsonscan.Array || n < 1 || n > snapshot.MaxDescribed {
		return dst, argument("/names", "names must be a list of 1 to 20 names of tools")
	}
	dst = append(dst, '[')
	it := names.Elements()
	for it.Next() {
		tool, err := f.named(it.Value(), "/names")
		if err != nil {
			return dst, err
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		if dst, err = tool.AppendDefinition(dst); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// Executed is the tool that execute_tool names, and its arguments.
func (f *Finder) Executed(args jsonscan.Value) (tool *snapshot.Tool, inner jsonscan.Value, err error) {
	inner = args.Get("arguments")
	switch inner.Kind() {
	case jsonscan.Object, jsonscan.Missing:
	case jsonscan.Null:
		inner = jsonscan.Value{}
	default:
		return nil, inner, argument("/arguments", "arguments must be an object: describe_tools says which")
	}
	tool, err = f.named(args.Get("name"), "/name")
	return tool, inner, err
}

// named finds a tool of the toolset; the problem of a wrong name says what is
// nearest.
func (f *Finder) named(name jsonscan.Value, at string) (*snapshot.Tool, error) {
	if name.Kind() != jsonscan.String {
		return nil, argument(at, "a tool is named by a text")
	}
	text := name.AppendText(nil)
	tool, err := f.Toolset.Tool(text)
	if err != nil || tool != nil && (tool.Own() || f.sees(tool.Name)) {
		return tool, err
	}
	remedy := "find its name with search_tools"
	if near := f.nearest(text); near != "" {
		remedy = "did you mean " + near + "? Otherwise find its name with search_tools"
	} else if found, _, err := f.Toolset.Find(f.Found[:0], string(text), "", 1, f.Sees); err == nil && len(found) > 0 {
		remedy = "did you mean " + found[0].Tool.Name + "? Otherwise find its name with search_tools"
	}
	return nil, problem.New(problem.NotFound, "there is no tool %.80q", text).At("", 0, 0, at).Fix("%s", remedy)
}

// maxMisspelt bounds the names that are looked for by their letters: those of tools
// are shorter.
const maxMisspelt = 128

// nearest is the visible tool whose name differs in the fewest letters; "" when
// none is close.
func (f *Finder) nearest(name []byte) string {
	tools, err := f.Toolset.Tools()
	if err != nil || len(name) > maxMisspelt {
		return ""
	}
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		if f.sees(t.Name) {
			names = append(names, t.Name)
		}
	}
	return nearest.Name(string(name), slices.Values(names))
}

func argument(at, text string) error {
	return problem.New(problem.InvalidArgument, "%s", text).At("", 0, 0, at)
}
