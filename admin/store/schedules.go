package store

import (
	"context"
	"fmt"
	"time"
)

const (
	// scheduleRetry is how long after a check that failed the next one comes, when the
	// schedule itself is not shorter.
	scheduleRetry = 15 * time.Minute
	// maxDueSources are looked at in one round; the rest is due in the next.
	maxDueSources = 200
)

// SetSchedule sets how often the source of a toolset's connector is read again by
// itself; 0: never.
func (t *Tx) SetSchedule(ctx context.Context, toolset, connector string, every time.Duration) error {
	row := &ToolsetSource{ToolsetID: toolset, Connector: connector, EverySeconds: int64(every / time.Second), CheckedAt: Time{Time: t.Now()}}
	_, err := t.insert(row).On("CONFLICT (workspace_id, toolset_id, connector) DO UPDATE").Set("every_seconds = EXCLUDED.every_seconds").Exec(ctx)
	if err != nil {
		return fmt.Errorf("writing the schedule of toolset %s: %w", toolset, err)
	}
	return nil
}

// DueSources lists the sources of every workspace that are to be read again now, those
// that waited longest first, at most 200.
func (s *Store) DueSources(ctx context.Context) ([]ToolsetSource, error) {
	var rows []ToolsetSource
	now := s.now().UnixMilli()
	err := s.read.NewSelect().Model(&rows).Where("every_seconds > 0").Where("checked_at + every_seconds * 1000 <= ?", now).
		Where("tried_at + CASE WHEN every_seconds < ? THEN every_seconds ELSE ? END * 1000 <= ?", int64(scheduleRetry/time.Second), int64(scheduleRetry/time.Second), now).
		Order("checked_at", "toolset_id", "connector").Limit(maxDueSources).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the sources that are due: %w", err)
	}
	return rows, nil
}

// ClaimSource notes that a source is being read, and reports whether nobody else, such
// as another control plane on this database, did since row was read.
func (t *Tx) ClaimSource(ctx context.Context, row *ToolsetSource) (bool, error) {
	n, err := affected(t.updateOf((*ToolsetSource)(nil)).Set("tried_at = ?", Time{Time: t.Now()}).Where("toolset_id = ?", row.ToolsetID).
		Where("connector = ?", row.Connector).Where("tried_at = ?", row.TriedAt).Exec(ctx))
	if err != nil {
		return false, fmt.Errorf("claiming the source of toolset %s: %w", row.ToolsetID, err)
	}
	return n > 0, nil
}

// SourceChecked notes that a source was read and nothing of it was taken over.
func (t *Tx) SourceChecked(ctx context.Context, toolset, connector string) error {
	_, err := t.updateOf((*ToolsetSource)(nil)).Set("checked_at = ?", Time{Time: t.Now()}).Set("failures = 0").Set("fault = ''").
		Where("toolset_id = ?", toolset).Where("connector = ?", connector).Exec(ctx)
	if err != nil {
		return fmt.Errorf("writing the source of toolset %s: %w", toolset, err)
	}
	return nil
}

// SourceFailed notes why a source could not be read, and returns how often in a row
// that was.
func (t *Tx) SourceFailed(ctx context.Context, toolset, connector, fault string) (failures int64, err error) {
	_, err = t.updateOf((*ToolsetSource)(nil)).Set("failures = failures + 1").Set("fault = ?", fault).
		Where("toolset_id = ?", toolset).Where("connector = ?", connector).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("writing the source of toolset %s: %w", toolset, err)
	}
	row, err := t.ToolsetSource(ctx, toolset, connector)
	if err != nil {
		return 0, err
	}
	return row.Failures, nil
}
