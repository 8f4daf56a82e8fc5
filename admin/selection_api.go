package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/choice"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
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

// advice says what each selection would cost; nil for a toolset of few tools.
func (s *Server) advice(ctx context.Context, d *draft.Draft) (*SelectionAdvice, error) {
	offered, err := s.drafts.Workflows(ctx, d, false)
	if err != nil {
		return nil, err
	}
	if draft.EnabledCount(d.Tools(false))+draft.EnabledCount(offered) <= manyTools {
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
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
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
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return s.showSelection(ctx, d)
	})
	register(s, huma.Operation{
		OperationID: "preview-selection", Method: http.MethodPost, Path: "/v1/toolsets/{id}/selection/preview", Tags: tags,
		Summary: "Choose tools for a use case and store nothing",
	}, func(ctx context.Context, in *previewSelectionInput) (*bodyOutput[ToolSelection], error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		mode := registry.SelectUseCase
		if err := d.ChooseAnew(&mode, &in.Body.UseCase, nil); err != nil {
			return nil, err
		}
		return s.showSelection(ctx, d)
	})
	s.registerExamples()
}

func (s *Server) showSelection(ctx context.Context, d *draft.Draft) (*bodyOutput[ToolSelection], error) {
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return nil, err
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
	offered, err := s.drafts.Workflows(ctx, d, false)
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
func (s *Server) search(ctx context.Context, d *draft.Draft, query string, k int) (*SearchAnswer, error) {
	all, tools, err := d.Indexed()
	if err != nil {
		return nil, err
	}
	offers, err := s.drafts.Offers(ctx, d, false)
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
	x := s.indexes.Get(d.Toolset.ID, d.Toolset.Version)
	if x == nil {
		x = selection.Build(tools, selection.DefaultTable())
		s.indexes.Put(d.Toolset.ID, d.Toolset.Version, x)
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
