package call

import (
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/script"
)

// runSaved runs the script that is a tool of its own. It may call what it was saved with, also
// what may destroy: whoever saved it has seen that, and the tool says it.
func (x *exchange) runSaved(args jsonscan.Value) (r received, err error) {
	if x.c.scripts == nil {
		return r, problem.New(problem.Unavailable, "this node does not run scripts")
	}
	ctx, end := x.beginNested()
	defer end()
	x.hash = x.tool.Workflow.Hash()
	s := &scriptCalls{nested: nested{x: x}, saved: true}
	run := script.Script{Code: script.Source(x.tool.Workflow.Document.Script.Code), Share: x.ts.ID, Caller: x.principalKey, Tools: s, Arguments: x.tool.Workflow.WithDefaults(args)}
	x.limits(&run)
	result, err := x.c.scripts.Run(ctx, run)
	x.upstream = result.Waited
	s.traced()
	if err != nil {
		return r, x.scriptFailure(err, s)
	}
	return x.scriptValue(&result), nil
}
