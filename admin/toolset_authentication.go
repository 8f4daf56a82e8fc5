package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

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

// writeAuth writes the credentials of the connector that a draft is about, and removes
// what no connector has any more.
func (s *Server) writeAuth(ctx context.Context, tx *store.Tx, d *draft) error {
	var ids []string
	for _, p := range d.parts {
		for i := range p.creds {
			ids = append(ids, p.creds[i].row.ID)
		}
	}
	return s.writeCredentials(ctx, tx, d.ts.ID, ids, d.creds)
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
	if err := s.grants.GrantNamed(ctx, ws, d.ts.ID, a.addresses()...); err != nil {
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
