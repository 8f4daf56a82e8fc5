package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
)

// DefaultGroup is the group of nodes that serve every workspace and have no
// labels, such as the gateway beside this control plane.
const DefaultGroup = "default"

// MaxLabels of an edge or a toolset.
const MaxLabels = 16

// Labels are what decides which toolsets go to which edges: a toolset goes where
// each of its labels is one of the edge's.
type Labels map[string]string

// encode is the canonical text of labels: sorted, "" for none.
func (l Labels) encode() string {
	if len(l) == 0 {
		return ""
	}
	b, err := json.Marshal(map[string]string(l)) // sorts the keys
	if err != nil {
		panic(fmt.Sprintf("BUG: labels cannot be encoded: %v", err))
	}
	return string(b)
}

func decodeLabels(s string) (Labels, error) {
	if s == "" {
		return Labels{}, nil
	}
	var l Labels
	if err := json.Unmarshal([]byte(s), &l); err != nil {
		return nil, fmt.Errorf("reading stored labels: %w", err)
	}
	return l, nil
}

// within reports whether each label of l is one of o.
func (l Labels) within(o Labels) bool {
	for k, v := range l {
		if got, ok := o[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// Edge is a node that follows this control plane.
type Edge struct {
	bun.BaseModel `bun:"table:edges"`
	InWorkspace
	ID            string `bun:"id,pk"` // edge_…
	Name          string `bun:"name"`
	LabelText     string `bun:"labels"`
	AllWorkspaces bool   `bun:"all_workspaces"` // gets the toolsets of every workspace
	Group         string `bun:"group_name"`
	SealKey       []byte `bun:"seal_key"`   // X25519 public key
	SignKey       []byte `bun:"sign_key"`   // ed25519 public key
	TokenHash     []byte `bun:"token_hash"` // SHA-256
	TokenExpires  Time   `bun:"token_expires"`
	RenewedAt     Time   `bun:"renewed_at"` // time in the last renewal, so that it is good once
	Status        string `bun:"status"`     // JSON: the last report; empty: none yet
	SeenAt        Time   `bun:"seen_at"`
	CreatedAt     Time   `bun:"created_at"`
	RevokedAt     Time   `bun:"revoked_at"`
}

// Labels of the edge.
func (e *Edge) Labels() (Labels, error) { return decodeLabels(e.LabelText) }

// SetLabels gives the edge its labels and with them its group.
func (e *Edge) SetLabels(workspace string, l Labels) {
	e.LabelText = l.encode()
	e.Group = groupOf(workspace, e.AllWorkspaces, l)
}

// groupOf names the group of all edges that get the same toolsets.
func groupOf(workspace string, all bool, l Labels) string {
	if all {
		workspace = ""
		if len(l) == 0 {
			return DefaultGroup
		}
	}
	sum := sha256.Sum256([]byte(workspace + "\x00" + l.encode()))
	return "g-" + hex.EncodeToString(sum[:8])
}

// JoinToken lets nodes enrol as edges: its SHA-256, never itself.
type JoinToken struct {
	bun.BaseModel `bun:"table:edge_join_tokens"`
	InWorkspace
	ID            string `bun:"id,pk"` // join_…
	Name          string `bun:"name"`
	Hash          []byte `bun:"hash"`
	LabelText     string `bun:"labels"`
	AllWorkspaces bool   `bun:"all_workspaces"`
	MaxUses       uint64 `bun:"max_uses"` // 0: any number
	Uses          uint64 `bun:"uses"`
	CreatedAt     Time   `bun:"created_at"`
	ExpiresAt     Time   `bun:"expires_at"` // zero: never
	RevokedAt     Time   `bun:"revoked_at"`
}

// Labels of the edges that join with the token.
func (j *JoinToken) Labels() (Labels, error) { return decodeLabels(j.LabelText) }

// SetLabels sets what Labels returns.
func (j *JoinToken) SetLabels(l Labels) { j.LabelText = l.encode() }

// Labels of the toolset.
func (t *Toolset) Labels() (Labels, error) { return decodeLabels(t.LabelText) }

// SetLabels sets what Labels returns.
func (t *Toolset) SetLabels(l Labels) { t.LabelText = l.encode() }

// AddJoinToken writes a join token.
func (t *Tx) AddJoinToken(ctx context.Context, row *JoinToken) error {
	row.ID, row.CreatedAt = t.NewID("join"), Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing join token %s: %w", row.ID, err)
	}
	return nil
}

// JoinTokens lists join tokens, newest first.
func (c *scope) JoinTokens(ctx context.Context, p Page) ([]JoinToken, string, error) {
	var rows []JoinToken
	return table.Read(ctx, c.db, c.from(&rows), &rows, JoinTokenList, p, "join tokens")
}

// RevokeJoinToken ends a join token; edges that used it stay. It fails with
// [problem.NotFound].
func (t *Tx) RevokeJoinToken(ctx context.Context, id string) error {
	n, err := affected(t.updateOf((*JoinToken)(nil)).Set("revoked_at = ?", Time{Time: t.Now()}).Where("id = ?", id).Where("revoked_at = 0").Exec(ctx))
	if err != nil {
		return fmt.Errorf("revoking join token %s: %w", id, err)
	}
	if n == 0 {
		return problem.New(problem.NotFound, "there is no join token %.80q in this workspace", id)
	}
	return nil
}

// JoinTokenByHash finds a join token in any workspace that is valid, or was used up: [Tx.Enrol]
// knows by whom. It fails with [problem.Unauthenticated].
func (s *Store) JoinTokenByHash(ctx context.Context, hash []byte) (*JoinToken, error) {
	row := new(JoinToken)
	err := s.read.NewSelect().Model(row).Where("hash = ?", hash).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("looking a join token up: %w", err)
	}
	if err != nil || !row.RevokedAt.IsZero() || !row.ExpiresAt.IsZero() && !s.now().Before(row.ExpiresAt.Time) {
		return nil, noJoinToken()
	}
	return row, nil
}

func noJoinToken() error {
	return problem.New(problem.Unauthenticated, "the join token is not known, was used up, has expired or was revoked").
		Fix("make a new one: sluice edge token")
}

// Enrol writes a new edge and counts the use of its join token, which may be used up:
// [problem.Unauthenticated]. An edge with the same keys, name and labels that has not said
// anything yet lost the answer: it gets the token of row, and row is that edge then.
func (t *Tx) Enrol(ctx context.Context, join string, row *Edge) error {
	var same []Edge
	err := t.from(&same).Where("sign_key = ? AND seal_key = ?", row.SignKey, row.SealKey).Where("name = ? AND labels = ?", row.Name, row.LabelText).
		Where("all_workspaces = ?", row.AllWorkspaces).Where("revoked_at = 0 AND renewed_at = 0 AND seen_at = created_at").OrderExpr("id").Limit(1).Scan(ctx)
	if err != nil {
		return fmt.Errorf("looking for the edge that joins: %w", err)
	}
	if len(same) > 0 {
		same[0].TokenHash, same[0].TokenExpires = row.TokenHash, row.TokenExpires
		*row = same[0]
		return t.SaveEdge(ctx, row)
	}
	n, err := affected(t.updateOf((*JoinToken)(nil)).Set("uses = uses + 1").Where("id = ?", join).Where("revoked_at = 0").
		Where("max_uses = 0 OR uses < max_uses").Exec(ctx))
	if err != nil {
		return fmt.Errorf("using join token %s: %w", join, err)
	}
	if n == 0 {
		return noJoinToken()
	}
	now := Time{Time: t.Now()}
	row.ID, row.CreatedAt, row.SeenAt = t.NewID("edge"), now, now
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing edge %s: %w", row.ID, err)
	}
	return nil
}

// Edge reads an edge by id or, if only one that is not revoked has it, by name.
// It fails with [problem.NotFound].
func (c *scope) Edge(ctx context.Context, id string) (*Edge, error) {
	row := new(Edge)
	err := c.from(row).Where("id = ? OR name = ?", id, id).OrderExpr("CASE WHEN revoked_at = 0 THEN 0 ELSE 1 END, id DESC").Limit(1).Scan(ctx)
	return row, c.found(ctx, err, (*Edge)(nil), "name", "edge", id)
}

// Edges lists edges, newest first, revoked ones too.
func (c *scope) Edges(ctx context.Context, p Page) ([]Edge, string, error) {
	var rows []Edge
	return table.Read(ctx, c.db, c.from(&rows), &rows, EdgeList, p, "edges")
}

// SaveEdge writes an edge that was read before.
func (t *Tx) SaveEdge(ctx context.Context, row *Edge) error {
	n, err := affected(t.updateOf(row).ExcludeColumn("workspace_id", "id", "created_at").Where("id = ?", row.ID).Exec(ctx))
	if err == nil && n == 0 {
		err = problem.New(problem.NotFound, "there is no edge %.80q in this workspace", row.ID)
	}
	if err != nil {
		return fmt.Errorf("writing edge %s: %w", row.ID, err)
	}
	return nil
}

// ReportEdge keeps the last report of an edge.
func (s *Store) ReportEdge(ctx context.Context, workspace, id, status string) error {
	_, err := s.write.NewUpdate().Model((*Edge)(nil)).Set("status = ?", status).Set("seen_at = ?", Time{Time: s.now()}).
		Where("workspace_id = ?", workspace).Where("id = ?", id).Exec(ctx)
	if err != nil {
		return fmt.Errorf("writing the report of edge %s: %w", id, err)
	}
	return nil
}

// EdgeByToken finds the edge with a valid token in any workspace. It fails with
// [problem.Unauthenticated]; that of a revoked edge says so.
func (s *Store) EdgeByToken(ctx context.Context, hash []byte) (*Edge, error) {
	row := new(Edge)
	err := s.read.NewSelect().Model(row).Where("token_hash = ?", hash).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, problem.New(problem.Unauthenticated, "the edge token is not known")
	case err != nil:
		return nil, fmt.Errorf("looking an edge up: %w", err)
	case !row.RevokedAt.IsZero():
		return nil, EdgeRevoked()
	case !s.now().Before(row.TokenExpires.Time):
		return nil, problem.New(problem.Unauthenticated, "the edge token has expired")
	}
	return row, nil
}

// EdgeRevoked is what a revoked edge is told.
func EdgeRevoked() error {
	return problem.New(problem.Forbidden, "this edge was revoked").Fix("enrol it again with a new join token and an empty cache directory")
}

// EdgeByID finds an edge in any workspace, for the renewal of its token, which
// its own key signs. It fails with [problem.Unauthenticated].
func (s *Store) EdgeByID(ctx context.Context, id string) (*Edge, error) {
	row := new(Edge)
	err := s.read.NewSelect().Model(row).Where("id = ?", id).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, problem.New(problem.Unauthenticated, "there is no such edge")
	case err != nil:
		return nil, fmt.Errorf("looking an edge up: %w", err)
	case !row.RevokedAt.IsZero():
		return nil, EdgeRevoked()
	}
	return row, nil
}

// group is what a group of edges gets.
type group struct {
	workspace string // "" every
	labels    Labels
}

// groupByName finds what a group gets by one of its edges; nil when no edge that
// is not revoked belongs to it.
func (s *Store) groupByName(ctx context.Context, name string) (*group, error) {
	if name == DefaultGroup {
		return &group{}, nil
	}
	row := new(Edge)
	err := s.read.NewSelect().Model(row).Where("group_name = ?", name).Where("revoked_at = 0").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // a group without edges is an ordinary thing
	}
	if err != nil {
		return nil, fmt.Errorf("reading group %s: %w", name, err)
	}
	g := &group{workspace: row.WorkspaceID}
	if row.AllWorkspaces {
		g.workspace = ""
	}
	g.labels, err = row.Labels()
	return g, err
}

// Groups lists the groups that have edges, and the default one, which is first.
func (s *Store) Groups(ctx context.Context) ([]string, error) {
	var names []string
	if err := s.read.NewSelect().Model((*Edge)(nil)).ColumnExpr("DISTINCT group_name").Where("revoked_at = 0").Scan(ctx, &names); err != nil {
		return nil, fmt.Errorf("listing groups: %w", err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == DefaultGroup })
	slices.Sort(names)
	return append([]string{DefaultGroup}, names...), nil
}

// gets reports whether a group gets a toolset.
func (g *group) gets(t *Toolset) (bool, error) {
	if g == nil || g.workspace != "" && g.workspace != t.WorkspaceID {
		return false, nil
	}
	l, err := t.Labels()
	return err == nil && l.within(g.labels), err
}

// CheckLabels refuses labels that are too many or too long.
func CheckLabels(l map[string]string) error {
	if len(l) > MaxLabels {
		return problem.New(problem.InvalidArgument, "%d labels are more than %d", len(l), MaxLabels)
	}
	for _, k := range slices.Sorted(maps.Keys(l)) {
		if !labelText(k) || !labelText(l[k]) {
			return problem.New(problem.InvalidArgument, "the label %.80q=%.80q is not valid", k, l[k]).
				Fix("names and values have 1 to 63 of a-z, A-Z, 0-9, '-', '_', '.' and '/'")
		}
	}
	return nil
}

func labelText(s string) bool {
	if s == "" || len(s) > 63 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '/':
		default:
			return false
		}
	}
	return true
}
