package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Domain is a host name of a toolset or a workspace. What its states are is decided by
// package domain.
type Domain struct {
	bun.BaseModel `bun:"table:domains,alias:d"`
	InWorkspace
	ID         string `bun:"id,pk"` // dom_…
	Host       string `bun:"host"`
	ToolsetID  string `bun:"toolset_id,nullzero"` // empty: of the workspace
	Version    uint64 `bun:"version"`
	Token      string `bun:"token"` // what DNS must say
	State      string `bun:"state"`
	Cause      string `bun:"cause"`       // what the last check or the last attempt to get a certificate met; empty: nothing
	Issuer     string `bun:"issuer"`      // of the certificate that is served; empty: none is
	NotBefore  Time   `bun:"not_before"`  // of it
	NotAfter   Time   `bun:"not_after"`   // of it
	Attempts   int64  `bun:"attempts"`    // in a row that failed
	NextAt     Time   `bun:"next_at"`     // when it is looked at next; zero: at once
	CheckedAt  Time   `bun:"checked_at"`  // when DNS was asked last; zero: never
	VerifiedAt Time   `bun:"verified_at"` // when it was proven; zero: it is not
	CreatedBy  string `bun:"created_by"`
	CreatedAt  Time   `bun:"created_at"`
	UpdatedAt  Time   `bun:"updated_at"`
	Slug       string `bun:"slug,scanonly"` // of the toolset; where it was listed or read by its host
}

// withToolset adds what people call the toolset of a domain.
func withToolset(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("d.*").ColumnExpr("COALESCE((SELECT t.slug FROM toolsets AS t WHERE t.workspace_id = d.workspace_id AND t.id = d.toolset_id), '') AS slug")
}

// Domains lists the domains of a toolset, or with "" all of the workspace, by host.
func (c *scope) Domains(ctx context.Context, toolset string, p Page) ([]Domain, string, error) {
	var rows []Domain
	q := withToolset(c.from(&rows))
	if toolset != "" {
		q = q.Where("toolset_id = ?", toolset)
	}
	return table.Read(ctx, c.db, q, &rows, DomainList, p, "domains")
}

// Domain reads a domain by its host. It fails with [problem.NotFound].
func (c *scope) Domain(ctx context.Context, host string) (*Domain, error) {
	row := new(Domain)
	return row, c.found(ctx, withToolset(c.from(row)).Where("host = ?", host).Scan(ctx), (*Domain)(nil), "host", "domain", host)
}

// CountDomains counts the domains of the workspace.
func (c *scope) CountDomains(ctx context.Context) (int64, error) {
	n, err := c.from((*Domain)(nil)).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("counting domains: %w", err)
	}
	return n, nil
}

// DomainInState returns the domain in a state at which clients reach a toolset: its own
// before one of the workspace, and of those the oldest. nil: there is none.
func (c *scope) DomainInState(ctx context.Context, toolset, state string) (*Domain, error) {
	row := new(Domain)
	err := c.from(row).Where("state = ?", state).Where("toolset_id = ? OR toolset_id IS NULL", toolset).
		OrderExpr("toolset_id IS NULL, created_at, id").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // nil: none
	}
	if err != nil {
		return nil, fmt.Errorf("reading the domains of %s: %w", toolset, err)
	}
	return row, nil
}

// errProven refuses a host that another workspace has proven to be its own.
func errProven(host string) error {
	return problem.New(problem.Conflict, "the domain %s belongs to another workspace", host).
		Fix("have it removed there first")
}

// AddDomain writes a new domain and gives it its id. It fails with [problem.Conflict]
// when the workspace has it already, or when it belongs to another one.
func (t *Tx) AddDomain(ctx context.Context, row *Domain) error {
	taken, err := t.tx.NewSelect().Model((*Domain)(nil)).Where("host = ?", row.Host).Where("workspace_id <> ?", t.id).Where("verified_at > 0").Exists(ctx)
	if err != nil {
		return fmt.Errorf("looking for domain %s: %w", row.Host, err)
	}
	if taken {
		return errProven(row.Host)
	}
	row.ID, row.Version = t.NewID("dom"), 1
	row.CreatedAt = Time{Time: t.Now()}
	row.UpdatedAt = row.CreatedAt
	n, err := affected(t.insert(row).On("CONFLICT (workspace_id, host) DO NOTHING").Exec(ctx))
	if err == nil && n == 0 {
		return problem.New(problem.Conflict, "the domain %s is there already", row.Host).Fix("look at it: sluice domain list")
	}
	if err != nil {
		return fmt.Errorf("writing domain %s: %w", row.Host, err)
	}
	return nil
}

// SaveDomain writes a domain that was read. It fails with [problem.Precondition] (cause
// [ErrStale]) when it was written or removed meanwhile, and with [problem.Conflict] when
// it says that the host is proven, and another workspace has proven it.
func (t *Tx) SaveDomain(ctx context.Context, row *Domain) error {
	before := row.Version
	row.Version, row.UpdatedAt, row.WorkspaceID = before+1, Time{Time: t.Now()}, t.id
	n, err := affected(t.updateOf(row).ExcludeColumn("workspace_id", "id", "host").
		Where("id = ?", row.ID).Where("version = ?", before).Exec(ctx))
	switch {
	case err == nil && n == 1:
		return nil
	case isUnique(err):
		err = errProven(row.Host)
	case err != nil:
		err = fmt.Errorf("writing domain %s: %w", row.Host, err)
	default:
		err = problem.New(problem.Precondition, "domain %s has changed", row.Host).Fix("read it again and repeat the change").Because(ErrStale)
	}
	row.Version = before
	return err
}

// DeleteDomain removes a domain. It fails with [problem.NotFound].
func (t *Tx) DeleteDomain(ctx context.Context, host string) error {
	n, err := affected(t.deleteOf((*Domain)(nil)).Where("host = ?", host).Exec(ctx))
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	return table.Found(err, "domain", host)
}

// DomainsDue lists the domains of every workspace whose turn it is, in any of the states,
// those that wait longest first.
func (s *Store) DomainsDue(ctx context.Context, limit int, states ...string) ([]Domain, error) {
	var rows []Domain
	err := s.read.NewSelect().Model(&rows).Where("state IN (?)", bun.List(states)).Where("next_at <= ?", Time{Time: s.now()}).
		Order("next_at", "id").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing domains that are due: %w", err)
	}
	return rows, nil
}

// ProvenDomains lists the proven domains of every workspace, by host.
func (s *Store) ProvenDomains(ctx context.Context) ([]Domain, error) {
	var rows []Domain
	if err := s.read.NewSelect().Model(&rows).Where("verified_at > 0").Order("host").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing proven domains: %w", err)
	}
	return rows, nil
}

// DomainsServed returns those of domains that some release has: their toolset is live, or
// one of their workspace.
func (s *Store) DomainsServed(ctx context.Context, domains []Domain) ([]Domain, error) {
	var rows []Toolset
	if err := s.read.NewSelect().Model(&rows).Column("workspace_id", "id").Where("live_revision > 0").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing live toolsets: %w", err)
	}
	live := make([]registry.ReleaseToolset, len(rows))
	for i := range rows {
		live[i] = registry.ReleaseToolset{ID: rows[i].ID, Workspace: rows[i].WorkspaceID}
	}
	serves := servedBy(live)
	var out []Domain
	for i := range domains {
		if serves(&domains[i]) {
			out = append(out, domains[i])
		}
	}
	return out, nil
}

// servedBy reports of domains whether these toolsets are served at them.
func servedBy(toolsets []registry.ReleaseToolset) func(*Domain) bool {
	ids, workspaces := make(map[string]bool, len(toolsets)), map[string]bool{}
	for i := range toolsets {
		ids[toolsets[i].ID], workspaces[toolsets[i].Workspace] = true, true
	}
	return func(d *Domain) bool {
		if d.ToolsetID == "" {
			return workspaces[d.WorkspaceID]
		}
		return ids[d.ToolsetID]
	}
}

// ReleaseDomains lists the proven domains at which some of the toolsets of a release are
// served; package publish asks for them.
func (s *Store) ReleaseDomains(ctx context.Context, toolsets []registry.ReleaseToolset) ([]registry.ReleaseDomain, error) {
	rows, err := s.ProvenDomains(ctx)
	if err != nil {
		return nil, err
	}
	serves := servedBy(toolsets)
	var out []registry.ReleaseDomain
	for i := range rows {
		if d := &rows[i]; serves(d) {
			out = append(out, registry.ReleaseDomain{Host: d.Host, Workspace: d.WorkspaceID, Toolset: d.ToolsetID})
		}
	}
	return out, nil
}
