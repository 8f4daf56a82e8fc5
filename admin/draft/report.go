package draft

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// MakeReport collects what the compiler found.
func MakeReport(c *publish.Connector, conn *toolset.Generated, size int64, took time.Duration) *Report {
	res := c.Spec
	r := &Report{
		Title: res.API.Title, Version: res.API.Version, Description: res.API.Description, Format: res.Format, SpecVersion: res.SpecVersion,
		SpecDigest: res.Digest, SizeBytes: size, Operations: res.Operations, ToolCount: res.Tools,
		Servers: []toolset.APIServer{}, Methods: []credential.AuthMethod{}, Unsupported: []toolset.Unsupported{}, Warnings: []toolset.Diagnostic{},
		DurationMilli: took.Milliseconds(), AuthRequired: len(conn.Tools) > 0,
	}
	for _, srv := range res.API.Servers {
		resolved := toolset.ServerURL(srv)
		shown := toolset.APIServer{URL: resolved, Description: srv.Description}
		for _, v := range srv.Variables {
			shown.Template = srv.URL
			shown.Variables = append(shown.Variables, toolset.ServerVariable(v))
		}
		r.Servers = append(r.Servers, shown)
		if r.BaseURL == "" && source.CheckBaseURL(resolved, "") == nil {
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
		m := authMethod(&res.API.Schemes[i], uses)
		m.With = conn.Together[m.ID]
		r.Methods = append(r.Methods, m)
	}
	// Documents declare schemes that no operation names; those that tools require come first.
	slices.SortStableFunc(r.Methods, func(a, b credential.AuthMethod) int { return min(b.Operations, 1) - min(a.Operations, 1) })
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
func authMethod(sc *operation.SecurityScheme, uses map[string]int) credential.AuthMethod {
	m := credential.AuthMethod{
		ID: sc.ID, Type: sc.Type, In: sc.In, Name: sc.Name, Scheme: sc.Scheme, BearerFormat: sc.BearerFormat,
		Description: sc.Description, Operations: uses[sc.ID],
	}
	for _, f := range sc.Flows {
		m.Flows = append(m.Flows, f.Grant)
	}
	switch {
	case sc.Type == "apiKey" && sc.In == "header":
		m.Suggestion = &credential.Suggest{AuthType: registry.AuthHeader, HeaderName: sc.Name, HeaderPrefix: headerPrefix(sc)}
	case sc.Type == "apiKey" && sc.In == "query":
		m.Suggestion = &credential.Suggest{AuthType: registry.AuthQuery, ParameterName: sc.Name}
	case sc.Type == "apiKey" && sc.In == "cookie":
		m.Suggestion = &credential.Suggest{AuthType: registry.AuthCookie, CookieName: sc.Name}
	case sc.Type == "apiKey" && sc.In == "body":
		m.Suggestion = &credential.Suggest{AuthType: registry.AuthBody, MemberName: sc.Name}
	case sc.Type == "http" && sc.Scheme == "bearer":
		m.Suggestion = &credential.Suggest{AuthType: registry.AuthHeader, HeaderName: "Authorization", HeaderPrefix: "Bearer "}
	case sc.Type == "http" && sc.Scheme == "basic":
		m.Suggestion = &credential.Suggest{AuthType: registry.AuthBasic}
	case sc.Type == "http":
		m.Unsupported = "the HTTP authentication scheme " + request.ClipText(sc.Scheme, 40) + " is not supported"
	case sc.Type == "mutualTLS":
		m.Suggestion = &credential.Suggest{AuthType: registry.AuthMTLS}
	case sc.Type == "oauth2":
		m.Suggestion = suggestFlow(sc.Flows)
	case sc.Type == "openIdConnect":
		m.Suggestion = suggestIssuer(sc.OpenIDURL)
	}
	return m
}

// authorizationExample is an example of the Authorization header in a description, such as
// "Authorization: SSWS {API token}".
var authorizationExample = regexp.MustCompile("[Aa]uthorization[`'\"]{0,2}(?: (?:request )?[Hh]eader)?(?: ?[:=]| to| as| is)? ?[`'\"]{0,2}" +
	"([A-Z][A-Za-z0-9-]{1,30}|bearer|token)[ :]{1,2}[`'\"]{0,2}(?:[<{\\[$%*]|(?:your|my|api|access|token|key|secret|x{2,})\\b)")

// headerPrefix is what a key that is declared as the whole Authorization header is sent behind
// (RFC 9110 §11.4), where its description says so.
func headerPrefix(sc *operation.SecurityScheme) string {
	if !strings.EqualFold(sc.Name, "Authorization") {
		return ""
	}
	if m := authorizationExample.FindStringSubmatch(sc.Description); m != nil && !slices.Contains([]string{"A", "An", "The", "Your", "This", "API"}, m[1]) {
		return m[1] + " "
	}
	return ""
}

// suggestFlow chooses the flow that needs no person, then the one where a person
// logs in once. The others were withdrawn (RFC 9700 §2.1.2, §2.4) or need a
// device; for them, a token that was got elsewhere does.
func suggestFlow(flows []operation.Flow) *credential.Suggest {
	for _, grant := range []struct{ spec, ours string }{
		{"clientCredentials", oauth.ClientCredentials}, {"authorizationCode", oauth.AuthorizationCode},
	} {
		for _, f := range flows {
			if f.Grant != grant.spec || oauth.CheckURL(f.TokenURL) != nil {
				continue
			}
			out := &credential.Suggest{AuthType: registry.AuthOAuth2, Grant: grant.ours, TokenURL: f.TokenURL, Scopes: f.Scopes}
			if grant.ours == oauth.AuthorizationCode {
				if oauth.CheckURL(f.AuthorizationURL) != nil {
					continue
				}
				out.AuthorizationURL = f.AuthorizationURL
			}
			return out
		}
	}
	return &credential.Suggest{AuthType: registry.AuthHeader, HeaderName: "Authorization", HeaderPrefix: "Bearer "}
}

// suggestIssuer makes an issuer of the address of its metadata.
func suggestIssuer(metadata string) *credential.Suggest {
	if issuer, ok := strings.CutSuffix(metadata, "/.well-known/openid-configuration"); ok && oauth.CheckURL(issuer) == nil {
		return &credential.Suggest{AuthType: registry.AuthOIDC, Grant: oauth.AuthorizationCode, Issuer: issuer}
	}
	return &credential.Suggest{AuthType: registry.AuthHeader, HeaderName: "Authorization", HeaderPrefix: "Bearer "}
}

// ReportOf reads the report of a stored version of a connector.
func ReportOf(v *store.ConnectorVersion) (*Report, error) {
	r := new(Report)
	if err := json.Unmarshal([]byte(v.Report), r); err != nil {
		return nil, fmt.Errorf("reading the report of connector %s: %w", v.Connector, err)
	}
	return r, nil
}

// ConnectorName is the name of a connector in its workspace.
func ConnectorName(c *publish.Connector, workspace string) string {
	return strings.TrimPrefix(c.Repository, workspace+"/connectors/")
}

// Report is what the compiler found in a specification. It is stored with each
// connector version.
type Report struct {
	Title         string                  `json:"title"`
	Version       string                  `json:"version"`
	Description   string                  `json:"description,omitempty"`
	Format        string                  `json:"format"`
	SpecVersion   string                  `json:"specVersion"`
	SpecDigest    string                  `json:"specDigest"`
	SizeBytes     int64                   `json:"sizeBytes"`
	ModuleBytes   int64                   `json:"moduleBytes"`
	Operations    int                     `json:"operations"`
	ToolCount     int                     `json:"toolCount"`
	Items         *toolset.Items          `json:"items,omitempty" doc:"What an MCP server has besides tools; absent: nothing."`
	Servers       []toolset.APIServer     `json:"servers"`
	BaseURL       string                  `json:"baseUrl,omitempty" doc:"First server that is a complete URL."`
	Methods       []credential.AuthMethod `json:"authenticationMethods"`
	AuthRequired  bool                    `json:"authenticationRequired" doc:"No tool can be called without authentication."`
	Unsupported   []toolset.Unsupported   `json:"unsupported"`
	Warnings      []toolset.Diagnostic    `json:"warnings"`
	MoreWarnings  int                     `json:"moreWarnings,omitempty" doc:"Warnings beyond the first 1,000."`
	DurationMilli int64                   `json:"durationMs" doc:"Time of the compilation."`
}
