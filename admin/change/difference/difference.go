package difference

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/change/adoption"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
)

// Changes is what a new version of a specification changed in a toolset, tool by
// tool. Tools are told apart by method and path.
type Changes struct {
	ID        string `json:"id,omitempty" doc:"Absent in a dry run, which keeps nothing."`
	Connector string `json:"connector,omitempty" doc:"Name of the connector in the toolset."`

	From     SpecRef                  `json:"from"`
	To       SpecRef                  `json:"to"`
	Added    int                      `json:"added"`
	Removed  int                      `json:"removed"`
	Changed  int                      `json:"changed"`
	Breaking int                      `json:"breaking" doc:"Tools of that impact; removed ones are breaking, added ones safe. A new address counts as one."`
	Safe     int                      `json:"safe"`
	Wording  int                      `json:"wording"`
	Waits    bool                     `json:"quarantined,omitempty" doc:"The change of an MCP server waits to be accepted: nothing of it is served."`
	Origins  *credential.OriginChange `json:"origins,omitempty" doc:"The new version sends calls to another address. That waits, and nothing is sent there."`
	Kept     []draft.KeptName         `json:"keptNames" doc:"Tools that the new version would name otherwise: they keep the name that agents know."`
	Tools    []connector.ToolChange   `json:"tools"`
	Entry    *adoption.EntryChange    `json:"entry,omitempty" doc:"The change is in the catalog entry of the connector; the specification is unchanged."`
	// Workflows are not compared in what they are, but in what they can call.
	Workflows []workflow.WorkflowChange `json:"workflows,omitempty" doc:"Workflows and scripts of the toolset that call what is gone, new or changed in a breaking way."`
	At        time.Time                 `json:"at"`
	Actor     string                    `json:"actor,omitempty"`
}

// SpecRef names a version of a specification.
type SpecRef struct {
	Version string `json:"version" doc:"info.version"`
	Digest  string `json:"digest"`
}

// Since compares the connector that the draft is about with what it was, and
// keeps the names that agents know. nil: it is the same.
func Since(d *draft.Draft, was *draft.Part, moved toolset.Moves) (*Changes, error) {
	v := was.Version
	if v.Digest == d.Version.Digest {
		return nil, nil //nolint:nilnil // no difference is an ordinary outcome
	}
	tools, err := connector.Diff(was.Conn.Opened, d.Conn.Opened)
	if err != nil {
		return nil, fmt.Errorf("comparing versions of connector %s: %w", d.Version.Connector, err)
	}
	c := &Changes{
		Connector: d.Row.Name, From: SpecRef{v.Version, v.SpecDigest}, To: SpecRef{d.Version.Version, d.Version.SpecDigest},
		Tools: append([]connector.ToolChange{}, tools...), Kept: keepNames(d, was.Conn, moved),
	}
	kept := make(map[toolset.Operation]bool, len(c.Kept))
	for _, k := range c.Kept {
		kept[k.Operation] = true
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		if kept[toolset.Operation{Connector: d.Row.Name, Method: t.Method, Path: t.Path}] {
			nameKept(t)
		}
		switch t.Kind {
		case connector.ToolAdded:
			c.Added++
		case connector.ToolRemoved:
			c.Removed++
		default:
			c.Changed++
		}
		switch t.Impact {
		case connector.ImpactBreaking:
			c.Breaking++
		case connector.ImpactSafe:
			c.Safe++
		default:
			c.Wording++
		}
	}
	list, err := workflow.Read(d.Toolset.Workflows)
	if err != nil {
		return nil, err
	}
	named := slices.Clone(c.Tools)
	for from, to := range moved { // a document names the operation as it was
		named = append(named, connector.ToolChange{Kind: connector.ToolRemoved, Method: from.Method, Path: from.Path}, connector.ToolChange{Kind: connector.ToolAdded, Method: to.Method, Path: to.Path})
	}
	c.Workflows = workflow.Changed(list, d.Row.Name, named)
	return c, nil
}

// nameKept takes the gravity off a name that changes only in the specification.
func nameKept(t *connector.ToolChange) {
	t.Impact = connector.ImpactWording
	for i := range t.Details {
		if d := &t.Details[i]; d.Where == "name" {
			d.Impact, d.What = connector.ImpactWording, d.What+"; the tool keeps its name"
		}
		if d := t.Details[i].Impact; d == connector.ImpactBreaking || d == connector.ImpactSafe && t.Impact == connector.ImpactWording {
			t.Impact = d
		}
	}
}

// keepNames makes edits of the names that the new version would change, unless
// another of its tools has that name now.
func keepNames(d *draft.Draft, old *toolset.Generated, moved toolset.Moves) []draft.KeptName {
	kept := []draft.KeptName{}
	now := make(map[toolset.Operation]*toolset.Tool)
	taken := make(map[string]bool)
	tools := d.Tools(false)
	for i := range tools {
		now[tools[i].Operation] = &tools[i]
		taken[tools[i].Name] = true
	}
	for i := range old.Tools {
		was := &old.Tools[i]
		op := moved.Of(toolset.Operation{Connector: d.Row.Name, Method: was.Method, Path: was.Path})
		t := now[op]
		if t == nil || t.OriginalName == was.Name || t.Name != t.OriginalName || taken[was.Name] {
			continue // gone, as before, named by the operator, or in another's use
		}
		name := was.Name
		d.Edit(op, func(e *store.ToolEdit) { e.Name = &name })
		taken[name] = true
		kept = append(kept, draft.KeptName{Operation: op, Name: name, Generated: t.OriginalName})
	}
	return kept
}

// Why says why the changes are not taken over by themselves.
func (c *Changes) Why() string {
	if c.Origins != nil {
		return c.Origins.Why()
	}
	if c.Breaking == 1 {
		return "1 tool changes in a breaking way"
	}
	return fmt.Sprintf("%d tools change in a breaking way", c.Breaking)
}

// Disturbs reports whether anything is different for an agent that knows the old version:
// a tool that is gone or of which any text, argument or annotation changed, or one that
// is added with text that is written for a model. A plain addition is none.
func (c *Changes) Disturbs() bool {
	return c.Origins != nil || slices.ContainsFunc(c.Tools, func(t connector.ToolChange) bool {
		return t.Kind != connector.ToolAdded || t.Impact != connector.ImpactSafe
	})
}

// Instructed says which tools have new text that is written for a model, and quotes the
// first; "": none has.
func (c *Changes) Instructed() string {
	tools, first := 0, ""
	for i := range c.Tools {
		t := &c.Tools[i]
		at := slices.IndexFunc(t.Details, func(d connector.Detail) bool { return d.Where == connector.WhereInstructions })
		if at < 0 {
			continue
		}
		if tools++; first == "" {
			_, what, _ := strings.Cut(t.Details[at].What, "it ")
			first = "the tool " + t.Tool + " " + what
		}
	}
	if tools > 1 {
		first += fmt.Sprintf(", and %d more tools", tools-1)
	}
	return first
}

// Write records the changes of a toolset.
func (c *Changes) Write(ctx context.Context, tx *store.Tx, toolset string) error {
	row := &store.ToolsetChange{
		ToolsetID: toolset, Connector: c.Connector, FromDigest: c.From.Digest, ToDigest: c.To.Digest, FromVersion: c.From.Version, ToVersion: c.To.Version,
		Actor: request.Of(ctx).ActorID(), Report: store.JSON(c),
	}
	if err := tx.AddToolsetChange(ctx, row); err != nil {
		return err
	}
	c.ID, c.At = row.ID, row.CreatedAt.Time
	return nil
}

// Records are the changes of a workspace, in a transaction or outside of one.
type Records interface {
	ToolsetChanges(ctx context.Context, toolset, connector string, p store.Page) ([]store.ToolsetChange, string, error)
}

// Last is the newest change of a connector of a toolset; nil: there is none.
func Last(ctx context.Context, records Records, toolset, connector string) (*Changes, error) {
	rows, _, err := records.ToolsetChanges(ctx, toolset, connector, store.Page{Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	c, err := Show(&rows[0])
	return &c, err
}

// Show reads the changes of a record.
func Show(row *store.ToolsetChange) (Changes, error) {
	var c Changes
	if err := json.Unmarshal([]byte(row.Report), &c); err != nil {
		return c, fmt.Errorf("reading change %s: %w", row.ID, err)
	}
	c.ID, c.At = row.ID, row.CreatedAt.Time
	if c.Tools == nil { // as older versions recorded that no tool changes
		c.Tools = []connector.ToolChange{}
	}
	return c, nil
}

// Waiting is the version of the change that waits for a connector, which must be the
// one that an operator accepts.
func Waiting(ctx context.Context, ws *store.Workspace, ts *store.Toolset, connector, id string) (SpecRef, error) {
	last, err := Last(ctx, ws, ts.ID, connector)
	if err != nil {
		return SpecRef{}, err
	}
	if last == nil || last.ID != id || !last.Waits {
		return SpecRef{}, problem.New(problem.Conflict, "change %.64q is not pending", id).Fix("list the pending ones: sluice toolset diff %s", ts.Slug)
	}
	return last.To, nil
}
