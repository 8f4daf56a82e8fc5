package gateway

import (
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/snapshot"
)

// codes reports whether the caller lists the tools of code mode. Clients that bring a code
// mode of their own ask for the plain list with ?code=off in the toolset URL.
func (x *request) codes() bool {
	return x.ts.Codes() && string(x.rc.QueryArgs().Peek("code")) != "off"
}

// list is tools/list as the caller sees it.
func (x *request) list(client mcp.Capabilities) (*snapshot.List, error) {
	tasks := client&mcp.CallsTasks != 0
	if lacks := x.ts.Lacks(client); lacks != 0 || tasks {
		return x.listWithout(lacks, tasks)
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

// listWithout is list for a client that lacks what some of the tools need, or may make calls tasks.
func (x *request) listWithout(lacks mcp.Capabilities, tasks bool) (*snapshot.List, error) {
	if x.codes() {
		x.s.opts.Caller.PrepareScripts()
	}
	plain := x.ts.Codes() && !x.codes()
	if x.pass.SeesAll() {
		return x.ts.ListWithout(lacks, plain, tasks, "", nil)
	}
	return x.ts.ListWithout(lacks, plain, tasks, x.pass.Selection(), x.pass.Sees)
}

// selectSignatures takes the name of the tool that searches in code mode.
func (x *request) selectSignatures(name []byte) bool {
	if string(name) != snapshot.SearchTools {
		return false
	}
	x.searchTool = snapshot.SearchTools
	return true
}
