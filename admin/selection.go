package admin

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/choice"
	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/workflow"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

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
	Tools  int `json:"tools" doc:"Tools that a client lists."`
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
	Components  map[string]float32 `json:"components" doc:"What the score is made of."`
}

// SearchAnswer is what search_tools would find.
type SearchAnswer struct {
	Query   string         `json:"query"`
	Fits    bool           `json:"fits" doc:"false: nothing is likely to be what was asked for."`
	Fit     float32        `json:"fit" doc:"How well the best fits, 0 to 1."`
	Results []SearchResult `json:"results"`
}

func (t *Toolset) showSelection(ts *store.Toolset) error {
	c, err := choice.Of(ts)
	if err != nil {
		return err
	}
	t.Selection, t.UseCase, t.Learn, t.Batch, t.Destructive, t.ScriptLimits = c.Mode, c.UseCase, c.Learn, c.Batch, c.Destructive, c.Limits
	return nil
}

// given is s, or nil when it is empty.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// indexed lists the tools of the draft as an index sees them, with their examples.
func (d *draft) indexed() ([]registry.IndexedTool, []selection.Tool, error) {
	edits, err := d.registryEdits()
	if err != nil {
		return nil, nil, err
	}
	t := &registry.Toolset{Slug: d.ts.Slug, Connectors: d.bareRefs(), Tools: edits}
	all, err := registry.IndexTools(t, d.connectors())
	if err != nil {
		return nil, nil, err
	}
	c, err := choice.Of(d.ts)
	if err != nil {
		return nil, nil, err
	}
	examples := make(map[toolset.Operation][]selection.Example, len(c.Examples))
	for i := range c.Examples {
		examples[c.Examples[i].Operation] = c.Examples[i].Weighted()
	}
	tools := make([]selection.Tool, len(all))
	for i := range all {
		all[i].Examples = examples[toolset.Operation(all[i].SelectedTool)]
		tools[i] = all[i].Tool
	}
	return all, tools, nil
}

// bareRefs name the connectors of the draft.
func (d *draft) bareRefs() []registry.ConnectorRef {
	out := make([]registry.ConnectorRef, len(d.parts))
	for i, p := range d.parts {
		out[i].Name, out[i].Fixed = p.row.Name, toolset.ShowFixed(p.row.Fixed)
	}
	return out
}

// chooseAnew changes the selection of a draft; nil keeps a field.
func (d *draft) chooseAnew(mode, useCase *string, learn *bool) error {
	if mode == nil && useCase == nil {
		return choice.SetLearning(d.ts, learn)
	}
	c, err := choice.Of(d.ts)
	if err != nil {
		return err
	}
	if useCase != nil {
		c.UseCase = strings.TrimSpace(*useCase)
	}
	if mode != nil {
		c.Mode = *mode
	}
	c.Tools = nil
	if c.Mode == registry.SelectUseCase {
		if c.UseCase == "" {
			return problem.New(problem.InvalidArgument, "the selection use-case needs the use case in words").At("", 0, 0, "/useCase").
				Fix("say what the toolset is for, for example: list open invoices and send reminders")
		}
		if c.Tools, err = d.chooseFor(c.UseCase); err != nil {
			return err
		}
	}
	if c.Mode != registry.SelectSearch {
		c.Learn = false
	}
	if c.Mode != registry.SelectCode && !c.Batch {
		c.Destructive = false
	}
	c.Keep(d.ts)
	return choice.SetLearning(d.ts, learn)
}

// chooseFor finds the tools for a use case.
func (d *draft) chooseFor(useCase string) ([]choice.Tool, error) {
	all, tools, err := d.indexed()
	if err != nil {
		return nil, err
	}
	return choice.For(useCase, all, tools)
}

// selectTools puts the selection into the toolset of a bundle and returns the
// index of its tools, which the modes search and code need. A choice stays as it was made, also
// when the specification changes: what is gone is left out, and only a part of the
// use case that nothing serves any more is chosen for again.
func (d *draft) selectTools(t *registry.Toolset) ([]byte, error) {
	c, err := choice.Of(d.ts)
	if err != nil {
		return nil, err
	}
	t.ScriptLimits = c.Limits
	switch c.Mode {
	case registry.SelectSearch, registry.SelectCode:
		t.Selection = &registry.Selection{Mode: c.Mode, UseCase: c.UseCase, Learn: c.Learn, Batch: c.Batch, Destructive: c.Destructive}
		_, tools, err := d.indexed()
		if err != nil {
			return nil, err
		}
		for i := range t.Plugins { // bindPlugins has put them there
			if m := d.plugins[i].Manifest; m.Tool != nil {
				tools = append(tools, registry.IndexWorkflow(m, t.Plugins[i].Tool).Tool)
			}
		}
		documents, err := workflow.Index(t.Workflows)
		if err != nil {
			return nil, err
		}
		for i := range documents {
			tools = append(tools, documents[i].Tool)
		}
		return selection.Build(tools, selection.DefaultTable()).Append(nil), nil
	case registry.SelectUseCase:
		if err := d.renew(c); err != nil {
			return nil, err
		}
		t.Selection = &registry.Selection{Mode: c.Mode, UseCase: c.UseCase, Batch: c.Batch, Destructive: c.Destructive}
		for _, tool := range c.Tools {
			t.Selection.Tools = append(t.Selection.Tools, registry.SelectedTool(tool.Operation))
		}
	default:
		if c.Batch {
			t.Selection = &registry.Selection{Mode: c.Mode, Batch: true, Destructive: c.Destructive}
		}
	}
	return nil, nil
}

// renew leaves out of a choice what the draft does not have or has disabled, and
// fills the gaps.
func (d *draft) renew(c *choice.Choice) error {
	enabled := map[toolset.Operation]bool{}
	for _, t := range d.tools(false) {
		if t.Enabled {
			enabled[t.Operation] = true
		}
	}
	kept := make([]choice.Tool, 0, len(c.Tools))
	served, have, lost := map[string]bool{}, map[toolset.Operation]bool{}, map[string]bool{}
	for _, t := range c.Tools {
		if enabled[t.Operation] {
			kept = append(kept, t)
			served[t.Clause], have[t.Operation] = true, true
		} else {
			lost[t.Clause] = true
		}
	}
	if len(kept) == len(c.Tools) {
		return nil
	}
	again, err := d.chooseFor(c.UseCase)
	if err != nil {
		return err
	}
	for _, t := range again {
		gap := t.Clause != "" && lost[t.Clause] && !served[t.Clause] || t.For != nil && have[*t.For]
		if gap && !have[t.Operation] {
			kept = append(kept, t)
			have[t.Operation] = true
		}
	}
	if len(kept) == 0 {
		kept = again
	}
	c.Tools = kept
	c.Keep(d.ts)
	return nil
}

// serves reports whether the draft's tools/list, or its search, has an operation.
func (d *draft) serves(op toolset.Operation) bool {
	c, err := choice.Of(d.ts)
	if err != nil || c.Mode != registry.SelectUseCase {
		return true
	}
	for _, t := range c.Tools {
		if t.Operation == op {
			return true
		}
	}
	return false
}

// advice says what each selection would cost; nil for a toolset of few tools.
func (s *Server) advice(ctx context.Context, d *draft) (*SelectionAdvice, error) {
	offered, err := s.workflows(ctx, d, false)
	if err != nil {
		return nil, err
	}
	if enabledCount(d.tools(false))+enabledCount(offered) <= manyTools {
		return nil, nil //nolint:nilnil // no advice is needed
	}
	return s.weigh(d, offered)
}

type searchInput struct {
	ToolsetInput
	Query string `query:"q" required:"true" minLength:"1" maxLength:"2000" doc:"What to search for."`
	K     int    `query:"k" minimum:"1" maximum:"40" default:"8"`
}

type previewSelectionInput struct {
	ToolsetInput
	Body struct {
		UseCase string `json:"useCase" minLength:"1" maxLength:"4096"`
	}
}

func (s *Server) registerSelection() {
	tags := []string{"selection"}
	register(s, huma.Operation{
		OperationID: "search-tools", Method: http.MethodGet, Path: "/v1/toolsets/{id}/search", Tags: tags,
		Summary: "Search the enabled tools of a toolset as search_tools does",
	}, func(ctx context.Context, in *searchInput) (*bodyOutput[SearchAnswer], error) {
		d, err := s.load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		a, err := s.search(ctx, d, in.Query, in.K)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[SearchAnswer]{*a}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-selection", Method: http.MethodGet, Path: "/v1/toolsets/{id}/selection", Tags: tags,
		Summary: "Read which tools clients list, why, and what each selection costs",
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[ToolSelection], error) {
		d, err := s.load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return s.showSelection(ctx, d)
	})
	register(s, huma.Operation{
		OperationID: "preview-selection", Method: http.MethodPost, Path: "/v1/toolsets/{id}/selection/preview", Tags: tags,
		Summary: "Choose tools for a use case and store nothing",
	}, func(ctx context.Context, in *previewSelectionInput) (*bodyOutput[ToolSelection], error) {
		d, err := s.load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		mode := registry.SelectUseCase
		if err := d.chooseAnew(&mode, &in.Body.UseCase, nil); err != nil {
			return nil, err
		}
		return s.showSelection(ctx, d)
	})
	s.registerExamples()
}

func (s *Server) showSelection(ctx context.Context, d *draft) (*bodyOutput[ToolSelection], error) {
	c, err := choice.Of(d.ts)
	if err != nil {
		return nil, err
	}
	tools := d.tools(false)
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
	offered, err := s.workflows(ctx, d, false)
	if err != nil {
		return nil, err
	}
	for i := range offered {
		if t := &offered[i]; t.Enabled && c.Mode == registry.SelectUseCase {
			out.Tools = append(out.Tools, ChosenTool{Name: t.Name, Operation: t.Operation, Tokens: t.Tokens, Plugin: t.Plugin})
		}
	}
	if out.Advice, err = s.weigh(d, offered); err != nil {
		return nil, err
	}
	return &bodyOutput[ToolSelection]{out}, nil
}

// search asks an index of the draft.
func (s *Server) search(ctx context.Context, d *draft, query string, k int) (*SearchAnswer, error) {
	all, tools, err := d.indexed()
	if err != nil {
		return nil, err
	}
	offers, err := s.offers(ctx, d, false)
	if err != nil {
		return nil, err
	}
	for i := range offers {
		if o := &offers[i]; o.Enabled { // behind the tools of the API, as in the index of gateways
			it := registry.IndexWorkflow(o.manifest, o.edit)
			it.SelectedTool = registry.SelectedTool(o.Operation)
			all, tools = append(all, it), append(tools, it.Tool)
		}
	}
	workflows, err := d.indexedWorkflows()
	if err != nil {
		return nil, err
	}
	for i := range workflows {
		all, tools = append(all, workflows[i]), append(tools, workflows[i].Tool)
	}
	x := s.indexes.Get(d.ts.ID, d.ts.Version)
	if x == nil {
		x = selection.Build(tools, selection.DefaultTable())
		s.indexes.Put(d.ts.ID, d.ts.Version, x)
	}
	described, err := d.described(false)
	if err != nil {
		return nil, err
	}
	q := x.NewSearcher()
	out := &SearchAnswer{Query: query, Results: []SearchResult{}}
	shown := map[toolset.Operation]*toolset.Tool{}
	list := d.tools(false)
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
