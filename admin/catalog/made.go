package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
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
	a, err := r.Adopt(&m.Choice, wanted)
	if err != nil {
		return nil, err
	}
	a.wanted = m.Tools
	return a, nil
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
