package workflow

import (
	"strings"

	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// WorkflowChange is what a new version of a specification does to a tool that makes calls of its
// own: a workflow of a document, or a script.
type WorkflowChange struct {
	Name string `json:"name" doc:"Of the workflow or script."`
	// Effect is the gravest.
	Effect     string   `json:"effect" enum:"waits,breaking,serves" doc:"waits: operations that it calls are gone, and it is not served until they are back or it is replaced. breaking: operations that it calls changed in a breaking way, and it is served. serves: what it waited for is there."`
	Operations []string `json:"operations" doc:"Those operations: method and path." example:"[\"GET /items/{id}\"]"`
}

// Effects of a [WorkflowChange].
const (
	Waits    = "waits"
	Breaking = "breaking"
	Serves   = "serves"
)

// Changed are the workflows and scripts that call what a connector of the toolset lost, got
// or changed in a breaking way.
func Changed(list []registry.Workflow, of string, tools []connector.ToolChange) []WorkflowChange {
	effects := map[string]string{}
	for i := range tools {
		switch t := &tools[i]; {
		case t.Kind == connector.ToolRemoved:
			effects[t.Method+" "+t.Path] = Waits
		case t.Kind == connector.ToolAdded:
			effects[t.Method+" "+t.Path] = Serves
		case t.Impact == connector.ImpactBreaking:
			effects[t.Method+" "+t.Path] = Breaking
		}
	}
	var out []WorkflowChange
	for i := range list {
		by := map[string][]string{}
		for _, c := range list[i].Calls {
			operation := strings.ToUpper(c.Method) + " " + c.Path
			if effect := effects[operation]; c.Connector == of && effect != "" {
				by[effect] = append(by[effect], operation)
			}
		}
		for _, effect := range []string{Waits, Breaking, Serves} {
			if len(by[effect]) > 0 {
				out = append(out, WorkflowChange{list[i].Name, effect, by[effect]})
				break
			}
		}
	}
	return out
}
