package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
)

// ToolExamples are requests that a tool serves.
type ToolExamples struct {
	Operation toolset.Operation `json:"operation"`
	Operator  []string          `json:"operator,omitempty" doc:"Written by the operator."`
	Learned   []LearnedExample  `json:"learned,omitempty" doc:"Seen before calls that succeeded; the draft's search knows them."`
}

// examples are what the index takes of it.
func (t *ToolExamples) examples() []selection.Example {
	out := make([]selection.Example, 0, len(t.Operator))
	for _, text := range t.Operator {
		out = append(out, selection.Example{Text: text, Weight: 1})
	}
	for i := range t.Learned {
		out = append(out, selection.Example{Text: t.Learned[i].Text, Weight: t.Learned[i].Weight})
	}
	return out
}

// of finds or makes the examples of an operation.
func (c *choiceRecord) of(op toolset.Operation) *ToolExamples {
	for i := range c.Examples {
		if c.Examples[i].Operation == op {
			return &c.Examples[i]
		}
	}
	c.Examples = append(c.Examples, ToolExamples{Operation: op})
	return &c.Examples[len(c.Examples)-1]
}

const (
	// maxExampleBytes of one example: what the index looks at.
	maxExampleBytes = 400
	// maxExamples of all tools of a toolset: 64 tools with as many as count, or some
	// for each of thousands. A draft holds them, and its bundle their words.
	maxExamples = 64 * selection.MaxExamples
)

// checkExamples refuses more examples than a toolset may have.
func (c *choiceRecord) checkExamples() error {
	n := 0
	for i := range c.Examples {
		n += len(c.Examples[i].Operator)
	}
	if n <= maxExamples {
		return nil
	}
	return problem.New(problem.InvalidArgument, "with these the tools of the toolset have %d examples, more than %d", n, maxExamples).At("", 0, 0, "/examples")
}

type examplesInput struct {
	ToolInput
	request.MatchInput
	Body struct {
		Examples []string `json:"examples" maxItems:"256" doc:"Requests that this tool serves, as users or agents word them."`
	}
}

type examplesOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body ToolExamples
}

func (s *Server) registerExamples() {
	tags := []string{"selection"}
	const path = "/v1/toolsets/{id}/tools/{name}/examples"
	register(s, huma.Operation{
		OperationID: "get-examples", Method: http.MethodGet, Path: path, Summary: "Read the requests that a tool is known to serve", Tags: tags,
	}, func(ctx context.Context, in *ToolInput) (*examplesOutput, error) {
		d, err := s.load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return d.examplesAnswer(in.Name)
	})
	register(s, huma.Operation{
		OperationID: "put-examples", Method: http.MethodPut, Path: path, Summary: "Set the requests that a tool serves", Tags: tags,
		Description: "They improve the search of tools: dozens of each tool much, one or two nothing.",
	}, func(ctx context.Context, in *examplesInput) (*examplesOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.loadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		tool, err := d.toolAnswer(in.Name)
		if err != nil {
			return nil, err
		}
		c, err := choiceOf(d.ts)
		if err != nil {
			return nil, err
		}
		e := c.of(tool.Body.Operation)
		before := *e
		e.Operator = nil
		for i, text := range in.Body.Examples {
			if text = strings.TrimSpace(text); text == "" || len(text) > maxExampleBytes {
				return nil, problem.New(problem.InvalidArgument, "example %d must have 1 to %d bytes", i+1, maxExampleBytes).At("", 0, 0, "/examples")
			}
			if !slices.Contains(e.Operator, text) {
				e.Operator = append(e.Operator, text)
			}
		}
		if err := c.checkExamples(); err != nil {
			return nil, err
		}
		after := *e
		before.Learned, after.Learned = nil, nil // the audit log keeps nothing that users wrote
		if len(e.Operator) == 0 && len(e.Learned) == 0 {
			c.Examples = slices.DeleteFunc(c.Examples, func(t ToolExamples) bool { return t.Operation == e.Operation })
		}
		c.keep(d.ts)
		if err := s.saveDraft(ctx, ws, d, "tool.examples", before, after, false); err != nil {
			return nil, err
		}
		return d.examplesAnswer(in.Name)
	})
}

func (d *draft) examplesAnswer(name string) (*examplesOutput, error) {
	tool, err := d.toolAnswer(name)
	if err != nil {
		return nil, err
	}
	c, err := choiceOf(d.ts)
	if err != nil {
		return nil, err
	}
	return &examplesOutput{ETag: request.ETag(d.ts.Version), Body: *c.of(tool.Body.Operation)}, nil
}
