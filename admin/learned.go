package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/choice"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
)

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
		d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		before := d.Toolset.Selection
		if err := d.AdoptLearned(ctx, ws); err != nil {
			return nil, err
		}
		if d.Toolset.Selection != before {
			// The audit log keeps no requests: it says how many there are.
			if err := s.drafts.Save(ctx, ws, d, "toolset.learned.use", nil, map[string]int{"learned": choice.LearnedCount(d.Toolset)}, false); err != nil {
				return nil, err
			}
		}
		return s.toolsetAnswer(ctx, ws, d)
	})
}

func (s *Server) listLearned(ctx context.Context, in *learnedInput) (*bodyOutput[LearnedRequests], error) {
	ws := s.workspace(ctx)
	d, err := s.drafts.Load(ctx, ws, in.ID)
	if err != nil {
		return nil, err
	}
	c, err := choice.Of(d.Toolset)
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
		op := d.LearnedBy(r)
		out.Items = append(out.Items, LearnedRequest{
			Tool: names[op], Operation: op, Query: r.Query, Uses: r.Uses(), Used: c.Uses(op, r.Query), FirstAt: r.FirstAt.Time, LastAt: r.LastAt.Time,
		})
	}
	return &bodyOutput[LearnedRequests]{out}, nil
}

// learnedOf reads what a toolset learned, of one tool when it is named, and the
// present names of its tools.
func (s *Server) learnedOf(ctx context.Context, ws *store.Workspace, d *draft.Draft, tool string) ([]store.Learned, map[toolset.Operation]string, error) {
	names := map[toolset.Operation]string{}
	named := false
	for _, t := range d.Tools(false) {
		names[t.Operation] = t.Name
		named = named || t.Name == tool
	}
	if tool != "" && !named {
		return nil, nil, draft.NoSuchTool(tool)
	}
	rows, err := ws.Learned(ctx, d.Toolset.ID)
	if err != nil {
		return nil, nil, err
	}
	if tool != "" {
		rows = slices.DeleteFunc(rows, func(r store.Learned) bool { return names[d.LearnedBy(&r)] != tool })
	}
	return rows, names, nil
}

func (s *Server) deleteLearned(ctx context.Context, in *deleteLearnedInput) (*bodyOutput[DeletedRequests], error) {
	ws := s.workspace(ctx)
	d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
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
		rec := request.Audit(ctx, "toolset.learned.delete", d.Toolset.ID)
		rec.After = store.JSON(map[string]int{"deleted": len(rows)}) // not what they said
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	before := d.Toolset.Selection
	if err := d.AdoptLearned(ctx, ws); err != nil {
		return nil, err
	}
	if d.Toolset.Selection != before {
		if err := s.drafts.Save(ctx, ws, d, "toolset.learned.use", nil, map[string]int{"learned": choice.LearnedCount(d.Toolset)}, false); err != nil {
			return nil, err
		}
	}
	return &bodyOutput[DeletedRequests]{DeletedRequests{len(rows)}}, nil
}
