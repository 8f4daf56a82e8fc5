package admin

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// draftCredential is one credential of a draft, as it is stored or will be.
type draftCredential struct {
	row    store.Credential
	token  *store.OAuthToken // nil: none was ever given
	login  *store.OAuthLogin // the newest; nil: none, or it is over
	secret secrets.Secret    // to seal; zero: what is sealed stays
	forget bool              // its tokens were for another client, server or scope
	// adopted is a login whose tokens it takes over; nil: none.
	adopted *adopted
	shared  bool // callers do not log in themselves any more
	// given says that a request gives the secret, or the first configuration of a client
	// without one; elsewhere that its authorization server is another one.
	given, elsewhere bool
	rebound          bool   // row.Origins is to be written
	was              string // row.Origins as stored
}

// loadCredentials reads the credentials of a connector in a toolset with their tokens.
func loadCredentials(ctx context.Context, ws *store.Workspace, toolset, connector string) ([]draftCredential, error) {
	rows, err := ws.CredentialsOf(ctx, toolset, connector)
	if err != nil {
		return nil, err
	}
	out := make([]draftCredential, len(rows))
	for i := range rows {
		out[i].row = rows[i]
		if isOAuth(rows[i].AuthType) {
			if out[i].token, err = ws.OAuthToken(ctx, rows[i].ID, ""); err != nil {
				return nil, err
			}
			if out[i].login, err = ws.CredentialLogin(ctx, rows[i].ID); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// credentialVersion changes with every change of any secret of the draft; 0: it
// has none.
func (d *draft) credentialVersion() (sum uint64) {
	for _, p := range d.parts {
		for i := range p.creds {
			sum += p.creds[i].row.Version
		}
	}
	return sum
}

// matching finds for each item of a configuration the stored credential that it
// replaces: of the same type and scheme, each once and in order; -1: none.
func (d *draft) matching(a *SetAuth) []int {
	items := a.items()
	out, used := make([]int, len(items)), make([]bool, len(d.creds))
	find := func(it *AuthItem, exact bool) int {
		for i := range d.creds {
			sh, err := shapeOf(&d.creds[i].row)
			if err != nil || used[i] || d.creds[i].row.AuthType != it.AuthType {
				continue
			}
			same := it.Scheme == sh.Scheme && it.HeaderName == sh.HeaderName && it.ParameterName == sh.ParameterName && it.CookieName == sh.CookieName && it.MemberName == sh.MemberName
			if same || !exact {
				used[i] = true
				return i
			}
		}
		return -1
	}
	for i := range items {
		out[i] = find(&items[i], true)
	}
	for i := range items {
		if out[i] < 0 {
			out[i] = find(&items[i], false)
		}
	}
	return out
}

// authenticate puts a configuration on a draft; at is where its fields are.
func (d *draft) authenticate(s *Server, a *SetAuth, at string) error {
	old, match := d.creds, d.matching(a)
	keep := func(i int) bool {
		// A stored client secret must not go to another server because somebody
		// changed an address and gave no secret.
		return i < len(match) && match[i] >= 0 && keepsSecret(&old[match[i]].row, &a.items()[i])
	}
	if err := a.check(at, keep); err != nil {
		return err
	}
	items := a.items()
	if d.row.SourceKind == kindMCP && slices.ContainsFunc(items, func(it AuthItem) bool { return it.AuthType == authBody }) {
		return request.FieldFault(at+"/authType", "the bodies of an MCP server are messages of the protocol: a key goes into a header, the query or a cookie")
	}
	if len(items) > 1 {
		bindSchemes(items, d.report.Methods)
	}
	next := make([]draftCredential, 0, len(items))
	for i := range items {
		c := draftCredential{row: store.Credential{ID: s.o.Store.NewID("cred"), ToolsetID: d.ts.ID, Connector: d.row.Name}}
		// Another type is another credential: what is live must not send the new
		// secret in the place of the old one.
		if match[i] >= 0 {
			c = old[match[i]]
		}
		c.row.Position = int64(i)
		c.elsewhere = c.row.Version > 0 && !keepsSecret(&c.row, &items[i])
		if err := c.set(&items[i]); err != nil {
			return err
		}
		c.given = c.row.Version == 0 || !c.secret.IsZero()
		if a.adopted != nil && len(items) == 1 {
			c.adopted = a.adopted
		}
		next = append(next, c)
	}
	d.creds = next
	return nil
}

// keepsSecret reports whether the sealed secret may stay for an item without one.
func keepsSecret(row *store.Credential, it *AuthItem) bool {
	if !isOAuth(it.AuthType) {
		return true
	}
	sh, err := shapeOf(row)
	return err == nil && sh.ClientID == it.ClientID && sh.Issuer == it.Issuer && sh.TokenURL == it.TokenURL && sh.Resource == it.Resource
}

// set writes an item into a credential.
func (c *draftCredential) set(it *AuthItem) error {
	sh, isNew := it.shape(), c.row.Version == 0
	before := shape{}
	if !isNew {
		var err error
		if before, err = shapeOf(&c.row); err != nil {
			return err
		}
	}
	c.secret = it.secret()
	switch {
	case it.AuthType != authMTLS:
	case c.secret.IsZero():
		sh.Certificate = before.Certificate
	default:
		info, err := readCertificate(c.secret)
		if err != nil {
			return err
		}
		sh.Certificate = info
	}
	if !c.secret.IsZero() && it.AuthType != authMTLS {
		c.row.Last4 = c.secret.Last4()
	}
	c.shared = before.PerUser && !sh.PerUser
	whose := before
	whose.PerUser = sh.PerUser // whoever uses it, it is the same client at the same server
	c.forget = isOAuth(it.AuthType) && !isNew && (!c.secret.IsZero() || !reflect.DeepEqual(whose, sh))
	c.row.AuthType, c.row.Shape = it.AuthType, store.JSON(sh)
	return nil
}

// bindSchemes gives the items of a list that name no scheme the one of the
// specification that they fit, each scheme once. An operation then gets the
// items that it asks for, not all of them.
func bindSchemes(items []AuthItem, methods []AuthMethod) {
	taken := map[string]bool{}
	for i := range items {
		taken[items[i].Scheme] = true
	}
	for i := range items {
		for _, m := range methods {
			if items[i].Scheme == "" && !taken[m.ID] && fits(&items[i], &m) {
				items[i].Scheme = m.ID
				taken[m.ID] = true
			}
		}
	}
}

// fits reports whether an item is what a security scheme asks for.
func fits(it *AuthItem, m *AuthMethod) bool {
	switch m.Type {
	case "apiKey":
		return m.In == "header" && it.AuthType == authHeader && http.CanonicalHeaderKey(it.HeaderName) == http.CanonicalHeaderKey(m.Name) ||
			m.In == "query" && it.AuthType == authQuery && it.ParameterName == m.Name ||
			m.In == "cookie" && it.AuthType == authCookie && it.CookieName == m.Name ||
			m.In == "body" && it.AuthType == authBody && it.MemberName == m.Name
	case "http":
		return it.AuthType == m.Scheme || m.Scheme == "bearer" && isOAuth(it.AuthType)
	case "oauth2", "openIdConnect":
		return isOAuth(it.AuthType) || it.AuthType == authBearer
	case "mutualTLS":
		return it.AuthType == authMTLS
	}
	return false
}

// writeAuth writes the credentials of the connector that a draft is about, and removes
// what no connector has any more.
func (s *Server) writeAuth(ctx context.Context, tx *store.Tx, d *draft) error {
	var ids []string
	for _, p := range d.parts {
		for i := range p.creds {
			ids = append(ids, p.creds[i].row.ID)
		}
	}
	if _, err := tx.KeepCredentials(ctx, d.ts.ID, ids...); err != nil {
		return err
	}
	for i := range d.creds {
		c := &d.creds[i]
		var err error
		if c.rebound && c.row.Version > 0 {
			done, err := tx.SetOrigins(ctx, c.row.ID, c.was, c.row.Origins)
			if err == nil && !done {
				err = problem.New(problem.Conflict, "the authentication was changed meanwhile").Fix("look at it and try again")
			}
			if err != nil {
				return err
			}
		}
		if c.secret.IsZero() && c.row.Version > 0 {
			err = tx.SaveCredentialShape(ctx, &c.row)
		} else {
			err = tx.SealCredential(ctx, s.o.Keyring, &c.row, c.secret)
		}
		if err == nil && c.forget {
			err = tx.DeleteOAuthClient(ctx, c.row.ID)
		}
		if err == nil && (c.forget || c.adopted != nil) {
			err = tx.DeleteCredentialLogin(ctx, c.row.ID)
		}
		if err == nil && (c.forget || c.shared) {
			_, err = tx.DeleteUserTokens(ctx, c.row.ID, "")
		}
		if err == nil && c.forget && c.token != nil {
			c.token = &store.OAuthToken{CredentialID: c.row.ID, Version: c.token.Version + 1}
			err = tx.SaveOAuthToken(ctx, c.token)
		}
		if err == nil && c.adopted != nil {
			err = s.writeAdopted(ctx, tx, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// auditAuth is what the audit log says of a configuration: its shape, and of a
// new secret only a keyed fingerprint.
func (s *Server) auditAuth(creds []draftCredential) any {
	if len(creds) == 0 {
		return map[string]string{"authType": authNone}
	}
	out := make([]map[string]string, len(creds))
	for i := range creds {
		c := &creds[i]
		out[i] = map[string]string{"authType": c.row.AuthType, "shape": c.row.Shape, "credentialId": c.row.ID, "origins": c.row.Origins}
		if !c.secret.IsZero() {
			out[i]["fingerprint"] = s.o.Keyring.Fingerprint(c.secret)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return map[string]any{"authType": authList, "items": out}
}

// showAuth is a configuration as the API shows it.
func showAuth(creds []draftCredential, now time.Time) (*Authentication, error) {
	switch len(creds) {
	case 0:
		return &Authentication{AuthenticationItem: AuthenticationItem{AuthType: authNone}}, nil
	case 1:
		it, err := creds[0].show(now)
		return &Authentication{AuthenticationItem: it}, err
	}
	a := &Authentication{AuthenticationItem: AuthenticationItem{AuthType: authList}}
	for i := range creds {
		it, err := creds[i].show(now)
		if err != nil {
			return nil, err
		}
		if a.Items = append(a.Items, it); i > 0 {
			a.Preview += ", "
		}
		a.Preview += it.Preview
	}
	return a, nil
}

func (c *draftCredential) show(now time.Time) (AuthenticationItem, error) {
	row := &c.row
	sh, err := shapeOf(row)
	if err != nil {
		return AuthenticationItem{}, err
	}
	at := row.RotatedAt.Time
	it := AuthenticationItem{
		AuthType: row.AuthType, CredentialID: row.ID, Scheme: sh.Scheme, HeaderName: sh.HeaderName, HeaderPrefix: sh.HeaderPrefix,
		ParameterName: sh.ParameterName, CookieName: sh.CookieName, MemberName: sh.MemberName, Username: sh.Username, Grant: sh.Grant, Issuer: sh.Issuer,
		ClientID: sh.ClientID, TokenAuth: sh.TokenAuth, AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, Scopes: sh.Scopes,
		Audience: sh.Audience, Resource: sh.Resource, PerUser: sh.PerUser, Certificate: sh.Certificate, Last4: row.Last4, RotatedAt: &at, Version: row.Version, Preview: preview(row, &sh),
	}
	b, _, err := parseBound(row)
	if err != nil {
		return AuthenticationItem{}, err
	}
	it.Origins, it.TokenOrigins = b.Call, b.Token
	if isOAuth(row.AuthType) {
		it.State, it.LastError, it.ExpiresAt = tokenState(c.token, sh.Grant, now)
		it.LoginPending = c.login != nil && now.Before(c.login.ExpiresAt.Time)
	}
	return it, nil
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
	request.MatchInput
	Body SetAuth
}

type deleteInput struct {
	ToolsetInput
	request.MatchInput
}

func (s *Server) registerAuthentication() {
	const path = "/v1/toolsets/{id}/authentication"
	tags := []string{"authentication"}
	register(s, huma.Operation{
		OperationID: "get-authentication", Method: http.MethodGet, Path: path, Summary: "Read the authentication configuration", Tags: tags,
		Description: "Never the secret: only its last four characters, when it has at least twelve.",
	}, func(ctx context.Context, in *ToolsetInput) (*authOutput, error) {
		return s.getAuth(ctx, in.ID, "")
	})
	register(s, huma.Operation{
		OperationID: "set-authentication", Method: http.MethodPut, Path: path, Summary: "Set the authentication configuration", Tags: tags,
		Description: "For authType header, the header's value is headerPrefix directly followed by apiKey. " +
			"Without a secret, the stored one of the same authType stays. A new secret is used by the live toolset at once; a new shape is a new draft, to be tested. " +
			"The items of a list are applied as the operations ask for their schemes.",
	}, func(ctx context.Context, in *setAuthInput) (*authOutput, error) {
		return s.setAuth(ctx, in.ID, "", &in.MatchInput, &in.Body)
	})
	register(s, huma.Operation{
		OperationID: "delete-authentication", Method: http.MethodDelete, Path: path, Summary: "Remove the authentication configuration", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Description:   "The secret is destroyed at once: a live toolset that uses it answers with an error until it is deployed again.",
	}, func(ctx context.Context, in *deleteInput) (*struct{}, error) {
		_, err := s.setAuth(ctx, in.ID, "", &in.MatchInput, &SetAuth{AuthItem: AuthItem{AuthType: authNone}})
		return nil, err
	})
	s.registerConnectorAuth(tags)
	s.registerOrigins()
	s.registerAuthorize(path, connectorAuthPath, tags)
}

const connectorAuthPath = "/v1/toolsets/{id}/connectors/{connector}/authentication"

type setConnectorAuthInput struct {
	ToolsetConnectorInput
	request.MatchInput
	Body SetAuth
}

// registerConnectorAuth registers the authentication of one of several connectors.
func (s *Server) registerConnectorAuth(tags []string) {
	register(s, huma.Operation{
		OperationID: "get-connector-authentication", Method: http.MethodGet, Path: connectorAuthPath, Summary: "Read the authentication configuration of a connector", Tags: tags,
	}, func(ctx context.Context, in *ToolsetConnectorInput) (*authOutput, error) {
		return s.getAuth(ctx, in.ID, in.Connector)
	})
	register(s, huma.Operation{
		OperationID: "set-connector-authentication", Method: http.MethodPut, Path: connectorAuthPath, Summary: "Set the authentication configuration of a connector", Tags: tags,
	}, func(ctx context.Context, in *setConnectorAuthInput) (*authOutput, error) {
		return s.setAuth(ctx, in.ID, in.Connector, &in.MatchInput, &in.Body)
	})
	register(s, huma.Operation{
		OperationID: "delete-connector-authentication", Method: http.MethodDelete, Path: connectorAuthPath, Summary: "Remove the authentication configuration of a connector", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *deleteConnectorInput) (*struct{}, error) {
		_, err := s.setAuth(ctx, in.ID, in.Connector, &in.MatchInput, &SetAuth{AuthItem: AuthItem{AuthType: authNone}})
		return nil, err
	})
}

// getAuth reads the authentication of the named connector; "": of the only one.
func (s *Server) getAuth(ctx context.Context, id, connector string) (*authOutput, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	d, err := outline(ctx, ws, ts)
	if err != nil {
		return nil, err
	}
	if err := d.focus(connector); err != nil {
		return nil, err
	}
	return s.authAnswer(d)
}

func (s *Server) authAnswer(d *draft) (*authOutput, error) {
	a, err := showAuth(d.creds, s.now())
	if err != nil {
		return nil, err
	}
	return &authOutput{ETag: request.ETag(d.ts.Version), Body: *a}, nil
}

func (s *Server) setAuth(ctx context.Context, id, connector string, match *request.MatchInput, a *SetAuth) (*authOutput, error) {
	ws := s.workspace(ctx)
	d, err := s.load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if err := match.Check(d.ts.Version, false); err != nil {
		return nil, err
	}
	if err := d.focus(connector); err != nil {
		return nil, err
	}
	before, err := showAuth(d.creds, s.now())
	if err != nil {
		return nil, err
	}
	old := slices.Clone(d.creds)
	if d.row.SourceKind == kindMCP {
		a.aim(d.baseURL())
	}
	if err := d.authenticate(s, a, ""); err != nil {
		return nil, err
	}
	if err := s.bind(ctx, d); err != nil {
		return nil, err
	}
	if err := s.pushDraft(ctx, d); err != nil {
		return nil, err
	}
	var lost gone
	s.collectLost(ctx, ws, &lost, old, d.creds)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SaveToolset(ctx, d.ts); err != nil {
			return err
		}
		if err := s.writeAuth(ctx, tx, d); err != nil {
			return err
		}
		rec := request.Audit(ctx, "authentication.set", d.ts.ID)
		rec.Before, rec.After = store.JSON(before), store.JSON(s.auditAuth(d.creds))
		if len(d.creds) == 0 {
			rec.Action = "authentication.delete"
		}
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	s.forgetAll(old, d.creds)
	s.revokeGone(ctx, ws, d.ts.ID, &lost)
	if err := s.grantNamed(ctx, ws, d.ts.ID, a.addresses()...); err != nil {
		return nil, err
	}
	if d, err = outline(ctx, ws, d.ts); err != nil { // what was sealed has a version now
		return nil, err
	}
	if err := d.focus(connector); err != nil {
		return nil, err
	}
	return s.authAnswer(d)
}

// aim fills in what an OAuth item that does not say where to log in is for: the MCP
// server at an address.
func (a *SetAuth) aim(server string) {
	set := func(it *AuthItem) {
		if isOAuth(it.AuthType) && it.Resource == "" && it.Issuer == "" && it.TokenURL == "" && it.AuthorizationURL == "" {
			it.Resource = server
			if it.Grant == "" {
				it.Grant = oauth.AuthorizationCode
			}
		}
	}
	set(&a.AuthItem)
	for i := range a.Items {
		set(&a.Items[i])
	}
}

// addresses are the authorization servers that a configuration names.
func (a *SetAuth) addresses() []string {
	var out []string
	for _, it := range a.items() {
		out = append(out, it.Issuer, it.AuthorizationURL, it.TokenURL, it.Resource)
	}
	return out
}
