package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/suggest"
	"github.com/sluicegate/sluice/admin/toolset"
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

	Tokens      int `json:"tokens" doc:"Estimated tokens of the definition as it is."`
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

type suggestionsInput struct {
	ToolsetInput
	Tools []string `query:"tools" maxItems:"256" doc:"Names or globs of tools; absent: all."`
}

type askInput struct {
	ToolsetInput
	Body struct {
		Tools    []string `json:"tools,omitempty" maxItems:"256" doc:"Names or globs of tools; absent: all that are enabled. At most 120 may match, or 4096 for an estimate."`
		Estimate bool     `json:"estimate,omitempty" doc:"Only say what asking takes; nothing is sent to the model."`
	}
}

func (s *Server) registerSuggestions() {
	tags := []string{"tools"}
	const path = "/v1/toolsets/{id}/suggestions"
	register(s, huma.Operation{
		OperationID: "get-suggestions", Method: http.MethodGet, Path: path, Summary: "Propose names and descriptions of tools by rules", Tags: tags,
		Description: "Proposals carry a reason and change nothing. Tools whose names and descriptions are good get none. Apply what you accept with batch-update-tools.",
	}, func(ctx context.Context, in *suggestionsInput) (*bodyOutput[Suggestions], error) {
		_, tools, names, err := s.suggestible(ctx, in.ID, in.Tools, "/tools")
		if err != nil {
			return nil, err
		}
		r := suggest.Rules(forSuggest(tools), names, openapi.ToolName)
		return &bodyOutput[Suggestions]{s.showSuggestions(fromRules, tools, &r)}, nil
	})
	register(s, huma.Operation{
		OperationID: "ask-suggestions", Method: http.MethodPost, Path: path, Summary: "Ask the model for names and descriptions of tools", Tags: tags,
		Description: "Sends names, descriptions, operations and arguments of the tools to the endpoint that the operator named with --suggest-url; off without one. " +
			"Proposals carry a reason, are checked against the rules of names, and change nothing.",
	}, func(ctx context.Context, in *askInput) (*bodyOutput[Suggestions], error) {
		d, tools, names, err := s.suggestible(ctx, in.ID, in.Body.Tools, "/tools")
		if err != nil {
			return nil, err
		}
		if s.o.Suggester == nil {
			return nil, problem.New(problem.Unavailable, "this control plane has no model to ask").
				Fix("start it with --suggest-url and --suggest-model, or take the suggestions of the rules")
		}
		if in.Body.Estimate {
			e, err := s.o.Suggester.Estimate(d.Report.Title, forSuggest(tools))
			if err != nil {
				return nil, err
			}
			shown := s.showSuggestions(fromModel, tools, &suggest.Result{})
			shown.Estimate = new(SuggestionEstimate(e))
			return &bodyOutput[Suggestions]{shown}, nil
		}
		r, err := s.o.Suggester.Suggest(ctx, d.Report.Title, forSuggest(tools), names)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[Suggestions]{s.showSuggestions(fromModel, tools, &r)}, nil
	})
}

// suggestible are the tools of a toolset that were asked for, all enabled ones by
// default, and the names that a proposal may not take: of all tools, also disabled ones
// and those of workflows.
func (s *Server) suggestible(ctx context.Context, id string, list []string, at string) (d *draft.Draft, tools []toolset.Tool, names []string, err error) {
	if d, err = s.drafts.Load(ctx, s.workspace(ctx), id); err != nil {
		return nil, nil, nil, err
	}
	g, err := toolset.ParseGlobs(list, at)
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := s.drafts.Served(ctx, d, true)
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

func (s *Server) showSuggestions(from string, tools []toolset.Tool, r *suggest.Result) Suggestions {
	out := Suggestions{From: from, Looked: len(tools), Items: []Suggestion{}, Dropped: []NoSuggestion{}}
	if s.o.Suggester != nil {
		out.Model = s.o.Suggester.Name()
	}
	byName := make(map[string]*toolset.Tool, len(tools))
	for i := range tools {
		byName[tools[i].Name] = &tools[i]
		out.Tokens += tools[i].Tokens
	}
	out.TokensAfter = out.Tokens
	for _, p := range r.Suggestions {
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
	for _, p := range r.Dropped {
		out.Dropped = append(out.Dropped, NoSuggestion(p))
	}
	return out
}
