package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/plugins/operation"
)

// makeReport collects what the compiler found.
func makeReport(c *publish.Connector, conn *toolset.Generated, size int64, took time.Duration) *Report {
	res := c.Spec
	r := &Report{
		Title: res.API.Title, Version: res.API.Version, Description: res.API.Description, Format: res.Format, SpecVersion: res.SpecVersion,
		SpecDigest: res.Digest, SizeBytes: size, Operations: res.Operations, ToolCount: res.Tools,
		Servers: []toolset.APIServer{}, Methods: []AuthMethod{}, Unsupported: []toolset.Unsupported{}, Warnings: []toolset.Diagnostic{},
		DurationMilli: took.Milliseconds(), AuthRequired: len(conn.Tools) > 0,
	}
	for _, srv := range res.API.Servers {
		resolved := toolset.ServerURL(srv)
		r.Servers = append(r.Servers, toolset.APIServer{URL: resolved, Description: srv.Description})
		if r.BaseURL == "" && checkBaseURL(resolved, "") == nil {
			r.BaseURL = resolved
		}
	}
	uses := map[string]int{}
	for i := range conn.Tools {
		r.AuthRequired = r.AuthRequired && conn.Tools[i].Secured
		for _, id := range conn.Tools[i].Schemes {
			uses[id]++
		}
	}
	for i := range res.API.Schemes {
		r.Methods = append(r.Methods, authMethod(&res.API.Schemes[i], uses))
	}
	for _, u := range res.Unsupported {
		r.Unsupported = append(r.Unsupported, toolset.Unsupported(u))
	}
	for _, w := range res.Warnings {
		r.Warnings = append(r.Warnings, toolset.Diagnostic{
			Code: w.Code, Severity: w.Severity, Line: w.Line, Column: w.Column, Pointer: w.Pointer, Detail: w.Detail, Remedy: w.Remedy,
		})
	}
	return r
}

// authMethod describes a security scheme and, where Sluice can apply it, the
// configuration that only lacks the secret.
func authMethod(sc *operation.SecurityScheme, uses map[string]int) AuthMethod {
	m := AuthMethod{
		ID: sc.ID, Type: sc.Type, In: sc.In, Name: sc.Name, Scheme: sc.Scheme, BearerFormat: sc.BearerFormat,
		Description: sc.Description, Operations: uses[sc.ID],
	}
	for _, f := range sc.Flows {
		m.Flows = append(m.Flows, f.Grant)
	}
	switch {
	case sc.Type == "apiKey" && sc.In == "header":
		m.Suggestion = &Suggest{AuthType: authHeader, HeaderName: sc.Name}
	case sc.Type == "apiKey" && sc.In == "query":
		m.Suggestion = &Suggest{AuthType: authQuery, ParameterName: sc.Name}
	case sc.Type == "apiKey" && sc.In == "cookie":
		m.Suggestion = &Suggest{AuthType: authCookie, CookieName: sc.Name}
	case sc.Type == "apiKey" && sc.In == "body":
		m.Suggestion = &Suggest{AuthType: authBody, MemberName: sc.Name}
	case sc.Type == "http" && sc.Scheme == "bearer":
		m.Suggestion = &Suggest{AuthType: authHeader, HeaderName: "Authorization", HeaderPrefix: "Bearer "}
	case sc.Type == "http" && sc.Scheme == "basic":
		m.Suggestion = &Suggest{AuthType: authBasic}
	case sc.Type == "http":
		m.Unsupported = "the HTTP authentication scheme " + request.ClipText(sc.Scheme, 40) + " is not supported"
	case sc.Type == "mutualTLS":
		m.Suggestion = &Suggest{AuthType: authMTLS}
	case sc.Type == "oauth2":
		m.Suggestion = suggestFlow(sc.Flows)
	case sc.Type == "openIdConnect":
		m.Suggestion = suggestIssuer(sc.OpenIDURL)
	}
	return m
}

// suggestFlow chooses the flow that needs no person, then the one where a person
// logs in once. The others were withdrawn (RFC 9700 §2.1.2, §2.4) or need a
// device; for them, a token that was got elsewhere does.
func suggestFlow(flows []operation.Flow) *Suggest {
	for _, grant := range []struct{ spec, ours string }{
		{"clientCredentials", oauth.ClientCredentials}, {"authorizationCode", oauth.AuthorizationCode},
	} {
		for _, f := range flows {
			if f.Grant != grant.spec || oauth.CheckURL(f.TokenURL) != nil {
				continue
			}
			out := &Suggest{AuthType: authOAuth2, Grant: grant.ours, TokenURL: f.TokenURL, Scopes: f.Scopes}
			if grant.ours == oauth.AuthorizationCode {
				if oauth.CheckURL(f.AuthorizationURL) != nil {
					continue
				}
				out.AuthorizationURL = f.AuthorizationURL
			}
			return out
		}
	}
	return &Suggest{AuthType: authHeader, HeaderName: "Authorization", HeaderPrefix: "Bearer "}
}

// suggestIssuer makes an issuer of the address of its metadata.
func suggestIssuer(metadata string) *Suggest {
	if issuer, ok := strings.CutSuffix(metadata, "/.well-known/openid-configuration"); ok && oauth.CheckURL(issuer) == nil {
		return &Suggest{AuthType: authOIDC, Grant: oauth.AuthorizationCode, Issuer: issuer}
	}
	return &Suggest{AuthType: authHeader, HeaderName: "Authorization", HeaderPrefix: "Bearer "}
}

func reportOf(v *store.ConnectorVersion) (*Report, error) {
	r := new(Report)
	if err := json.Unmarshal([]byte(v.Report), r); err != nil {
		return nil, fmt.Errorf("reading the report of connector %s: %w", v.Connector, err)
	}
	return r, nil
}

// ConnectorInput is the path of a connector.
type ConnectorInput struct {
	Name string `path:"name" maxLength:"128"`
}

type versionsInput struct {
	ConnectorInput
	ListInput
}

// PreviewRequest asks what a specification would become.
type PreviewRequest struct {
	Source CreateSource `json:"source"`
	Auth   *SetAuth     `json:"authentication,omitempty" doc:"For an MCP server that wants it."`
}

type previewInput struct {
	Body PreviewRequest
}

func (s *Server) registerConnectors() {
	tags := []string{"connectors"}
	register(s, huma.Operation{
		OperationID: "list-connectors", Method: http.MethodGet, Path: "/v1/connectors", Summary: "List connectors by name", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[Connector], error) {
		p, err := in.page("/v1/connectors")
		if err != nil {
			return nil, err
		}
		ws := s.workspace(ctx)
		rows, next, err := ws.Connectors(ctx, p)
		if err != nil {
			return nil, err
		}
		shown := make([]Connector, len(rows))
		for i := range rows {
			v, err := ws.ConnectorVersion(ctx, rows[i].Name, rows[i].LatestDigest)
			if err != nil {
				return nil, err
			}
			shown[i] = showConnector(&rows[i], v)
		}
		return list(in, "/v1/connectors", shown, next, func(c *Connector) Connector { return *c }), nil
	})
	register(s, huma.Operation{
		OperationID: "get-connector", Method: http.MethodGet, Path: "/v1/connectors/{name}", Summary: "Read a connector and the report of its latest version", Tags: tags,
	}, func(ctx context.Context, in *ConnectorInput) (*bodyOutput[ConnectorDetail], error) {
		ws := s.workspace(ctx)
		row, err := ws.Connector(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		v, err := ws.ConnectorVersion(ctx, row.Name, row.LatestDigest)
		if err != nil {
			return nil, err
		}
		r, err := reportOf(v)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[ConnectorDetail]{ConnectorDetail{Connector: showConnector(row, v), Report: *r}}, nil
	})
	register(s, huma.Operation{
		OperationID: "list-connector-versions", Method: http.MethodGet, Path: "/v1/connectors/{name}/versions", Summary: "List the versions of a connector", Tags: tags,
	}, func(ctx context.Context, in *versionsInput) (*listOutput[ConnectorRef], error) {
		path := "/v1/connectors/" + in.Name + "/versions"
		p, err := in.page(path)
		if err != nil {
			return nil, err
		}
		ws := s.workspace(ctx)
		if _, err := ws.Connector(ctx, in.Name); err != nil {
			return nil, err
		}
		rows, next, err := ws.ConnectorVersions(ctx, in.Name, p)
		if err != nil {
			return nil, err
		}
		return list(&in.ListInput, path, rows, next, refOf), nil
	})
	register(s, huma.Operation{
		OperationID: "preview-connector", Method: http.MethodPost, Path: "/v1/connectors/preview", Summary: "Compile a specification and store nothing", Tags: tags,
	}, func(ctx context.Context, in *previewInput) (*jobOutput, error) {
		return s.run(ctx, "connector.preview", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.preview(ctx, &CreateToolset{Source: in.Body.Source, Auth: in.Body.Auth}, phase)
		})
	})
	documentJob(s.api.OpenAPI(), "/v1/connectors/preview", Preview{}, http.StatusOK)
}

func (s *Server) preview(ctx context.Context, in *CreateToolset, phase func(string)) (*request.Done, error) {
	if err := s.useCommand(ctx, in); err != nil {
		return nil, err
	}
	named := in.addresses()
	in, entry, err := s.fromCatalog(in)
	if err != nil {
		return nil, err
	}
	ctx, _ = s.grants.See(ctx, named) // for reading it alone: no toolset is made
	src, err := s.readSource(ctx, in, nil, phase)
	if err != nil {
		return nil, err
	}
	ws := s.workspace(ctx)
	c, err := s.compile(ctx, ws.ID(), src, phase)
	if err != nil {
		return nil, err
	}
	d := &draft{ts: new(store.Toolset), part: &part{conn: c.conn}}
	d.parts = []*part{d.part}
	if entry != nil && !entry.Whole() {
		if err := d.adoptEntry(entry); err != nil {
			return nil, err
		}
	}
	return &request.Done{Status: http.StatusOK, Body: Preview{Name: connectorName(c.pushed, ws.ID()), Report: *c.report, Tools: d.tools(false)}}, nil
}

func connectorName(c *publish.Connector, workspace string) string {
	return strings.TrimPrefix(c.Repository, workspace+"/connectors/")
}

func showConnector(row *store.Connector, v *store.ConnectorVersion) Connector {
	return Connector{
		Name: row.Name, Title: row.Title, Kind: row.Kind, Source: row.Source, Latest: refOf(v), Tools: int(v.Tools),
		CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time,
	}
}
