package admin

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// AccessSettings say who may open a toolset URL.
type AccessSettings struct {
	Mode   string     `json:"mode" enum:"none,token,jwt" doc:"none: everybody who reaches it; token: access tokens; jwt: tokens of an authorization server."`
	JWT    *AccessJWT `json:"jwt,omitempty" doc:"Mode jwt: whose tokens."`
	Limits *Limits    `json:"limits,omitempty" doc:"Of all callers together. Absent: none."`
}

// ToolsetAccess is who may open a toolset URL, as the API shows it.
type ToolsetAccess struct {
	AccessSettings
	URL         string    `json:"url" doc:"The toolset URL; in mode jwt the audience of tokens is exactly this."`
	MetadataURL string    `json:"metadataUrl,omitempty" doc:"Mode jwt: RFC 9728 metadata of the toolset URL."`
	Tokens      int       `json:"tokens" doc:"Valid access tokens."`
	UpdatedAt   time.Time `json:"updatedAt,omitzero"`
}

// AccessJWT says whose JSON Web Tokens open a toolset URL.
type AccessJWT struct {
	Issuer               string        `json:"issuer" maxLength:"2048" doc:"Claim iss of the tokens."`
	JWKSURL              string        `json:"jwksUrl,omitempty" maxLength:"2048" doc:"Absent: as the issuer's metadata says."`
	AuthorizationServers []string      `json:"authorizationServers,omitempty" maxItems:"8" doc:"Where clients are sent. Absent: the issuer."`
	Scopes               []AccessScope `json:"scopes,omitempty" maxItems:"64" doc:"Absent: every valid token opens all tools."`
	Limits               *Limits       `json:"limits,omitempty" doc:"Of one subject."`
}

// AccessScope opens tools to a scope.
type AccessScope struct {
	Scope string   `json:"scope" maxLength:"128"`
	Tools []string `json:"tools" minItems:"1" maxItems:"256" doc:"Names and globs."`
}

// Limits bound requests on each node. Zero or absent: no limit.
type Limits struct {
	RequestsPerMinute int `json:"requestsPerMinute,omitempty" minimum:"0" maximum:"6000000"`
	Burst             int `json:"burst,omitempty" minimum:"0" maximum:"6000000" doc:"At once. Default: a tenth of requestsPerMinute."`
	Concurrent        int `json:"concurrent,omitempty" minimum:"0" maximum:"100000" doc:"At the same time."`
	MaxRequestBytes   int `json:"maxRequestBytes,omitempty" minimum:"0" maximum:"67108864"`
}

// AccessToken is an access token of a toolset, without its text.
type AccessToken struct {
	ID        string    `json:"id" example:"act_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Name      string    `json:"name"`
	Last4     string    `json:"last4" doc:"Last characters of the token."`
	Tools     []string  `json:"tools,omitempty" doc:"Names and globs of the tools it opens. Absent: all."`
	Limits    *Limits   `json:"limits,omitempty"`
	Status    string    `json:"status" enum:"valid,expired,revoked"`
	CreatedBy string    `json:"createdBy" doc:"API token that made it."`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero" doc:"Absent: never."`
	RevokedAt time.Time `json:"revokedAt,omitzero"`
}

// NewAccessToken asks for an access token.
type NewAccessToken struct {
	Name      string    `json:"name" minLength:"1" maxLength:"200" doc:"Who or what will use it."`
	Tools     []string  `json:"tools,omitempty" maxItems:"256" doc:"Names and globs of the tools it opens. Absent: all."`
	Limits    *Limits   `json:"limits,omitempty"`
	ExpiresAt time.Time `json:"expiresAt,omitzero" doc:"Absent: never."`
}

// CreatedAccessToken is a new access token with its text, which is shown once.
type CreatedAccessToken struct {
	AccessToken
	Token string `json:"token" doc:"The token. It is not stored and cannot be shown again." example:"slt_…"`
	Mode  string `json:"mode" enum:"none,token,jwt" doc:"How the toolset URL is opened now: only mode token asks for the token."`
}

// tokenGrants is what store.AccessToken.Grants holds.
type tokenGrants struct {
	Tools  []string `json:"tools,omitempty"`
	Limits *Limits  `json:"limits,omitempty"`
}

func modeOf(row *store.ToolsetAccess) string {
	if row == nil {
		return registry.AccessNone
	}
	return row.Mode
}

func (l *Limits) grant() *registry.RateLimits {
	if l == nil || *l == (Limits{}) {
		return nil
	}
	return &registry.RateLimits{RequestsPerMinute: l.RequestsPerMinute, Burst: l.Burst, Concurrent: l.Concurrent, RequestBytes: l.MaxRequestBytes}
}

// settingsOf reads what is stored.
func settingsOf(row *store.ToolsetAccess) (AccessSettings, error) {
	s := AccessSettings{Mode: modeOf(row)}
	if row != nil {
		if err := json.Unmarshal([]byte(row.Settings), &s); err != nil {
			return s, fmt.Errorf("reading the access of %s: %w", row.ToolsetID, err)
		}
	}
	return s, nil
}

func showAccessToken(row *store.AccessToken, now time.Time) (AccessToken, error) {
	var g tokenGrants
	if err := json.Unmarshal([]byte(row.Grants), &g); err != nil {
		return AccessToken{}, fmt.Errorf("reading access token %s: %w", row.ID, err)
	}
	t := AccessToken{
		ID: row.ID, Name: row.Name, Last4: row.Last4, Tools: g.Tools, Limits: g.Limits, Status: "valid", CreatedBy: row.CreatedBy,
		CreatedAt: row.CreatedAt.Time, ExpiresAt: row.ExpiresAt.Time, RevokedAt: row.RevokedAt.Time,
	}
	switch {
	case !t.RevokedAt.IsZero():
		t.Status = "revoked"
	case !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt):
		t.Status = "expired"
	}
	return t, nil
}

// accessDocument makes the document that gateways obey.
func accessDocument(ts *store.Toolset, s AccessSettings, tokens []store.AccessToken) (*registry.AccessDocument, error) {
	d := &registry.AccessDocument{
		FormatVersion: registry.AccessFormat, Workspace: ts.WorkspaceID, Toolset: ts.ID, Mode: s.Mode, Limits: s.Limits.grant(),
	}
	if s.Mode == registry.AccessToken {
		for i := range tokens {
			row := &tokens[i]
			var g tokenGrants
			if err := json.Unmarshal([]byte(row.Grants), &g); err != nil {
				return nil, fmt.Errorf("reading access token %s: %w", row.ID, err)
			}
			t := registry.TokenGrant{ID: row.ID, Name: row.Name, Hash: hex.EncodeToString(row.Hash), Tools: g.Tools, Limits: g.Limits.grant()}
			if !row.ExpiresAt.IsZero() {
				t.Expires = &row.ExpiresAt.Time
			}
			d.Tokens = append(d.Tokens, t)
		}
	}
	if s.JWT != nil {
		d.JWT = &registry.JWTGrant{
			Issuer: s.JWT.Issuer, JWKSURL: s.JWT.JWKSURL, AuthorizationServers: s.JWT.AuthorizationServers, Limits: s.JWT.Limits.grant(),
		}
		for _, scope := range s.JWT.Scopes {
			d.JWT.Scopes = append(d.JWT.Scopes, registry.ScopeGrant{Scope: scope.Scope, Tools: scope.Tools})
		}
	}
	return d, d.Validate()
}

// accessChange is one change of who may open a toolset, and what to audit of it.
type accessChange struct {
	action        string
	settings      *AccessSettings    // the new ones; nil: they stay
	capture       *string            // what the call log keeps; nil: it stays
	add           *store.AccessToken // a new token; nil: none
	revoke        string             // id of the token that ends; "": none
	before, after any
}

// changeAccess writes a change and makes it live: it is in force on this node when
// it returns, on edges when they have the next release. When only the release
// cannot be made the records stay changed, so that a revocation is never lost: the
// next release has it.
func (s *Server) changeAccess(ctx context.Context, ws *store.Workspace, ts *store.Toolset, c *accessChange) error {
	for range accessTries - 1 {
		if err := s.tryAccess(ctx, ws, ts, c); !errors.Is(err, store.ErrStale) {
			return err
		}
	}
	return s.tryAccess(ctx, ws, ts, c)
}

// accessTries of a change of access: each that fails lost to another change of the
// same toolset.
const accessTries = 10

// tryAccess is changeAccess that fails with [store.ErrStale] when another change of the
// toolset's access came between reading and writing.
func (s *Server) tryAccess(ctx context.Context, ws *store.Workspace, ts *store.Toolset, c *accessChange) error {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return err
	}
	settings, err := settingsOf(row)
	if err != nil {
		return err
	}
	if row == nil {
		row = &store.ToolsetAccess{ToolsetID: ts.ID}
	}
	if c.settings != nil {
		settings = *c.settings
	}
	valid, err := ws.ValidAccessTokens(ctx, ts.ID, store.Time{Time: ws.Now()})
	if err != nil {
		return err
	}
	valid = slices.DeleteFunc(valid, func(t store.AccessToken) bool { return t.ID == c.revoke })
	if c.add != nil {
		c.add.ID = ws.NewID("act")
		valid = append(valid, *c.add)
	}
	if c.capture != nil {
		row.Capture = *c.capture
	}
	doc, err := accessDocument(ts, settings, valid)
	if err != nil {
		return err
	}
	doc.Capture = row.Capture
	// A document that no record names harms nobody.
	digest, err := s.o.Publisher.Access(ctx, repositoryOf(ts), doc)
	if err != nil {
		return err
	}
	var lost gone
	if c.revoke != "" {
		if err := s.collectHolder(ctx, ws, &lost, ts, c.revoke); err != nil {
			return err
		}
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if c.add != nil {
			if err := tx.AddAccessToken(ctx, c.add); err != nil {
				return err
			}
		}
		if c.revoke != "" {
			if _, err := tx.DeleteTokenUser(ctx, c.revoke); err != nil {
				return err
			}
			if err := tx.RevokeAccessToken(ctx, ts.ID, c.revoke); err != nil {
				return err
			}
		}
		row.Mode, row.Settings, row.Digest = settings.Mode, store.JSON(settings), string(digest)
		if err := tx.SaveAccess(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, c.action, ts.ID)
		rec.Digest, rec.Before, rec.After = row.Digest, store.JSON(c.before), store.JSON(c.after)
		return tx.Audit(ctx, rec)
	})
	if err == nil {
		s.revokeGone(ctx, ws, ts.ID, &lost)
	}
	if err != nil || ts.LiveRevision == 0 {
		return err
	}
	r, err := s.o.Publisher.Release(ctx)
	if err != nil {
		return problem.New(problem.Unavailable, "the change is stored, but no release could be made of it: it is not in force yet").
			Fix("look into the log of this node and repeat the change").Because(err)
	}
	if s.o.AwaitRelease != nil {
		wait, cancel := context.WithTimeout(ctx, liveTimeout)
		defer cancel()
		if err := s.o.AwaitRelease(wait, r.Release().Revision); err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "the gateway of this node does not serve the new release yet",
				slog.String("toolset", ts.ID), slog.Any("error", err))
		}
	}
	return nil
}

// repositoryOf is where the bundles and access documents of a toolset are.
func repositoryOf(ts *store.Toolset) string {
	if ts.LiveRepository != "" {
		return ts.LiveRepository
	}
	return ts.WorkspaceID + "/toolsets/" + ts.Slug
}

func (s *Server) showAccess(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (*accessOutput, error) {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return nil, err
	}
	settings, err := settingsOf(row)
	if err != nil {
		return nil, err
	}
	valid, err := ws.ValidAccessTokens(ctx, ts.ID, store.Time{Time: ws.Now()})
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(s.o.GatewayURL, "/")
	out := &accessOutput{Body: ToolsetAccess{AccessSettings: settings, URL: base + "/t/" + ts.Slug, Tokens: len(valid)}}
	if settings.Mode == registry.AccessJWT {
		out.Body.MetadataURL = base + "/.well-known/oauth-protected-resource/t/" + ts.Slug
	}
	version := uint64(0)
	if row != nil {
		version, out.Body.UpdatedAt = row.Version, row.UpdatedAt.Time
	}
	out.ETag = request.ETag(version)
	return out, nil
}

type accessOutput struct {
	ETag string `header:"ETag"`
	Body ToolsetAccess
}

type setAccessInput struct {
	ToolsetInput
	request.MatchInput
	Body AccessSettings
}

type newAccessTokenInput struct {
	ToolsetInput
	Body NewAccessToken
}

type createdAccessTokenOutput struct {
	Location string `header:"Location"`
	Body     CreatedAccessToken
}

type accessTokensInput struct {
	ToolsetInput
	ListInput
}

type accessTokenInput struct {
	ToolsetInput
	Token string `path:"token" maxLength:"64" doc:"Id of the access token."`
}

func (s *Server) registerAccess() {
	const path = "/v1/toolsets/{id}/access"
	const tokensPath = "/v1/toolsets/{id}/access-tokens" //nolint:gosec // a path
	tags := []string{"access"}
	register(s, huma.Operation{
		OperationID: "get-access", Method: http.MethodGet, Path: path, Summary: "Read who may open the toolset URL", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*accessOutput, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return s.showAccess(ctx, ws, ts)
	})
	register(s, huma.Operation{
		OperationID: "set-access", Method: http.MethodPut, Path: path, Summary: "Set who may open the toolset URL", Tags: tags,
		Description: "In force at once, without a new revision of the toolset. If-Match guards against a change meanwhile.",
	}, func(ctx context.Context, in *setAccessInput) (*accessOutput, error) {
		return s.setAccess(ctx, in)
	})
	register(s, huma.Operation{
		OperationID: "create-access-token", Method: http.MethodPost, Path: tokensPath, Summary: "Create an access token", Tags: tags,
		DefaultStatus: http.StatusCreated,
		Description:   "The answer is the only time the token is shown. It opens this toolset URL and nothing of this API.",
	}, s.createAccessToken)
	register(s, huma.Operation{
		OperationID: "list-access-tokens", Method: http.MethodGet, Path: tokensPath, Summary: "List access tokens, oldest first", Tags: tags,
	}, s.listAccessTokens)
	register(s, huma.Operation{
		OperationID: "revoke-access-token", Method: http.MethodDelete, Path: tokensPath + "/{token}", Summary: "Revoke an access token", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Description:   "In force at once: requests are refused and open streams end.",
	}, func(ctx context.Context, in *accessTokenInput) (*struct{}, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		row, err := ws.AccessToken(ctx, ts.ID, in.Token)
		if err != nil {
			return nil, err
		}
		return nil, s.changeAccess(ctx, ws, ts, &accessChange{
			action: "access_token.revoke", revoke: row.ID, before: map[string]any{"id": row.ID, "name": row.Name},
		})
	})
}

func (s *Server) setAccess(ctx context.Context, in *setAccessInput) (*accessOutput, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return nil, err
	}
	version := uint64(0)
	if row != nil {
		version = row.Version
	}
	if err := in.Check(version, false); err != nil {
		return nil, err
	}
	before, err := settingsOf(row)
	if err != nil {
		return nil, err
	}
	if in.Body.Mode == registry.AccessNone {
		if _, creds, err := s.userCredentials(ctx, ws, ts.ID, ""); err != nil {
			return nil, err
		} else if len(creds) > 0 {
			return nil, problem.New(problem.Conflict, "each caller of this toolset logs in with an account of their own, and nobody can be told apart who needs no token").
				Fix("let one login serve all callers first: perUser of the authentication")
		}
	}
	if row == nil || !reflect.DeepEqual(before, in.Body) {
		if err := s.changeAccess(ctx, ws, ts, &accessChange{action: "access.set", settings: &in.Body, before: before, after: in.Body}); err != nil {
			return nil, err
		}
	}
	return s.showAccess(ctx, ws, ts)
}

func (s *Server) createAccessToken(ctx context.Context, in *newAccessTokenInput) (*createdAccessTokenOutput, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	now := ws.Now()
	if e := in.Body.ExpiresAt; !e.IsZero() && !now.Before(e) {
		return nil, request.FieldFault("/expiresAt", "the token would have expired already")
	}
	valid, err := ws.ValidAccessTokens(ctx, ts.ID, store.Time{Time: now})
	if err != nil {
		return nil, err
	}
	if len(valid) >= registry.MaxAccessTokens {
		return nil, problem.New(problem.Conflict, "the toolset has %d valid access tokens, which is the most", len(valid)).
			Fix("revoke some, or let an authorization server issue them (mode jwt)")
	}
	for i := range valid {
		if valid[i].Name == in.Body.Name {
			return nil, problem.New(problem.Conflict, "the toolset has a valid access token named %.80q", in.Body.Name).
				At("", 0, 0, "/name").Fix("revoke it first, or choose another name")
		}
	}
	secret := newToken(accessPrefix)
	row := &store.AccessToken{
		ToolsetID: ts.ID, Name: in.Body.Name, Hash: HashToken(secret), Last4: secret.Last4(), CreatedBy: request.Of(ctx).TokenID(),
		Grants: store.JSON(tokenGrants{Tools: in.Body.Tools, Limits: in.Body.Limits}), ExpiresAt: store.Time{Time: in.Body.ExpiresAt},
	}
	if err := checkGrant(ts, row, in.Body); err != nil {
		return nil, err
	}
	err = s.changeAccess(ctx, ws, ts, &accessChange{
		action: "access_token.create", add: row,
		after: map[string]any{"name": row.Name, "last4": row.Last4, "tools": in.Body.Tools, "limits": in.Body.Limits, "expiresAt": row.ExpiresAt.Time},
	})
	if err != nil {
		return nil, err
	}
	shown, err := showAccessToken(row, now)
	if err != nil {
		return nil, err
	}
	access, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return nil, err
	}
	return &createdAccessTokenOutput{
		Location: "/v1/toolsets/" + ts.ID + "/access-tokens/" + row.ID,
		Body:     CreatedAccessToken{AccessToken: shown, Token: secret.Reveal(), Mode: modeOf(access)},
	}, nil
}

// checkGrant finds faults of a token in every mode: a document of mode none does
// not have it.
func checkGrant(ts *store.Toolset, row *store.AccessToken, in NewAccessToken) error {
	d := &registry.AccessDocument{
		FormatVersion: registry.AccessFormat, Workspace: ts.WorkspaceID, Toolset: ts.ID, Mode: registry.AccessToken,
		Tokens: []registry.TokenGrant{{ID: "new", Name: in.Name, Hash: hex.EncodeToString(row.Hash), Tools: in.Tools, Limits: in.Limits.grant()}},
	}
	faults := request.Faults(d.Validate())
	if len(faults) == 0 {
		return nil
	}
	return request.FieldFault(strings.TrimPrefix(faults[0].Place.Pointer, "/tokens/0"), "%s", faults[0].Detail)
}

func (s *Server) listAccessTokens(ctx context.Context, in *accessTokensInput) (*listOutput[AccessToken], error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	path := "/v1/toolsets/" + ts.ID + "/access-tokens"
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	rows, next, err := ws.AccessTokens(ctx, ts.ID, p)
	if err != nil {
		return nil, err
	}
	shown := make([]AccessToken, len(rows))
	for i := range rows {
		if shown[i], err = showAccessToken(&rows[i], ws.Now()); err != nil {
			return nil, err
		}
	}
	return list(&in.ListInput, path, shown, next, func(t *AccessToken) AccessToken { return *t }), nil
}
