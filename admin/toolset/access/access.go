package access

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// releaseTimeout is how long a change waits for the gateway of this node: its process
// swaps tables in milliseconds, and what takes longer is in its log.
const releaseTimeout = 5 * time.Second

// Room decides who may open toolset URLs.
type Room struct {
	Publisher *publish.Publisher
	Log       *slog.Logger
	// AwaitRelease waits until the gateway of this node serves a release. nil: nothing waits.
	AwaitRelease func(ctx context.Context, revision uint64) error
	// URL is where clients reach a toolset.
	URL func(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (string, error)
	// Closed says that others than this machine reach the gateway.
	Closed bool
	// PerUser reports whether each caller of a toolset logs in with their own account.
	PerUser func(ctx context.Context, ws *store.Workspace, toolset string) (bool, error)
	// Ending collects what the holder of an access token was given by authorization
	// servers; what it returns gives that back, once the token was revoked.
	Ending func(ctx context.Context, ws *store.Workspace, ts *store.Toolset, token string) (ended func(), err error)
}

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

// CaptureSettings say of which calls arguments and answers are kept.
type CaptureSettings struct {
	Capture string `json:"capture" enum:"off,errors,all" doc:"off: of none; errors: of calls that failed; all: of every call."`
}

// tokenGrants is what store.AccessToken.Grants holds.
type tokenGrants struct {
	Tools  []string `json:"tools,omitempty"`
	Limits *Limits  `json:"limits,omitempty"`
}

// ModeOf is how the URL of a toolset is opened, by its record; nil: by everybody.
func ModeOf(row *store.ToolsetAccess) string {
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

// SettingsOf reads what is stored.
func SettingsOf(row *store.ToolsetAccess) (AccessSettings, error) {
	s := AccessSettings{Mode: ModeOf(row)}
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

// accessDocument makes the document that gateways obey of a record, whose settings are s.
func accessDocument(ts *store.Toolset, row *store.ToolsetAccess, s AccessSettings, tokens []store.AccessToken) (*registry.AccessDocument, error) {
	d := &registry.AccessDocument{
		FormatVersion: registry.AccessFormat, Workspace: ts.WorkspaceID, Toolset: ts.ID, Mode: s.Mode, Limits: s.Limits.grant(), Capture: row.Capture,
	}
	paused, err := PausedOf(row)
	if err != nil {
		return nil, err
	}
	if paused != nil {
		d.Paused = &registry.Pause{Reason: paused.Reason}
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
	paused        *string            // store.ToolsetAccess.Paused; nil: it stays
	add           *store.AccessToken // a new token; nil: none
	revoke        string             // id of the token that ends; "": none
	before, after any
}

// change writes a change and makes it live: it is in force on this node when
// it returns, on edges when they have the next release. When only the release
// cannot be made the records stay changed, so that a revocation is never lost: the
// next release has it.
func (r *Room) change(ctx context.Context, ws *store.Workspace, ts *store.Toolset, c *accessChange) error {
	for range accessTries - 1 {
		if err := r.try(ctx, ws, ts, c); !errors.Is(err, store.ErrStale) {
			return err
		}
	}
	return r.try(ctx, ws, ts, c)
}

// accessTries of a change of access: each that fails lost to another change of the
// same toolset.
const accessTries = 10

// try is change that fails with [store.ErrStale] when another change of the toolset's
// access came between reading and writing.
func (r *Room) try(ctx context.Context, ws *store.Workspace, ts *store.Toolset, c *accessChange) error {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return err
	}
	settings, err := SettingsOf(row)
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
	if c.paused != nil {
		row.Paused = *c.paused
	}
	doc, err := accessDocument(ts, row, settings, valid)
	if err != nil {
		return err
	}
	// A document that no record names harms nobody.
	digest, err := r.Publisher.Access(ctx, repositoryOf(ts), doc)
	if err != nil {
		return err
	}
	ended := func() {}
	if c.revoke != "" {
		if ended, err = r.Ending(ctx, ws, ts, c.revoke); err != nil {
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
		ended()
	}
	if err != nil || ts.LiveRevision == 0 {
		return err
	}
	rel, err := r.Publisher.Release(ctx)
	if err != nil {
		return problem.New(problem.Unavailable, "the change is stored, but no release could be made of it: it does not take effect yet").
			Fix("look into the log of this node and repeat the change").Because(err)
	}
	if r.AwaitRelease != nil {
		wait, cancel := context.WithTimeout(ctx, releaseTimeout)
		defer cancel()
		if err := r.AwaitRelease(wait, rel.Release().Revision); err != nil {
			r.Log.LogAttrs(ctx, slog.LevelWarn, "the gateway of this node does not serve the new release yet",
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

// Show reads who may open the URL of a toolset, and the version of that.
func (r *Room) Show(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (shown ToolsetAccess, version uint64, err error) {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return shown, 0, err
	}
	settings, err := SettingsOf(row)
	if err != nil {
		return shown, 0, err
	}
	valid, err := ws.ValidAccessTokens(ctx, ts.ID, store.Time{Time: ws.Now()})
	if err != nil {
		return shown, 0, err
	}
	at, err := r.URL(ctx, ws, ts)
	if err != nil {
		return shown, 0, err
	}
	shown = ToolsetAccess{AccessSettings: settings, URL: at, Tokens: len(valid)}
	if settings.Mode == registry.AccessJWT {
		if shown.MetadataURL, err = metadataURL(at); err != nil {
			return shown, 0, err
		}
	}
	if row != nil {
		version, shown.UpdatedAt = row.Version, row.UpdatedAt.Time
	}
	return shown, version, nil
}

// metadataURL is where RFC 9728 §3.1 puts the metadata of a toolset URL.
func metadataURL(at string) (string, error) {
	u, err := url.Parse(at)
	if err != nil {
		return "", fmt.Errorf("reading the toolset URL: %w", err)
	}
	return u.Scheme + "://" + u.Host + "/.well-known/oauth-protected-resource" + strings.TrimSuffix(u.Path, "/"), nil
}

// versionOf is the version of a record of access; 0 while there is none.
func versionOf(row *store.ToolsetAccess) uint64 {
	if row == nil {
		return 0
	}
	return row.Version
}

// Set sets who may open the URL of a toolset.
func (r *Room) Set(ctx context.Context, ws *store.Workspace, ts *store.Toolset, match *request.MatchInput, in AccessSettings) error {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return err
	}
	if err := match.Check(versionOf(row), false); err != nil {
		return err
	}
	before, err := SettingsOf(row)
	if err != nil {
		return err
	}
	if in.Mode == registry.AccessNone {
		if own, err := r.PerUser(ctx, ws, ts.ID); err != nil {
			return err
		} else if own {
			return problem.New(problem.Conflict, "each caller of this toolset logs in with their own account, and callers without a token cannot be told apart").
				Fix("let one login serve all callers first: perUser of the authentication")
		}
	}
	if row != nil && reflect.DeepEqual(before, in) {
		return nil
	}
	return r.change(ctx, ws, ts, &accessChange{action: "access.set", settings: &in, before: before, after: in})
}

// Capture is what the call log keeps of the calls of a toolset.
func (r *Room) Capture(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (CaptureSettings, error) {
	row, err := ws.Access(ctx, ts.ID)
	return CaptureSettings{captureOf(row)}, err
}

// SetCapture sets what the call log keeps of the calls of a toolset.
func (r *Room) SetCapture(ctx context.Context, ws *store.Workspace, ts *store.Toolset, match *request.MatchInput, in CaptureSettings) error {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return err
	}
	if err := match.Check(versionOf(row), false); err != nil {
		return err
	}
	before, set := captureOf(row), in.Capture
	if before == set {
		return nil
	}
	if set == registry.CaptureOff {
		set = ""
	}
	return r.change(ctx, ws, ts, &accessChange{action: "capture.set", capture: &set, before: CaptureSettings{before}, after: in})
}

// captureOf is the setting of a toolset.
func captureOf(row *store.ToolsetAccess) string {
	if row == nil || row.Capture == "" {
		return registry.CaptureOff
	}
	return row.Capture
}

// CreateToken makes an access token of a toolset; the answer is the only place it is in.
func (r *Room) CreateToken(ctx context.Context, ws *store.Workspace, ts *store.Toolset, in NewAccessToken) (*CreatedAccessToken, error) {
	now := ws.Now()
	if e := in.ExpiresAt; !e.IsZero() && !now.Before(e) {
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
		if valid[i].Name == in.Name {
			return nil, problem.New(problem.Conflict, "the toolset has a valid access token named %.80q", in.Name).
				At("", 0, 0, "/name").Fix("revoke it first, or choose another name")
		}
	}
	secret := NewTokenFor(ToolsetPrefix)
	row := &store.AccessToken{
		ToolsetID: ts.ID, Name: in.Name, Hash: HashToken(secret), Last4: secret.Last4(), CreatedBy: request.Of(ctx).ActorID(),
		Grants: store.JSON(tokenGrants{Tools: in.Tools, Limits: in.Limits}), ExpiresAt: store.Time{Time: in.ExpiresAt},
	}
	if err := checkGrant(ts, row, in); err != nil {
		return nil, err
	}
	err = r.change(ctx, ws, ts, &accessChange{
		action: "access_token.create", add: row,
		after: map[string]any{"name": row.Name, "last4": row.Last4, "tools": in.Tools, "limits": in.Limits, "expiresAt": row.ExpiresAt.Time},
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
	return &CreatedAccessToken{AccessToken: shown, Token: secret.Reveal(), Mode: ModeOf(access)}, nil
}

// RevokeToken ends an access token of a toolset.
func (r *Room) RevokeToken(ctx context.Context, ws *store.Workspace, ts *store.Toolset, id string) error {
	row, err := ws.AccessToken(ctx, ts.ID, id)
	if err != nil {
		return err
	}
	return r.change(ctx, ws, ts, &accessChange{action: "access_token.revoke", revoke: row.ID, before: map[string]any{"id": row.ID, "name": row.Name}})
}

// Tokens lists the access tokens of a toolset, the oldest first.
func (r *Room) Tokens(ctx context.Context, ws *store.Workspace, ts *store.Toolset, p store.Page) ([]AccessToken, string, error) {
	rows, next, err := ws.AccessTokens(ctx, ts.ID, p)
	if err != nil {
		return nil, "", err
	}
	shown := make([]AccessToken, len(rows))
	for i := range rows {
		if shown[i], err = showAccessToken(&rows[i], ws.Now()); err != nil {
			return nil, "", err
		}
	}
	return shown, next, nil
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

// Sign signs the access document of a toolset as it is, and reports whether
// there is one.
func (r *Room) Sign(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (bool, error) {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil || row == nil || row.Digest == "" {
		return false, err
	}
	settings, err := SettingsOf(row)
	if err != nil {
		return false, err
	}
	valid, err := ws.ValidAccessTokens(ctx, ts.ID, store.Time{Time: ws.Now()})
	if err != nil {
		return false, err
	}
	doc, err := accessDocument(ts, row, settings, valid)
	if err != nil {
		return false, err
	}
	digest, err := r.Publisher.Access(ctx, repositoryOf(ts), doc)
	if err != nil || string(digest) == row.Digest {
		return true, err
	}
	row.Digest = string(digest)
	return true, ws.Update(ctx, func(tx *store.Tx) error { return tx.SaveAccess(ctx, row) })
}

// Import makes access and capture what a document says; settings nil: everybody.
func (r *Room) Import(ctx context.Context, ws *store.Workspace, ts *store.Toolset, settings *AccessSettings, capture string) error {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return err
	}
	before, err := SettingsOf(row)
	if err != nil {
		return err
	}
	after, captured := AccessSettings{Mode: registry.AccessNone}, ""
	if settings != nil {
		after = *settings
	}
	if row != nil {
		captured = row.Capture
	}
	if reflect.DeepEqual(before, after) && captured == capture {
		return nil
	}
	return r.change(ctx, ws, ts, &accessChange{
		action: "access.import", settings: &after, capture: &capture,
		before: map[string]any{"access": before, "capture": captured}, after: map[string]any{"access": after, "capture": capture},
	})
}
