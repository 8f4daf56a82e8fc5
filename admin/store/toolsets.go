package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// ErrStale is the cause of the [problem.Precondition] that a write of a toolset
// fails with when its version is not the one that was read.
var ErrStale = errors.New("the record has changed")

// Toolset reads one toolset. It fails with [problem.NotFound].
func (c *scope) Toolset(ctx context.Context, id string) (*Toolset, error) {
	row := new(Toolset)
	return row, table.Found(c.from(row).Where("id = ?", id).Scan(ctx), "toolset", id)
}

// FindToolset reads a toolset by its id, which begins with ts_, or its slug.
func (c *scope) FindToolset(ctx context.Context, ref string) (*Toolset, error) {
	if strings.HasPrefix(ref, "ts_") {
		return c.Toolset(ctx, ref)
	}
	return c.ToolsetBySlug(ctx, ref)
}

// ToolsetBySlug reads one toolset. It fails with [problem.NotFound], also when
// another workspace has the slug.
func (c *scope) ToolsetBySlug(ctx context.Context, slug string) (*Toolset, error) {
	row := new(Toolset)
	return row, c.found(ctx, c.from(row).Where("slug = ?", slug).Scan(ctx), (*Toolset)(nil), "slug", "toolset", slug)
}

// Toolsets lists toolsets by id, which is the order of their creation, newest
// first, and returns the key of the next page or "".
func (c *scope) Toolsets(ctx context.Context, p Page) ([]Toolset, string, error) {
	var rows []Toolset
	return table.Read(ctx, c.db, c.from(&rows), &rows, ToolsetList, p, "toolsets")
}

// CreateToolset writes a new toolset with version 1, an id when it has none, and the
// name of its connector when that has none in the toolset.
// It fails with [problem.Conflict] when the slug is taken, in any workspace.
func (t *Tx) CreateToolset(ctx context.Context, row *Toolset) error {
	if row.ID == "" {
		row.ID = t.NewID("ts")
	}
	if row.ConnectorName == "" {
		row.ConnectorName = row.Connector
	}
	row.Version = 1
	row.CreatedAt, row.UpdatedAt = Time{Time: t.Now()}, Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); isUnique(err) {
		return slugTaken(row.Slug).Because(ErrStale)
	} else if err != nil {
		return fmt.Errorf("creating toolset %s: %w", row.ID, err)
	}
	return nil
}

func slugTaken(slug string) *problem.Error {
	return problem.New(problem.Conflict, "the slug %.80q is taken by another toolset", slug).Fix("choose another slug, or another name")
}

// SaveToolset writes every field of a toolset that was read before, and raises
// its version. It fails with [problem.Precondition] (cause [ErrStale]) when the
// toolset was written meanwhile, [problem.NotFound] when it was deleted and
// [problem.Conflict] when the slug is taken. row is changed only on success.
func (t *Tx) SaveToolset(ctx context.Context, row *Toolset) error {
	next := *row
	next.Version++
	next.UpdatedAt = Time{Time: t.Now()}
	next.WorkspaceID = t.id
	n, err := affected(t.updateOf(&next).ExcludeColumn("workspace_id", "id", "created_at").
		Where("id = ?", row.ID).Where("version = ?", row.Version).Exec(ctx))
	switch {
	case isUnique(err):
		return slugTaken(row.Slug)
	case err != nil:
		return fmt.Errorf("saving toolset %s: %w", row.ID, err)
	case n == 0:
		return t.stale(ctx, row.ID, row.Version)
	}
	*row = next
	return nil
}

func (t *Tx) stale(ctx context.Context, id string, version uint64) error {
	cur, err := t.Toolset(ctx, id)
	if err != nil {
		return err
	}
	return problem.New(problem.Precondition, "the toolset was changed meanwhile: it has version %d, not %d", cur.Version, version).
		Fix("read it again and repeat the change").Because(ErrStale)
}

// DeleteToolset removes a toolset with its edits, credential, test runs and
// revisions. It fails as SaveToolset does.
func (t *Tx) DeleteToolset(ctx context.Context, id string, version uint64) error {
	n, err := affected(t.deleteOf((*Toolset)(nil)).Where("id = ?", id).Where("version = ?", version).Exec(ctx))
	if err != nil {
		return fmt.Errorf("deleting toolset %s: %w", id, err)
	}
	if n == 0 {
		return t.stale(ctx, id, version)
	}
	if _, err := t.deleteOf((*AlertRule)(nil)).Where("toolset_id = ?", id).Exec(ctx); err != nil {
		return fmt.Errorf("deleting the alert rules of %s: %w", id, err)
	}
	return nil
}

// Live lists the live toolsets that a group of edges gets, for its next release.
func (s *Store) Live(ctx context.Context, name string) ([]registry.ReleaseToolset, error) {
	g, err := s.groupByName(ctx, name)
	if err != nil {
		return nil, err
	}
	var rows []Toolset
	// What a release names, and what decides whether the group gets it: all of a toolset is ten times as much.
	columns := []string{"workspace_id", "id", "slug", "labels", "live_revision", "live_repository", "live_digest"}
	if err := s.read.NewSelect().Model(&rows).Column(columns...).Where("live_revision > 0").Order("id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing live toolsets: %w", err)
	}
	access, err := s.accessDigests(ctx)
	if err != nil {
		return nil, err
	}
	running, err := s.RunningTrials(ctx)
	if err != nil {
		return nil, err
	}
	trials := make(map[string]registry.ReleaseTrial, len(running))
	for i := range running {
		trials[running[i].ToolsetID] = running[i].release()
	}
	out := make([]registry.ReleaseToolset, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if ok, err := g.gets(r); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		out = append(out, registry.ReleaseToolset{
			ID: r.ID, Workspace: r.WorkspaceID, Slug: r.Slug, Revision: r.LiveRevision,
			Repository: r.LiveRepository, Bundle: registry.Digest(r.LiveDigest), Access: access[r.ID], Trial: trials[r.ID],
		})
	}
	return out, nil
}

// ToolEdits returns the edits of a toolset by connector, path and method.
func (c *scope) ToolEdits(ctx context.Context, toolset string) ([]ToolEdit, error) {
	var rows []ToolEdit
	if err := c.from(&rows).Where("toolset_id = ?", toolset).Order("connector", "path", "method").Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the tool edits of %s: %w", toolset, err)
	}
	return rows, nil
}

// ReplaceToolEdits makes edits the only edits of a toolset. The caller raises
// the toolset's version.
func (t *Tx) ReplaceToolEdits(ctx context.Context, toolset string, edits []ToolEdit) error {
	if _, err := t.deleteOf((*ToolEdit)(nil)).Where("toolset_id = ?", toolset).Exec(ctx); err != nil {
		return fmt.Errorf("replacing the tool edits of %s: %w", toolset, err)
	}
	for i := range edits {
		edits[i].ToolsetID = toolset
		if _, err := t.insert(&edits[i]).Exec(ctx); err != nil {
			return fmt.Errorf("writing the tool edits of %s: %w", toolset, err)
		}
	}
	return nil
}

// Revisions lists the published revisions of a toolset, newest first. Page.After
// is the revision's number.
func (c *scope) Revisions(ctx context.Context, toolset string, p Page) ([]Revision, string, error) {
	var rows []Revision
	return table.Read(ctx, c.db, c.from(&rows).Where("toolset_id = ?", toolset), &rows, RevisionList, p, "the revisions of "+toolset)
}

// Published lists the published revisions of all toolsets, newest first.
func (c *scope) Published(ctx context.Context, p Page) ([]Revision, string, error) {
	var rows []Revision
	return table.Read(ctx, c.db, c.from(&rows), &rows, PublishedList, p, "the revisions of all toolsets")
}

// AddRevision records that a digest became live, as the next revision of its
// toolset, and sets row.N. The caller saves the toolset.
func (t *Tx) AddRevision(ctx context.Context, row *Revision) error {
	var last uint64
	if err := t.from((*Revision)(nil)).ColumnExpr("COALESCE(MAX(n), 0)").Where("toolset_id = ?", row.ToolsetID).Scan(ctx, &last); err != nil {
		return fmt.Errorf("reading the revisions of %s: %w", row.ToolsetID, err)
	}
	row.N, row.CreatedAt = last+1, Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("adding revision %d of %s: %w", row.N, row.ToolsetID, err)
	}
	return nil
}

// DropRevision removes the newest revision of a toolset, whose release could not
// be made.
func (t *Tx) DropRevision(ctx context.Context, toolset string, n uint64) error {
	if _, err := t.deleteOf((*Revision)(nil)).Where("toolset_id = ?", toolset).Where("n = ?", n).Exec(ctx); err != nil {
		return fmt.Errorf("removing revision %d of %s: %w", n, toolset, err)
	}
	return nil
}

// AddTestRun records a test.
func (t *Tx) AddTestRun(ctx context.Context, row *TestRun) error {
	row.ID, row.CreatedAt = t.NewID("test"), Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("recording a test of %s: %w", row.ToolsetID, err)
	}
	return nil
}

// LastTestRun returns the newest test of a toolset's digest, or nil when that
// digest was never tested. An empty digest means any.
func (c *scope) LastTestRun(ctx context.Context, toolset, digest string) (*TestRun, error) {
	row := new(TestRun)
	q := c.from(row).Where("toolset_id = ?", toolset).Order("id DESC").Limit(1)
	if digest != "" {
		q = q.Where("digest = ?", digest)
	}
	err := q.Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // "never tested" is an ordinary answer
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tests of %s: %w", toolset, err)
	}
	return row, nil
}
