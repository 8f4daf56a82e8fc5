package call

import (
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxContentItems of one result: clients show a few, and each costs a walk.
const maxContentItems = 10_000

// checkResult refuses a result of an MCP server that is not as the protocol has it
// (MCP 2026-07-28 "CallToolResult"): clients are of many minds about such a one, and
// what one ignores another shows.
func (x *exchange) checkResult(r *resultFacts) error {
	fault := func(format string, args ...any) error {
		return problem.New(problem.UpstreamMalformed, "the result of the MCP server is malformed: "+format, args...).Fix("look at the log of the server")
	}
	if r.isError.Exists() && r.isError.Kind() != jsonscan.Bool {
		return fault("isError must be a boolean, got %s", r.isError.Kind())
	}
	if r.meta.Exists() && r.meta.Kind() != jsonscan.Object {
		return fault("_meta must be an object, got %s", r.meta.Kind())
	}
	// Servers of 2026-07-28 may answer with any value.
	if r.structured.Exists() && r.structured.Kind() != jsonscan.Object && !x.server().Modern {
		return fault("structuredContent must be an object, got %s", r.structured.Kind())
	}
	lists := 0
	for i := range x.parts {
		if !x.parts[i].named {
			continue
		}
		lists++
		v := x.parts[i].value
		if v.Kind() != jsonscan.Array {
			return fault("content must be an array, got %s", v.Kind())
		}
		n := 0
		for e := v.Elements(); e.Next(); n++ {
			if n == maxContentItems {
				return fault("it has more than %d items", maxContentItems)
			}
			if what := mcp.ContentFault(e.Value()); what != "" {
				return fault("item %d %s", n, what)
			}
		}
	}
	if lists == 0 {
		return fault("it has no content")
	}
	return nil
}
