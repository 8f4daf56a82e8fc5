package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/secrets"
)

// RequestPersonPrefix is what the ids of people of the public page of connector requests
// begin with.
const RequestPersonPrefix = "rqp_"

// RequestPerson is somebody who confirmed an e-mail address on the public page of connector
// requests. Sealed is the address, which the keyring opens for [RequestPerson.Record].
type RequestPerson struct {
	bun.BaseModel `bun:"table:request_people"`
	InWorkspace
	ID        string `bun:"id,pk"` // rqp_…
	Sealed    []byte `bun:"sealed"`
	CreatedAt Time   `bun:"created_at"`
}

// Record is what Sealed is sealed for. It is sealed once.
func (p *RequestPerson) Record() secrets.Record {
	return secrets.Record{Key: "workspaces/" + p.WorkspaceID + "/request-people/" + p.ID, Version: 1}
}

func (p *RequestPerson) sealed() *[]byte { return &p.Sealed }

// RequestPeople lists everybody who confirmed an address, by id.
func (c *scope) RequestPeople(ctx context.Context) ([]RequestPerson, error) {
	var rows []RequestPerson
	if err := c.from(&rows).Order("id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the people of the page of requests: %w", err)
	}
	return rows, nil
}

// RequestPerson reads who confirmed an address. It fails with [problem.NotFound].
func (c *scope) RequestPerson(ctx context.Context, id string) (*RequestPerson, error) {
	row := new(RequestPerson)
	return row, table.Found(c.from(row).Where("id = ?", id).Scan(ctx), "person", id)
}

// AddRequestPerson writes somebody whose id and sealed address are set.
func (t *Tx) AddRequestPerson(ctx context.Context, row *RequestPerson) error {
	row.CreatedAt = Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing a person of the page of requests: %w", err)
	}
	return nil
}

// ForgetRequestPerson removes somebody's address and takes all their votes back. What they
// asked for stays, under an id that nobody is.
func (t *Tx) ForgetRequestPerson(ctx context.Context, id string) error {
	if err := t.takeVotes(ctx, id); err != nil {
		return err
	}
	if _, err := t.deleteOf((*RequestPerson)(nil)).Where("id = ?", id).Exec(ctx); err != nil {
		return fmt.Errorf("forgetting %s: %w", id, err)
	}
	return nil
}

// CountPublicRequests counts the connector requests that came from the public page.
func (c *scope) CountPublicRequests(ctx context.Context) (int64, error) {
	n, err := c.from((*ConnectorRequest)(nil)).Where("requested_by LIKE ?", RequestPersonPrefix+"%").Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("counting the requests of the public page: %w", err)
	}
	return n, nil
}
