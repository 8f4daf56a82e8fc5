package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
	"github.com/sluicegate/sluice/plugins/catalog"
)

// Made is what a connector of a toolset remembers of the entry that it was made of: what
// was chosen, and the part of the entry that was taken over. By that an update tells what
// the operator edited since from what the entry said.
type Made struct {
	Version string        `json:"version"` // of the whole entry
	Choice  EntryChoice   `json:"choice"`
	Tools   []string      `json:"tools,omitempty"` // globs of names that were wanted
	Entry   catalog.Entry `json:"entry"`           // with the chosen tools only
}

// MadeOf reads the record of a connector; nil: it was made of no entry.
func MadeOf(record string) (*Made, error) {
	if record == "" {
		return nil, nil //nolint:nilnil // most connectors are of no entry
	}
	m := new(Made)
	if err := json.Unmarshal([]byte(record), m); err != nil {
		return nil, fmt.Errorf("reading the entry of a connector: %w", err)
	}
	return m, nil
}

// Record is what the connector that is made remembers of a.
func (a *Adoption) Record() string {
	m := Made{Version: a.Version(), Choice: a.choice, Tools: a.wanted, Entry: *a.Entry}
	m.Entry.Category, m.Entry.Summary, m.Entry.UseCases, m.Entry.Verified, m.Entry.Golden = "", "", nil, nil, nil
	if w := m.Entry.Workflows; w != nil {
		m.Entry.Workflows = &catalog.EntryWorkflows{Document: w.Document}
	}
	m.Entry.Tools = make([]catalog.EntryTool, len(a.tools))
	for i, t := range a.tools {
		m.Entry.Tools[i] = *t
	}
	return store.JSON(m)
}

// Before is the adoption as it was when the connector was made or updated last. What the
// vendor no longer has is left out of it.
func (m *Made) Before() *Adoption {
	a := &Adoption{Entry: &m.Entry, URL: m.Choice.URL, Mirror: m.Choice.URL != "", partial: true, choice: m.Choice, wanted: m.Tools}
	if !a.Mirror {
		a.URL = m.Entry.URL()
	}
	for i := range m.Entry.Tools {
		a.tools = append(a.tools, &m.Entry.Tools[i])
	}
	return a
}

// Now is the adoption with the entry as the catalog has it now and the same choice.
func (r *Room) Now(m *Made) (*Adoption, error) {
	var wanted func(string) bool
	if len(m.Tools) > 0 {
		g, err := toolset.ParseGlobs(m.Tools, "")
		if err != nil {
			return nil, err
		}
		wanted = g.Match
	}
	a, err := r.choose(&m.Choice, wanted)
	if err != nil {
		return nil, err
	}
	a.wanted = m.Tools
	return a, nil
}

// Same is the conflict of an entry that is added again with what the connector in toolset
// was made of, which reading its source again leaves as it is. A key or a document may be
// another; a value, or a choice of tools, would be passed over in silence.
func (a *Adoption) Same(record, toolset string) error {
	m, err := MadeOf(record)
	if err != nil {
		return err
	}
	if m == nil || m.Choice.Entry != a.choice.Entry {
		return problem.New(problem.Conflict, "the toolset %s was made of the same source without the entry %s", toolset, a.ID).Fix("choose another name or slug")
	}
	for _, name := range slices.Sorted(maps.Keys(a.choice.Values)) {
		if m.Choice.Values[name] != a.choice.Values[name] {
			return problem.New(problem.Conflict, "the toolset %s was made with another value of %s", toolset, name).
				Fix("change it: sluice toolset fix %s %s=…, or choose another name or slug", toolset, name)
		}
	}
	if was, is := &m.Choice, &a.choice; was.UseCase != is.UseCase || was.ReadOnly != is.ReadOnly || was.Bare != is.Bare || !slices.Equal(m.Tools, a.wanted) {
		return problem.New(problem.Conflict, "the toolset %s was made with another choice of tools", toolset).
			Fix("change it: sluice toolset tools %s, or choose another name or slug", toolset)
	}
	return nil
}

// Followed is the entry of the catalog that a connector was made of.
type Followed struct {
	ID      string `json:"id" doc:"Of the entry." example:"github"`
	Version string `json:"version" doc:"That the connector has." example:"3f9c0b12aa47"`
	Update  string `json:"update,omitempty" doc:"Version that the catalog has now, where it is another: sluice catalog update." example:"51d0e7c2b9f8"`
	Gone    bool   `json:"gone,omitempty" doc:"The catalog no longer has the entry."`
}

// Followed says which entry a connector was made of, and whether the catalog has another
// version of it; nil: it was made of none.
func (r *Room) Followed(record string) (*Followed, error) {
	m, err := MadeOf(record)
	if m == nil {
		return nil, err
	}
	f := &Followed{ID: m.Choice.Entry, Version: m.Version}
	switch now, has := r.contents().versions[f.ID]; {
	case !has:
		f.Gone = true
	case now != m.Version:
		f.Update = now
	}
	return f, nil
}

// EntryUse is a connector of a toolset that was made of an entry.
type EntryUse struct {
	Toolset   string `json:"toolset" doc:"Its slug."`
	Connector string `json:"connector" doc:"Its name in the toolset."`
	Version   string `json:"version" doc:"Of the entry that it has."`
	Update    string `json:"update,omitempty" doc:"Version that the catalog has now, where it is another." example:"51d0e7c2b9f8"`
}

// Mark notes in a list of entries which connectors of the workspace were made of them.
func (r *Room) Mark(list []EntryOutline, uses []store.EntryUse) error {
	by := map[string][]EntryUse{}
	for i := range uses {
		f, err := r.Followed(uses[i].Entry)
		if err != nil {
			return err
		}
		by[f.ID] = append(by[f.ID], EntryUse{Toolset: uses[i].Slug, Connector: uses[i].Connector, Version: f.Version, Update: f.Update})
	}
	for i := range list {
		list[i].UsedBy = by[list[i].ID]
		for k := range list[i].UsedBy {
			if list[i].UsedBy[k].Update != "" {
				list[i].Updates++
			}
		}
	}
	return nil
}

// WorkflowDocument is the document of the workflows of an entry, and the ids of those
// whose operations are all chosen and there; none: "".
func (a *Adoption) WorkflowDocument(there func(catalog.Operation) bool) (document string, ids []string) {
	if a.choice.Bare || a.Workflows == nil {
		return "", nil
	}
	chosen := make(map[catalog.Operation]bool, len(a.tools))
	for _, t := range a.tools {
		chosen[catalog.Operation{Method: t.Method(), Path: t.Path()}] = true
	}
	ids = a.WorkflowIDs(func(op catalog.Operation) bool { return chosen[op] && there(op) })
	if len(ids) == 0 {
		return "", nil
	}
	return a.Workflows.Document, ids
}

// maxMade is the largest record of an entry in a document, in bytes: as many as an entry may have,
// and what JSON adds.
const maxMade = 2 * catalog.MaxEntryBytes

// ParseMade reads the record of an entry from a document that comes from outside, and writes it
// as [Adoption.Record] does. Nothing is "". It fails with [problem.InvalidArgument] and
// [problem.TooLarge].
func ParseMade(text json.RawMessage) (record string, err error) {
	if len(text) == 0 || string(text) == "null" {
		return "", nil
	}
	if len(text) > maxMade {
		return "", problem.New(problem.TooLarge, "the entry of the catalog has %d bytes, the limit is %d", len(text), maxMade)
	}
	m := new(Made)
	if fault := strictjson.Decode(text, m, maxMade, maxMadeDepth); fault != nil {
		return "", problem.New(problem.InvalidArgument, "the entry of the catalog %s", fault.Text).At("", 0, 0, fault.Pointer)
	}
	if n := len(m.Version); n == 0 || n > maxVersion || m.Choice.Entry != m.Entry.ID || len(m.Choice.URL) > maxURL || len(m.Tools) > maxGlobs {
		return "", problem.New(problem.InvalidArgument, "the entry of the catalog is not what an export says of one").Fix("export it again, or leave catalogEntry out: then the toolset follows no entry")
	}
	if err := m.Entry.CheckPart(); err != nil {
		return "", err
	}
	if m.Choice.URL != "" {
		if _, err := source.CheckURL(m.Choice.URL); err != nil {
			return "", problem.New(problem.InvalidArgument, "the address of the entry's document is not an http or https URL without credentials").At("", 0, 0, "/choice/url")
		}
	}
	return store.JSON(m), nil
}

const (
	// maxMadeDepth of the record: an entry's schemas of fixed values are the deepest.
	maxMadeDepth = 64
	// maxVersion of an entry: it has twelve characters.
	maxVersion = 64
	// maxURL is that of every address in the API.
	maxURL = 2048
	// maxGlobs that chose tools: as many as a request may have.
	maxGlobs = 256
)
