package draft

import (
	"context"
	"reflect"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
)

// Save pushes the bundle of a changed draft and writes its records. A change
// that changes nothing writes nothing.
func (r *Room) Save(ctx context.Context, ws *store.Workspace, d *Draft, action string, before, after any, edits bool) error {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	if err := r.Push(ctx, d); err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SaveConnectors(ctx, d.Toolset, d.Rows()); err != nil {
			return err
		}
		if err := tx.SaveToolset(ctx, d.Toolset); err != nil {
			return err
		}
		if edits {
			if err := tx.ReplaceToolEdits(ctx, d.Toolset.ID, d.Edits); err != nil {
				return err
			}
		}
		rec := request.Audit(ctx, action, d.Toolset.ID)
		rec.Digest, rec.Before, rec.After = d.Toolset.DraftDigest, store.JSON(before), store.JSON(after)
		return tx.Audit(ctx, rec)
	})
}

// Compiled is a source as a connector that nothing stores yet.
type Compiled struct {
	Source *source.Source
	Pushed *publish.Connector
	Conn   *toolset.Generated
	Report *Report
}

// WriteDraft writes the toolset of a draft with its connectors, its edits, and the
// sources that were compiled for it.
func WriteDraft(ctx context.Context, tx *store.Tx, d *Draft, isNew bool) error {
	for _, p := range d.Parts {
		if c := p.Made; c != nil {
			err := tx.PutSpecification(ctx, &store.Specification{
				Digest: c.Report.SpecDigest, Name: c.Source.Name(), URL: c.Source.URL, Format: c.Source.Format(c.Report.Format),
				SpecVersion: c.Report.SpecVersion, Content: c.Source.Content(),
			})
			if err != nil {
				return err
			}
			if err := tx.PutConnector(ctx, &store.Connector{Name: p.Row.Connector, Title: c.Report.Title, Kind: "custom", Source: c.Source.Kind()}, p.Version); err != nil {
				return err
			}
		}
	}
	if isNew {
		d.Toolset.SetFirst(&d.Parts[0].Row)
		if err := tx.CreateToolset(ctx, d.Toolset); err != nil {
			return err
		}
	}
	if err := tx.SaveConnectors(ctx, d.Toolset, d.Rows()); err != nil {
		return err
	}
	if !isNew {
		if err := tx.SaveToolset(ctx, d.Toolset); err != nil {
			return err
		}
	}
	for _, p := range d.Parts {
		if p.Made != nil {
			if err := tx.PutToolsetSource(ctx, p.Made.Source.Record(d.Toolset.ID, p.Row.Name)); err != nil {
				return err
			}
		}
	}
	return tx.ReplaceToolEdits(ctx, d.Toolset.ID, d.Edits)
}

// Fields is what the audit log says of the fields that PATCH changes.
func Fields(d *Draft) map[string]any {
	t := d.Toolset
	return map[string]any{
		"name": t.Name, "description": t.Description, "instructions": t.Instructions, "baseUrl": d.Row.BaseURL,
		"profile": t.Profile, "cacheSeconds": t.CacheSeconds, "selection": choice.WithoutLearned(t.Selection), "upstreamPolicy": d.Row.UpstreamPolicy, "stateless": d.Row.Stateless, "answers": toolset.ShowAnswers(t.Answers),
	}
}
