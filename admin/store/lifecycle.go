package store

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
)

// State is where a digest of a toolset is in its life. Draft and tested are told
// by the draft and its test runs; the others are stored with each revision.
type State string

// The states.
const (
	Draft      State = "draft"       // changed since it was tested, or never tested
	Tested     State = "tested"      // a recorded test of exactly this digest passed
	Published  State = "published"   // live
	Superseded State = "superseded"  // a newer revision is live
	RolledBack State = "rolled_back" // an older one was brought back in its place
	Archived   State = "archived"    // its contents may be gone; the record stays
)

// Step is what happens to a digest.
type Step string

// The steps.
const (
	Change          Step = "change"           // the draft is edited
	Pass            Step = "pass"             // its test passes
	Publish         Step = "publish"          // it becomes live
	PublishUntested Step = "publish_untested" // it becomes live with a recorded reason instead of a test
	Supersede       Step = "supersede"        // another digest becomes live
	RollBack        Step = "roll_back"        // an older digest becomes live in its place
	Restore         Step = "restore"          // it becomes live again, as a new revision
	Archive         Step = "archive"          // retention lets it go
)

var lifecycle = map[State]map[Step]State{
	Draft:      {Change: Draft, Pass: Tested, PublishUntested: Published},
	Tested:     {Change: Draft, Pass: Tested, Publish: Published},
	Published:  {Supersede: Superseded, RollBack: RolledBack},
	Superseded: {Restore: Published, Archive: Archived},
	RolledBack: {Restore: Published, Archive: Archived},
	Archived:   {},
}

// Next is the one transition function of the lifecycle: the state after a step.
// It fails with [problem.Conflict] where the step is not possible.
func Next(from State, step Step) (State, error) {
	if to, ok := lifecycle[from][step]; ok {
		return to, nil
	}
	e := problem.New(problem.Conflict, "a revision that is %s cannot %s", from, step)
	if from == Archived {
		e = e.Fix("its contents may be gone; deploy the draft again")
	}
	return "", e
}

// Revision reads one revision of a toolset. It fails with [problem.NotFound].
func (c *scope) Revision(ctx context.Context, toolset string, n uint64) (*Revision, error) {
	row := new(Revision)
	return row, table.Found(c.from(row).Where("toolset_id = ?", toolset).Where("n = ?", n).Scan(ctx), "revision", fmt.Sprint(n))
}

// LastRevisionBefore reads the newest revision below n that can be restored and
// has another digest. It fails with [problem.NotFound].
func (c *scope) LastRevisionBefore(ctx context.Context, toolset string, n uint64, digest string) (*Revision, error) {
	row := new(Revision)
	err := c.from(row).Where("toolset_id = ?", toolset).Where("n < ?", n).Where("digest <> ?", digest).
		Where("state <> ?", Archived).Order("n DESC").Limit(1).Scan(ctx)
	return row, table.Found(err, "older revision of", toolset)
}

// PublishRevision records that a digest becomes live as the next revision of its
// toolset, after step from a state, and what that does to the revision that was
// live (n, 0 for none). It sets row.N and row.State. The caller saves the toolset.
func (t *Tx) PublishRevision(ctx context.Context, row *Revision, from State, step Step, live uint64) error {
	to, err := Next(from, step)
	if err != nil {
		return err
	}
	row.State = to
	if err := t.AddRevision(ctx, row); err != nil {
		return err
	}
	if live == 0 {
		return nil
	}
	ends := Supersede
	if step == Restore {
		ends = RollBack
	}
	return t.step(ctx, row.ToolsetID, live, ends)
}

// step moves one revision.
func (t *Tx) step(ctx context.Context, toolset string, n uint64, step Step) error {
	row, err := t.Revision(ctx, toolset, n)
	if err != nil {
		return err
	}
	to, err := Next(row.State, step)
	if err != nil {
		return err
	}
	return t.setState(ctx, toolset, n, to)
}

func (t *Tx) setState(ctx context.Context, toolset string, n uint64, to State) error {
	if _, err := t.updateOf((*Revision)(nil)).Set("state = ?", to).Where("toolset_id = ?", toolset).Where("n = ?", n).Exec(ctx); err != nil {
		return fmt.Errorf("moving revision %d of %s: %w", n, toolset, err)
	}
	return nil
}

// UnpublishRevision takes back what PublishRevision did, for a release that could
// not be made: the revision is removed and the one before is live again.
func (t *Tx) UnpublishRevision(ctx context.Context, toolset string, n, live uint64) error {
	if err := t.DropRevision(ctx, toolset, n); err != nil || live == 0 {
		return err
	}
	return t.setState(ctx, toolset, live, Published)
}

// ArchiveRevisions archives what retention lets go: revisions that are not live,
// not among the newest keep of their toolset and older than age. It returns them.
func (t *Tx) ArchiveRevisions(ctx context.Context, keep int, age time.Duration) ([]Revision, error) {
	var rows, out []Revision
	err := t.from(&rows).Where("state IN (?, ?)", Superseded, RolledBack).Where("created_at < ?", Time{Time: t.Now().Add(-age)}).
		Order("toolset_id", "n DESC").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing old revisions: %w", err)
	}
	for i := range rows {
		r := &rows[i]
		var newer int
		if err := t.from((*Revision)(nil)).ColumnExpr("COUNT(*)").Where("toolset_id = ?", r.ToolsetID).Where("n > ?", r.N).Scan(ctx, &newer); err != nil {
			return nil, fmt.Errorf("counting revisions of %s: %w", r.ToolsetID, err)
		}
		if newer < keep {
			continue
		}
		if err := t.step(ctx, r.ToolsetID, r.N, Archive); err != nil {
			return nil, err
		}
		r.State = Archived
		out = append(out, *r)
	}
	return out, nil
}

// Bundle names what a toolset needs in the registry.
type Bundle struct {
	Repository string
	Digest     string
}

// NeededBundles lists the bundles of every workspace that must stay in the
// registry: of live and retained revisions, of drafts, of candidates on trial, and of previews.
func (s *Store) NeededBundles(ctx context.Context) ([]Bundle, error) {
	var revisions []Revision
	if err := s.read.NewSelect().Model(&revisions).Column("repository", "digest").Where("state <> ?", Archived).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing retained revisions: %w", err)
	}
	var toolsets []Toolset
	if err := s.read.NewSelect().Model(&toolsets).Column("workspace_id", "slug", "draft_digest", "live_digest", "live_repository").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing toolsets: %w", err)
	}
	var previews []Preview
	if err := s.read.NewSelect().Model(&previews).Column("repository", "digest").Where("expires_at > ?", Time{Time: s.now()}).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing previews: %w", err)
	}
	out, err := trialBundles(ctx, s.read)
	if err != nil {
		return nil, err
	}
	for i := range previews {
		out = append(out, Bundle{previews[i].Repository, previews[i].Digest})
	}
	for i := range revisions {
		out = append(out, Bundle{revisions[i].Repository, revisions[i].Digest})
	}
	for i := range toolsets {
		t := &toolsets[i]
		if t.DraftDigest != "" {
			out = append(out, Bundle{t.WorkspaceID + "/toolsets/" + t.Slug, t.DraftDigest})
		}
		if t.LiveDigest != "" {
			out = append(out, Bundle{t.LiveRepository, t.LiveDigest})
		}
	}
	return out, nil
}
