package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/registry"
)

// ToolsetInput is the path of a toolset. It is exported because the API reads
// embedded fields only of exported types.
type ToolsetInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id or slug."`
}

type authOutput struct {
	ETag string `header:"ETag"`
	Body credential.Authentication
}

type setAuthInput struct {
	ToolsetInput
	request.MatchInput
	Body credential.SetAuth
}

type deleteInput struct {
	ToolsetInput
	request.MatchInput
}

func registerAuthentication(s *Server) {
	const path = "/v1/toolsets/{id}/authentication"
	tags := []string{"authentication"}
	register(s, huma.Operation{
		OperationID: "get-authentication", Method: http.MethodGet, Path: path, Summary: "Read the authentication configuration", Tags: tags,
		Description: "Never the secret: only its last four characters, when it has at least twelve.",
	}, func(ctx context.Context, in *ToolsetInput) (*authOutput, error) {
		return getAuth(ctx, s, in.ID, "")
	})
	register(s, huma.Operation{
		OperationID: "set-authentication", Method: http.MethodPut, Path: path, Summary: "Set the authentication configuration", Tags: tags,
		Description: "For authType header, the header's value is headerPrefix directly followed by apiKey. " +
			"Without a secret, the stored one of the same authType stays. A new secret is used by the live toolset at once; a new shape is a new draft, to be tested. " +
			"The items of a list are applied as the operations ask for their schemes.",
	}, func(ctx context.Context, in *setAuthInput) (*authOutput, error) {
		return setAuth(ctx, s, in.ID, "", &in.MatchInput, &in.Body)
	})
	register(s, huma.Operation{
		OperationID: "delete-authentication", Method: http.MethodDelete, Path: path, Summary: "Remove the authentication configuration", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Description:   "The secret is destroyed at once: a live toolset that uses it answers with an error until it is deployed again.",
	}, func(ctx context.Context, in *deleteInput) (*struct{}, error) {
		_, err := s.auths.Set(ctx, s.workspace(ctx), in.ID, "", &in.MatchInput, &credential.SetAuth{AuthItem: credential.AuthItem{AuthType: registry.AuthNone}})
		return nil, err
	})
	registerConnectorAuth(s, tags)
	registerOrigins(s)
	registerAuthorize(s, path, connectorAuthPath, tags)
}

const connectorAuthPath = "/v1/toolsets/{id}/connectors/{connector}/authentication"

type setConnectorAuthInput struct {
	ToolsetConnectorInput
	request.MatchInput
	Body credential.SetAuth
}

// registerConnectorAuth registers the authentication of one of several connectors.
func registerConnectorAuth(s *Server, tags []string) {
	register(s, huma.Operation{
		OperationID: "get-connector-authentication", Method: http.MethodGet, Path: connectorAuthPath, Summary: "Read the authentication configuration of a connector", Tags: tags,
	}, func(ctx context.Context, in *ToolsetConnectorInput) (*authOutput, error) {
		return getAuth(ctx, s, in.ID, in.Connector)
	})
	register(s, huma.Operation{
		OperationID: "set-connector-authentication", Method: http.MethodPut, Path: connectorAuthPath, Summary: "Set the authentication configuration of a connector", Tags: tags,
	}, func(ctx context.Context, in *setConnectorAuthInput) (*authOutput, error) {
		return setAuth(ctx, s, in.ID, in.Connector, &in.MatchInput, &in.Body)
	})
	register(s, huma.Operation{
		OperationID: "delete-connector-authentication", Method: http.MethodDelete, Path: connectorAuthPath, Summary: "Remove the authentication configuration of a connector", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *deleteConnectorInput) (*struct{}, error) {
		_, err := s.auths.Set(ctx, s.workspace(ctx), in.ID, in.Connector, &in.MatchInput, &credential.SetAuth{AuthItem: credential.AuthItem{AuthType: registry.AuthNone}})
		return nil, err
	})
}

// getAuth reads the authentication of the named connector; "": of the only one.
func getAuth(ctx context.Context, s *Server, id, connector string) (*authOutput, error) {
	d, err := s.drafts.Outline(ctx, id, connector)
	if err != nil {
		return nil, err
	}
	return authAnswer(s, d)
}

func authAnswer(s *Server, d *draft.Draft) (*authOutput, error) {
	a, err := credential.Show(d.Creds, s.now())
	if err != nil {
		return nil, err
	}
	return &authOutput{ETag: request.ETag(d.Toolset.Version), Body: *a}, nil
}

// setAuth sets the authentication of the named connector, and answers with what it is then.
func setAuth(ctx context.Context, s *Server, id, connector string, match *request.MatchInput, a *credential.SetAuth) (*authOutput, error) {
	d, err := s.auths.Set(ctx, s.workspace(ctx), id, connector, match, a)
	if err != nil {
		return nil, err
	}
	return authAnswer(s, d)
}
