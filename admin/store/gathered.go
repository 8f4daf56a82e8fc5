package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/internal/problem"
)

// Gathered are the records that belong to a page of toolsets, read with one statement for
// each kind. Its methods are those of [Workspace], for these toolsets alone, and ask the
// database nothing. It does not change, and what it returns must not be changed.
type Gathered struct {
	others      map[string][]ToolsetConnector // by toolset
	versions    map[[2]string]*ConnectorVersion
	credentials map[[2]string][]Credential // by toolset and connector
	tokens      map[string]*OAuthToken     // by credential
	logins      map[string]*OAuthLogin     // by credential
	tests       map[[2]string]*TestRun     // by toolset and digest
	access      map[string]*ToolsetAccess
	domains     []Domain
	changes     map[[2]string]ToolsetChange // by toolset and connector
}

// Gather reads what belongs to toolsets that were read.
func (c *scope) Gather(ctx context.Context, toolsets []Toolset) (*Gathered, error) {
	g := &Gathered{
		others: map[string][]ToolsetConnector{}, versions: map[[2]string]*ConnectorVersion{}, credentials: map[[2]string][]Credential{},
		tokens: map[string]*OAuthToken{}, logins: map[string]*OAuthLogin{}, tests: map[[2]string]*TestRun{},
		access: map[string]*ToolsetAccess{}, changes: map[[2]string]ToolsetChange{},
	}
	if len(toolsets) == 0 {
		return g, nil
	}
	for _, read := range []func(context.Context, *scope, []Toolset) error{g.connectors, g.authentication, g.lastTests, g.open, g.lastChanges} {
		if err := read(ctx, c, toolsets); err != nil {
			return nil, fmt.Errorf("reading what belongs to %d toolsets: %w", len(toolsets), err)
		}
	}
	return g, nil
}

// idsOf are the identifiers of toolsets.
func idsOf(toolsets []Toolset) []string {
	ids := make([]string, len(toolsets))
	for i := range toolsets {
		ids[i] = toolsets[i].ID
	}
	return ids
}

// rowMarks is the text of the rows of a VALUES list, and its values.
func rowMarks(list [][2]string) (string, []any) {
	args := make([]any, 0, 2*len(list))
	for i := range list {
		args = append(args, list[i][0], list[i][1])
	}
	return strings.TrimSuffix(strings.Repeat("(?, ?), ", len(list)), ", "), args
}

func (g *Gathered) connectors(ctx context.Context, c *scope, toolsets []Toolset) error {
	var others []ToolsetConnector
	if err := c.from(&others).Where("toolset_id IN (?)", bun.List(idsOf(toolsets))).Order("toolset_id", "position", "name").Scan(ctx); err != nil {
		return err
	}
	versions := make([][2]string, 0, len(toolsets)+len(others))
	for i := range toolsets {
		versions = append(versions, [2]string{toolsets[i].Connector, toolsets[i].ConnectorDigest})
	}
	for i := range others {
		g.others[others[i].ToolsetID] = append(g.others[others[i].ToolsetID], others[i])
		versions = append(versions, [2]string{others[i].Connector, others[i].ConnectorDigest})
	}
	var rows []ConnectorVersion
	marks, args := rowMarks(versions)
	if err := c.from(&rows).Where("(connector, digest) IN (VALUES "+marks+")", args...).Scan(ctx); err != nil {
		return err
	}
	for i := range rows {
		g.versions[[2]string{rows[i].Connector, rows[i].Digest}] = &rows[i]
	}
	return nil
}

func (g *Gathered) authentication(ctx context.Context, c *scope, toolsets []Toolset) error {
	var rows []Credential
	if err := c.from(&rows).Where("toolset_id IN (?)", bun.List(idsOf(toolsets))).Order("toolset_id", "connector", "position", "id").Scan(ctx); err != nil {
		return err
	}
	if len(rows) == 0 {
		return nil
	}
	ids := make([]string, len(rows))
	for i := range rows {
		key := [2]string{rows[i].ToolsetID, rows[i].Connector}
		ids[i], g.credentials[key] = rows[i].ID, append(g.credentials[key], rows[i])
	}
	var tokens []OAuthToken
	if err := c.from(&tokens).Where("credential_id IN (?)", bun.List(ids)).Where("user_key = ''").Scan(ctx); err != nil {
		return err
	}
	for i := range tokens {
		g.tokens[tokens[i].CredentialID] = &tokens[i]
	}
	var logins []OAuthLogin
	if err := c.from(&logins).Where("credential_id IN (?)", bun.List(ids)).Where("purpose = ?", LoginCredential).Scan(ctx); err != nil {
		return err
	}
	for i := range logins {
		g.logins[logins[i].CredentialID] = &logins[i]
	}
	return nil
}

func (g *Gathered) lastTests(ctx context.Context, c *scope, toolsets []Toolset) error {
	drafts := make([][2]string, len(toolsets))
	for i := range toolsets {
		drafts[i] = [2]string{toolsets[i].ID, toolsets[i].DraftDigest}
	}
	var rows []TestRun
	marks, args := rowMarks(drafts)
	if err := c.from(&rows).Where("(toolset_id, digest) IN (VALUES "+marks+")", args...).
		Where("NOT EXISTS (SELECT 1 FROM test_runs AS n WHERE n.workspace_id = test_run.workspace_id AND n.toolset_id = test_run.toolset_id " +
			"AND n.digest = test_run.digest AND n.id > test_run.id)").Scan(ctx); err != nil {
		return err
	}
	for i := range rows {
		g.tests[[2]string{rows[i].ToolsetID, rows[i].Digest}] = &rows[i]
	}
	return nil
}

func (g *Gathered) open(ctx context.Context, c *scope, toolsets []Toolset) error {
	ids := bun.List(idsOf(toolsets))
	var rows []ToolsetAccess
	if err := c.from(&rows).Where("toolset_id IN (?)", ids).Scan(ctx); err != nil {
		return err
	}
	for i := range rows {
		g.access[rows[i].ToolsetID] = &rows[i]
	}
	return c.from(&g.domains).Where("toolset_id IN (?) OR toolset_id IS NULL", ids).OrderExpr("toolset_id IS NULL, created_at, id").Scan(ctx)
}

// lastChanges reads the newest change of each connector that is an MCP server: of those a
// list says whether they wait.
func (g *Gathered) lastChanges(ctx context.Context, c *scope, toolsets []Toolset) error {
	var ids []string
	for i := range toolsets {
		if toolsets[i].SourceKind == SourceMCP || slices.ContainsFunc(g.others[toolsets[i].ID], func(o ToolsetConnector) bool { return o.SourceKind == SourceMCP }) {
			ids = append(ids, toolsets[i].ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []ToolsetChange
	if err := c.from(&rows).Where("toolset_id IN (?)", bun.List(ids)).
		Where("NOT EXISTS (SELECT 1 FROM toolset_changes AS n WHERE n.workspace_id = toolset_change.workspace_id AND n.toolset_id = toolset_change.toolset_id " +
			"AND n.connector = toolset_change.connector AND n.id > toolset_change.id)").Scan(ctx); err != nil {
		return err
	}
	for i := range rows {
		g.changes[[2]string{rows[i].ToolsetID, rows[i].Connector}] = rows[i]
	}
	return nil
}

// ToolsetConnectors is [Workspace.ToolsetConnectors].
func (g *Gathered) ToolsetConnectors(_ context.Context, ts *Toolset) ([]ToolsetConnector, error) {
	return append([]ToolsetConnector{ts.First()}, g.others[ts.ID]...), nil
}

// ConnectorVersion is [Workspace.ConnectorVersion].
func (g *Gathered) ConnectorVersion(_ context.Context, connector, digest string) (*ConnectorVersion, error) {
	if v := g.versions[[2]string{connector, digest}]; v != nil {
		return v, nil
	}
	return nil, problem.New(problem.NotFound, "there is no connector version %.80q in this workspace", connector+"@"+digest)
}

// CredentialsOf is [Workspace.CredentialsOf].
func (g *Gathered) CredentialsOf(_ context.Context, toolset, connector string) ([]Credential, error) {
	return g.credentials[[2]string{toolset, connector}], nil
}

// OAuthToken is [Workspace.OAuthToken] of the tokens that all calls of a toolset use.
func (g *Gathered) OAuthToken(_ context.Context, credential, userKey string) (*OAuthToken, error) {
	if userKey != "" {
		return nil, fmt.Errorf("reading the tokens of credential %s: those of callers were not gathered", credential)
	}
	return g.tokens[credential], nil
}

// CredentialLogin is [Workspace.CredentialLogin].
func (g *Gathered) CredentialLogin(_ context.Context, credential string) (*OAuthLogin, error) {
	return g.logins[credential], nil
}

// LastTestRun is [Workspace.LastTestRun] of the draft of a toolset.
func (g *Gathered) LastTestRun(_ context.Context, toolset, digest string) (*TestRun, error) {
	return g.tests[[2]string{toolset, digest}], nil
}

// Access is [Workspace.Access].
func (g *Gathered) Access(_ context.Context, toolset string) (*ToolsetAccess, error) {
	return g.access[toolset], nil
}

// DomainInState is [Workspace.DomainInState].
func (g *Gathered) DomainInState(_ context.Context, toolset, state string) (*Domain, error) {
	for i := range g.domains {
		if d := &g.domains[i]; d.State == state && (d.ToolsetID == toolset || d.ToolsetID == "") {
			return d, nil
		}
	}
	return nil, nil //nolint:nilnil // nil: none
}

// ToolsetChanges is [Workspace.ToolsetChanges] of the newest change of a connector.
func (g *Gathered) ToolsetChanges(_ context.Context, toolset, connector string, _ Page) ([]ToolsetChange, string, error) {
	if row, ok := g.changes[[2]string{toolset, connector}]; ok {
		return []ToolsetChange{row}, "", nil
	}
	return nil, "", nil
}
