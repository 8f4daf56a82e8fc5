package advice

import (
	"context"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/admin/toolset/suggest"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// Room says what selections of the tools of a draft find, list and cost.
type Room struct {
	Drafts *draft.Room
	// Lister renders tools/list; nil: tokens are estimated from the definitions.
	Lister Lister
	// Suggester is asked for names and descriptions of tools; nil: only rules make some.
	Suggester *suggest.Model
	indexes   toolset.IndexCache
}

// Lister renders what a client would list of a draft, as the gateway does.
type Lister interface {
	// List returns the JSON array of tools/list. index is the stored index of the
	// tools; it may be nil outside search mode.
	List(t *registry.Toolset, connectors map[string]*connector.Connector, index []byte) ([]byte, error)
}

// manyTools is how many tools need a selection: the fewest that a known client
// (Cursor) shows.
const manyTools = 40

// SelectionMode is one way to select, with its cost.
type SelectionMode struct {
	Tools  int `json:"tools" doc:"Tools that a client lists, with those of the gateway such as fetch_result."`
	Tokens int `json:"tokens" doc:"Estimated tokens of tools/list."`
}

// SelectionAdvice says what each selection would cost.
type SelectionAdvice struct {
	Recommended string         `json:"recommended" enum:"all,use-case,search"`
	Reason      string         `json:"reason"`
	All         SelectionMode  `json:"all"`
	UseCase     *SelectionMode `json:"useCase,omitempty" doc:"Absent without a use case."`
	Search      SelectionMode  `json:"search"`
	Code        SelectionMode  `json:"code"`
}

// ChosenTool is a tool that was chosen for a use case.
type ChosenTool struct {
	Name      string            `json:"name"`
	Operation toolset.Operation `json:"operation"`
	Score     float32           `json:"score" doc:"Of the search; 0 for a tool that another needs."`
	Clause    string            `json:"clause,omitempty" doc:"Part of the use case it serves."`
	NeededBy  string            `json:"neededBy,omitempty" doc:"Tool that needs what this one gives."`
	Gives     string            `json:"gives,omitempty" doc:"Parameter of that tool."`
	Tokens    int               `json:"tokens"`
	Plugin    string            `json:"plugin,omitempty" doc:"The workflow that offers it: it is listed with every choice."`
}

// ToolSelection is how a toolset selects its tools.
type ToolSelection struct {
	Selection string           `json:"selection" enum:"all,use-case,search,code"`
	UseCase   string           `json:"useCase,omitempty"`
	Tools     []ChosenTool     `json:"tools" doc:"use-case: the chosen tools, best first, behind them what they need, and the tools of workflows."`
	Advice    *SelectionAdvice `json:"advice"`
}

// SearchResult is a tool that a search found.
type SearchResult struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Operation   toolset.Operation  `json:"operation"`
	Annotations plugin.Annotations `json:"annotations"`
	Score       float32            `json:"score"`
	Components  map[string]float32 `json:"components" doc:"Parts of the score."`
}

// SearchAnswer is what search_tools would find.
type SearchAnswer struct {
	Query   string         `json:"query"`
	Fits    bool           `json:"fits" doc:"false: nothing is likely to be what was asked for."`
	Fit     float32        `json:"fit" doc:"How well the best fits, 0 to 1."`
	Results []SearchResult `json:"results"`
}

// Advise says what each selection would cost; nil for a toolset of few tools.
func (r *Room) Advise(ctx context.Context, d *draft.Draft) (*SelectionAdvice, error) {
	offered, err := r.Drafts.Workflows(ctx, d, false)
	if err != nil {
		return nil, err
	}
	if draft.EnabledCount(d.Tools(false))+draft.EnabledCount(offered) <= manyTools {
		return nil, nil //nolint:nilnil // no advice is needed
	}
	return r.weigh(d, offered)
}

// Selection says which tools clients list, and what each selection costs.
func (r *Room) Selection(ctx context.Context, d *draft.Draft) (ToolSelection, error) {
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return ToolSelection{}, err
	}
	tools := d.Tools(false)
	byOp := make(map[toolset.Operation]*toolset.Tool, len(tools))
	for i := range tools {
		byOp[tools[i].Operation] = &tools[i]
	}
	out := ToolSelection{Selection: c.Mode, UseCase: c.UseCase, Tools: []ChosenTool{}}
	for _, t := range c.Tools {
		tool := byOp[t.Operation]
		if tool == nil {
			continue
		}
		shown := ChosenTool{Name: tool.Name, Operation: t.Operation, Score: t.Score, Clause: t.Clause, Gives: t.Gives, Tokens: tool.Tokens}
		if t.For != nil && byOp[*t.For] != nil {
			shown.NeededBy = byOp[*t.For].Name
		}
		out.Tools = append(out.Tools, shown)
	}
	offered, err := r.Drafts.Workflows(ctx, d, false)
	if err != nil {
		return ToolSelection{}, err
	}
	for i := range offered {
		if t := &offered[i]; t.Enabled && c.Mode == registry.SelectUseCase {
			out.Tools = append(out.Tools, ChosenTool{Name: t.Name, Operation: t.Operation, Tokens: t.Tokens, Plugin: t.Plugin})
		}
	}
	if out.Advice, err = r.weigh(d, offered); err != nil {
		return ToolSelection{}, err
	}
	return out, nil
}

// Search asks an index of the draft.
func (r *Room) Search(ctx context.Context, d *draft.Draft, query string, k int) (*SearchAnswer, error) {
	all, tools, err := d.Indexed()
	if err != nil {
		return nil, err
	}
	offers, err := r.Drafts.Offers(ctx, d, false)
	if err != nil {
		return nil, err
	}
	for i := range offers {
		if o := &offers[i]; o.Enabled { // behind the tools of the API, as in the index of gateways
			it := registry.IndexWorkflow(o.Manifest, o.Edit)
			it.SelectedTool = registry.SelectedTool(o.Operation)
			all, tools = append(all, it), append(tools, it.Tool)
		}
	}
	workflows, err := d.IndexedWorkflows()
	if err != nil {
		return nil, err
	}
	for i := range workflows {
		all, tools = append(all, workflows[i]), append(tools, workflows[i].Tool)
	}
	x := r.indexes.Get(d.Toolset.ID, d.Toolset.Version)
	if x == nil {
		x = selection.Build(tools, selection.DefaultTable())
		r.indexes.Put(d.Toolset.ID, d.Toolset.Version, x)
	}
	described, err := d.Described(false)
	if err != nil {
		return nil, err
	}
	q := x.NewSearcher()
	out := &SearchAnswer{Query: query, Results: []SearchResult{}}
	shown := map[toolset.Operation]*toolset.Tool{}
	list := d.Tools(false)
	for i := range list {
		shown[list[i].Operation] = &list[i]
	}
	for i := range offers {
		shown[offers[i].Operation] = &offers[i].Tool
	}
	for i := range described {
		shown[described[i].Operation] = &described[i]
	}
	for _, h := range q.Search(query, k) {
		op := toolset.Operation(all[h.Tool].SelectedTool)
		t := shown[op]
		r := SearchResult{Name: t.Name, Description: t.Description, Operation: op, Annotations: t.Annotations, Score: h.Score, Components: map[string]float32{}}
		for i, name := range selection.FeatureNames {
			r.Components[name] = h.Features[i]
		}
		out.Results = append(out.Results, r)
	}
	out.Fits, out.Fit = q.Fits(), q.Fit()
	return out, nil
}
