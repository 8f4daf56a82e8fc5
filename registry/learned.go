package registry

import (
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Bounds of what usage reports say of toolsets that learn.
const (
	// MaxUsageFound of one report: what is learned needs no completeness.
	MaxUsageFound = 500
	// MaxUsageQueryBytes of a request that is learned: what an index looks at.
	MaxUsageQueryBytes = 400
)

// UsageFound is a search that found a tool, which was then called with success by the
// same caller. The query was redacted where it was taken.
type UsageFound struct {
	Workspace string `json:"workspace"`
	Toolset   string `json:"toolset"`
	Connector string `json:"connector,omitempty"` // its name in the toolset; "": of a node that does not say
	Method    string `json:"method"`              // of the tool's operation
	Path      string `json:"path"`
	Query     string `json:"query"`
	Calls     uint64 `json:"calls"` // at least 1
}

// validFound checks what was learned.
func (r *UsageReport) validFound() error {
	if len(r.Found) > MaxUsageFound {
		return problem.New(problem.TooLarge, "the usage has more than %d learned requests", MaxUsageFound)
	}
	for i := range r.Found {
		f := &r.Found[i]
		operation := methodPattern.MatchString(f.Method) && strings.HasPrefix(f.Path, "/") && len(f.Path) <= manifest.MaxPath && plainText(f.Path)
		query := f.Query != "" && len(f.Query) <= MaxUsageQueryBytes && plainText(f.Query)
		if !ValidSlug(f.Workspace) || !usageWord(f.Toolset, 64) || f.Connector != "" && !ValidSlug(f.Connector) || !operation || !query || f.Calls == 0 || f.Calls > MaxUsageCount {
			return problem.New(problem.InvalidArgument, "learned request %d of the usage is not valid", i)
		}
	}
	return nil
}
