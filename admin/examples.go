package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
)

const (
	// maxSeenExamples of one tool that calls brought; the ones seen longest ago go.
	maxSeenExamples = 32
	// maxLearned of one toolset, so that its record stays small: 4,000 requests of
	// 100 bytes.
	maxLearned = 4000
	// halfLife is how long until a request that is not seen again counts half.
	halfLife = 30 * 24 * time.Hour
	// seenWeight is what a request that was just seen counts, against 1 of the
	// operator's.
	seenWeight = .5
)

// ToolExamples are requests that a tool serves.
type ToolExamples struct {
	Operation Operation     `json:"operation"`
	Operator  []string      `json:"operator,omitempty" doc:"Written by the operator."`
	Seen      []SeenExample `json:"seen,omitempty" doc:"Searches after which the tool was executed with success."`
}

// SeenExample is a request that a call brought.
type SeenExample struct {
	Text  string    `json:"text"`
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// examples weighs what is known at the time of the newest request: so the same
// record gives the same index.
func (t *ToolExamples) examples() []selection.Example {
	out := make([]selection.Example, 0, len(t.Operator)+len(t.Seen))
	for _, text := range t.Operator {
		out = append(out, selection.Example{Text: text, Weight: 1})
	}
	var newest time.Time
	for _, s := range t.Seen {
		if s.Last.After(newest) {
			newest = s.Last
		}
	}
	for _, s := range t.Seen {
		w := float32(seenWeight)
		for age := newest.Sub(s.Last); age >= halfLife; age -= halfLife {
			w /= 2
		}
		if s.Count > 1 {
			w *= 2 // seen again: not an accident
		}
		out = append(out, selection.Example{Text: s.Text, Weight: min(w, 1)})
	}
	return out
}

// of finds or makes the examples of an operation.
func (c *choiceRecord) of(op Operation) *ToolExamples {
	for i := range c.Examples {
		if c.Examples[i].Operation == op {
			return &c.Examples[i]
		}
	}
	c.Examples = append(c.Examples, ToolExamples{Operation: op})
	return &c.Examples[len(c.Examples)-1]
}

// see counts a request after which the tool was executed with success.
func (t *ToolExamples) see(text string, at time.Time) {
	for i := range t.Seen {
		if s := &t.Seen[i]; strings.EqualFold(s.Text, text) {
			s.Count++
			s.Last = at
			return
		}
	}
	t.Seen = append(t.Seen, SeenExample{Text: text, Count: 1, Last: at})
	if len(t.Seen) > maxSeenExamples {
		oldest := 0
		for i := range t.Seen {
			if t.Seen[i].Last.Before(t.Seen[oldest].Last) {
				oldest = i
			}
		}
		t.Seen = slices.Delete(t.Seen, oldest, oldest+1)
	}
}

// freshExample is a request that was not taken into the draft yet.
type freshExample struct {
	Operation Operation `json:"operation"`
	Text      string    `json:"text"`
	At        time.Time `json:"at"`
}

// absorb takes what calls taught into the draft, which is about to change.
func (d *draft) absorb() error {
	c, err := choiceOf(d.ts)
	if err != nil || len(c.Fresh) == 0 {
		return err
	}
	for _, f := range c.Fresh {
		if c.learned() < maxLearned {
			c.of(f.Operation).see(f.Text, f.At)
		}
	}
	c.Fresh = nil
	c.keep(d.ts)
	return nil
}

// maxFresh requests wait for the next change of a draft.
const maxFresh = 1000

// Learned is a search after which a tool was executed with success.
type Learned struct {
	Toolset string // slug
	Tool    string // name
	Query   string
}

// Learn records searches that led to successful calls. They count from the next
// change of the toolset on. What cannot be placed is left out: a toolset or
// tool that is gone, a text that is too long.
func (s *Server) Learn(ctx context.Context, workspace string, seen []Learned) error {
	ws := s.o.Store.Workspace(workspace)
	byToolset := map[string][]Learned{}
	for _, l := range seen {
		byToolset[l.Toolset] = append(byToolset[l.Toolset], l)
	}
	for slug, list := range byToolset {
		d, err := s.load(ctx, ws, slug)
		if problem.Is(err, problem.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		c, err := choiceOf(d.ts)
		if err != nil {
			return err
		}
		byName := map[string]Operation{}
		for _, t := range d.tools(false) {
			byName[t.Name] = t.Operation
		}
		for _, l := range list {
			op, ok := byName[l.Tool]
			text := strings.TrimSpace(l.Query)
			if !ok || text == "" || len(text) > maxExampleBytes || len(c.Fresh) >= maxFresh {
				continue
			}
			c.Fresh = append(c.Fresh, freshExample{op, text, ws.Now()})
		}
		if len(c.Fresh) == 0 {
			continue
		}
		c.keep(d.ts)
		if err := ws.Update(ctx, func(tx *store.Tx) error { return tx.SaveToolset(ctx, d.ts) }); err != nil {
			return err
		}
	}
	return nil
}

// maxExampleBytes of one example: what the index looks at.
const maxExampleBytes = 400

func (c *choiceRecord) learned() (n int) {
	for i := range c.Examples {
		n += len(c.Examples[i].Seen)
	}
	return n
}

type examplesInput struct {
	ToolInput
	MatchInput
	Body struct {
		Examples []string `json:"examples" maxItems:"32" doc:"Requests that this tool serves, as users or agents word them."`
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
		Description: "They improve the search of tools. What calls taught stays.",
	}, func(ctx context.Context, in *examplesInput) (*examplesOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.load(ctx, ws, in.ID)
		if err != nil {
			return nil, err
		}
		if err := in.check(d.ts.Version, false); err != nil {
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
		after := *e
		if len(e.Operator) == 0 && len(e.Seen) == 0 {
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
	return &examplesOutput{ETag: etag(d.ts.Version), Body: *c.of(tool.Body.Operation)}, nil
}
