package admin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// Types of authentication configuration.
const (
	authHeader = "header"
	authBearer = "bearer"
	authBasic  = "basic"
	authNone   = "none"
)

// reservedHeaders frame or route a request; a credential must not replace them.
var reservedHeaders = []string{
	"host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
	"upgrade", "proxy-connection", "proxy-authenticate", "accept", "accept-encoding", "range", "expect",
}

// shape is what is stored of an authentication configuration in the clear.
type shape struct {
	HeaderName   string `json:"headerName,omitempty"`
	HeaderPrefix string `json:"headerPrefix,omitempty"`
	Username     string `json:"username,omitempty"`
}

func shapeOf(row *store.Credential) (shape, error) {
	var sh shape
	if err := json.Unmarshal([]byte(row.Shape), &sh); err != nil {
		return sh, fmt.Errorf("reading the shape of credential %s: %w", row.ID, err)
	}
	return sh, nil
}

// secret is the one secret field of a configuration.
func (a *SetAuth) secret() secrets.Secret {
	switch a.AuthType {
	case authHeader:
		return a.APIKey
	case authBearer:
		return a.Token
	case authBasic:
		return a.Password
	}
	return secrets.Secret{}
}

// check reports every fault of a configuration, naming fields under at. keep: the
// stored secret stays when none is given.
func (a *SetAuth) check(at string, keep bool) error {
	e := problem.New(problem.InvalidArgument, "the authentication configuration is not valid")
	fault := func(field, format string, args ...any) {
		e.Parts = append(e.Parts, problem.New(problem.InvalidArgument, format, args...).At("", 0, 0, at+"/"+field))
	}
	extra := func(field string, set bool) {
		if set {
			fault(field, "%s does not belong to authType %s", field, a.AuthType)
		}
	}
	extra("headerName", a.HeaderName != "" && a.AuthType != authHeader)
	extra("headerPrefix", a.HeaderPrefix != "" && a.AuthType != authHeader)
	extra("apiKey", !a.APIKey.IsZero() && a.AuthType != authHeader)
	extra("token", !a.Token.IsZero() && a.AuthType != authBearer)
	extra("username", a.Username != "" && a.AuthType != authBasic)
	extra("password", !a.Password.IsZero() && a.AuthType != authBasic)
	field := map[string]string{authHeader: "apiKey", authBearer: "token", authBasic: "password"}[a.AuthType]
	switch a.AuthType {
	case authNone, authBearer:
	case authHeader:
		shape := registry.AuthShape{Type: registry.AuthHeader, HeaderName: a.HeaderName, HeaderPrefix: a.HeaderPrefix, CredentialID: "c"}
		for _, p := range shapeFaults(&shape) {
			fault(strings.TrimPrefix(p.Place.Pointer, "/connectors/0/auth/"), "%s", p.Detail)
		}
		if slices.Contains(reservedHeaders, strings.ToLower(a.HeaderName)) {
			fault("headerName", "the header %s is set by the gateway itself", a.HeaderName)
		}
	case authBasic:
		if strings.ContainsFunc(a.Username, func(r rune) bool { return r < ' ' || r == ':' || r == 0x7f }) {
			fault("username", "a user name has no colon and no control characters (RFC 7617 §2)")
		}
	default:
		fault("authType", "authType must be header, bearer, basic or none")
	}
	if secret := a.secret(); field != "" && (!secret.IsZero() || !keep) {
		switch {
		case secret.IsZero():
			fault(field, "%s is missing", field)
		case a.AuthType != authBasic && !sendable(secret):
			fault(field, "%s has spaces at its ends, line breaks or characters that cannot be in a header", field)
		}
	}
	if len(e.Parts) == 0 {
		return nil
	}
	return e
}

// shapeFaults validates a shape by the rules of the registry's toolset.
func shapeFaults(a *registry.AuthShape) []*problem.Error {
	t := registry.Toolset{
		Workspace: "w", ID: "i", Slug: "s", Name: "n", Access: registry.Access{Mode: registry.AccessNone},
		Connectors: []registry.ConnectorRef{{
			Name: "c", Repository: "w/connectors/c", Auth: a,
			Manifest: registry.DigestOf(nil), Digest: registry.DigestOf(nil),
		}},
	}
	return faultsOf(t.Validate())
}

// faultsOf lists the single faults of a validation: its parts, or itself when
// there is only one.
func faultsOf(err error) []*problem.Error {
	e := problem.As(err)
	switch {
	case e == nil:
		return nil
	case len(e.Parts) == 0:
		return []*problem.Error{e}
	}
	return e.Parts
}

// sendable reports whether a secret can be in a header's value: visible ASCII
// with inner spaces (RFC 9110 §5.5 without obs-text).
func sendable(s secrets.Secret) bool {
	v := s.Reveal()
	if v == "" || v != strings.TrimSpace(v) {
		return false
	}
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return false
		}
	}
	return true
}

// apply writes the configuration into row and returns the secret to seal; the
// zero Secret: what is sealed stays.
func (a *SetAuth) apply(row *store.Credential) secrets.Secret {
	row.AuthType = a.AuthType
	row.Shape = mustJSON(shape{HeaderName: a.HeaderName, HeaderPrefix: a.HeaderPrefix, Username: a.Username})
	s := a.secret()
	if !s.IsZero() {
		row.Last4 = s.Last4()
	}
	return s
}

// authShape is how a credential appears in a bundle. Bearer and basic are
// headers to the gateway; [Server.Secret] gives the value that goes with it.
func authShape(row *store.Credential) (*registry.AuthShape, error) {
	if row == nil {
		return nil, nil //nolint:nilnil // no authentication
	}
	sh, err := shapeOf(row)
	if err != nil {
		return nil, err
	}
	out := &registry.AuthShape{Type: registry.AuthHeader, CredentialID: row.ID, HeaderName: "Authorization"}
	switch row.AuthType {
	case authHeader:
		out.HeaderName, out.HeaderPrefix = sh.HeaderName, sh.HeaderPrefix
	case authBearer:
		out.HeaderPrefix = "Bearer "
	case authBasic:
		out.HeaderPrefix = "Basic "
	}
	return out, nil
}

func showAuth(row *store.Credential) (*Authentication, error) {
	if row == nil {
		return &Authentication{AuthType: authNone}, nil
	}
	sh, err := shapeOf(row)
	if err != nil {
		return nil, err
	}
	reg, err := authShape(row)
	if err != nil {
		return nil, err
	}
	at := row.RotatedAt.Time
	mask := "••••"
	if row.AuthType != authBasic { // the end of a base64 text is not the end of the password
		mask += row.Last4
	}
	return &Authentication{
		AuthType: row.AuthType, HeaderName: sh.HeaderName, HeaderPrefix: sh.HeaderPrefix, Username: sh.Username,
		Last4: row.Last4, RotatedAt: &at, Version: row.Version, Preview: reg.HeaderName + ": " + reg.HeaderPrefix + mask,
	}, nil
}

// secretCache keeps opened credentials for the gateway in this process.
type secretCache struct {
	mu         sync.RWMutex
	generation uint64                  // guarded by mu; raised by every forget
	values     map[string]openedSecret // guarded by mu
	// changed is called when a secret is forgotten; set before the first use.
	changed func()
}

type openedSecret struct {
	value   secrets.Secret
	version uint64
}

// Secret returns what follows the prefix in the header of a credential's shape,
// and the version of the secret. It answers from memory but for the first time
// after a change, and is what the gateway of this process asks. It fails with
// [problem.NotFound].
func (s *Server) Secret(ctx context.Context, id string) (secrets.Secret, uint64, error) {
	c := &s.secrets
	c.mu.RLock()
	v, ok := c.values[id]
	generation := c.generation
	c.mu.RUnlock()
	if ok {
		return v.value, v.version, nil
	}
	row, err := s.o.Store.SealedCredential(ctx, id)
	if err != nil {
		return secrets.Secret{}, 0, err
	}
	value, err := s.o.Keyring.Open(row.Record(), row.Sealed)
	if err != nil {
		return secrets.Secret{}, 0, fmt.Errorf("opening credential %s: %w", id, err)
	}
	if row.AuthType == authBasic {
		sh, err := shapeOf(row)
		if err != nil {
			return secrets.Secret{}, 0, err
		}
		value = secrets.New(base64.StdEncoding.EncodeToString([]byte(sh.Username + ":" + value.Reveal())))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A change between the reading and here would be hidden by the old value.
	if c.generation == generation {
		if c.values == nil {
			c.values = map[string]openedSecret{}
		}
		c.values[id] = openedSecret{value, row.Version}
	}
	return value, row.Version, nil
}

// forget drops a cached secret after its record changed.
func (c *secretCache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	delete(c.values, id)
	if c.changed != nil {
		c.changed()
	}
}

// ToolsetInput is the path of a toolset. It is exported because the API reads
// embedded fields only of exported types.
type ToolsetInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id or slug."`
}

type authOutput struct {
	ETag string `header:"ETag"`
	Body Authentication
}

type setAuthInput struct {
	ToolsetInput
	MatchInput
	Body SetAuth
}

type deleteInput struct {
	ToolsetInput
	MatchInput
}

func (s *Server) registerAuthentication() {
	const path = "/v1/toolsets/{id}/authentication"
	tags := []string{"authentication"}
	register(s, huma.Operation{
		OperationID: "get-authentication", Method: http.MethodGet, Path: path, Summary: "Read the authentication configuration", Tags: tags,
		Description: "Never the secret: only its last four characters, when it has at least twelve.",
	}, func(ctx context.Context, in *ToolsetInput) (*authOutput, error) {
		ws := s.workspace(ctx)
		ts, err := toolsetOf(ctx, ws, in.ID)
		if err != nil {
			return nil, err
		}
		return s.authAnswer(ctx, ws, ts)
	})
	register(s, huma.Operation{
		OperationID: "set-authentication", Method: http.MethodPut, Path: path, Summary: "Set the authentication configuration", Tags: tags,
		Description: "For authType header, the header's value is headerPrefix directly followed by apiKey. " +
			"Without a secret, the stored one of the same authType stays. A new secret is used by the live toolset at once; a new shape is a new draft, to be tested.",
	}, func(ctx context.Context, in *setAuthInput) (*authOutput, error) {
		return s.setAuth(ctx, in.ID, &in.MatchInput, &in.Body)
	})
	register(s, huma.Operation{
		OperationID: "delete-authentication", Method: http.MethodDelete, Path: path, Summary: "Remove the authentication configuration", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Description:   "The secret is destroyed at once: a live toolset that uses it answers with an error until it is deployed again.",
	}, func(ctx context.Context, in *deleteInput) (*struct{}, error) {
		_, err := s.setAuth(ctx, in.ID, &in.MatchInput, &SetAuth{AuthType: authNone})
		return nil, err
	})
}

func (s *Server) authAnswer(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (*authOutput, error) {
	row, err := ws.Credential(ctx, ts.ID, ts.Connector)
	if err != nil {
		return nil, err
	}
	a, err := showAuth(row)
	if err != nil {
		return nil, err
	}
	return &authOutput{ETag: etag(ts.Version), Body: *a}, nil
}

func (s *Server) setAuth(ctx context.Context, id string, match *MatchInput, a *SetAuth) (*authOutput, error) {
	ws := s.workspace(ctx)
	d, err := s.load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if err := match.check(d.ts.Version, false); err != nil {
		return nil, err
	}
	if err := a.check("", d.cred != nil && d.cred.AuthType == a.AuthType); err != nil {
		return nil, err
	}
	before, err := showAuth(d.cred)
	if err != nil {
		return nil, err
	}
	var secret secrets.Secret
	old := d.cred
	if a.AuthType == authNone {
		d.cred = nil
	} else {
		d.cred = &store.Credential{ID: s.o.Store.NewID("cred"), ToolsetID: d.ts.ID, Connector: d.ts.Connector}
		// Another type is another credential: what is live must not send the new
		// secret in the place of the old one.
		if old != nil && old.AuthType == a.AuthType {
			kept := *old
			d.cred = &kept
		}
		secret = a.apply(d.cred)
	}
	if err := s.pushDraft(ctx, d); err != nil {
		return nil, err
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SaveToolset(ctx, d.ts); err != nil {
			return err
		}
		if err := s.writeAuth(ctx, tx, d, secret); err != nil {
			return err
		}
		rec := audit(ctx, "authentication.set", d.ts.ID)
		rec.Before, rec.After = mustJSON(before), s.auditAuth(d.cred, secret)
		if d.cred == nil {
			rec.Action = "authentication.delete"
		}
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	if old != nil {
		s.secrets.forget(old.ID)
	}
	return s.authAnswer(ctx, ws, d.ts)
}

// writeAuth writes the credential of a draft, or removes it.
func (s *Server) writeAuth(ctx context.Context, tx *store.Tx, d *draft, secret secrets.Secret) error {
	if d.cred == nil || d.cred.Version == 0 {
		if _, err := tx.DeleteCredential(ctx, d.ts.ID, d.ts.Connector); err != nil || d.cred == nil {
			return err
		}
	}
	if secret.IsZero() {
		return tx.SaveCredentialShape(ctx, d.cred)
	}
	return tx.SealCredential(ctx, s.o.Keyring, d.cred, secret)
}

// auditAuth is what the audit log says of a configuration: its shape, and of a
// new secret only a keyed fingerprint.
func (s *Server) auditAuth(row *store.Credential, secret secrets.Secret) string {
	if row == nil {
		return mustJSON(map[string]string{"authType": authNone})
	}
	m := map[string]string{"authType": row.AuthType, "shape": row.Shape, "credentialId": row.ID}
	if !secret.IsZero() {
		m["fingerprint"] = s.o.Keyring.Fingerprint(secret)
	}
	return mustJSON(m)
}
