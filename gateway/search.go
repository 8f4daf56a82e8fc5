package gateway

import (
	"slices"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// Search mode: the client lists three tools, and reaches the toolset's own through
// them. A tool that is executed goes through the whole pipeline of a call: its
// access rules, limits, optimizations and counters are its own.

// keepText is the largest text of a search or description that a request keeps.
const keepText = 256 << 10

// forget drops what a search left.
func (x *request) forget() {
	clear(x.found)
	if cap(x.text) > keepText {
		x.text = nil
	}
	x.searchTool, x.found, x.text = "", x.found[:0], x.text[:0]
}

// sees is what the caller may see; nil: every tool.
func (x *request) sees() func(string) bool {
	if x.pass.SeesAll() {
		return nil
	}
	return x.pass.Sees
}

// selectSearchTool takes one of the three names; false when it is none of them.
func (x *request) selectSearchTool(name []byte) bool {
	switch string(name) {
	case snapshot.SearchTools, snapshot.DescribeTools, snapshot.ExecuteTool:
		x.searchTool = string(name)
		return true
	}
	return false
}

// callSearchTool answers a call of one of the three.
func (x *request) callSearchTool(p *mcp.CallParams, dst []byte) (out, meta []byte, err error) {
	args := p.Arguments
	switch x.searchTool {
	case snapshot.SearchTools:
		if x.codes() {
			x.text, err = x.searchSignatures(x.text[:0], args)
		} else {
			x.text, err = x.search(x.text[:0], args)
		}
	case snapshot.DescribeTools:
		x.text, err = x.describe(x.text[:0], args)
	default:
		var inner jsonscan.Value
		if inner, err = x.resolve(args); err == nil {
			x.searchTool = ""
			p.Arguments = inner
			return x.Call(p, dst)
		}
	}
	failed := problem.As(err)
	if err != nil && failed == nil {
		return nil, nil, err
	}
	if failed != nil {
		x.text = append(x.text[:0], failed.Error()...)
	}
	dst = append(dst, `"content":[{"type":"text","text":`...)
	dst = jsonscan.AppendString(dst, x.text)
	dst = append(dst, `}]`...)
	if failed != nil {
		dst = append(dst, `,"isError":true`...)
	}
	return dst, nil, nil
}

// search appends the found tools, a line each.
func (x *request) search(dst []byte, args jsonscan.Value) ([]byte, error) {
	query := args.Get("query")
	if query.Kind() != jsonscan.String {
		return dst, argument("/query", "query must be a text: what the tool should do")
	}
	k := int64(snapshot.DefaultFound)
	if v := args.Get("k"); v.Exists() && v.Kind() != jsonscan.Null {
		n, ok := v.Int64()
		if !ok || n < 1 || n > snapshot.MaxFound {
			return dst, argument("/k", "k must be a number from 1 to 40")
		}
		k = n
	}
	tag := args.Get("tag")
	if tag.Exists() && tag.Kind() != jsonscan.String && tag.Kind() != jsonscan.Null {
		return dst, argument("/tag", "tag must be a text")
	}
	text := string(query.AppendText(nil))
	found, fits, err := x.ts.Find(x.found[:0], text, string(tag.AppendText(nil)), int(k), x.sees())
	x.found = found
	if err != nil {
		return dst, err
	}
	x.searched(text)
	switch {
	case len(found) == 0:
		return append(dst, "Nothing fits. Name the service and what to do with it in other words."...), nil
	case !fits:
		dst = append(dst, "Nothing fits well; the nearest are:\n"...)
	}
	for _, f := range found {
		if dst, err = appendFound(dst, f.Tool); err != nil {
			return dst, err
		}
	}
	return dst[:len(dst)-1], nil
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

// describe appends the definitions of tools as tools/list would have them.
func (x *request) describe(dst []byte, args jsonscan.Value) ([]byte, error) {
	names := args.Get("names")
	if n := names.Len(); names.Kind() != jsonscan.Array || n < 1 || n > snapshot.MaxDescribed {
		return dst, argument("/names", "names must be a list of 1 to 20 names of tools")
	}
	dst = append(dst, '[')
	it := names.Elements()
	for it.Next() {
		tool, err := x.toolNamed(it.Value(), "/names")
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

// resolve makes the tool that execute_tool names the selected one and returns its
// arguments.
func (x *request) resolve(args jsonscan.Value) (jsonscan.Value, error) {
	inner := args.Get("arguments")
	switch inner.Kind() {
	case jsonscan.Object, jsonscan.Missing:
	case jsonscan.Null:
		inner = jsonscan.Value{}
	default:
		return inner, argument("/arguments", "arguments must be an object: describe_tools says which")
	}
	tool, err := x.toolNamed(args.Get("name"), "/name")
	if err != nil {
		return inner, err
	}
	if refusal := x.pass.MayCall(tool.Name, x.metadata); refusal != nil && !tool.Own() {
		x.s.countRefusal(x.ts, refusal)
		return inner, problem.New(problem.Forbidden, "the access token does not permit to call %s", tool.Name).Fix("ask for a token that does")
	}
	x.tool = tool
	_, err = tool.Load()
	return inner, err
}

// executed is the tool that execute_tool names; nil where it names none that the
// caller sees, which resolve says better.
func (x *request) executed(args jsonscan.Value) *snapshot.Tool {
	name := args.Get("name")
	if name.Kind() != jsonscan.String {
		return nil
	}
	tool, err := x.ts.Tool(name.AppendText(nil))
	if err != nil || tool == nil || !tool.Own() && !x.pass.Sees(tool.Name) {
		return nil
	}
	if _, err := tool.Load(); err != nil {
		return nil
	}
	return tool
}

// toolNamed finds a tool of the toolset; the problem of a wrong name says what is
// nearest.
func (x *request) toolNamed(name jsonscan.Value, at string) (*snapshot.Tool, error) {
	if name.Kind() != jsonscan.String {
		return nil, argument(at, "a tool is named by a text")
	}
	text := name.AppendText(nil)
	tool, err := x.ts.Tool(text)
	if err != nil || tool != nil && (tool.Own() || x.pass.Sees(tool.Name)) {
		return tool, err
	}
	remedy := "find its name with search_tools"
	if near := x.nearest(text); near != "" {
		remedy = "did you mean " + near + "? Otherwise find its name with search_tools"
	} else if found, _, err := x.ts.Find(x.found[:0], string(text), "", 1, x.sees()); err == nil && len(found) > 0 {
		remedy = "did you mean " + found[0].Tool.Name + "? Otherwise find its name with search_tools"
	}
	return nil, problem.New(problem.NotFound, "there is no tool %.80q", text).At("", 0, 0, at).Fix("%s", remedy)
}

// maxMisspelt bounds the names that are looked for by their letters: those of tools
// are shorter.
const maxMisspelt = 128

// nearest is the visible tool whose name differs in the fewest letters; "" when
// none is close.
func (x *request) nearest(name []byte) string {
	tools, err := x.ts.Tools()
	if err != nil || len(name) > maxMisspelt {
		return ""
	}
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		if x.pass.Sees(t.Name) {
			names = append(names, t.Name)
		}
	}
	return nearest.Name(string(name), slices.Values(names))
}

func argument(at, text string) error {
	return problem.New(problem.InvalidArgument, "%s", text).At("", 0, 0, at)
}
