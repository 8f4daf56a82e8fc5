package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// learnedWeight is the most that a learned request weighs among examples; the
// operator's weigh 1. A tool with a few learned ones is then no likelier than before:
// see internal/selection, which trusts examples by the cube of their weight.
const learnedWeight = .5

// LearnedExample is a learned request in the index of a draft.
type LearnedExample struct {
	Text   string  `json:"text"`
	Weight float32 `json:"weight" doc:"Among the operator's examples, which weigh 1."`
}

// LearnedRequest is a request that a tool was seen to serve.
type LearnedRequest struct {
	Tool      string            `json:"tool" doc:"Present name of the tool; empty when the toolset has it no more."`
	Operation toolset.Operation `json:"operation"`
	Query     string            `json:"query" doc:"Redacted where it was seen."`
	Uses      float64           `json:"uses" doc:"How often it was asked; halves in 30 days."`
	Used      bool              `json:"used" doc:"The draft's search knows it."`
	FirstAt   time.Time         `json:"firstAt"`
	LastAt    time.Time         `json:"lastAt"`
}

// LearnedRequests is what a toolset learned.
type LearnedRequests struct {
	Learn bool             `json:"learn" doc:"Whether the draft says that the toolset learns."`
	Total int              `json:"total"`
	Items []LearnedRequest `json:"items" doc:"Tool after tool, the most used first."`
}

// DeletedRequests says how many learned requests were deleted.
type DeletedRequests struct {
	Deleted int `json:"deleted"`
}

type learnedInput struct {
	ToolsetInput
	Tool  string `query:"tool" maxLength:"64" doc:"Only of this tool."`
	Limit int    `query:"limit" minimum:"1" maximum:"2048" default:"200"`
}

type deleteLearnedInput struct {
	ToolsetInput
	request.MatchInput
	Tool  string `query:"tool" maxLength:"64" doc:"Only of this tool. Default: of all."`
	Query string `query:"query" maxLength:"400" doc:"Only this request. Default: all."`
}

type useLearnedInput struct {
	ToolsetInput
	request.MatchInput
}

func (s *Server) registerLearned() {
	tags := []string{"selection"}
	const path = "/v1/toolsets/{id}/learned"
	register(s, huma.Operation{
		OperationID: "get-learned", Method: http.MethodGet, Path: path, Tags: tags,
		Summary: "List the searches that successful calls followed",
	}, s.listLearned)
	register(s, huma.Operation{
		OperationID: "delete-learned", Method: http.MethodDelete, Path: path, Tags: tags,
		Summary:     "Delete learned requests for good",
		Description: "They leave the draft too and are not learned again. What is live is without them when the draft is deployed.",
	}, s.deleteLearned)
	register(s, huma.Operation{
		OperationID: "use-learned", Method: http.MethodPost, Path: path + "/use", Tags: tags,
		Summary:     "Take what was learned so far into the draft",
		Description: "Every other change of the draft does that too.",
	}, func(ctx context.Context, in *useLearnedInput) (*toolsetOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.loadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		before := d.ts.Selection
		if err := s.adoptLearned(ctx, d); err != nil {
			return nil, err
		}
		if d.ts.Selection != before {
			// The audit log keeps no requests: it says how many there are.
			if err := s.saveDraft(ctx, ws, d, "toolset.learned.use", nil, map[string]int{"learned": learnedCount(d.ts)}, false); err != nil {
				return nil, err
			}
		}
		return s.toolsetAnswer(ctx, ws, d)
	})
}

func (s *Server) listLearned(ctx context.Context, in *learnedInput) (*bodyOutput[LearnedRequests], error) {
	ws := s.workspace(ctx)
	d, err := s.load(ctx, ws, in.ID)
	if err != nil {
		return nil, err
	}
	c, err := choiceOf(d.ts)
	if err != nil {
		return nil, err
	}
	rows, names, err := s.learnedOf(ctx, ws, d, in.Tool)
	if err != nil {
		return nil, err
	}
	out := LearnedRequests{Learn: c.Learn, Total: len(rows), Items: []LearnedRequest{}}
	for i := range rows[:min(len(rows), in.Limit)] {
		r := &rows[i]
		op := d.learnedBy(r)
		out.Items = append(out.Items, LearnedRequest{
			Tool: names[op], Operation: op, Query: r.Query, Uses: r.Uses(), Used: c.uses(op, r.Query), FirstAt: r.FirstAt.Time, LastAt: r.LastAt.Time,
		})
	}
	return &bodyOutput[LearnedRequests]{out}, nil
}

// learnedOf reads what a toolset learned, of one tool when it is named, and the
// present names of its tools.
func (s *Server) learnedOf(ctx context.Context, ws *store.Workspace, d *draft, tool string) ([]store.Learned, map[toolset.Operation]string, error) {
	names := map[toolset.Operation]string{}
	named := false
	for _, t := range d.tools(false) {
		names[t.Operation] = t.Name
		named = named || t.Name == tool
	}
	if tool != "" && !named {
		return nil, nil, notFoundTool(tool)
	}
	rows, err := ws.Learned(ctx, d.ts.ID)
	if err != nil {
		return nil, nil, err
	}
	if tool != "" {
		rows = slices.DeleteFunc(rows, func(r store.Learned) bool { return names[d.learnedBy(&r)] != tool })
	}
	return rows, names, nil
}

func (s *Server) deleteLearned(ctx context.Context, in *deleteLearnedInput) (*bodyOutput[DeletedRequests], error) {
	ws := s.workspace(ctx)
	d, err := s.loadMatching(ctx, ws, in.ID, &in.MatchInput)
	if err != nil {
		return nil, err
	}
	rows, _, err := s.learnedOf(ctx, ws, d, in.Tool)
	if err != nil {
		return nil, err
	}
	if in.Query != "" {
		rows = slices.DeleteFunc(rows, func(r store.Learned) bool { return r.Query != in.Query })
		if len(rows) == 0 {
			return nil, problem.New(problem.NotFound, "nothing like that was learned").Fix("list what was; the text must be the same")
		}
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.BlockLearned(ctx, rows); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.learned.delete", d.ts.ID)
		rec.After = store.JSON(map[string]int{"deleted": len(rows)}) // not what they said
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	before := d.ts.Selection
	if err := s.adoptLearned(ctx, d); err != nil {
		return nil, err
	}
	if d.ts.Selection != before {
		if err := s.saveDraft(ctx, ws, d, "toolset.learned.use", nil, map[string]int{"learned": learnedCount(d.ts)}, false); err != nil {
			return nil, err
		}
	}
	return &bodyOutput[DeletedRequests]{DeletedRequests{len(rows)}}, nil
}

// learnedBy is the operation that a learned request is of. A node of an earlier version
// does not say of which connector; then it is the first that has it.
func (d *draft) learnedBy(r *store.Learned) toolset.Operation {
	if r.Connector == "" {
		return d.operation(r.Method, r.Path)
	}
	return toolset.Operation{Connector: r.Connector, Method: r.Method, Path: r.Path}
}

// uses reports whether the record holds a learned request.
func (c *choiceRecord) uses(op toolset.Operation, query string) bool {
	for i := range c.Examples {
		if c.Examples[i].Operation == op {
			return slices.ContainsFunc(c.Examples[i].Learned, func(l LearnedExample) bool { return l.Text == query })
		}
	}
	return false
}

// chooseLearning turns learning on or off; nil keeps it.
func (d *draft) chooseLearning(learn *bool) error {
	if learn == nil {
		return nil
	}
	c, err := choiceOf(d.ts)
	if err != nil {
		return err
	}
	if *learn && c.Mode != registry.SelectSearch {
		return problem.New(problem.InvalidArgument, "only the selection search learns").At("", 0, 0, "/learn").Fix("set the selection to search too")
	}
	c.Learn = *learn
	c.keep(d.ts)
	return nil
}

// adoptLearned takes into a draft that learns what was learned so far, and out of one
// that does not what it took before. The draft then holds all that its index is made
// of: it stays the same until the next change.
func (s *Server) adoptLearned(ctx context.Context, d *draft) error {
	c, err := choiceOf(d.ts)
	if err != nil {
		return err
	}
	for i := range c.Examples {
		c.Examples[i].Learned = nil
	}
	if c.Learn {
		rows, err := s.o.Store.Workspace(d.ts.WorkspaceID).Learned(ctx, d.ts.ID)
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			op := d.learnedBy(r)
			if !d.has(op) {
				continue // it waits for a version that has the operation again
			}
			e := c.of(op)
			twice := slices.ContainsFunc(e.Learned, func(l LearnedExample) bool { return l.Text == r.Query }) // once of a node that did not say of which connector
			if !twice && !slices.Contains(e.Operator, r.Query) {
				// Hundredths: what nobody asked again is the same draft a minute later.
				uses := r.Uses()
				e.Learned = append(e.Learned, LearnedExample{Text: r.Query, Weight: float32(int(learnedWeight*uses/(uses+1)*100+.5)) / 100})
			}
		}
	}
	c.Examples = slices.DeleteFunc(c.Examples, func(e ToolExamples) bool { return len(e.Operator) == 0 && len(e.Learned) == 0 })
	c.keep(d.ts)
	return nil
}

// learnedCount is how many learned requests a draft holds.
func learnedCount(ts *store.Toolset) (n int) {
	if c, err := choiceOf(ts); err == nil {
		for i := range c.Examples {
			n += len(c.Examples[i].Learned)
		}
	}
	return n
}

// withoutLearned is a stored selection for the audit log, which keeps nothing that
// users wrote.
func withoutLearned(selection string) string {
	ts := &store.Toolset{Selection: selection}
	c, err := choiceOf(ts)
	if err != nil {
		return ""
	}
	for i := range c.Examples {
		c.Examples[i].Learned = nil
	}
	c.Examples = slices.DeleteFunc(c.Examples, func(e ToolExamples) bool { return len(e.Operator) == 0 })
	c.keep(ts)
	return ts.Selection
}

// dropUnwanted takes out of a report what was learned of toolsets that are to learn
// nothing (any more).
func (s *Server) dropUnwanted(ctx context.Context, r *registry.UsageReport) error {
	type key struct{ workspace, toolset string }
	learns := map[key]bool{}
	for i := range r.Found {
		f := &r.Found[i]
		k := key{f.Workspace, f.Toolset}
		if _, asked := learns[k]; asked {
			continue
		}
		ts, err := s.o.Store.Workspace(f.Workspace).Toolset(ctx, f.Toolset)
		if problem.Is(err, problem.NotFound) {
			learns[k] = false
			continue
		}
		if err != nil {
			return fmt.Errorf("reading a toolset that learned: %w", err)
		}
		c, err := choiceOf(ts)
		if err != nil {
			return err
		}
		learns[k] = c.Learn
	}
	r.Found = slices.DeleteFunc(r.Found, func(f registry.UsageFound) bool { return !learns[key{f.Workspace, f.Toolset}] })
	return nil
}
