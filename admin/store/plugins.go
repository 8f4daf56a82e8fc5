package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

const (
	// MaxPublisherKeys of one workspace that are not revoked; each may be tried for
	// each signature.
	MaxPublisherKeys = 100
	// MaxPluginVersions of one plugin: a release a day for three years.
	MaxPluginVersions = 1000
	// maxCases is the size of the golden cases of a version, unpacked.
	maxCases = 64 << 20
)

// PublisherKey is a public key whose signature makes a plugin acceptable in a
// workspace. It is never removed, so that what it signed can be told.
type PublisherKey struct {
	bun.BaseModel `bun:"table:publisher_keys"`
	InWorkspace
	ID        string `bun:"id,pk"` // lower-case hex SHA-256 of PublicKey
	Name      string `bun:"name"`  // whose it is, for people
	PublicKey []byte `bun:"public_key"`
	Algorithm string `bun:"algorithm"`
	CreatedBy string `bun:"created_by"`
	CreatedAt Time   `bun:"created_at"`
	RevokedAt Time   `bun:"revoked_at"` // zero: not
	Reason    string `bun:"reason"`     // of the revocation
}

// PluginVersion is one published version of a plugin. Only its yanking changes.
type PluginVersion struct {
	bun.BaseModel `bun:"table:plugin_versions"`
	InWorkspace
	Name        string `bun:"name,pk"`
	Version     string `bun:"version,pk"`
	Kind        string `bun:"kind"`
	Description string `bun:"description"`
	Repository  string `bun:"repository"`
	Tag         string `bun:"tag"`
	Manifest    string `bun:"manifest"` // digest of the OCI manifest
	Digest      string `bun:"digest"`   // of the module (the OCI layer)
	Config      string `bun:"config"`   // digest of the OCI configuration
	SizeBytes   int64  `bun:"size_bytes"`
	Document    string `bun:"document"` // JSON: the module's manifest section
	KeyID       string `bun:"key_id"`   // publisher key that signed
	Cases       []byte `bun:"cases"`    // golden cases; their form is package admin's. Only PluginCases reads them
	Report      string `bun:"report"`   // JSON: what the golden cases measured; its form is package plugin's
	CreatedBy   string `bun:"created_by"`
	CreatedAt   Time   `bun:"created_at"`
	YankedAt    Time   `bun:"yanked_at"` // zero: not
	YankReason  string `bun:"yank_reason"`
}

// PluginUsage is what calls of a version did, on every node that reported.
type PluginUsage struct {
	bun.BaseModel `bun:"table:plugin_usage"`
	InWorkspace
	Name    string `bun:"name,pk"`
	Version string `bun:"version,pk"`
	registry.PluginCounts
	UpdatedAt Time `bun:"updated_at"`
}

// AddPublisherKey writes a key. It fails with [problem.Conflict] when the
// workspace has it, also revoked, or has [MaxPublisherKeys].
func (t *Tx) AddPublisherKey(ctx context.Context, row *PublisherKey) error {
	var n int
	if err := t.from((*PublisherKey)(nil)).ColumnExpr("COUNT(*)").Where("revoked_at = 0").Scan(ctx, &n); err != nil {
		return fmt.Errorf("counting publisher keys: %w", err)
	}
	if n >= MaxPublisherKeys {
		return problem.New(problem.Conflict, "the workspace has %d publisher keys, which is the most", n).Fix("revoke some")
	}
	row.CreatedAt = Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); isUnique(err) {
		return problem.New(problem.Conflict, "the workspace has the publisher key %.16s already", row.ID).Fix("a revoked key does not come back: make a new one")
	} else if err != nil {
		return fmt.Errorf("adding publisher key %s: %w", row.ID, err)
	}
	return nil
}

// PublisherKey reads a key. It fails with [problem.NotFound].
func (c *scope) PublisherKey(ctx context.Context, id string) (*PublisherKey, error) {
	row := new(PublisherKey)
	return row, table.Found(c.from(row).Where("id = ?", id).Scan(ctx), "publisher key", id)
}

// PublisherKeys lists the keys, revoked ones too, by id.
func (c *scope) PublisherKeys(ctx context.Context, p Page) ([]PublisherKey, string, error) {
	var rows []PublisherKey
	return table.Read(ctx, c.db, c.from(&rows), &rows, PublisherKeyList, p, "publisher keys")
}

// ValidPublisherKeys lists the keys that are not revoked.
func (c *scope) ValidPublisherKeys(ctx context.Context) ([]PublisherKey, error) {
	var rows []PublisherKey
	if err := c.from(&rows).Where("revoked_at = 0").Order("id").Limit(MaxPublisherKeys).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing publisher keys: %w", err)
	}
	return rows, nil
}

// RevokePublisherKey ends a key and yanks every version that it signed. It returns
// how many. It fails with [problem.NotFound] when there is none or it was revoked
// before.
func (t *Tx) RevokePublisherKey(ctx context.Context, id, reason string) (yanked int64, err error) {
	n, err := affected(t.updateOf((*PublisherKey)(nil)).Set("revoked_at = ?", Time{Time: t.Now()}).Set("reason = ?", reason).
		Where("id = ?", id).Where("revoked_at = 0").Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("revoking publisher key %s: %w", id, err)
	}
	if n == 0 {
		return 0, problem.New(problem.NotFound, "the workspace has no valid publisher key %.80q", id)
	}
	yanked, err = affected(t.updateOf((*PluginVersion)(nil)).Set("yanked_at = ?", Time{Time: t.Now()}).
		Set("yank_reason = ?", "the publisher key that signed it was revoked").Where("key_id = ?", id).Where("yanked_at = 0").Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("yanking what publisher key %s signed: %w", id, err)
	}
	return yanked, nil
}

// AddPluginVersion writes a version. row.Cases is compressed on the way. It fails
// with [problem.Conflict] when the version is there already.
func (t *Tx) AddPluginVersion(ctx context.Context, row *PluginVersion) error {
	if len(row.Cases) > maxCases {
		return problem.New(problem.TooLarge, "the golden cases have %d bytes, the limit is %d", len(row.Cases), maxCases)
	}
	n, err := t.from((*PluginVersion)(nil)).Where("name = ?", row.Name).Count(ctx)
	if err != nil {
		return fmt.Errorf("counting the versions of plugin %s: %w", row.Name, err)
	}
	if n >= MaxPluginVersions {
		return problem.New(problem.Conflict, "plugin %s has %d versions, which is the most", row.Name, n).Fix("publish it under another name")
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(row.Cases); err != nil {
		return fmt.Errorf("compressing the golden cases of %s: %w", row.Name, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("compressing the golden cases of %s: %w", row.Name, err)
	}
	packed := *row
	packed.Cases, packed.CreatedAt = z.Bytes(), Time{Time: t.Now()}
	if _, err := t.insert(&packed).Exec(ctx); isUnique(err) {
		return problem.New(problem.Conflict, "plugin %s %s was published before", row.Name, row.Version).Fix("a version never changes: publish it under the next one")
	} else if err != nil {
		return fmt.Errorf("writing plugin %s %s: %w", row.Name, row.Version, err)
	}
	row.CreatedAt = packed.CreatedAt
	return nil
}

// PluginVersion reads a version without its cases. It fails with
// [problem.NotFound].
func (c *scope) PluginVersion(ctx context.Context, name, version string) (*PluginVersion, error) {
	row := new(PluginVersion)
	return row, table.Found(c.from(row).ExcludeColumn("cases").Where("name = ?", name).Where("version = ?", version).Scan(ctx), "plugin", name+"@"+version)
}

// PluginCases reads the golden cases of a version. It fails with [problem.NotFound].
func (c *scope) PluginCases(ctx context.Context, name, version string) ([]byte, error) {
	row := new(PluginVersion)
	if err := table.Found(c.from(row).Column("cases").Where("name = ?", name).Where("version = ?", version).Scan(ctx), "plugin", name+"@"+version); err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(row.Cases))
	if err != nil {
		return nil, fmt.Errorf("unpacking the golden cases of %s %s: %w", name, version, err)
	}
	b, err := io.ReadAll(io.LimitReader(r, maxCases+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking the golden cases of %s %s: %w", name, version, err)
	}
	return b, nil
}

// PluginVersions lists the versions of a plugin without their cases, in no order.
// It fails with [problem.NotFound] when there is none.
func (c *scope) PluginVersions(ctx context.Context, name string) ([]PluginVersion, error) {
	var rows []PluginVersion
	if err := c.from(&rows).ExcludeColumn("cases").Where("name = ?", name).Limit(MaxPluginVersions).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the versions of plugin %s: %w", name, err)
	}
	if len(rows) == 0 {
		p := problem.New(problem.NotFound, "there is no plugin %.80q in this workspace", name).
			Fix("publish it: sluice plugin publish")
		c.propose(ctx, p, (*PluginVersion)(nil), "name", name)
		return nil, p
	}
	return rows, nil
}

// PluginNames lists the names of plugins, sorted.
func (c *scope) PluginNames(ctx context.Context, p Page) ([]string, string, error) {
	var rows []PluginVersion
	rows, next, err := table.Read(ctx, c.db, c.from(&rows).ColumnExpr("DISTINCT name"), &rows, PluginList, p, "plugins")
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Name
	}
	return names, next, err
}

// Yank takes a version out of what toolsets can newly bind, or puts it back when
// reason is "". It fails with [problem.NotFound].
func (t *Tx) Yank(ctx context.Context, name, version, reason string) error {
	at := Time{Time: t.Now()}
	if reason == "" {
		at = Time{}
	}
	n, err := affected(t.updateOf((*PluginVersion)(nil)).Set("yanked_at = ?", at).Set("yank_reason = ?", reason).
		Where("name = ?", name).Where("version = ?", version).Exec(ctx))
	if err != nil {
		return fmt.Errorf("yanking plugin %s %s: %w", name, version, err)
	}
	if n == 0 {
		return problem.New(problem.NotFound, "there is no plugin %.80q in this workspace", name+"@"+version)
	}
	return nil
}

// PluginContents are the digests of every published plugin, of all workspaces:
// they stay in the registry, whatever its tags say.
func (s *Store) PluginContents(ctx context.Context) ([]registry.Digest, error) {
	var rows []PluginVersion
	if err := s.read.NewSelect().Model(&rows).Column("manifest", "digest", "config").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the contents of plugins: %w", err)
	}
	out := make([]registry.Digest, 0, 3*len(rows))
	for i := range rows {
		out = append(out, registry.Digest(rows[i].Manifest), registry.Digest(rows[i].Digest), registry.Digest(rows[i].Config))
	}
	return out, nil
}

// AddPluginUsage adds counts to those of a version. Counts of a version that is not
// known are dropped: it belongs to somebody else's release.
func (t *Tx) AddPluginUsage(ctx context.Context, c *registry.PluginCalls) error {
	if _, err := t.PluginVersion(ctx, c.Name, c.Version); problem.Is(err, problem.NotFound) {
		return nil
	} else if err != nil {
		return err
	}
	u := &PluginUsage{Name: c.Name, Version: c.Version, PluginCounts: c.PluginCounts, UpdatedAt: Time{Time: t.Now()}}
	q := t.insert(u).On("CONFLICT (workspace_id, name, version) DO UPDATE").Set("updated_at = EXCLUDED.updated_at")
	for _, c := range []string{"calls", "errors", "traps", "deadlines", "unbound", "micros", "bytes_in", "bytes_out"} {
		q = q.Set("? = plugin_usage.? + EXCLUDED.?", bun.Ident(c), bun.Ident(c), bun.Ident(c))
	}
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("counting calls of plugin %s %s: %w", u.Name, u.Version, err)
	}
	return nil
}

// PluginUsage reads the counts of a version; all zero when it was never called.
func (c *scope) PluginUsage(ctx context.Context, name, version string) (*PluginUsage, error) {
	row := new(PluginUsage)
	err := c.from(row).Where("name = ?", name).Where("version = ?", version).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("reading the usage of plugin %s %s: %w", name, version, err)
	}
	return row, nil
}
