package admin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sluicegate/sluice/admin/store"
)

// draftDocument is a draft as it is kept: its settings, connectors and edits.
// Credentials are not in it: the draft and what is live share them.
type draftDocument struct {
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

func (d *draft) document() draftDocument {
	ts := d.ts
	return draftDocument{
		Name: ts.Name, Description: ts.Description, Instructions: ts.Instructions, Profile: ts.Profile, CacheSeconds: ts.CacheSeconds,
		Answers: ts.Answers, Selection: ts.Selection, Plugins: ts.Plugins, Workflows: ts.Workflows, Connectors: d.rows(), Edits: d.edits,
	}
}

// copyOf is a draft as a record.
func (d *draft) copyOf(kind, name, reason string) *store.DraftCopy {
	return &store.DraftCopy{ToolsetID: d.ts.ID, Kind: kind, Name: name, Digest: d.ts.DraftDigest, Document: store.JSON(d.document()), Reason: reason}
}

// fill makes a draft what a copy has, without saving it.
func (r *drafts) fill(ctx context.Context, ws *store.Workspace, d *draft, row *store.DraftCopy) error {
	var doc draftDocument
	if err := json.Unmarshal([]byte(row.Document), &doc); err != nil {
		return fmt.Errorf("reading draft %s of %s: %w", row.Name, row.ToolsetID, err)
	}
	if len(doc.Connectors) == 0 {
		return fmt.Errorf("draft %s of %s has no connector", row.Name, row.ToolsetID)
	}
	ts := d.ts
	ts.Name, ts.Description, ts.Instructions, ts.Profile, ts.CacheSeconds = doc.Name, doc.Description, doc.Instructions, doc.Profile, doc.CacheSeconds
	ts.Answers, ts.Selection, ts.Plugins, ts.Workflows = doc.Answers, doc.Selection, doc.Plugins, doc.Workflows
	parts := make([]*part, len(doc.Connectors))
	for i := range doc.Connectors {
		var err error
		if parts[i], err = loadPart(ctx, ws, &doc.Connectors[i]); err != nil {
			return err
		}
		if parts[i].conn, err = r.Opened.Open(ctx, parts[i].version); err != nil {
			return err
		}
	}
	d.parts, d.part, d.edits = parts, parts[0], doc.Edits
	return nil
}

func (r *drafts) reset(ctx context.Context, ws *store.Workspace, id string, revision uint64, reason string) error {
	d, err := r.load(ctx, ws, id)
	if err != nil || d.ts.DraftDigest == d.ts.LiveDigest {
		return err
	}
	row, err := ws.DraftCopy(ctx, id, store.CopyPublished, d.ts.LiveDigest)
	if err != nil {
		return err
	}
	before := d.document()
	kept := d.copyOf(store.CopyKept, fmt.Sprintf("before-revision-%d", revision), reason)
	if err := r.fill(ctx, ws, d, row); err != nil {
		return err
	}
	if err := r.save(ctx, ws, d, "toolset.draft.reset", before, d.document(), true); err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error { return tx.PutDraftCopy(ctx, kept) })
}
