package adoption

import (
	"context"
	"fmt"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/internal/problem"
	entries "github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/plugins/connector"
)

// Room takes newer versions of entries over.
type Room struct {
	Catalog  *catalog.Room
	Drafts   *draft.Room
	Rollouts *rollout.Room
	// Record writes the difference of a change where those of other changes are.
	Record func(ctx context.Context, tx *store.Tx, d *draft.Draft, diff *Diff) error
}

// Update makes a connector of a toolset what its entry is now. A draft that another
// change was faster with fails with [store.ErrStale].
func (r *Room) Update(ctx context.Context, ws *store.Workspace, d *draft.Draft, in *UpdateRequest, phase func(string)) (*Outcome, error) {
	made, err := catalog.MadeOf(d.Row.Entry)
	if err != nil {
		return nil, err
	}
	if made == nil {
		return nil, problem.New(problem.Conflict, "connector %s of toolset %s was not made of an entry of the catalog", d.Row.Name, d.Toolset.Slug).
			Fix("read its source again: sluice toolset refresh %s", d.Toolset.Slug)
	}
	made.Choice.Partial = made.Choice.Partial || in.Partial
	now, err := r.Catalog.Now(made)
	if err != nil {
		return nil, err
	}
	if now.Version() == made.Version {
		return &Outcome{}, nil
	}
	clean := d.Toolset.DraftDigest == d.Toolset.LiveDigest
	diff, err := r.merge(ctx, d, made, now)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Diff: diff, Kept: len(diff.Tools)+len(diff.Entry.Settings) == 0 && diff.Origins == nil}
	if in.DryRun {
		return out, nil
	}
	phase("writing the draft")
	if err := r.write(ctx, ws, d, diff); err != nil {
		return nil, err
	}
	return out, r.finish(ctx, ws, d, in, out, clean, phase)
}

// merge takes the newer version over into the draft, and says what that changes.
func (r *Room) merge(ctx context.Context, d *draft.Draft, made *catalog.Made, now *catalog.Adoption) (*Diff, error) {
	before := made.Before()
	if before.Kind() != now.Kind() {
		return nil, problem.New(problem.Conflict, "the entry %s is another kind of source now (%s, was %s)", now.ID, now.Kind(), before.Kind()).
			Fix("add it as another toolset: sluice catalog add %s --slug NAME", now.ID)
	}
	// What the vendor no longer has was there when the connector was made.
	wasEdits, err := edits(d, before)
	if err != nil && !problem.Is(err, problem.Conflict) {
		return nil, err
	}
	nowEdits, err := edits(d, now)
	if p := problem.As(err); p != nil && p.Kind == problem.Conflict {
		return nil, p.Fix("the vendor may have a newer document: sluice toolset refresh %s; or leave those tools out: --partial", d.Toolset.Slug)
	}
	if err != nil {
		return nil, err
	}
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return nil, err
	}
	m := &merge{d: d, was: sideOf(wasEdits, before.Examples()), now: sideOf(nowEdits, now.Examples()), choice: c, names: map[toolset.Operation]string{}}
	for _, t := range d.ToolsOf(d.Row.Name) {
		m.operations = append(m.operations, t.Operation)
		m.names[t.Operation] = t.Name
	}
	m.run()
	if err := c.CheckExamples(); err != nil {
		return nil, err
	}
	c.Keep(d.Toolset)
	if d.Empty() {
		return nil, draft.NothingEnabled()
	}
	diff := &Diff{Entry: EntryChange{ID: now.ID, From: made.Version, To: now.Version()}, Tools: m.tools}
	m.nameYours()
	diff.Entry.Yours = m.yours
	if err := r.settings(ctx, d, before, now, diff); err != nil {
		return nil, err
	}
	if err := mergeWorkflows(d, before, now, diff); err != nil {
		return nil, err
	}
	d.Row.Entry = now.Record()
	return diff, nil
}

// settings takes over where calls go, how they are authenticated, and what the model is
// notified of the toolset.
func (r *Room) settings(ctx context.Context, d *draft.Draft, was, now *catalog.Adoption, diff *Diff) error {
	set := func(to *string, where string, impact connector.Impact, before, after string) {
		switch mine := *to; {
		case before == after || mine == after:
		case mine != before:
			diff.Entry.Yours = append(diff.Entry.Yours, Kept{Where: where, Entry: after})
		default:
			*to = after
			diff.Entry.Settings = append(diff.Entry.Settings, detail(impact, where, before, after))
		}
	}
	from := d.Calls()
	if was.URL != "" && now.URL != "" {
		set(&d.Row.SourceURL, "source", connector.ImpactSafe, was.URL, now.URL) // nothing is read there before a refresh
	}
	set(&d.Row.BaseURL, "baseUrl", connector.ImpactBreaking, baseOf(was.Entry), baseOf(now.Entry))
	if was.Instructions != "" || now.Instructions != "" {
		set(&d.Toolset.Instructions, "instructions", connector.ImpactWording, was.Instructions, now.Instructions)
	}
	if err := r.authenticate(d, was.Entry, now.Entry, diff); err != nil {
		return err
	}
	to := d.Calls()
	if from.Wanted().Missing(to.Wanted()) == nil {
		return nil
	}
	diff.Origins = &credential.OriginChange{Connector: d.Row.Name, From: credential.NonNil(from.Wanted()), To: credential.NonNil(to.Wanted())}
	waits, err := r.Drafts.Unconfirmed(ctx, d)
	for i := range waits {
		if waits[i].Connector == d.Row.Name {
			diff.Origins.New = waits[i].New
		}
	}
	return err
}

func baseOf(e *entries.Entry) string {
	if e.Base == nil {
		return ""
	}
	return e.Base.URL
}

// authenticate changes where a stored key is put when it is where the older version of
// the entry put it. The key itself stays, and so do the addresses it may be sent to.
func (r *Room) authenticate(d *draft.Draft, was, now *entries.Entry, diff *Diff) error {
	if len(d.Creds) != 1 {
		return nil
	}
	shape, err := credential.ShapeOf(&d.Creds[0].Row)
	if err != nil {
		return err
	}
	have := entries.EntrySettings{
		AuthType: d.Creds[0].Row.AuthType, Scheme: shape.Scheme, HeaderName: shape.HeaderName, HeaderPrefix: shape.HeaderPrefix,
		ParameterName: shape.ParameterName, CookieName: shape.CookieName, MemberName: shape.MemberName, Username: shape.Username,
	}
	find := func(list []entries.EntryAuth, fits func(s *entries.EntrySettings) bool) *entries.EntrySettings {
		for i := range list {
			if fits(&list[i].Settings) {
				return &list[i].Settings
			}
		}
		return nil
	}
	same := func(s *entries.EntrySettings) bool {
		of := *s
		if of.Scheme == "" {
			of.Scheme = have.Scheme
		}
		if of.Username == "" {
			of.Username = have.Username
		}
		return of == have
	}
	next := find(now.Authentication, func(s *entries.EntrySettings) bool { return s.AuthType == have.AuthType })
	if find(was.Authentication, same) == nil || find(now.Authentication, same) != nil || next == nil {
		return nil // the operator's own, as it is, or of a kind that needs another key
	}
	item := credential.AuthItem{
		AuthType: next.AuthType, Scheme: next.Scheme, HeaderName: next.HeaderName, HeaderPrefix: next.HeaderPrefix,
		ParameterName: next.ParameterName, CookieName: next.CookieName, MemberName: next.MemberName, Username: next.Username,
	}
	if item.Username == "" {
		item.Username = have.Username
	}
	if err := r.Drafts.Authenticate(d, &credential.SetAuth{AuthItem: item}, "/authentication"); err != nil {
		return err
	}
	diff.Entry.Settings = append(diff.Entry.Settings, detail(connector.ImpactBreaking, "authentication", place(&have), place(next)))
	return nil
}

// place says where a key is put.
func place(s *entries.EntrySettings) string {
	switch s.AuthType {
	case "header":
		return fmt.Sprintf("header %s: %s…", s.HeaderName, s.HeaderPrefix)
	case "query":
		return "query parameter " + s.ParameterName
	case "cookie":
		return "cookie " + s.CookieName
	case "body":
		return "member " + s.MemberName + " of the body"
	}
	return s.AuthType
}

// write stores the bundle of the draft and all records.
func (r *Room) write(ctx context.Context, ws *store.Workspace, d *draft.Draft, diff *Diff) error {
	if err := r.Drafts.Push(ctx, d); err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		if err := draft.WriteDraft(ctx, tx, d, false); err != nil {
			return err
		}
		if err := r.Drafts.WriteAuth(ctx, tx, d); err != nil {
			return err
		}
		if err := r.Record(ctx, tx, d, diff); err != nil {
			return err
		}
		rec := request.Audit(ctx, "catalog.update", d.Toolset.ID)
		rec.Digest = d.Toolset.DraftDigest
		rec.Before = store.JSON(map[string]any{"connector": d.Row.Name, "entry": diff.Entry.ID, "version": diff.Entry.From})
		rec.After = store.JSON(map[string]any{"version": diff.Entry.To, "changes": diff.settle(), "settings": diff.Entry.Settings, "origins": diff.Origins, "kept": len(diff.Entry.Yours)})
		return tx.Audit(ctx, rec)
	})
}

// finish tests and deploys the new version where that harms nobody.
func (r *Room) finish(ctx context.Context, ws *store.Workspace, d *draft.Draft, in *UpdateRequest, out *Outcome, clean bool, phase func(string)) error {
	_, _, _, breaking, _, _ := out.Diff.Count()
	switch o := out.Diff.Origins; {
	case d.Toolset.LiveDigest == d.Toolset.DraftDigest:
		return nil
	case d.Toolset.LiveRevision == 0:
		out.Waiting = "the toolset is not live"
		return nil
	case in.Skip:
		out.Waiting = "the request asks for a draft"
		return nil
	case o != nil && len(o.New) > 0:
		out.Waiting = o.Why()
		return nil
	case o != nil && !in.AcceptBreaking:
		out.Waiting = o.Why()
		return nil
	case breaking > 0 && !in.AcceptBreaking:
		if out.Waiting = fmt.Sprintf("%d changes are breaking", breaking); breaking == 1 {
			out.Waiting = "a change is breaking"
		}
		return nil
	case !clean:
		out.Waiting = "the draft has other changes that are not live"
		return nil
	}
	phase("testing a tool")
	req := rollout.TestRequest{}
	if in.Test != nil {
		req = *in.Test
	}
	if req.Tool == "" && req.Connector == "" && len(d.Parts) > 1 {
		req.Connector = d.Row.Name
	}
	var err error
	if out.Test, err = r.Rollouts.Test(ctx, ws, d, &req); err != nil {
		return err
	}
	reason := ""
	if !out.Test.Possible && len(out.Test.Waits) == 0 {
		reason = in.UntestedReason
	}
	switch {
	case out.Test.Passed && req.KeepDraft:
		out.Waiting = "the request asks for a draft"
	case out.Test.Passed || reason != "":
		phase("publishing")
		out.Deployed = true
		return r.Rollouts.Deploy(ctx, ws, d, out.Test, reason)
	default:
		out.Waiting = "the test did not pass: " + out.Test.Reason
	}
	return nil
}
