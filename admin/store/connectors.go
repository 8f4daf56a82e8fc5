package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
)

// MaxSpecificationBytes is the largest specification that is kept, as the admin
// API's body limit.
const MaxSpecificationBytes = 64 << 20

// PutSpecification keeps a version of a specification. One that is there already
// stays as it is: the digest names the content.
func (t *Tx) PutSpecification(ctx context.Context, row *Specification) error {
	if len(row.Content) > MaxSpecificationBytes {
		return problem.New(problem.TooLarge, "the specification has %d bytes, the limit is %d", len(row.Content), MaxSpecificationBytes)
	}
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, gzip.BestSpeed)
	if err == nil {
		_, err = w.Write(row.Content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("compressing specification %s: %w", row.Digest, err)
	}
	packed := *row
	packed.Content, packed.SizeBytes, packed.CreatedAt = z.Bytes(), int64(len(row.Content)), Time{Time: t.Now()}
	if _, err := t.insert(&packed).On("CONFLICT (workspace_id, digest) DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("writing specification %s: %w", row.Digest, err)
	}
	return nil
}

// Specification reads a specification with its content. It fails with
// [problem.NotFound].
func (c *scope) Specification(ctx context.Context, digest string) (*Specification, error) {
	row := new(Specification)
	if err := table.Found(c.from(row).Where("digest = ?", digest).Scan(ctx), "specification", digest); err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(row.Content))
	if err != nil {
		return nil, fmt.Errorf("unpacking specification %s: %w", digest, err)
	}
	if row.Content, err = io.ReadAll(io.LimitReader(r, MaxSpecificationBytes+1)); err != nil {
		return nil, fmt.Errorf("unpacking specification %s: %w", digest, err)
	}
	return row, nil
}

// PutConnector writes a connector and a version of it. Both may be there
// already: the connector then gets the new title and latest digest, the version
// is immutable and stays.
func (t *Tx) PutConnector(ctx context.Context, row *Connector, version *ConnectorVersion) error {
	row.LatestDigest, version.Connector = version.Digest, row.Name
	row.CreatedAt, row.UpdatedAt, version.CreatedAt = Time{Time: t.Now()}, Time{Time: t.Now()}, Time{Time: t.Now()}
	if _, err := t.insert(row).On("CONFLICT (workspace_id, name) DO UPDATE").
		Set("title = EXCLUDED.title").Set("latest_digest = EXCLUDED.latest_digest").Set("updated_at = EXCLUDED.updated_at").Exec(ctx); err != nil {
		return fmt.Errorf("writing connector %s: %w", row.Name, err)
	}
	if _, err := t.insert(version).On("CONFLICT (workspace_id, connector, digest) DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("writing connector %s %s: %w", row.Name, version.Digest, err)
	}
	return nil
}

// Connector reads a connector. It fails with [problem.NotFound].
func (c *scope) Connector(ctx context.Context, name string) (*Connector, error) {
	row := new(Connector)
	return row, c.found(ctx, c.from(row).Where("name = ?", name).Scan(ctx), (*Connector)(nil), "name", "connector", name)
}

// Connectors lists connectors by name.
func (c *scope) Connectors(ctx context.Context, p Page) ([]Connector, string, error) {
	var rows []Connector
	return table.Read(ctx, c.db, c.from(&rows), &rows, ConnectorList, p, "connectors")
}

// ConnectorVersion reads a version. It fails with [problem.NotFound].
func (c *scope) ConnectorVersion(ctx context.Context, connector, digest string) (*ConnectorVersion, error) {
	row := new(ConnectorVersion)
	return row, table.Found(c.from(row).Where("connector = ?", connector).Where("digest = ?", digest).Scan(ctx), "connector version", connector+"@"+digest)
}

// ConnectorVersions lists the versions of a connector by digest.
func (c *scope) ConnectorVersions(ctx context.Context, connector string, p Page) ([]ConnectorVersion, string, error) {
	var rows []ConnectorVersion
	return table.Read(ctx, c.db, c.from(&rows).Where("connector = ?", connector), &rows, ConnectorVersionList, p, "the versions of "+connector)
}
