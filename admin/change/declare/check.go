package declare

import (
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Check finds the faults that need nothing but the document.
func (t *DeclaredToolset) Check() error {
	if err := t.checkConnectors(); err != nil {
		return err
	}
	if err := store.CheckLabels(t.Labels); err != nil {
		return problem.As(err).At("", 0, 0, "/labels")
	}
	seen := map[toolset.Operation]bool{}
	for i := range t.Tools {
		e, at := &t.Tools[i], "/tools/"+strconv.Itoa(i)
		if e.Method == "" || e.Path == "" || seen[e.Operation] {
			return request.FieldFault(at, "an edit names its tool by method and path, each tool once")
		}
		if err := t.checkOperation(&e.Operation, at); err != nil {
			return err
		}
		seen[e.Operation] = true
		if e.Method == manifest.MethodWorkflow && (e.Answers != nil || e.Fixed != nil || e.Arguments != nil || e.Texts != nil) {
			return request.FieldFault(at, "the tool of a workflow has no settings of answers, no fixed values, no list and no descriptions of arguments of its own")
		}
		if e.Method == manifest.MethodWorkflow && e.Annotations != nil {
			return request.FieldFault(at+"/annotations", "what the tool of a workflow does follows from the tools that it calls")
		}
		if _, err := toolset.RecordAnnotations(e.Annotations, at+"/annotations"); err != nil {
			return err
		}
		if e.Name != nil && !toolset.ToolName.MatchString(*e.Name) {
			return request.FieldFault(at+"/name", "the name %.80q must start with a letter or _ and have at most 64 letters, digits, _ and -", *e.Name)
		}
		if _, err := e.Answers.Record(at+"/answers", registry.OfTool); err != nil {
			return err
		}
		if _, err := toolset.RecordFixed(e.Fixed, at+"/fixed"); err != nil {
			return err
		}
		if _, err := toolset.RecordArguments(e.Arguments, at+"/arguments", nil); err != nil {
			return err
		}
		if _, err := toolset.RecordTexts(e.Texts, at+"/argumentTexts"); err != nil {
			return err
		}
	}
	if _, err := t.Answers.Record("/answers", registry.OfToolset); err != nil {
		return err
	}
	if err := t.checkOperations(); err != nil {
		return err
	}
	if c := t.Selection; c != nil && c.Mode == registry.SelectUseCase && c.UseCase == "" {
		return request.FieldFault("/selection/useCase", "the selection use-case needs the use case in words")
	}
	return nil
}

// Fault says in which toolset of the document a fault is.
func Fault(err error, toolsets []DeclaredToolset, slug string) error {
	p := problem.As(err)
	at := slices.IndexFunc(toolsets, func(t DeclaredToolset) bool { return t.Slug == slug })
	if p == nil || at < 0 {
		return err
	}
	place := func(e *problem.Error) *problem.Error {
		c := *e
		if c.Place.File == "" {
			c.Place.Pointer = "/toolsets/" + strconv.Itoa(at) + c.Place.Pointer
		} else { // the pointer is into that file
			c.Place.File = slug + "/" + c.Place.File
		}
		return &c
	}
	out := place(p)
	out.Parts = slices.Clone(p.Parts)
	for i := range out.Parts {
		out.Parts[i] = place(out.Parts[i])
	}
	return out
}
