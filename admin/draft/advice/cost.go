package advice

import (
	"encoding/json"
	"fmt"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

// weigh measures tools/list in each mode. offered are the tools of workflows, which are
// listed whatever is chosen, but found like the others in the mode search.
func (r *Room) weigh(d *draft.Draft, offered []toolset.Tool) (*SelectionAdvice, error) {
	workflows, n := draft.EnabledCount(offered), draft.EnabledCount(d.Tools(false))
	n += workflows
	a := &SelectionAdvice{All: SelectionMode{Tools: n}, Search: SelectionMode{Tools: 3}, Code: SelectionMode{Tools: 2}}
	workflowTokens := 0
	for i := range offered {
		if offered[i].Enabled {
			workflowTokens += offered[i].Tokens
		}
	}
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return nil, err
	}
	var chosen []choice.Tool
	if c.UseCase != "" {
		if chosen = c.Tools; chosen == nil {
			if chosen, err = d.ChooseFor(c.UseCase); err != nil && !problem.Is(err, problem.InvalidArgument) {
				return nil, err
			}
		}
	}
	edits, err := d.RegistryEdits()
	if err != nil {
		return nil, err
	}
	for _, m := range []struct {
		mode string
		to   *SelectionMode
	}{{registry.SelectAll, &a.All}, {registry.SelectSearch, &a.Search}, {registry.SelectCode, &a.Code}, {registry.SelectUseCase, &SelectionMode{Tools: len(chosen) + workflows}}} {
		t := &registry.Toolset{
			Slug: d.Toolset.Slug, Name: d.Toolset.Name, Access: registry.Access{Mode: registry.AccessNone}, Selection: &registry.Selection{Mode: m.mode, Batch: c.Batch},
			Connectors: draft.BareRefs(d), Tools: edits,
		}
		if m.mode == registry.SelectUseCase {
			if len(chosen) == 0 {
				continue
			}
			for _, tool := range chosen {
				t.Selection.Tools = append(t.Selection.Tools, registry.SelectedTool(tool.Operation))
			}
			a.UseCase = m.to
		}
		if r.Lister == nil {
			m.to.Tokens = definitionTokens(d, t.Selection)
		} else {
			list, err := r.Lister.List(t, d.Connectors(), nil)
			if err != nil {
				return nil, err
			}
			var listed []json.RawMessage // with the gateway's own, such as fetch_result
			if err := json.Unmarshal(list, &listed); err != nil {
				return nil, fmt.Errorf("counting what is listed: %w", err)
			}
			m.to.Tools, m.to.Tokens = len(listed), countList(list)
			if !t.NeedsIndex() {
				m.to.Tools += workflows
			}
		}
		if !t.NeedsIndex() {
			m.to.Tokens += workflowTokens
		}
	}
	switch {
	case n <= manyTools:
		a.Recommended, a.Reason = registry.SelectAll, fmt.Sprintf("%d tools are few enough for every client", n)
	case a.UseCase != nil && len(chosen)+workflows <= manyTools:
		a.Recommended, a.Reason = registry.SelectUseCase, fmt.Sprintf("%d tools serve the use case", len(chosen)+workflows)
	default:
		a.Recommended, a.Reason = registry.SelectSearch, fmt.Sprintf("clients show 40 to 128 tools, the toolset has %d; with a use case it can list just those it needs", n)
	}
	return a, nil
}

// ListTokens is what tools/list costs as a client of the toolset gets it. Without a
// gateway it is the sum of the definitions.
func (r *Room) ListTokens(d *draft.Draft, tools []toolset.Tool) (int, error) {
	sum, workflows := 0, 0
	for i := range tools {
		switch {
		case !tools[i].Enabled:
		case tools[i].Offered():
			workflows += tools[i].Tokens
		default:
			sum += tools[i].Tokens
		}
	}
	if r.Lister == nil || d.Bundle == nil {
		return sum + workflows, nil
	}
	bare := *d.Bundle
	bare.Plugins, bare.Workflows = nil, nil
	list, err := r.Lister.List(&bare, d.Connectors(), nil)
	return countList(list) + workflows, err
}

// countedBytes of a list are counted exactly, at some megabytes a second; the cost of
// longer ones is estimated.
const countedBytes = 256 << 10

// countList says what a list costs, wherever its cost is shown.
func countList(list []byte) int {
	if len(list) > countedBytes {
		return tokens.Estimate(list)
	}
	return tokens.Count(list)
}

// definitionTokens estimates without a gateway: the sum of the definitions.
func definitionTokens(d *draft.Draft, sel *registry.Selection) int {
	const searchMode, codeMode = 1200, 400 // what their tools may cost at most
	switch sel.Mode {
	case registry.SelectSearch:
		return searchMode
	case registry.SelectCode:
		return codeMode
	}
	listed := map[toolset.Operation]bool{}
	for _, t := range sel.Tools {
		listed[toolset.Operation(t)] = true
	}
	n := 0
	for _, t := range d.Tools(false) {
		if t.Enabled && (sel.Mode == registry.SelectAll || listed[t.Operation]) {
			n += t.Tokens
		}
	}
	return n
}
