package openapi

import (
	"context"

	"github.com/sluicegate/sluice/internal/problem"
)

// Compile reads a specification and gives each operation to opts.Each.
//
// A document that cannot be used as a whole is a *problem.Error of kind
// InvalidSpec with the single faults in Parts; ctx's error is returned as it is.
func Compile(ctx context.Context, src Source, opts Options) (*Result, error) {
	return nil, problem.New(problem.InvalidSpec, "no reader yet").At(src.Name, 1, 1, "")
}
