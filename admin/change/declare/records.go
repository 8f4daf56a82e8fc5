package declare

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// AllToolsets are those of a workspace, by slug.
func AllToolsets(ctx context.Context, ws *store.Workspace) ([]*store.Toolset, error) {
	rows, err := store.All(ctx, ws.Toolsets)
	if err != nil {
		return nil, err
	}
	out := make([]*store.Toolset, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	slices.SortFunc(out, func(a, b *store.Toolset) int { return strings.Compare(a.Slug, b.Slug) })
	return out, nil
}

// PublisherKeys are the keys that were not revoked, by their public key.
func PublisherKeys(ctx context.Context, ws *store.Workspace) ([]store.PublisherKey, error) {
	rows, err := store.All(ctx, ws.PublisherKeys)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(k store.PublisherKey) bool { return !k.RevokedAt.IsZero() })
	slices.SortFunc(rows, func(a, b store.PublisherKey) int { return bytes.Compare(a.PublicKey, b.PublicKey) })
	return rows, nil
}

// StateTag is an entity tag of everything that an import can change.
func StateTag(ctx context.Context, ws *store.Workspace, all []*store.Toolset) (string, error) {
	h := sha256.New()
	for _, ts := range all {
		row, err := ws.Access(ctx, ts.ID)
		if err != nil {
			return "", err
		}
		version := uint64(0)
		if row != nil {
			version = row.Version
		}
		fmt.Fprintf(h, "%s %d %d\n", ts.ID, ts.Version, version)
	}
	keys, err := PublisherKeys(ctx, ws)
	if err != nil {
		return "", err
	}
	for i := range keys {
		fmt.Fprintf(h, "%s\n", keys[i].ID)
	}
	rules, err := ws.AlertRulesMark(ctx)
	if err != nil {
		return "", err
	}
	channels, _, err := ws.Channels(ctx, store.Page{Limit: store.MaxLimit})
	if err != nil {
		return "", err
	}
	fmt.Fprintln(h, rules)
	for i := range channels {
		fmt.Fprintf(h, "%s %d\n", channels[i].ID, channels[i].Version)
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`, nil
}

// SourceOf reads what a connector was made of.
func SourceOf(ctx context.Context, ws *store.Workspace, of *store.ToolsetConnector) (DeclaredSource, error) {
	out := DeclaredSource{Kind: of.SourceKind, URL: of.SourceURL}
	v, err := ws.ConnectorVersion(ctx, of.Connector, of.ConnectorDigest)
	if err != nil {
		return out, err
	}
	spec, err := ws.Specification(ctx, v.SpecDigest)
	if err != nil {
		return out, err
	}
	if out.Digest = spec.Digest; out.URL == "" {
		out.FileName = spec.Name
	}
	if spec.Format != "tar" {
		out.Document = string(spec.Content)
	} else if out.Main, out.Files, err = source.Unpack(spec.Content); err != nil {
		return out, err
	}
	row, err := ws.ToolsetSource(ctx, of.ToolsetID, of.Name)
	if err != nil || row.Overlays == "" {
		return out, err
	}
	if err := json.Unmarshal([]byte(row.Overlays), &out.Overlays); err != nil {
		return out, fmt.Errorf("reading the overlays of toolset %s: %w", of.ToolsetID, err)
	}
	if len(out.Overlays) == 0 {
		out.Overlays = nil
	}
	if len(out.Files) == 1 { // it was packed because of its overlays
		out.Document, out.Files, out.Main = out.Files[out.Main], nil, ""
	}
	return out, nil
}

// SelectionOf is the selection of a toolset; nil: all tools are listed.
func SelectionOf(ts *store.Toolset) (*DeclaredSelection, error) {
	if ts.Selection == "" {
		return nil, nil //nolint:nilnil // all tools are listed
	}
	c, err := choice.Of(ts)
	if err != nil {
		return nil, err
	}
	out := &DeclaredSelection{Mode: c.Mode, UseCase: c.UseCase, Learn: c.Learn, Batch: c.Batch, Destructive: c.Destructive, Limits: c.Limits}
	for i := range c.Examples {
		if e := &c.Examples[i]; len(e.Operator) > 0 {
			out.Examples = append(out.Examples, DeclaredExamples{Operation: e.Operation, Operator: e.Operator})
		}
	}
	for i := range c.Tools {
		out.Tools = append(out.Tools, DeclaredChoice(c.Tools[i]))
	}
	return out, nil
}

// AuthOf is a credential without its secret, or with it sealed for to; unseal opens it.
func AuthOf(row *store.Credential, to age.Recipient, unseal func(*store.Credential) (secrets.Secret, error)) (*DeclaredAuth, error) {
	sh, err := credential.ShapeOf(row)
	if err != nil {
		return nil, err
	}
	out := &DeclaredAuth{AuthItem: credential.AuthItem{
		AuthType: row.AuthType, Scheme: sh.Scheme, HeaderName: sh.HeaderName, HeaderPrefix: sh.HeaderPrefix, ParameterName: sh.ParameterName,
		CookieName: sh.CookieName, MemberName: sh.MemberName, Username: sh.Username, Grant: sh.Grant, Issuer: sh.Issuer, ClientID: sh.ClientID, TokenAuth: sh.TokenAuth,
		AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, Scopes: sh.Scopes, Audience: sh.Audience, Resource: sh.Resource, PerUser: sh.PerUser,
	}}
	if to == nil || row.Version == 0 {
		return out, nil
	}
	value, err := unseal(row)
	if err != nil || value.IsZero() {
		return out, err
	}
	fields := map[string]string{credential.SecretField(row.AuthType): value.Reveal()}
	if row.AuthType == registry.AuthMTLS {
		chain, key := splitPEM(value.Reveal())
		fields = map[string]string{"certificate": chain, "privateKey": key}
	}
	plain, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	out.Sealed, err = backup.SealText(to, plain)
	return out, err
}

// splitPEM divides a chain from the private key behind it.
func splitPEM(text string) (chain, key string) {
	i := strings.Index(text, "PRIVATE KEY-----")
	if i < 0 {
		return text, ""
	}
	i = strings.LastIndex(text[:i], "-----BEGIN ")
	return text[:i], text[i:]
}

// Read is the source as it was read when the toolset was exported; at is where it is.
func (in *DeclaredSource) Read(at string) (*source.Source, error) {
	if in.Kind == store.SourceMCP {
		server, err := connector.ParseMCPServer([]byte(in.Document))
		if err != nil {
			return nil, problem.New(problem.InvalidArgument, "the document is not what an export wrote of an MCP server").At("", 0, 0, at+"/document").Because(err)
		}
		notices, refused := server.Accept()
		return &source.Source{URL: in.URL, Server: server, Notices: notices, Refused: refused, Title: cmp.Or(server.Title, server.Name, credential.Hostname(in.URL))}, nil
	}
	name := cmp.Or(in.URL, in.FileName, "document")
	src := &source.Source{URL: in.URL, Parts: map[string][]byte{}}
	src.Spec = openapi.Source{Name: name, Data: []byte(in.Document), BaseURL: in.URL}
	if len(in.Files) > 0 {
		local := make(map[string][]byte, len(in.Files))
		for path, text := range in.Files {
			if src.Parts[path] = []byte(text); !strings.Contains(path, "://") {
				local[path] = []byte(text)
			}
		}
		src.Spec.Data = []byte(in.Files[in.Main])
		if in.URL == "" {
			var err error
			if src.Spec, err = openapi.InFiles(name, local, in.Main); err != nil {
				return nil, err
			}
		}
	}
	for i, o := range in.Overlays {
		src.Overlays = append(src.Overlays, o)
		src.Spec.Overlays = append(src.Spec.Overlays, openapi.Overlay{Name: cmp.Or(o.FileName, o.URL, fmt.Sprintf("overlay %d", i+1)), Data: []byte(o.Document)})
	}
	return src, nil
}
