package admin

import (
	"context"
	"reflect"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
)

// save pushes the bundle of a changed draft and writes its records. A change
// that changes nothing writes nothing.
func (r *drafts) save(ctx context.Context, ws *store.Workspace, d *draft, action string, before, after any, edits bool) error {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	if err := r.push(ctx, d); err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SaveConnectors(ctx, d.ts, d.rows()); err != nil {
			return err
		}
		if err := tx.SaveToolset(ctx, d.ts); err != nil {
			return err
		}
		if edits {
			if err := tx.ReplaceToolEdits(ctx, d.ts.ID, d.edits); err != nil {
				return err
			}
		}
		rec := request.Audit(ctx, action, d.ts.ID)
		rec.Digest, rec.Before, rec.After = d.ts.DraftDigest, store.JSON(before), store.JSON(after)
		return tx.Audit(ctx, rec)
	})
}

// compiled is a source as a connector that nothing stores yet.
type compiled struct {
	source *source.Source
	pushed *publish.Connector
	conn   *toolset.Generated
	report *Report
}

// writeDraft writes the toolset of a draft with its connectors, its edits, and the
// sources that were compiled for it.
func writeDraft(ctx context.Context, tx *store.Tx, d *draft, isNew bool) error {
	for _, p := range d.parts {
		if c := p.made; c != nil {
			err := tx.PutSpecification(ctx, &store.Specification{
				Digest: c.report.SpecDigest, Name: c.source.Name(), URL: c.source.URL, Format: c.source.Format(c.report.Format),
				SpecVersion: c.report.SpecVersion, Content: c.source.Content(),
			})
			if err != nil {
				return err
			}
			if err := tx.PutConnector(ctx, &store.Connector{Name: p.row.Connector, Title: c.report.Title, Kind: "custom", Source: c.source.Kind()}, p.version); err != nil {
				return err
			}
		}
	}
	if isNew {
		d.ts.SetFirst(&d.parts[0].row)
		if err := tx.CreateToolset(ctx, d.ts); err != nil {
			return err
		}
	}
	if err := tx.SaveConnectors(ctx, d.ts, d.rows()); err != nil {
		return err
	}
	if !isNew {
		if err := tx.SaveToolset(ctx, d.ts); err != nil {
			return err
		}
	}
	for _, p := range d.parts {
		if p.made != nil {
			if err := tx.PutToolsetSource(ctx, p.made.source.Record(d.ts.ID, p.row.Name)); err != nil {
				return err
			}
		}
	}
	return tx.ReplaceToolEdits(ctx, d.ts.ID, d.edits)
}
