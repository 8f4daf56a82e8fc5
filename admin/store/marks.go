package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/registry"
)

type releaseMark struct {
	bun.BaseModel `bun:"table:release_marks"`
	Group         string `bun:"group_name,pk"`
	Epoch         uint64 `bun:"epoch"`
	Revision      uint64 `bun:"revision"`
	NotedAt       Time   `bun:"noted_at"`
}

// ReleaseMark returns the newest release of a group that these records began to
// publish; zeros when they have published none.
func (s *Store) ReleaseMark(ctx context.Context, group string) (epoch, revision uint64, err error) {
	var row releaseMark
	err = s.read.NewSelect().Model(&row).Where("group_name = ?", group).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("reading the mark of releases of %s: %w", group, err)
	}
	return row.Epoch, row.Revision, nil
}

// MarkRelease notes that a release of a group is about to be published. A mark never
// goes back. It is durable when MarkRelease returns.
func (s *Store) MarkRelease(ctx context.Context, group string, epoch, revision uint64) error {
	row := releaseMark{Group: group, Epoch: epoch, Revision: revision, NotedAt: Time{Time: s.now()}}
	_, err := s.write.NewInsert().Model(&row).
		On("CONFLICT (group_name) DO UPDATE").
		Set("epoch = EXCLUDED.epoch").Set("revision = EXCLUDED.revision").Set("noted_at = EXCLUDED.noted_at").
		Where("release_mark.epoch < EXCLUDED.epoch OR (release_mark.epoch = EXCLUDED.epoch AND release_mark.revision < EXCLUDED.revision)").Exec(ctx)
	if err != nil {
		return fmt.Errorf("marking release %d.%d of %s: %w", epoch, revision, group, err)
	}
	return nil
}

// Unknown returns the slugs of toolsets of a release that these records do not know
// at that revision or a later one.
func (s *Store) Unknown(ctx context.Context, toolsets []registry.ReleaseToolset) ([]string, error) {
	var rows []struct {
		ToolsetID string `bun:"toolset_id"`
		N         uint64 `bun:"n"`
	}
	err := s.read.NewSelect().Model((*Revision)(nil)).Column("toolset_id").ColumnExpr("MAX(n) AS n").Group("toolset_id").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("reading the newest revisions: %w", err)
	}
	newest := make(map[string]uint64, len(rows))
	for _, r := range rows {
		newest[r.ToolsetID] = r.N
	}
	var out []string
	for i := range toolsets {
		if newest[toolsets[i].ID] < toolsets[i].Revision {
			out = append(out, toolsets[i].Slug)
		}
	}
	return out, nil
}
