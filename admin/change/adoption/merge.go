package adoption

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	entries "github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/plugins/connector"
)

// field is a part of an edit that the operator and the entry may both say.
type field struct {
	where  string
	impact connector.Impact
	get    func(*store.ToolEdit) string // what it says; "": nothing
	put    func(to, from *store.ToolEdit)
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

var fields = []field{
	{"name", connector.ImpactBreaking, func(e *store.ToolEdit) string { return text(e.Name) }, func(to, from *store.ToolEdit) { to.Name = from.Name }},
	{"title", connector.ImpactWording, func(e *store.ToolEdit) string { return text(e.Title) }, func(to, from *store.ToolEdit) { to.Title = from.Title }},
	{"description", connector.ImpactWording, func(e *store.ToolEdit) string { return text(e.Description) }, func(to, from *store.ToolEdit) { to.Description = from.Description }},
	// An answer that lacks what was there breaks who reads it.
	{"answers", connector.ImpactBreaking, func(e *store.ToolEdit) string { return e.Answers }, func(to, from *store.ToolEdit) { to.Answers = from.Answers }},
	{"annotations", connector.ImpactSafe, func(e *store.ToolEdit) string { return e.Annotations }, func(to, from *store.ToolEdit) { to.Annotations = from.Annotations }},
	// A call that gave the argument is refused, or sends another value.
	{"fixed", connector.ImpactBreaking, func(e *store.ToolEdit) string { return e.Fixed }, func(to, from *store.ToolEdit) { to.Fixed = from.Fixed }},
	// What is not listed is not refused.
	{"arguments", connector.ImpactSafe, func(e *store.ToolEdit) string { return e.Arguments }, func(to, from *store.ToolEdit) { to.Arguments = from.Arguments }},
	{"descriptions of arguments", connector.ImpactWording, func(e *store.ToolEdit) string { return e.Texts }, func(to, from *store.ToolEdit) { to.Texts = from.Texts }},
}

// merge takes a newer version of an entry over into the edits of the connector that a
// draft is about, three-way: what the draft has as the older version said becomes what the
// newer says, and everything else is the operator's.
type merge struct {
	d          *draft.Draft
	was, now   *catalogSide
	tools      []connector.ToolChange
	yours      []Kept
	names      map[toolset.Operation]string
	choice     *choice.Choice
	operations []toolset.Operation // of the connector, in its order
}

// catalogSide is what one version of an entry says of the tools.
type catalogSide struct {
	edits    map[toolset.Operation]*store.ToolEdit
	examples map[entries.Operation][]string
}

func (s *catalogSide) edit(op toolset.Operation) *store.ToolEdit {
	if e := s.edits[op]; e != nil {
		return e
	}
	return &store.ToolEdit{}
}

func (m *merge) run() {
	had := make(map[toolset.Operation]store.ToolEdit, len(m.d.Edits))
	for i := range m.d.Edits {
		had[toolset.OperationOf(&m.d.Edits[i])] = m.d.Edits[i]
	}
	for _, op := range m.operations {
		was, now, have := m.was.edit(op), m.now.edit(op), had[op]
		next := have
		change := connector.ToolChange{Kind: connector.ToolChanged, Impact: connector.ImpactWording, Method: op.Method, Path: op.Path}
		m.enabled(op, was, now, &next, &change)
		for _, f := range fields {
			before, after, mine := f.get(was), f.get(now), f.get(&have)
			switch {
			case before == after || mine == after:
			case mine != before:
				m.keep(op, f.where, after)
			default:
				f.put(&next, now)
				impact := f.impact
				if f.where != "name" && after == "" && impact == connector.ImpactBreaking {
					impact = connector.ImpactSafe // a mask or a fixed value that is gone
				}
				if !next.Disabled {
					change.Details = append(change.Details, detail(impact, f.where, mine, after))
				}
			}
		}
		m.examples(op, &next, &change)
		m.d.Edit(op, func(e *store.ToolEdit) {
			next.ToolsetID, next.Connector, next.Method, next.Path, next.InWorkspace = e.ToolsetID, e.Connector, e.Method, e.Path, e.InWorkspace
			*e = next
		})
		m.note(op, &next, &change)
	}
}

// enabled decides whether a tool is served.
func (m *merge) enabled(op toolset.Operation, was, now, next *store.ToolEdit, change *connector.ToolChange) {
	switch {
	case was.Disabled == now.Disabled || next.Disabled == now.Disabled:
	case next.Disabled != was.Disabled:
		said := "enabled"
		if now.Disabled {
			said = "disabled"
		}
		m.keep(op, "enabled", said)
	case now.Disabled:
		next.Disabled, change.Kind = true, connector.ToolRemoved
	default:
		next.Disabled, change.Kind = false, connector.ToolAdded
	}
}

// examples takes the requests over that a tool serves. They help to find it and are part
// of no definition.
func (m *merge) examples(op toolset.Operation, next *store.ToolEdit, change *connector.ToolChange) {
	key := entries.Operation{Method: op.Method, Path: op.Path}
	before, after := m.was.examples[key], m.now.examples[key]
	if slices.Equal(before, after) || next.Disabled && len(before) == 0 {
		return
	}
	mine := m.choice.ExamplesOf(op)
	switch {
	case slices.Equal(mine.Operator, after):
	case !slices.Equal(mine.Operator, before):
		m.keep(op, "examples", strings.Join(after, "; "))
	default:
		if change.Kind == connector.ToolChanged {
			change.Details = append(change.Details, detail(connector.ImpactWording, "examples", strings.Join(before, "; "), strings.Join(after, "; ")))
		}
		mine.Operator = slices.Clone(after)
	}
	if len(mine.Operator)+len(mine.Learned) == 0 {
		m.choice.Examples = slices.DeleteFunc(m.choice.Examples, func(t choice.ToolExamples) bool { return t.Operation == op })
	}
}

func (m *merge) keep(op toolset.Operation, where, says string) {
	m.yours = append(m.yours, Kept{Operation: &op, Where: where, Entry: says})
}

// note adds what became of a tool to the differences.
func (m *merge) note(op toolset.Operation, next *store.ToolEdit, change *connector.ToolChange) {
	switch change.Kind {
	case connector.ToolRemoved:
		change.Impact, change.Details = connector.ImpactBreaking, nil
	case connector.ToolAdded:
		change.Impact, change.Details = connector.ImpactSafe, nil
	default:
		if len(change.Details) == 0 {
			return
		}
		for i := range change.Details {
			switch impact := change.Details[i].Impact; {
			case impact == connector.ImpactBreaking, impact == connector.ImpactSafe && change.Impact == connector.ImpactWording:
				change.Impact = impact
			}
		}
	}
	if change.Details == nil {
		change.Details = []connector.Detail{}
	}
	if change.Tool = text(next.Name); change.Tool == "" {
		change.Tool = m.names[op]
	}
	m.tools = append(m.tools, *change)
}

func detail(impact connector.Impact, where, was, is string) connector.Detail {
	what := "it is another"
	switch {
	case was == "":
		what = "the entry says it now"
	case is == "":
		what = "the entry no longer says it"
	}
	return connector.Detail{Impact: impact, Where: where, What: what, Old: cut(was), New: cut(is)}
}

// maxShown bytes of a text are in a difference.
const maxShown = 2000

func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

// nameYours gives what stays the names of its tools as they are after the update.
func (m *merge) nameYours() {
	names := map[toolset.Operation]string{}
	for _, t := range m.d.ToolsOf(m.d.Row.Name) {
		names[t.Operation] = t.Name
	}
	for i := range m.yours {
		if op := m.yours[i].Operation; op != nil {
			m.yours[i].Tool = names[*op]
		}
	}
}

// sideOf is what a version of an entry says of the tools of the draft's connector.
func sideOf(list []store.ToolEdit, examples map[entries.Operation][]string) *catalogSide {
	s := &catalogSide{edits: make(map[toolset.Operation]*store.ToolEdit, len(list)), examples: examples}
	for i := range list {
		s.edits[toolset.OperationOf(&list[i])] = &list[i]
	}
	return s
}

// settle says in one line how much an update changed, for the audit log.
func (d *Diff) settle() string {
	added, removed, changed, breaking, _, _ := d.Count()
	return fmt.Sprintf("%d added, %d removed, %d changed, %d breaking", added, removed, changed, breaking)
}
