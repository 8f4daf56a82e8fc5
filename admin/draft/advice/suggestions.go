package advice

import (
	"context"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/suggest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// Who made suggestions.
const (
	fromRules = "rules"
	fromModel = "model"
)

// Suggestion is a proposal for one tool. It changes nothing until it is applied with
// batch-update-tools.
type Suggestion struct {
	Tool        string            `json:"tool" doc:"Present name of the tool."`
	Operation   toolset.Operation `json:"operation"`
	Name        string            `json:"name,omitempty" doc:"Proposed name; absent: the present one is good."`
	Description string            `json:"description,omitempty" doc:"Proposed description; absent: the present one is good."`
	Present     string            `json:"presentDescription,omitempty" doc:"Present description, where another is proposed."`
	Reason      string            `json:"reason"`

	Tokens      int `json:"tokens" doc:"Estimated tokens of the present definition."`
	TokensAfter int `json:"tokensAfter" doc:"With what is proposed."`
}

// NoSuggestion is a tool for which what was proposed cannot be offered.
type NoSuggestion struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

// Suggestions are proposals for the tools of a toolset.
type Suggestions struct {
	From    string         `json:"from" enum:"rules,model" doc:"Who made them."`
	Model   string         `json:"model,omitempty" doc:"Name of the model that this control plane may ask; absent: none."`
	Looked  int            `json:"looked" doc:"Tools that were looked at."`
	Items   []Suggestion   `json:"items"`
	Dropped []NoSuggestion `json:"dropped" doc:"Tools for which what was proposed cannot be offered, and why."`

	Tokens      int `json:"tokens" doc:"Estimated tokens of the definitions of the tools that were looked at."`
	TokensAfter int `json:"tokensAfter" doc:"With all that is proposed."`

	Estimate *SuggestionEstimate `json:"estimate,omitempty" doc:"What asking the model takes; only where estimate was asked for, and nothing was sent then."`
}

// SuggestionEstimate is what asking the model about tools takes.
type SuggestionEstimate struct {
	Questions    int `json:"questions"`
	InputTokens  int `json:"inputTokens" doc:"Tokens that are sent, counted as OpenAI's models do."`
	OutputTokens int `json:"outputTokens" doc:"Tokens of the answers at most, when every tool gets a name and a description."`
}

// Suggest proposes names and descriptions by rules, of the tools that match.
func (r *Room) Suggest(ctx context.Context, ws *store.Workspace, id string, list []string) (*Suggestions, error) {
	_, tools, names, err := r.suggestible(ctx, ws, id, list)
	if err != nil {
		return nil, err
	}
	found := suggest.Rules(forSuggest(tools), names, openapi.ToolName)
	return r.showSuggestions(fromRules, tools, &found), nil
}

// AskModel asks the model about the tools that match, or only says what asking takes.
func (r *Room) AskModel(ctx context.Context, ws *store.Workspace, id string, list []string, estimate bool) (*Suggestions, error) {
	d, tools, names, err := r.suggestible(ctx, ws, id, list)
	if err != nil {
		return nil, err
	}
	if r.Suggester == nil {
		return nil, problem.New(problem.Unavailable, "this control plane has no model to ask").
			Fix("start it with --suggest-url and --suggest-model, or take the suggestions of the rules")
	}
	if estimate {
		e, err := r.Suggester.Estimate(d.Report.Title, forSuggest(tools))
		if err != nil {
			return nil, err
		}
		shown := r.showSuggestions(fromModel, tools, &suggest.Result{})
		shown.Estimate = new(SuggestionEstimate(e))
		return shown, nil
	}
	found, err := r.Suggester.Suggest(ctx, d.Report.Title, forSuggest(tools), names)
	if err != nil {
		return nil, err
	}
	return r.showSuggestions(fromModel, tools, &found), nil
}

// suggestible are the tools of a toolset that were asked for, all enabled ones by
// default, and the names that a proposal may not take: of all tools, also disabled ones
// and those of workflows.
func (r *Room) suggestible(ctx context.Context, ws *store.Workspace, id string, list []string) (d *draft.Draft, tools []toolset.Tool, names []string, err error) {
	if d, err = r.Drafts.Load(ctx, ws, id); err != nil {
		return nil, nil, nil, err
	}
	g, err := toolset.ParseGlobs(list, "/tools")
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := r.Drafts.Served(ctx, d, true)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, t := range all {
		names = append(names, t.Name)
		if !t.Offered() && g.Match(t.Name) && (t.Enabled || len(g.In) > 0) {
			tools = append(tools, t)
		}
	}
	if len(tools) == 0 {
		return nil, nil, nil, problem.New(problem.NotFound, "no tool matches").Fix("list the tools first")
	}
	return d, tools, names, nil
}

func forSuggest(tools []toolset.Tool) []suggest.Tool {
	out := make([]suggest.Tool, len(tools))
	for i := range tools {
		t := &tools[i]
		out[i] = suggest.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, Method: t.Operation.Method, Path: t.Operation.Path, InputSchema: t.InputSchema,
		}
	}
	return out
}

func (r *Room) showSuggestions(from string, tools []toolset.Tool, found *suggest.Result) *Suggestions {
	out := &Suggestions{From: from, Looked: len(tools), Items: []Suggestion{}, Dropped: []NoSuggestion{}}
	if r.Suggester != nil {
		out.Model = r.Suggester.Name()
	}
	byName := make(map[string]*toolset.Tool, len(tools))
	for i := range tools {
		byName[tools[i].Name] = &tools[i]
		out.Tokens += tools[i].Tokens
	}
	out.TokensAfter = out.Tokens
	for _, p := range found.Suggestions {
		t := byName[p.Tool]
		shown := Suggestion{Tool: p.Tool, Operation: t.Operation, Name: p.Name, Description: p.Description, Reason: p.Reason}
		shown.Tokens, shown.TokensAfter = t.Tokens, t.Tokens
		if p.Description != "" {
			shown.Present = t.Description
			shown.TokensAfter += tokens.Estimate([]byte(p.Description)) - tokens.Estimate([]byte(t.Description))
		}
		if p.Name != "" {
			shown.TokensAfter += tokens.Estimate([]byte(p.Name)) - tokens.Estimate([]byte(t.Name))
		}
		out.TokensAfter += shown.TokensAfter - shown.Tokens
		out.Items = append(out.Items, shown)
	}
	for _, p := range found.Dropped {
		out.Dropped = append(out.Dropped, NoSuggestion(p))
	}
	return out
}
