package registry

import (
	"fmt"
	"strings"

	"github.com/sluicegate/sluice/plugins/manifest"
)

// How a toolset chooses the tools that a client lists.
const (
	SelectAll     = "all"      // every enabled tool
	SelectUseCase = "use-case" // the tools that were chosen for the use case when the bundle was made
	SelectSearch  = "search"   // three tools that search, describe and execute the others
	SelectCode    = "code"     // two tools: one searches the others, one runs scripts that call them
)

const (
	// MaxUseCaseRunes of the text of a use case: a page.
	MaxUseCaseRunes = 4096
	// MaxSelectedTools of a use case: more than clients show is not a choice.
	MaxSelectedTools = 128
)

// Selection is which tools tools/list has. It is fixed when the bundle is made,
// so the list never varies by connection.
type Selection struct {
	Mode    string         `json:"mode"`              // SelectAll, SelectUseCase, SelectSearch
	UseCase string         `json:"useCase,omitempty"` // what the operator wrote; kept to explain Tools
	Tools   []SelectedTool `json:"tools,omitempty"`   // SelectUseCase: what is listed and callable, best first
	Learn   bool           `json:"learn,omitempty"`   // SelectSearch: nodes report searches that a successful call follows
	// Batch offers the tool that makes many calls at once, in every mode.
	Batch bool `json:"batch,omitempty"`
	// Destructive says that scripts and batches may call tools that may destroy. Only with
	// SelectCode or Batch.
	Destructive bool `json:"destructive,omitempty"`
}

// NeedsIndex reports whether the tools of t are searched, with the index in its bundle.
func (t *Toolset) NeedsIndex() bool {
	mode := t.SelectionMode()
	return mode == SelectSearch || mode == SelectCode
}

// SelectedTool names an operation as a ToolEdit does.
type SelectedTool struct {
	Connector string `json:"connector"`
	Method    string `json:"method"`
	Path      string `json:"path"`
}

// SelectionMode is the mode of t with its default applied.
func (t *Toolset) SelectionMode() string {
	if t.Selection == nil {
		return SelectAll
	}
	return t.Selection.Mode
}

func (s *Selection) validate(f *faults, connectors map[string]bool) {
	switch s.Mode {
	case SelectAll, SelectUseCase, SelectSearch, SelectCode:
	default:
		f.add("/selection/mode", "mode %.80q is none of all, use-case, search, code", s.Mode)
	}
	f.text("/selection/useCase", s.UseCase, 0, MaxUseCaseRunes)
	n := len(s.Tools)
	f.check((n > 0) == (s.Mode == SelectUseCase), "/selection/tools", "tools are listed for the mode use-case, and only for it")
	f.check(!s.Learn || s.Mode == SelectSearch, "/selection/learn", "only the mode search learns")
	f.check(!s.Destructive || s.Mode == SelectCode || s.Batch, "/selection/destructive", "only scripts and batches call tools by themselves")
	f.check(n <= MaxSelectedTools, "/selection/tools", "%d tools are more than %d", n, MaxSelectedTools)
	seen := make(map[SelectedTool]bool, n)
	for i, t := range s.Tools {
		if f.full() {
			return
		}
		at := fmt.Sprintf("/selection/tools/%d", i)
		f.check(connectors[t.Connector], at+"/connector", "the toolset has no connector %.80q", t.Connector)
		f.check(methodPattern.MatchString(t.Method), at+"/method", "%.80q is not an upper-case method", t.Method)
		f.check(strings.HasPrefix(t.Path, "/") && len(t.Path) <= manifest.MaxPath, at+"/path", "%.80q is not a path", t.Path)
		f.check(!seen[t], at, "%s %.80s is listed twice", t.Method, t.Path)
		seen[t] = true
	}
}
