package rule

import (
	"slices"
	"time"
)

// Caller is who calls: the id of an access token, or the subject of a JSON Web Token.
type Caller struct{ Kind, ID string }

// CallerCell is the usage of a caller at a tool, or over hours at a toolset.
type CallerCell struct {
	Toolset, Tool string
	Caller        Caller
	Totals
	Took, Waited      uint64 // microseconds: of whole calls, and of waiting for the upstream; of minutes
	Latency, Upstream []byte // encoded histograms of both
}

// Callers is the usage of callers in the last minutes, by the second at which each begins.
// What cannot be told apart is not in it.
type Callers map[int64][]CallerCell

// callerGroups adds up what a rule over single callers looks at. nil: not now.
func (e *evaluation) callerGroups(r *Rule) (map[Scope]*group, error) {
	out := map[Scope]*group{}
	if r.Long() {
		if e.CallerHours == nil {
			return nil, nil //nolint:nilnil // nil: not now
		}
		cells, err := e.CallerHours(r.from(e.Now))
		if err != nil {
			return nil, err
		}
		return out, e.countCallers(r, cells, out)
	}
	for minute := r.from(e.Now).Unix(); minute <= e.Now.Unix(); minute += int64(time.Minute / time.Second) {
		if err := e.countCallers(r, e.Callers[minute], out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// countCallers adds cells to the groups of a rule.
func (e *evaluation) countCallers(r *Rule, cells []CallerCell, out map[Scope]*group) error {
	for i := range cells {
		c := &cells[i]
		if r.Toolset != "" && c.Toolset != r.Toolset || r.Tool != "" && c.Tool != r.Tool || r.Caller != "" && c.Caller.ID != r.Caller {
			continue
		}
		if r.Connector != "" {
			place, ok, err := e.Places.Of(c.Toolset)
			if err != nil {
				return err
			}
			if !ok || place(c.Tool).Connector != r.Connector {
				continue
			}
		}
		var k Scope
		switch r.Each {
		case EachTool:
			k = Scope{Toolset: c.Toolset, Tool: c.Tool}
		case EachToolset:
			k = Scope{Toolset: c.Toolset}
		case EachCaller:
			k = Scope{Caller: c.Caller}
		}
		g := out[k]
		if g == nil {
			g = &group{caller: c.Caller}
			out[k] = g
		}
		// An alert of the workspace is of no toolset; one of a caller is of those that are called.
		if r.Each != EachWorkspace && len(g.toolsets) < maxNamed && !slices.Contains(g.toolsets, c.Toolset) {
			g.toolsets = append(g.toolsets, c.Toolset)
			slices.Sort(g.toolsets)
		}
		if r.Each == EachTool {
			g.tools = []string{c.Tool}
		}
		g.cell.Calls, g.cell.Errors, g.cell.Tokens = g.cell.Calls+c.Calls, g.cell.Errors+c.Errors, g.cell.Tokens+c.Tokens
		if r.histograms() {
			g.cell.Took, g.cell.Waited = g.cell.Took+c.Took, g.cell.Waited+c.Waited
			g.parts = append(g.parts, &Cell{latency: [][]byte{c.Latency}, upstream: [][]byte{c.Upstream}})
		}
	}
	return nil
}
