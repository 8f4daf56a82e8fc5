package advice

import (
	"context"
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
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

// Learned lists what a toolset learned, of one tool when it is named, at most limit of it.
func (r *Room) Learned(ctx context.Context, ws *store.Workspace, id, tool string, limit int) (*LearnedRequests, error) {
	d, err := r.Drafts.Load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return nil, err
	}
	rows, names, err := r.learnedOf(ctx, ws, d, tool)
	if err != nil {
		return nil, err
	}
	out := &LearnedRequests{Learn: c.Learn, Total: len(rows), Items: []LearnedRequest{}}
	for i := range rows[:min(len(rows), limit)] {
		row := &rows[i]
		op := d.LearnedBy(row)
		out.Items = append(out.Items, LearnedRequest{
			Tool: names[op], Operation: op, Query: row.Query, Uses: row.Uses(), Used: c.Uses(op, row.Query), FirstAt: row.FirstAt.Time, LastAt: row.LastAt.Time,
		})
	}
	return out, nil
}

// learnedOf reads what a toolset learned, of one tool when it is named, and the
// present names of its tools.
func (r *Room) learnedOf(ctx context.Context, ws *store.Workspace, d *draft.Draft, tool string) ([]store.Learned, map[toolset.Operation]string, error) {
	names := map[toolset.Operation]string{}
	named := false
	for _, t := range d.Tools(false) {
		names[t.Operation] = t.Name
		named = named || t.Name == tool
	}
	if tool != "" && !named {
		return nil, nil, d.NoSuchTool(tool)
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

// ForgetLearned deletes learned requests for good: those of one tool when it is named, and
// only query when it is given. They leave the draft too.
func (r *Room) ForgetLearned(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, tool, query string) (*DeletedRequests, error) {
	d, err := r.Drafts.LoadMatching(ctx, ws, id, match)
	if err != nil {
		return nil, err
	}
	rows, _, err := r.learnedOf(ctx, ws, d, tool)
	if err != nil {
		return nil, err
	}
	if query != "" {
		rows = slices.DeleteFunc(rows, func(r store.Learned) bool { return r.Query != query })
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
	return &DeletedRequests{len(rows)}, r.useLearned(ctx, ws, d)
}

// UseLearned takes what a toolset learned so far into its draft.
func (r *Room) UseLearned(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput) (*draft.Draft, error) {
	d, err := r.Drafts.LoadMatching(ctx, ws, id, match)
	if err != nil {
		return nil, err
	}
	return d, r.useLearned(ctx, ws, d)
}

// useLearned saves the draft when what was learned changes it. The audit log keeps no
// requests: it says how many there are.
func (r *Room) useLearned(ctx context.Context, ws *store.Workspace, d *draft.Draft) error {
	before := d.Toolset.Selection
	if err := d.AdoptLearned(ctx, ws); err != nil || d.Toolset.Selection == before {
		return err
	}
	return r.Drafts.Save(ctx, ws, d, "toolset.learned.use", nil, map[string]int{"learned": choice.LearnedCount(d.Toolset)}, false)
}
