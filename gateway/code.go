package gateway

import (
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

// codes reports whether the caller lists the tools of code mode. Clients that bring a code
// mode of their own ask for the plain list with ?code=off in the toolset URL.
func (x *request) codes() bool {
	return x.ts.Codes() && string(x.rc.QueryArgs().Peek("code")) != "off"
}

// list is tools/list as the caller sees it.
func (x *request) list(client mcp.Capabilities) (*snapshot.List, error) {
	if lacks := x.ts.Lacks(client); lacks != 0 {
		return x.listWithout(lacks)
	}
	switch {
	case x.ts.Codes() && !x.codes() && x.pass.SeesAll():
		return x.ts.PlainList("", nil)
	case x.ts.Codes() && !x.codes():
		return x.ts.PlainList(x.pass.Selection(), x.pass.Sees)
	case x.ts.Codes():
		x.s.opts.Caller.PrepareScripts()
	}
	if x.pass.SeesAll() {
		return x.ts.List()
	}
	return x.ts.ListOf(x.pass.Selection(), x.pass.Sees)
}

// listWithout is list for a client that lacks what some of the tools need.
func (x *request) listWithout(lacks mcp.Capabilities) (*snapshot.List, error) {
	if x.codes() {
		x.s.opts.Caller.PrepareScripts()
	}
	plain := x.ts.Codes() && !x.codes()
	if x.pass.SeesAll() {
		return x.ts.ListWithout(lacks, plain, "", nil)
	}
	return x.ts.ListWithout(lacks, plain, x.pass.Selection(), x.pass.Sees)
}

// selectSignatures takes the name of the tool that searches in code mode.
func (x *request) selectSignatures(name []byte) bool {
	if string(name) != snapshot.SearchTools {
		return false
	}
	x.searchTool = snapshot.SearchTools
	return true
}

// searchSignatures appends the signatures of the tools that fit best.
func (x *request) searchSignatures(dst []byte, args jsonscan.Value) ([]byte, error) {
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
	found, fits, err := x.ts.Find(x.found[:0], string(query.AppendText(nil)), "", int(limit), x.sees())
	x.found = found
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
