package admin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// ConnectorOrigins is where the credentials of a connector may be sent and where its
// calls go.
type ConnectorOrigins struct {
	Connector    string   `json:"connector"`
	Origins      []string `json:"origins" doc:"Where the credential may be sent: scheme, host and port."`
	TokenOrigins []string `json:"tokenOrigins,omitempty" doc:"Where the secret of an OAuth client and its tokens may be sent; absent: the first request for a token decides."`
	Draft        []string `json:"draft" doc:"Where the draft sends requests with the credential."`
	Live         []string `json:"live" doc:"Where the live revision does."`
	New          []string `json:"new,omitempty" doc:"Those of draft, or of a change that waits, that the credential is not for."`
}

// ConfirmOrigins confirms addresses.
type ConfirmOrigins struct {
	Connector    string   `json:"connector,omitempty" maxLength:"63" doc:"Which one, of a toolset with several."`
	Origins      []string `json:"origins,omitempty" maxItems:"64" doc:"That the credential may be sent to from now on, as well." example:"[\"https://api.example.com\"]"`
	TokenOrigins []string `json:"tokenOrigins,omitempty" maxItems:"64" doc:"That the secret of the OAuth client and its tokens may be sent to, as well."`
	Reason       string   `json:"reason,omitempty" maxLength:"500" doc:"For the audit log."`
}

type confirmInput struct {
	ToolsetInput
	request.MatchInput
	Body ConfirmOrigins
}

type originsOutput struct {
	ETag string `header:"ETag"`
	Body List[ConnectorOrigins]
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

func (s *Server) originsAnswer(ctx context.Context, d *draft) (*originsOutput, error) {
	live, err := s.liveCalls(ctx, d.ts)
	if err != nil {
		return nil, err
	}
	out := &originsOutput{ETag: request.ETag(d.ts.Version), Body: List[ConnectorOrigins]{Items: []ConnectorOrigins{}}}
	for _, p := range d.parts {
		if len(p.creds) == 0 {
			continue
		}
		w := p.calls()
		var bound, token, missing, served registry.Origins
		for i := range p.creds {
			b, err := s.boundOf(ctx, &p.creds[i].Row)
			if err != nil {
				return nil, err
			}
			bound, token, missing = bound.With(b.Call...), token.With(b.Token...), missing.With(b.Call.Missing(w.Wanted())...)
		}
		for i := range live {
			if live[i].Connector == p.row.Name {
				served = served.With(live[i].Wanted()...)
			}
		}
		last, err := lastChange(ctx, s.o.Store.Workspace(d.ts.WorkspaceID), d.ts.ID, p.row.Name)
		if err != nil {
			return nil, err
		}
		if last != nil && last.Waits && last.Origins != nil {
			missing = missing.With(bound.Missing(last.Origins.New)...)
		}
		out.Body.Items = append(out.Body.Items, ConnectorOrigins{
			Connector: p.row.Name, Origins: credential.NonNil(bound), TokenOrigins: token, Draft: credential.NonNil(w.Wanted()), Live: credential.NonNil(served), New: missing,
		})
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
	var call, token registry.Origins
	for _, f := range []struct {
		to    *registry.Origins
		given []string
		at    string
	}{{&call, in.Body.Origins, "/origins/"}, {&token, in.Body.TokenOrigins, "/tokenOrigins/"}} {
		for i, a := range f.given {
			origin, err := registry.OriginOf(a)
			if err != nil {
				return nil, problem.As(err).At("", 0, 0, fmt.Sprintf("%s%d", f.at, i))
			}
			*f.to = f.to.With(origin)
		}
	}
	switch {
	case len(call)+len(token) == 0:
		return nil, problem.New(problem.InvalidArgument, "no address is named").At("", 0, 0, "/origins").Fix("name the new address, for example https://api.example.com")
	case len(d.creds) == 0:
		return nil, problem.New(problem.Conflict, "connector %s has no credential that could be sent anywhere", d.row.Name)
	}
	type change struct {
		CredentialID string           `json:"credentialId"`
		Bound        credential.Bound `json:"bound"`
	}
	var before, after []change
	for i := range d.creds {
		row := &d.creds[i].Row
		b, err := s.boundOf(ctx, row)
		if err != nil {
			return nil, err
		}
		before = append(before, change{row.ID, b})
		b.Call = b.Call.With(call...)
		if credential.IsOAuth(row.AuthType) {
			b.Token = b.Token.With(token...)
		}
		if len(b.Call) > registry.MaxOrigins || len(b.Token) > registry.MaxOrigins {
			return nil, problem.New(problem.InvalidArgument, "a credential has at most %d addresses", registry.MaxOrigins).At("", 0, 0, "/origins").
				Fix("set the secret again: it is then bound to where calls go now")
		}
		after = append(after, change{row.ID, b})
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		for i := range d.creds {
			row := &d.creds[i].Row
			done, err := tx.SetOrigins(ctx, row.ID, row.Origins, after[i].Bound.Text())
			if err != nil {
				return err
			}
			if !done {
				return problem.New(problem.Conflict, "the authentication was changed meanwhile").Fix("look at it and try again")
			}
			row.Origins = after[i].Bound.Text()
		}
		if err := tx.SaveToolset(ctx, d.ts); err != nil {
			return err
		}
		rec := request.Audit(ctx, "authentication.origins", d.ts.ID)
		rec.Before, rec.After, rec.Reason = store.JSON(before), store.JSON(after), in.Body.Reason
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	s.forgetAll(d.creds)
	return s.originsAnswer(ctx, d)
}
