package document

import (
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// CheckQuery refuses a query parameter that the operation does not have: a mistyped
// filter would otherwise answer with everything. It fails with
// [problem.InvalidArgument].
func CheckQuery(op *huma.Operation, query url.Values) error {
	known := slices.Compact(slices.Sorted(queryParameters(op)))
	for name := range query {
		if slices.Contains(known, name) {
			continue
		}
		p := problem.New(problem.InvalidArgument, "there is no query parameter %.80q", name)
		switch best := nearest.Name(name, slices.Values(known)); {
		case best != "":
			return p.Fix("did you mean %s?", best)
		case len(known) == 0:
			return p.Fix("%s %s takes none", op.Method, op.Path)
		}
		return p.Fix("%s %s takes: %s", op.Method, op.Path, strings.Join(known, ", "))
	}
	return nil
}

// queryParameters are the names that an operation takes. Every list takes those of pages:
// one that is short comes whole.
func queryParameters(op *huma.Operation) iter.Seq[string] {
	return func(yield func(string) bool) {
		if strings.HasPrefix(op.OperationID, "list-") && (!yield("limit") || !yield("cursor")) {
			return
		}
		for _, p := range op.Parameters {
			if p.In == "query" && !yield(p.Name) {
				return
			}
		}
	}
}
