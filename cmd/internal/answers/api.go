package answers

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/plugins/projection"
)

// API is a compiled specification.
type API struct {
	Name  string
	Ops   []*operation.Operation
	Index projection.Index
}

// Compile compiles a specification; it takes as long as it takes, up to a minute.
func Compile(ctx context.Context, src openapi.Source) (*API, error) {
	api := &API{Name: src.Name}
	_, err := openapi.Compile(ctx, src, openapi.Options{
		Limits: openapi.Limits{Timeout: time.Minute},
		Each: func(op *operation.Operation) error {
			api.Ops = append(api.Ops, op)
			api.Index.Add(op)
			return nil
		},
	})
	return api, err
}

// Find looks an operation up by its id or by "METHOD /path".
func (p *API) Find(name string) (*operation.Operation, error) {
	method, path, _ := strings.Cut(name, " ")
	for _, op := range p.Ops {
		if op.ID != "" && op.ID == name || strings.EqualFold(op.Method, method) && op.Path == path {
			return op, nil
		}
	}
	names := make([]string, 0, 2*len(p.Ops))
	for _, op := range p.Ops {
		if op.Name == name {
			return op, nil
		}
		names = append(names, op.ID, op.Method+" "+op.Path)
	}
	e := problem.New(problem.NotFound, "%s has no operation %q", p.Name, name)
	if best := nearest.Name(name, slices.Values(names)); best != "" {
		e.Remedy = "did you mean " + best + "?"
	}
	return nil, e
}
