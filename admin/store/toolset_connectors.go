package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"
)

// Kinds of sources.
const (
	SourceOpenAPI = "openapi"
	SourceMCP     = "mcp"
)

// ToolsetConnector is one connector of a toolset. The first is part of the toolset's
// own record ([Toolset.First]), the others are records of their own; a caller sees no
// difference.
type ToolsetConnector struct {
	bun.BaseModel `bun:"table:toolset_connectors"`
	InWorkspace
	ToolsetID       string `bun:"toolset_id,pk"`
	Name            string `bun:"name,pk"`  // in the toolset; it never changes
	Position        int64  `bun:"position"` // from 0, which is the first
	SourceKind      string `bun:"source_kind"`
	SourceURL       string `bun:"source_url"`
	SourceTitle     string `bun:"source_title"`
	Connector       string `bun:"connector"`
	ConnectorDigest string `bun:"connector_digest"`
	BaseURL         string `bun:"base_url"`
	Answers         string `bun:"answers"` // JSON: settings of its tools' answers; empty: the toolset's
	Fixed           string `bun:"fixed"`   // JSON: values of arguments that the model does not see; empty: none
	UpstreamPolicy  string `bun:"upstream_policy"`
	Stateless       bool   `bun:"stateless"`
	Entry           string `bun:"entry"` // JSON: the entry of the catalog that it was made of; empty: none
}

// First is the connector that is in the toolset's own record.
func (t *Toolset) First() ToolsetConnector {
	return ToolsetConnector{
		InWorkspace: t.InWorkspace, ToolsetID: t.ID, Name: t.ConnectorName, SourceKind: t.SourceKind, SourceURL: t.SourceURL, SourceTitle: t.SourceTitle,
		Connector: t.Connector, ConnectorDigest: t.ConnectorDigest, BaseURL: t.BaseURL, Answers: t.ConnectorAnswers, Fixed: t.ConnectorFixed, UpstreamPolicy: t.UpstreamPolicy,
		Stateless: t.Stateless, Entry: t.ConnectorEntry,
	}
}

// SetFirst puts a connector into the toolset's own record.
func (t *Toolset) SetFirst(c *ToolsetConnector) {
	t.ConnectorName, t.SourceKind, t.SourceURL, t.SourceTitle = c.Name, c.SourceKind, c.SourceURL, c.SourceTitle
	t.Connector, t.ConnectorDigest, t.BaseURL = c.Connector, c.ConnectorDigest, c.BaseURL
	t.ConnectorAnswers, t.ConnectorFixed, t.UpstreamPolicy = c.Answers, c.Fixed, c.UpstreamPolicy
	t.Stateless, t.ConnectorEntry = c.Stateless, c.Entry
}

// ToolsetConnectors returns the connectors of a toolset in their order, the first of
// which is as ts has it.
func (c *scope) ToolsetConnectors(ctx context.Context, ts *Toolset) ([]ToolsetConnector, error) {
	var others []ToolsetConnector
	if err := c.from(&others).Where("toolset_id = ?", ts.ID).Order("position", "name").Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the connectors of %s: %w", ts.ID, err)
	}
	return append([]ToolsetConnector{ts.First()}, others...), nil
}

// SaveConnectors makes rows the connectors of a toolset: the first goes into ts, which
// the caller creates or saves in the same transaction, and the others are written. The
// toolset must be there, unless there is one connector only.
func (t *Tx) SaveConnectors(ctx context.Context, ts *Toolset, rows []ToolsetConnector) error {
	if len(rows) == 0 {
		return errors.New("a toolset needs a connector")
	}
	ts.SetFirst(&rows[0])
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Name
	}
	if _, err := t.deleteOf((*ToolsetSource)(nil)).Where("toolset_id = ?", ts.ID).Where("connector NOT IN (?)", bun.List(names)).Exec(ctx); err != nil {
		return fmt.Errorf("removing sources of %s: %w", ts.ID, err)
	}
	if _, err := t.deleteOf((*ToolsetConnector)(nil)).Where("toolset_id = ?", ts.ID).Exec(ctx); err != nil {
		return fmt.Errorf("replacing the connectors of %s: %w", ts.ID, err)
	}
	for i := 1; i < len(rows); i++ {
		row := rows[i]
		row.ToolsetID, row.Position = ts.ID, int64(i)
		if _, err := t.insert(&row).Exec(ctx); err != nil {
			return fmt.Errorf("writing connector %s of %s: %w", row.Name, ts.ID, err)
		}
	}
	return nil
}

// ToolsetsOfKind lists the toolsets of all workspaces that have a connector of a kind
// of source, by id.
func (s *Store) ToolsetsOfKind(ctx context.Context, kind string) ([]Toolset, error) {
	var rows []Toolset
	err := s.read.NewSelect().Model(&rows).Where("source_kind = ?", kind).
		WhereOr("EXISTS (SELECT 1 FROM toolset_connectors c WHERE c.workspace_id = toolset.workspace_id AND c.toolset_id = toolset.id AND c.source_kind = ?)", kind).
		Order("id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing toolsets of kind %s: %w", kind, err)
	}
	return rows, nil
}

// EntryUse is a connector of a toolset that was made of an entry of the catalog.
type EntryUse struct {
	ToolsetID string `bun:"toolset_id"`
	Slug      string `bun:"slug"`
	Connector string `bun:"connector"` // its name in the toolset
	Entry     string `bun:"entry"`
}

// EntryUses lists the connectors of the workspace that were made of entries of the
// catalog, by slug.
func (c *scope) EntryUses(ctx context.Context) ([]EntryUse, error) {
	var rows []EntryUse
	err := c.db.NewSelect().ColumnExpr("id AS toolset_id, slug, connector_name AS connector, connector_entry AS entry").TableExpr("toolsets").
		Where("workspace_id = ?", c.id).Where("connector_entry <> ''").
		UnionAll(c.db.NewSelect().ColumnExpr("c.toolset_id, t.slug, c.name, c.entry").TableExpr("toolset_connectors AS c").
			Join("JOIN toolsets AS t ON t.workspace_id = c.workspace_id AND t.id = c.toolset_id").
			Where("c.workspace_id = ?", c.id).Where("c.entry <> ''")).
		Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("listing what was made of the catalog: %w", err)
	}
	slices.SortFunc(rows, func(a, b EntryUse) int {
		return cmp.Or(strings.Compare(a.Slug, b.Slug), strings.Compare(a.Connector, b.Connector))
	})
	return rows, nil
}
