package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/front/pages"
	"github.com/sluicegate/sluice/admin/member/passkey"
)

const signInPath = "/v1/sign-in"

// SignInWays says how people sign in to the console.
type SignInWays struct {
	OpenID   *SignInProvider `json:"openIdConnect,omitempty" doc:"The OpenID provider; absent: there is none."`
	Passkeys string          `json:"passkeyHost,omitempty" doc:"Host name of the console at which passkeys sign in; absent: it is at an IP address, or has no TLS, and browsers use none there." example:"sluice.example.com"`
}

// SignInProvider is the provider at which members sign in.
type SignInProvider struct {
	Name string `json:"name" doc:"What people call it." example:"Acme"`
	URL  string `json:"url" doc:"Open it in the browser. The parameter back is the page of the console to go to in the end." example:"/openid/login"`
}

// OpenIDConnect is how members sign in at an OpenID provider, as the node was configured.
type OpenIDConnect struct {
	Enabled     bool              `json:"enabled"`
	Name        string            `json:"name,omitempty" example:"Acme"`
	Issuer      string            `json:"issuer,omitempty" example:"https://id.example.com/realms/main"`
	ClientID    string            `json:"clientId,omitempty" example:"sluice"`
	Secret      bool              `json:"clientSecretSet" doc:"The client has a secret, which is never shown."`
	Scopes      []string          `json:"scopes,omitempty"`
	GroupsClaim string            `json:"groupsClaim,omitempty" doc:"The claim that names the groups." example:"groups"`
	Roles       map[string]string `json:"roles,omitempty" doc:"Roles of groups. With some, each login sets the role of the member, and adds those who are not members yet. Without any, only members can sign in, and they keep their role."`
	RedirectURL string            `json:"redirectUrl" doc:"What the client at the provider must allow." example:"https://sluice.example.com/openid/callback"`
}

func registerOpenID(s *Server) {
	tags := []string{"access"}
	// No role: who looks has signed in nowhere yet.
	huma.Register(s.api, huma.Operation{
		OperationID: "list-sign-in-ways", Method: http.MethodGet, Path: signInPath, Summary: "How people sign in", Tags: tags, Security: []map[string][]string{{}},
		Description: "Besides with a login link, or an address and a password.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[SignInWays], error) {
		out := SignInWays{}
		if site, err := passkey.SiteOf(s.front.ConsoleURL(ctx)); err == nil {
			out.Passkeys = site.Host
		}
		if s.openID.Enabled() {
			out.OpenID = &SignInProvider{Name: s.openID.Config().Name, URL: pages.OpenIDPath}
		}
		return &bodyOutput[SignInWays]{out}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-openid-connect", Method: http.MethodGet, Path: "/v1/openid-connect", Summary: "How members sign in at an OpenID provider", Tags: tags,
		Description: "As the node was started: flags, environment and configuration file say it.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[OpenIDConnect], error) {
		c := s.openID.Config()
		return &bodyOutput[OpenIDConnect]{OpenIDConnect{
			Enabled: s.openID.Enabled(), Name: c.Name, Issuer: c.Issuer, ClientID: c.ClientID, Secret: !c.ClientSecret.IsZero(), Scopes: c.Scopes, GroupsClaim: c.GroupsClaim,
			Roles: c.Roles, RedirectURL: s.front.ConsoleURL(ctx) + pages.OpenIDCallback,
		}}, nil
	})
}
