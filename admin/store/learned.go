package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/registry"
)

const (
	// LearnedHalfLife is when a use counts half: what was asked last season says less
	// of what is asked now.
	LearnedHalfLife = 30 * 24 * time.Hour
	// MaxLearnedOfTool requests of one tool are kept, the most used ones.
	MaxLearnedOfTool = 64
	// MaxLearned requests of one toolset are kept, the most used ones. A draft and its
	// bundle hold them, and each report reads them.
	MaxLearned = 2048
	// maxLearnedUses of one request that one report adds: one busy caller does not
	// decide alone.
	maxLearnedUses = 3
	// learnedUse is one use in the column.
	learnedUse = 1000
	// leastLearned uses are kept: one use is gone after 100 days.
	leastLearned = learnedUse / 10
	// blockedAge is how long a deleted request is not learned again.
	blockedAge = 400 * 24 * time.Hour
	// maxBlocked requests of one toolset; the oldest are forgotten.
	maxBlocked = 2048
)

// Learned is a request that a tool was seen to serve.
type Learned struct {
	bun.BaseModel `bun:"table:learned_requests"`
	InWorkspace
	ToolsetID string `bun:"toolset_id,pk"`
	// Connector is the name of the tool's in the toolset; "": a node that did not say.
	Connector string `bun:"connector,pk"`
	Method    string `bun:"method,pk"` // of the tool's operation
	Path      string `bun:"path,pk"`
	Digest    string `bun:"digest,pk"` // of the request, without regard to case and spaces
	Query     string `bun:"query"`     // "" when it is blocked
	// Milli is a thousandth of how often it was asked; it halves in [LearnedHalfLife].
	Milli   int64 `bun:"uses"`
	FirstAt Time  `bun:"first_at"`
	LastAt  Time  `bun:"last_at"`
	Blocked bool  `bun:"blocked"` // deleted by the operator
}

// Uses is how often the request was asked, as much as that counts now.
func (l *Learned) Uses() float64 { return float64(l.Milli) / learnedUse }

// age makes Milli what it is at a time.
func (l *Learned) age(now time.Time) {
	if d := now.Sub(l.LastAt.Time); d > 0 {
		l.Milli = int64(math.Round(float64(l.Milli) * math.Exp2(-float64(d)/float64(LearnedHalfLife))))
		l.LastAt = Time{Time: now}
	}
}

// learnedDigest tells requests apart.
func learnedDigest(query string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join(strings.Fields(query), " "))))
	return hex.EncodeToString(sum[:16])
}

type learnedKey struct{ connector, method, path, digest string }

func (l *Learned) key() learnedKey { return learnedKey{l.Connector, l.Method, l.Path, l.Digest} }

// addFound adds what a report learned to the requests of its toolsets.
func (s *Store) addFound(ctx context.Context, tx bun.Tx, r *registry.UsageReport) error {
	type toolset struct{ workspace, id string }
	found := map[toolset][]*registry.UsageFound{}
	for i := range r.Found {
		f := &r.Found[i]
		found[toolset{f.Workspace, f.Toolset}] = append(found[toolset{f.Workspace, f.Toolset}], f)
	}
	for ts, list := range found {
		var rows []Learned
		if err := tx.NewSelect().Model(&rows).Where("workspace_id = ?", ts.workspace).Where("toolset_id = ?", ts.id).Scan(ctx); err != nil {
			return err
		}
		changed, gone := learn(rows, ts.workspace, ts.id, list, s.now())
		for chunk := range slices.Chunk(changed, table.Chunk) {
			if _, err := tx.NewInsert().Model(&chunk).On("CONFLICT (workspace_id, toolset_id, connector, method, path, digest) DO UPDATE").
				Set("uses = EXCLUDED.uses").Set("last_at = EXCLUDED.last_at").Exec(ctx); err != nil {
				return err
			}
		}
		for i := range gone {
			if _, err := tx.NewDelete().Model(&gone[i]).WherePK().Exec(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// learn adds requests to the rows of a toolset, and gives those that changed and those
// that must go to make room.
func learn(rows []Learned, workspace, id string, found []*registry.UsageFound, now time.Time) (changed, gone []Learned) {
	at := make(map[learnedKey]*Learned, len(rows)+len(found))
	touched := map[learnedKey]bool{}
	for i := range rows {
		if !rows[i].Blocked {
			rows[i].age(now)
		}
		at[rows[i].key()] = &rows[i]
	}
	for _, f := range found {
		l := Learned{InWorkspace: InWorkspace{WorkspaceID: workspace}, ToolsetID: id, Connector: f.Connector, Method: f.Method, Path: f.Path, Digest: learnedDigest(f.Query), Query: f.Query, FirstAt: Time{Time: now}, LastAt: Time{Time: now}}
		known := at[l.key()]
		if known == nil {
			known = &l
			at[l.key()] = known
		}
		if known.Blocked {
			continue
		}
		known.Milli += int64(min(f.Calls, maxLearnedUses)) * learnedUse
		touched[known.key()] = true
	}
	all := make([]*Learned, 0, len(at))
	for _, l := range at {
		if !l.Blocked {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *Learned) int {
		return cmp.Or(cmp.Compare(b.Milli, a.Milli), strings.Compare(a.Connector, b.Connector), strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method), strings.Compare(a.Digest, b.Digest))
	})
	of := map[learnedKey]int{} // by tool
	kept := 0
	for _, l := range all {
		tool := learnedKey{connector: l.Connector, method: l.Method, path: l.Path}
		if of[tool]++; of[tool] > MaxLearnedOfTool || kept == MaxLearned {
			gone = append(gone, *l)
			continue
		}
		kept++
		if touched[l.key()] {
			changed = append(changed, *l)
		}
	}
	return changed, gone
}

// Learned lists the requests of a toolset that are not blocked, tool after tool, the
// most used first, with Milli as of now.
func (w *Workspace) Learned(ctx context.Context, toolset string) ([]Learned, error) {
	var rows []Learned
	if err := w.from(&rows).Where("toolset_id = ?", toolset).Where("blocked = ?", false).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading what toolset %s learned: %w", toolset, err)
	}
	now := w.store.now()
	for i := range rows {
		last := rows[i].LastAt
		rows[i].age(now)
		rows[i].LastAt = last // for people
	}
	slices.SortFunc(rows, func(a, b Learned) int {
		return cmp.Or(strings.Compare(a.Connector, b.Connector), strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method), cmp.Compare(b.Milli, a.Milli), strings.Compare(a.Digest, b.Digest))
	})
	return rows, nil
}

// DeleteLearned forgets what the tools of a connector learned, which is taken out of its
// toolset.
func (t *Tx) DeleteLearned(ctx context.Context, toolset, connector string) error {
	if _, err := t.deleteOf((*Learned)(nil)).Where("toolset_id = ?", toolset).Where("connector = ?", connector).Exec(ctx); err != nil {
		return fmt.Errorf("deleting what connector %s of %s learned: %w", connector, toolset, err)
	}
	return nil
}

// BlockLearned deletes requests that [Workspace.Learned] listed, and keeps them from being
// learned again.
func (t *Tx) BlockLearned(ctx context.Context, rows []Learned) error {
	for i := range rows {
		row := rows[i]
		row.Query, row.Milli, row.Blocked, row.LastAt = "", 0, true, Time{Time: t.Now()}
		if _, err := t.updateOf(&row).Column("query", "uses", "blocked", "last_at").WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("deleting what toolset %s learned: %w", row.ToolsetID, err)
		}
	}
	return nil
}

// sweepLearned removes what counts no more, and what belongs to no toolset.
func (s *Store) sweepLearned(ctx context.Context) error {
	known := s.write.NewSelect().Model((*Toolset)(nil)).Column("id")
	if _, err := s.write.NewDelete().Model((*Learned)(nil)).Where("toolset_id NOT IN (?)", known).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping learned requests: %w", err)
	}
	var toolsets []string
	if err := s.write.NewSelect().Model((*Learned)(nil)).Distinct().Column("toolset_id").Scan(ctx, &toolsets); err != nil {
		return fmt.Errorf("sweeping learned requests: %w", err)
	}
	for _, id := range toolsets {
		if err := s.sweepLearnedOf(ctx, id); err != nil {
			return fmt.Errorf("sweeping what toolset %s learned: %w", id, err)
		}
	}
	return nil
}

func (s *Store) sweepLearnedOf(ctx context.Context, toolset string) error {
	now, blocked := s.now(), 0
	var rows []Learned
	if err := s.write.NewSelect().Model(&rows).Where("toolset_id = ?", toolset).Order("last_at DESC").Scan(ctx); err != nil {
		return err
	}
	for i := range rows {
		l := &rows[i]
		if l.Blocked {
			if blocked++; blocked <= maxBlocked && now.Sub(l.LastAt.Time) < blockedAge {
				continue
			}
		} else if l.age(now); l.Milli >= leastLearned {
			continue
		}
		if _, err := s.write.NewDelete().Model(l).WherePK().Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
