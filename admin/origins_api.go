package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/request"
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

func registerOrigins(s *Server) {
	const path = "/v1/toolsets/{id}/origins"
	tags := []string{"authentication"}
	register(s, huma.Operation{
		OperationID: "list-origins", Method: http.MethodGet, Path: path, Summary: "List where the credentials of a toolset may be sent", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*originsOutput, error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return originsAnswer(ctx, s, d)
	})
	register(s, huma.Operation{
		OperationID: "confirm-origins", Method: http.MethodPost, Path: path, Summary: "Confirm new addresses for a credential", Tags: tags,
		Description: "A credential is sent to the addresses it was given for, and to no other, whatever a specification, an edit or an upstream says. " +
			"What would send it elsewhere waits until an administrator confirms the address here, or somebody sets the secret again. It is audited.",
	}, of(s, confirmOrigins))
}

func originsAnswer(ctx context.Context, s *Server, d *draft.Draft) (*originsOutput, error) {
	live, err := s.logins.Origins.Live(ctx, d.Toolset)
	if err != nil {
		return nil, err
	}
	out := &originsOutput{ETag: request.ETag(d.Toolset.Version), Body: List[login.ConnectorOrigins]{Items: []login.ConnectorOrigins{}}}
	for _, p := range d.Parts {
		if len(p.Creds) == 0 {
			continue
		}
		last, err := difference.Last(ctx, s.o.Store.Workspace(d.Toolset.WorkspaceID), d.Toolset.ID, p.Row.Name)
		if err != nil {
			return nil, err
		}
		var waits registry.Origins
		if last != nil && last.Waits && last.Origins != nil {
			waits = last.Origins.New
		}
		drafted := p.Calls()
		shown, err := s.logins.Origins.Show(ctx, p.Creds, &drafted, live, waits)
		if err != nil {
			return nil, err
		}
		out.Body.Items = append(out.Body.Items, shown)
	}
	return out, nil
}

func confirmOrigins(ctx context.Context, s *Server, in *confirmInput) (*originsOutput, error) {
	ws := s.workspace(ctx)
	d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
	if err != nil {
		return nil, err
	}
	if err := d.Focus(in.Body.Connector); err != nil {
		return nil, err
	}
	if err := s.logins.Origins.Confirm(ctx, ws, d.Toolset, d.Row.Name, d.Creds, &in.Body); err != nil {
		return nil, err
	}
	s.logins.Secrets.ForgetAll(d.Creds)
	return originsAnswer(ctx, s, d)
}
