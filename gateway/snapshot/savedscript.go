package snapshot

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/registry"
)

// SavedNames lists what a script that is a tool of its own finds below a path: the groups of
// what it was saved with, or the tools of one.
func (t *Tool) SavedNames(path string) []string {
	out := []string{}
	for _, c := range t.Workflow.calls() {
		group, name, grouped := strings.Cut(c.Name, ".")
		switch {
		case path == "" && !slices.Contains(out, group):
			out = append(out, group)
		case path == group && grouped:
			out = append(out, name)
		}
	}
	return out
}

// Hash is the digest of the script.
func (w *Workflow) Hash() string { return string(w.Document.Script.Hash()) }

// Operation is the operation of a connector that a tool is; false: it is none.
func (t *Tool) Operation() (registry.SelectedTool, bool) {
	if t.Binding == nil || t.Own() || t.Workflow != nil || t.Item != nil {
		return registry.SelectedTool{}, false
	}
	n, err := t.nature()
	if err != nil {
		return registry.SelectedTool{}, false
	}
	return registry.SelectedTool{Connector: t.Binding.Name, Method: n.method, Path: n.path}, true
}

// WithDefaults are arguments with the defaults of the schema of a script's tool for those
// that are missing.
func (w *Workflow) WithDefaults(args jsonscan.Value) []byte {
	out := []byte{'{'}
	for it := args.Members(); it.Next(); {
		out = jsonscan.AppendMember(out, 1, it.Key(), it.Value().Raw())
	}
	for it := jsonscan.Trusted(w.Document.Script.InputSchema).Get("properties").Members(); it.Next(); {
		if given := it.Value().Get("default"); given.Exists() && !args.Get(string(it.KeyText(nil))).Exists() {
			out = jsonscan.AppendMember(out, 1, it.Key(), given.Raw())
		}
	}
	return append(out, '}')
}

// InputSchema is the schema of the tool's arguments as a list shows it, without the argument
// that is Sluice's own. It is not to be changed.
func (t *Tool) InputSchema() ([]byte, error) {
	head, err := t.head()
	return head.InputSchema, err
}
