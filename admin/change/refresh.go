package change

import (
	"context"
	"log/slog"
	"slices"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
)

// refresh is what a change knows of the source that is read again.
type refresh struct {
	request *RefreshRequest
	toolset *store.Toolset
	source  *store.ToolsetSource // it names the connector
	// approved is the version that an operator accepted: no other is taken over. Zero: any.
	approved difference.SpecRef
}

// validators are those of the document that is known; none without a refresh.
func (r *refresh) validators() source.Validators {
	if r == nil || r.request.Force || r.request.approve != "" {
		return source.Validators{}
	}
	return source.Validators{ETag: r.source.ETag, LastModified: r.source.LastModified}
}

// keepAsIs ends a refresh whose source is as it was, or makes the same connector; read
// is what is kept of how it was read.
func (c *change) keepAsIs(ctx context.Context, read *store.ToolsetSource) (*request.Done, error) {
	r := c.again
	if !r.request.DryRun {
		err := c.ws.Update(ctx, func(tx *store.Tx) error {
			if err := tx.PutToolsetSource(ctx, read); err != nil {
				return err
			}
			last, err := difference.Last(ctx, tx, r.toolset.ID, r.source.Connector)
			if err != nil {
				return err
			}
			if last != nil && last.Waits { // the server took back what was waiting
				back := &difference.Changes{
					Connector: r.source.Connector, From: last.To, To: last.From, Tools: []connector.ToolChange{}, Kept: []draft.KeptName{},
					At: c.ws.Now(), Actor: request.Of(ctx).ActorID(),
				}
				return back.Write(ctx, tx, r.toolset.ID)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	c.diff = nil
	return c.show(ctx)
}

// show answers a refresh that changed neither toolset nor draft.
func (c *change) show(ctx context.Context) (*request.Done, error) {
	return c.refreshed(ctx, Refreshed{Changed: c.diff != nil, DryRun: c.again.request.DryRun, Changes: c.diff})
}

// refreshed answers a refresh that left the draft alone.
func (c *change) refreshed(ctx context.Context, out Refreshed) (*request.Done, error) {
	var err error
	if c.d, err = draft.Outline(ctx, c.ws, c.again.toolset); err != nil {
		return nil, err
	}
	if out.Toolset, err = c.r.Views.Toolset(ctx, c.ws, c.d); err != nil {
		return nil, err
	}
	return c.answer("", unchanged, out), nil
}

// hold keeps what a source changed, and changes nothing that is served, nor the draft.
// why is for people.
func (c *change) hold(ctx context.Context, why string) (*request.Done, error) {
	toolset, connector := c.again.toolset.ID, c.again.source.Connector
	c.diff.Waits = true
	news := false
	err := c.ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SourceChecked(ctx, toolset, connector); err != nil {
			return err
		}
		last, err := difference.Last(ctx, tx, toolset, connector)
		if err != nil {
			return err
		}
		if news = last == nil || !last.Waits || last.To != c.diff.To; !news {
			c.diff.ID, c.diff.At = last.ID, last.At
			return nil
		}
		if err := c.diff.Write(ctx, tx, toolset); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.quarantine", toolset)
		rec.Reason = why
		rec.After = store.JSON(map[string]any{
			"added": c.diff.Added, "removed": c.diff.Removed, "changed": c.diff.Changed, "breaking": c.diff.Breaking, "origins": c.diff.Origins,
		})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	switch {
	case !news:
	case c.source.Server != nil:
		c.r.upstreamChanged(c.d, c.diff, slog.LevelWarn)
	default:
		c.r.drifted(c.d, c.diff, "waiting", why)
	}
	return c.refreshed(ctx, Refreshed{Changed: true, Changes: c.diff, Waiting: why + ": the change waits until it is accepted"})
}

// finishRefresh tests and deploys the new version where that harms nobody.
func (c *change) finishRefresh(ctx context.Context) (*request.Done, error) {
	d, r := c.d, c.again.request
	if c.source.Server != nil {
		c.r.upstreamChanged(d, c.diff, slog.LevelWarn)
	}
	out := Refreshed{Changed: c.diff != nil, Changes: c.diff}
	switch {
	case c.diff == nil || d.Toolset.LiveDigest == d.Toolset.DraftDigest:
	case d.Toolset.LiveRevision == 0:
		out.Waiting = "the toolset is not live"
	case c.in.Deploy != nil && c.in.Deploy.Skip:
		out.Waiting = "the request asks for a draft"
	case c.diff.Origins != nil && len(c.diff.Origins.New) > 0:
		out.Waiting = c.diff.Origins.Why()
	case c.diff.Breaking > 0 && !r.AcceptBreaking && !r.Accept:
		out.Waiting = c.diff.Why()
	default:
		if !r.AcceptBreaking && !r.Accept {
			since, err := c.sinceLive(ctx)
			if err != nil {
				return nil, err
			}
			if out.Waiting = since.why(); out.Waiting != "" {
				break
			}
		}
		var err error
		if out.Test, out.Deployed, err = c.tryOut(ctx); err != nil {
			return nil, err
		}
		switch {
		case out.Deployed:
		case out.Test.Passed:
			out.Waiting = "the request asks for a draft, or a roll-out of the toolset runs"
		default:
			out.Waiting = "the test did not pass: " + out.Test.Reason
		}
	}
	switch {
	case c.diff == nil || c.source.Server != nil || !r.Hold && r.approve == "":
	case out.Deployed:
		c.r.drifted(d, c.diff, "deployed", "")
	default:
		c.r.drifted(d, c.diff, "draft", out.Waiting)
	}
	var err error
	if out.Toolset, err = c.r.Views.Toolset(ctx, c.ws, d); err != nil {
		return nil, err
	}
	return c.answer("", refreshed, out), nil
}

// Refresh reads the source of a toolset's connector again. The toolset must be at the
// version that match names, until what was read is written.
func (r *Room) Refresh(ctx context.Context, id string, match *request.MatchInput, req *RefreshRequest, phase func(string)) (*request.Done, error) {
	ws := r.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := match.Check(ts.Version, false); err != nil {
		return nil, err
	}
	d, err := draft.Outline(ctx, ws, ts)
	if err != nil {
		return nil, err
	}
	if err := d.Focus(req.Connector); err != nil {
		return nil, err
	}
	row := &d.Row
	if row.SourceURL == "" && len(d.Parts) > 1 {
		return nil, problem.New(problem.Conflict, "connector %s of toolset %s was created from an uploaded document, which cannot be read again", row.Name, ts.Slug).
			Fix("upload the new version under the same name: sluice add FILE --to %s --name %s", ts.Slug, row.Name)
	} else if row.SourceURL == "" {
		return nil, problem.New(problem.Conflict, "toolset %s was created from an uploaded document, which cannot be read again", ts.Slug).
			Fix("upload the new version under the same slug: sluice add FILE --slug %s", ts.Slug)
	}
	src, err := ws.ToolsetSource(ctx, ts.ID, row.Name)
	if err != nil {
		return nil, err
	}
	again := &refresh{request: req, toolset: ts, source: src}
	if req.approve != "" {
		req.Accept, req.AcceptBreaking = true, true
		if again.approved, err = difference.Waiting(ctx, ws, ts, row.Name, req.approve); err != nil {
			return nil, err
		}
	}
	in := &CreateToolset{Slug: ts.Slug, Test: req.Test, Deploy: req.Deploy}
	if row.SourceKind == store.SourceMCP {
		in.BaseURL, in.Source.MCP = row.BaseURL, &MCPSource{URL: row.SourceURL}
	} else {
		kept, err := overlaysOf(src)
		if err != nil {
			return nil, err
		}
		in.Source.OpenAPI = &source.OpenAPISource{URL: row.SourceURL, Overlays: slices.Concat([]source.OverlaySource{}, kept)}
	}
	return (&change{r: r, ws: ws, in: in, again: again, match: *match, phase: phase}).run(ctx)
}
