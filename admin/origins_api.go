package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

type confirmInput struct {
	ToolsetInput
	request.MatchInput
	Body login.ConfirmOrigins
}

type originsOutput struct {
	ETag string `header:"ETag"`
	Body List[login.ConnectorOrigins]
}

func (s *Server) registerOrigins() {
	const path = "/v1/toolsets/{id}/origins"
	tags := []string{"authentication"}
	register(s, huma.Operation{
		OperationID: "list-origins", Method: http.MethodGet, Path: path, Summary: "List where the credentials of a toolset may be sent", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*originsOutput, error) {
		d, err := s.load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return s.originsAnswer(ctx, d)
	})
	register(s, huma.Operation{
		OperationID: "confirm-origins", Method: http.MethodPost, Path: path, Summary: "Confirm new addresses for a credential", Tags: tags,
		Description: "A credential is sent to the addresses it was given for, and to no other, whatever a specification, an edit or an upstream says. " +
			"What would send it elsewhere waits until an administrator confirms the address here, or somebody sets the secret again. It is audited.",
	}, s.confirmOrigins)
}

// calls is where the draft sends requests of the connector.
func (p *part) calls() credential.Calls {
	c := credential.CallsOf(p.row.Name, p.row.BaseURL, p.conn)
	for i := range p.creds {
		c.Credentials = append(c.Credentials, p.creds[i].Row.ID)
	}
	return c
}

// unconfirmed lists where a draft would send a credential that it is not for.
func (s *Server) unconfirmed(ctx context.Context, d *draft) ([]credential.OriginChange, error) {
	var list []credential.Calls
	rows := map[string]*store.Credential{}
	for _, p := range d.parts {
		list = append(list, p.calls())
		for i := range p.creds {
			rows[p.creds[i].Row.ID] = &p.creds[i].Row
		}
	}
	return s.logins.Origins.Unconfirmed(ctx, list, func(id string) (*store.Credential, error) { return rows[id], nil })
}

// requireConfirmed refuses a draft that would send a credential to a new address.
func (s *Server) requireConfirmed(ctx context.Context, d *draft) error {
	changes, err := s.unconfirmed(ctx, d)
	if err == nil && len(changes) > 0 {
		err = credential.Refused(d.ts.Slug, changes)
	}
	return err
}

// bindCredentials binds what a request sets of the connector that a draft is about to where the
// draft sends it.
func (s *Server) bindCredentials(ctx context.Context, d *draft) error {
	drafted := d.part.calls()
	return s.logins.Origins.Bind(ctx, d.ts, d.creds, &drafted)
}

func (s *Server) originsAnswer(ctx context.Context, d *draft) (*originsOutput, error) {
	live, err := s.logins.Origins.Live(ctx, d.ts)
	if err != nil {
		return nil, err
	}
	out := &originsOutput{ETag: request.ETag(d.ts.Version), Body: List[login.ConnectorOrigins]{Items: []login.ConnectorOrigins{}}}
	for _, p := range d.parts {
		if len(p.creds) == 0 {
			continue
		}
		last, err := lastChange(ctx, s.o.Store.Workspace(d.ts.WorkspaceID), d.ts.ID, p.row.Name)
		if err != nil {
			return nil, err
		}
		var waits registry.Origins
		if last != nil && last.Waits && last.Origins != nil {
			waits = last.Origins.New
		}
		drafted := p.calls()
		shown, err := s.logins.Origins.Show(ctx, p.creds, &drafted, live, waits)
		if err != nil {
			return nil, err
		}
		out.Body.Items = append(out.Body.Items, shown)
	}
	return out, nil
}

func (s *Server) confirmOrigins(ctx context.Context, in *confirmInput) (*originsOutput, error) {
	ws := s.workspace(ctx)
	d, err := s.loadMatching(ctx, ws, in.ID, &in.MatchInput)
	if err != nil {
		return nil, err
	}
	if err := d.focus(in.Body.Connector); err != nil {
		return nil, err
	}
	if err := s.logins.Origins.Confirm(ctx, ws, d.ts, d.row.Name, d.creds, &in.Body); err != nil {
		return nil, err
	}
	s.logins.Secrets.ForgetAll(d.creds)
	return s.originsAnswer(ctx, d)
}
