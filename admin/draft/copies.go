package draft

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sluicegate/sluice/admin/store"
)

// Content is a draft as it is kept: its settings, connectors and edits.
// Credentials are not in it: the draft and what is live share them.
type Content struct {
	Name         string                   `json:"name"`
	Description  string                   `json:"description,omitempty"`
	Instructions string                   `json:"instructions,omitempty"`
	Profile      string                   `json:"profile,omitempty"`
	CacheSeconds int64                    `json:"cacheSeconds,omitempty"`
	Answers      string                   `json:"answers,omitempty"`
	Selection    string                   `json:"selection,omitempty"`
	Plugins      string                   `json:"plugins,omitempty"`
	Workflows    string                   `json:"workflows,omitempty"`
	Connectors   []store.ToolsetConnector `json:"connectors"`
	Edits        []store.ToolEdit         `json:"edits,omitempty"`
}

// Document is what is kept of a draft that is set aside.
func (d *Draft) Document() Content {
	ts := d.Toolset
	return Content{
		Name: ts.Name, Description: ts.Description, Instructions: ts.Instructions, Profile: ts.Profile, CacheSeconds: ts.CacheSeconds,
		Answers: ts.Answers, Selection: ts.Selection, Plugins: ts.Plugins, Workflows: ts.Workflows, Connectors: d.Rows(), Edits: d.Edits,
	}
}

// CopyOf is a draft as a record.
func (d *Draft) CopyOf(kind, name, reason string) *store.DraftCopy {
	return &store.DraftCopy{ToolsetID: d.Toolset.ID, Kind: kind, Name: name, Digest: d.Toolset.DraftDigest, Document: store.JSON(d.Document()), Reason: reason}
}

// Fill makes a draft what a copy has, without saving it.
func (r *Room) Fill(ctx context.Context, ws *store.Workspace, d *Draft, row *store.DraftCopy) error {
	var doc Content
	if err := json.Unmarshal([]byte(row.Document), &doc); err != nil {
		return fmt.Errorf("reading draft %s of %s: %w", row.Name, row.ToolsetID, err)
	}
	if len(doc.Connectors) == 0 {
		return fmt.Errorf("draft %s of %s has no connector", row.Name, row.ToolsetID)
	}
	ts := d.Toolset
	ts.Name, ts.Description, ts.Instructions, ts.Profile, ts.CacheSeconds = doc.Name, doc.Description, doc.Instructions, doc.Profile, doc.CacheSeconds
	ts.Answers, ts.Selection, ts.Plugins, ts.Workflows = doc.Answers, doc.Selection, doc.Plugins, doc.Workflows
	parts := make([]*Part, len(doc.Connectors))
	for i := range doc.Connectors {
		var err error
		if parts[i], err = loadPart(ctx, ws, &doc.Connectors[i]); err != nil {
			return err
		}
		if parts[i].Conn, err = r.Opened.Open(ctx, parts[i].Version); err != nil {
			return err
		}
	}
	d.Parts, d.Part, d.Edits = parts, parts[0], doc.Edits
	return nil
}

// Reset makes a draft what is live again, and keeps what it was under a name.
func (r *Room) Reset(ctx context.Context, ws *store.Workspace, id string, revision uint64, reason string) error {
	d, err := r.Load(ctx, ws, id)
	if err != nil || d.Toolset.DraftDigest == d.Toolset.LiveDigest {
		return err
	}
	row, err := ws.DraftCopy(ctx, id, store.CopyPublished, d.Toolset.LiveDigest)
	if err != nil {
		return err
	}
	before := d.Document()
	kept := d.CopyOf(store.CopyKept, fmt.Sprintf("before-revision-%d", revision), reason)
	if err := r.Fill(ctx, ws, d, row); err != nil {
		return err
	}
	if err := r.Save(ctx, ws, d, "toolset.draft.reset", before, d.Document(), true); err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error { return tx.PutDraftCopy(ctx, kept) })
}
