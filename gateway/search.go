package gateway

import (
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// Search mode: the client lists three tools, and reaches the toolset's own through
// them. A tool that is executed goes through the whole pipeline of a call: its
// access rules, limits, optimizations and counters are its own.

// keepText is the largest text of a search or description that a request keeps.
const keepText = 256 << 10

// forget drops what a search left.
func (x *request) forget() {
	x.finder.Forget()
	if cap(x.text) > keepText {
		x.text = nil
	}
	x.searchTool, x.text = "", x.text[:0]
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
	x.finder.Toolset, x.finder.Sees = x.ts, x.sees()
	switch x.searchTool {
	case snapshot.SearchTools:
		if x.codes() {
			x.text, err = x.finder.Signatures(x.text[:0], args)
			break
		}
		var query string
		if x.text, query, err = x.finder.Search(x.text[:0], args); err == nil {
			x.searched(query)
		}
	case snapshot.DescribeTools:
		x.text, err = x.finder.Describe(x.text[:0], args)
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

// resolve makes the tool that execute_tool names the selected one and returns its
// arguments.
func (x *request) resolve(args jsonscan.Value) (jsonscan.Value, error) {
	tool, inner, err := x.finder.Executed(args)
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
