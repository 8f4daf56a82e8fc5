package connectorrequest

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/selection"
)

// Likeness is a request that may be the same as another.
type Likeness struct {
	Request Request  `json:"request"`
	Because []string `json:"because" doc:"Of name, host and use case, what is similar."`
}

// ByUseCase is what is similar of requests for the same thing.
const ByUseCase = "use case"

// compared reads the requests that a new one is compared with.
func compared(ctx context.Context, list func(context.Context, []string, store.Page) ([]store.ConnectorRequest, string, error)) (out []store.ConnectorRequest, err error) {
	for p := (store.Page{Limit: store.MaxLimit}); len(out) < maxCompared; {
		rows, next, err := list(ctx, nil, p)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
		if p.After = next; next == "" {
			break
		}
	}
	return out[:min(len(out), maxCompared)], nil
}

// twin is the request that is not declined and has the name or the host of another; nil:
// there is none.
func twin(in *NewRequest, others []store.ConnectorRequest) *store.ConnectorRequest {
	for i := range others {
		o := &others[i]
		if o.State != Declined && (fold(o.Name) == fold(in.ServiceName) || hostOf(o.Website) == hostOf(in.Website)) {
			return o
		}
	}
	return nil
}

// fold is a name without case, white space and punctuation.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n-_.,:;/()&+'\"", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// Similar lists the requests of a workspace that are like one that is about to be sent,
// the most alike first: by name, by host, or by what they are for. Any field may be empty.
func Similar(ctx context.Context, ws *store.Workspace, in *NewRequest) ([]Likeness, error) {
	rows, err := compared(ctx, ws.ConnectorRequests)
	if err != nil {
		return nil, err
	}
	because := make([][]string, len(rows))
	names := func(yield func(string) bool) {
		for i := range rows {
			if !yield(rows[i].Name) {
				return
			}
		}
	}
	nearby := ""
	if in.ServiceName != "" {
		nearby = nearest.Name(in.ServiceName, iter.Seq[string](names))
	}
	host := hostOf(in.Website)
	for i := range rows {
		if r := &rows[i]; in.ServiceName != "" && fold(r.Name) == fold(in.ServiceName) || nearby != "" && r.Name == nearby {
			because[i] = append(because[i], "name")
		}
		if host != "" && hostOf(rows[i].Website) == host {
			because[i] = append(because[i], "host")
		}
	}
	for _, i := range alike(in.UseCase, rows) {
		because[i] = append(because[i], ByUseCase)
	}
	order := make([]int, 0, len(rows))
	for i := range rows {
		if len(because[i]) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(because[b]) - len(because[a]) })
	voted, err := Voted(ctx, ws)
	if err != nil {
		return nil, err
	}
	out := []Likeness{}
	for _, i := range order[:min(len(order), maxSimilar)] {
		shown, err := Show(&rows[i], voted)
		if err != nil {
			return nil, err
		}
		out = append(out, Likeness{Request: shown, Because: because[i]})
	}
	return out, nil
}

// alike are the places of the requests that the search for tools finds for a use case, if
// it says that anything fits.
func alike(useCase string, rows []store.ConnectorRequest) (out []int) {
	if strings.TrimSpace(useCase) == "" || len(rows) == 0 {
		return nil
	}
	tools := make([]selection.Tool, len(rows))
	for i := range rows {
		tools[i] = selection.Tool{Name: rows[i].Name, Description: rows[i].UseCase}
	}
	s := selection.Build(tools, selection.DefaultTable()).NewSearcher()
	hits := s.Search(useCase, maxSimilar)
	if !s.Fits() {
		return nil
	}
	for _, h := range hits[:min(len(hits), 1)] {
		out = append(out, h.Tool)
	}
	return out
}
