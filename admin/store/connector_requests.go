package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
)

// ConnectorRequest is a connector that somebody asks for. What its fields may hold is
// decided by package connectorrequest.
type ConnectorRequest struct {
	bun.BaseModel `bun:"table:connector_requests,alias:r"`
	InWorkspace
	ID            string `bun:"id,pk"` // creq_…
	Version       uint64 `bun:"version"`
	Name          string `bun:"name"`
	Website       string `bun:"website"`
	Documentation string `bun:"documentation"`
	UseCase       string `bun:"use_case"`
	Volume        string `bun:"volume"`
	State         string `bun:"state"`
	Entry         string `bun:"entry"`  // of a published one: entry of the catalog, or toolset
	Reason        string `bun:"reason"` // of a declined one
	Comments      string `bun:"comments"`
	Votes         int64  `bun:"votes"`
	RequestedBy   string `bun:"requested_by"` // member, or token of nobody
	CreatedAt     Time   `bun:"created_at"`
	UpdatedAt     Time   `bun:"updated_at"`
	ToldAt        Time   `bun:"told_at"` // when those who asked and voted were told that it is published; zero: never
}

type connectorVote struct {
	bun.BaseModel `bun:"table:connector_votes"`
	InWorkspace
	RequestID string `bun:"request_id,pk"`
	Voter     string `bun:"voter,pk"`
	At        Time   `bun:"at"`
}

// ConnectorRequests lists requests: those with the most votes first, and of those the
// oldest. states restricts them; none: all.
func (c *scope) ConnectorRequests(ctx context.Context, states []string, p Page) ([]ConnectorRequest, string, error) {
	var rows []ConnectorRequest
	q := c.from(&rows)
	if len(states) > 0 {
		q = q.Where("state IN (?)", bun.List(states))
	}
	return table.Read(ctx, c.db, q, &rows, ConnectorRequestList, p, "connector requests")
}

// ConnectorRequest reads a request. It fails with [problem.NotFound].
func (c *scope) ConnectorRequest(ctx context.Context, id string) (*ConnectorRequest, error) {
	row := new(ConnectorRequest)
	return row, table.Found(c.from(row).Where("id = ?", id).Scan(ctx), "connector request", id)
}

// CountConnectorRequests counts all requests, and those that somebody made since a time.
func (c *scope) CountConnectorRequests(ctx context.Context, by string, since Time) (all, recent int64, err error) {
	if all, err = c.from((*ConnectorRequest)(nil)).Count(ctx); err == nil {
		recent, err = c.from((*ConnectorRequest)(nil)).Where("requested_by = ?", by).Where("created_at > ?", since).Count(ctx)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("counting connector requests: %w", err)
	}
	return all, recent, nil
}

// ConnectorVoters lists who voted for a request after a time, the first ones first.
func (c *scope) ConnectorVoters(ctx context.Context, id string, after Time) ([]string, error) {
	var out []string
	if err := c.from((*connectorVote)(nil)).Column("voter").Where("request_id = ?", id).Where("at > ?", after).Order("at", "voter").Scan(ctx, &out); err != nil {
		return nil, fmt.Errorf("listing the votes for %s: %w", id, err)
	}
	return out, nil
}

// VotedFor lists the requests that somebody votes for.
func (c *scope) VotedFor(ctx context.Context, voter string) ([]string, error) {
	var out []string
	if err := c.from((*connectorVote)(nil)).Column("request_id").Where("voter = ?", voter).Order("request_id").Scan(ctx, &out); err != nil {
		return nil, fmt.Errorf("listing votes: %w", err)
	}
	return out, nil
}

// AddConnectorRequest writes a new request and gives it its id.
func (t *Tx) AddConnectorRequest(ctx context.Context, row *ConnectorRequest) error {
	row.ID, row.Version = t.NewID("creq"), 1
	row.CreatedAt = Time{Time: t.Now()}
	row.UpdatedAt = row.CreatedAt
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing the request of connector %s: %w", row.Name, err)
	}
	return nil
}

// SaveConnectorRequest writes a request that was read before. It fails with [ErrStale]
// when it was changed meanwhile. Votes are not written, nor do they change the version.
func (t *Tx) SaveConnectorRequest(ctx context.Context, row *ConnectorRequest) error {
	was := row.Version
	row.Version, row.UpdatedAt = was+1, Time{Time: t.Now()}
	n, err := affected(t.updateOf(row).ExcludeColumn("workspace_id", "id", "votes").Where("id = ?", row.ID).Where("version = ?", was).Exec(ctx))
	if err == nil && n == 0 {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("writing connector request %s: %w", row.ID, err)
	}
	return nil
}

// Vote gives a request somebody's vote, or takes it back, and reports whether that
// changed anything.
func (t *Tx) Vote(ctx context.Context, id, voter string, give bool) (bool, error) {
	var n int64
	var err error
	if give {
		n, err = affected(t.insert(&connectorVote{RequestID: id, Voter: voter, At: Time{Time: t.Now()}}).On("CONFLICT (workspace_id, request_id, voter) DO NOTHING").Exec(ctx))
	} else {
		n, err = affected(t.deleteOf((*connectorVote)(nil)).Where("request_id = ?", id).Where("voter = ?", voter).Exec(ctx))
	}
	if err != nil {
		return false, fmt.Errorf("writing a vote for %s: %w", id, err)
	}
	if n == 0 {
		return false, nil
	}
	if !give {
		n = -n
	}
	if _, err := t.updateOf((*ConnectorRequest)(nil)).Set("votes = votes + ?", n).Where("id = ?", id).Exec(ctx); err != nil {
		return false, fmt.Errorf("counting the votes for %s: %w", id, err)
	}
	return true, nil
}

// takeVotes takes all votes of somebody back.
func (t *Tx) takeVotes(ctx context.Context, voter string) error {
	voted, err := t.VotedFor(ctx, voter)
	if err != nil {
		return err
	}
	for _, id := range voted {
		if _, err := t.Vote(ctx, id, voter, false); err != nil {
			return err
		}
	}
	return nil
}
