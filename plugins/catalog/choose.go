package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// Choice says which tools of an entry somebody wants.
type Choice struct {
	UseCase  string                 // id of a use case. Default: all tools
	ReadOnly bool                   // only tools that read
	Wanted   func(name string) bool // by name; nil: all
}

// Choose lists the tools of an entry that a choice leaves, in the order of the entry.
func (e *Entry) Choose(c Choice) ([]*EntryTool, error) {
	var of *EntryUseCase
	if c.UseCase != "" {
		if of = e.UseCase(c.UseCase); of == nil {
			ids := make([]string, len(e.UseCases))
			for i := range ids {
				ids[i] = e.UseCases[i].ID
			}
			p := problem.New(problem.InvalidArgument, "the entry %s has no use case %.80q", e.ID, c.UseCase)
			if len(ids) == 0 {
				return nil, p.Fix("leave it out")
			}
			return nil, p.Fix("choose one of %s", strings.Join(ids, ", "))
		}
	}
	var out []*EntryTool
	for i := range e.Tools {
		t := &e.Tools[i]
		if of != nil && !slices.Contains(of.Tools, t.Name) || c.ReadOnly && !t.Reads() || c.Wanted != nil && !c.Wanted(t.Name) {
			continue
		}
		out = append(out, t)
	}
	if len(out) == 0 && len(e.Tools) > 0 {
		return nil, problem.New(problem.InvalidArgument, "the choice leaves none of the %d tools of the entry %s", len(e.Tools), e.ID).
			Fix("see them: sluice catalog show %s", e.ID)
	}
	return out, nil
}

// Operation is an operation of the vendor's document, or a tool of their server.
type Operation struct{ Method, Path string }

// String is as an entry has it.
func (o Operation) String() string { return o.Method + " " + o.Path }

// Fit reports what of the tools the vendor's operations no longer have, and what they
// have instead, as parts of a *[problem.Error]; nil: they have everything. at is where these
// operations were read.
func (e *Entry) Fit(tools []*EntryTool, operations []Operation, at string) error {
	have := make(map[Operation]bool, len(operations))
	for _, op := range operations {
		have[op] = true
	}
	p := problem.New(problem.Conflict, "")
	for _, t := range tools {
		want := Operation{t.Method(), t.Path()}
		if have[want] {
			continue
		}
		part := problem.New(problem.NotFound, "%s: %s is gone", t.Name, want).InTool(t.Name)
		if instead := closest(want, operations); instead != "" {
			part.Detail += fmt.Sprintf("; there is %s", instead)
		}
		p.Parts = append(p.Parts, part)
	}
	if len(p.Parts) == 0 {
		return nil
	}
	p.Detail = fmt.Sprintf("the entry %s no longer fits: %d of its %d tools not found in %s", e.ID, len(p.Parts), len(tools), at)
	return p.Fix("add it without them (--partial), or have the entry updated")
}

// closest is the operation that one became: of the same path with another method, of the
// same path but for the names of its parameters or its version, or of the same method
// below the same last words.
func closest(want Operation, operations []Operation) string {
	best, most := "", 0
	for _, op := range operations {
		score := 0
		switch {
		case op.Path == want.Path:
			score = 4
		case shape(op.Path) == shape(want.Path):
			score = 3
		}
		if score > 0 && op.Method == want.Method {
			score += 2
		}
		if score > most {
			best, most = op.String(), score
		}
	}
	return best
}

// shape is a path without the names of its parameters and without a version.
func shape(path string) string {
	parts := strings.Split(path, "/")
	out := parts[:0]
	for _, p := range parts {
		switch {
		case p == "":
		case strings.HasPrefix(p, "{"):
			out = append(out, "{}")
		case len(p) > 1 && p[0] == 'v' && p[1] >= '0' && p[1] <= '9':
		default:
			out = append(out, strings.ToLower(p))
		}
	}
	return strings.Join(out, "/")
}
