package call

import (
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// noArguments is what a call without arguments is checked as.
var noArguments = jsonscan.Trusted([]byte("{}"))

// decode makes the tool ready and checks the arguments. Wrong ones never reach
// the upstream; the agent gets each fault with its JSON pointer.
func (x *exchange) decode() error {
	var err error
	if x.ready, err = x.tool.Load(); err != nil {
		return err
	}
	if !x.args.Exists() {
		x.args = noArguments
	}
	if x.ready.MCP != nil {
		return nil // the server checks: what it wants now may differ from what was pinned
	}
	if err := x.takeFields(x.ready.Answer); err != nil {
		return err
	}
	if err := x.ready.Plan.Check(x.args); err != nil {
		return err
	}
	if x.ready.Base.Zero() {
		return problem.New(problem.Unavailable, "nobody said where this API is: its specification names no server").
			Fix("set the base URL of the toolset %s", x.ts.Slug)
	}
	return nil
}
