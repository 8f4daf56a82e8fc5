package upstreamauth

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/view"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/clientconfig"
)

// Advise says which authentication the toolset still lacks.
func Advise(w io.Writer, t *view.Toolset) {
	if t.Authentication != nil {
		for _, it := range append(t.Authentication.Items, t.Authentication.AuthenticationItem) {
			if it.CredentialID != "" {
				fmt.Fprintf(w, "  sent   to %s and nowhere else\n", describe.Addresses(it.Origins))
			}
		}
		return
	}
	if len(t.Methods) == 0 {
		return
	}
	var best *credential.AuthMethod
	for i := range t.Methods {
		if m := &t.Methods[i]; m.Suggestion != nil && (best == nil || effort(m.Suggestion) < effort(best.Suggestion)) {
			best = m
		}
	}
	if best != nil {
		what := "take a key"
		if best.Suggestion.Grant != "" || best.Suggestion.AuthType == "mtls" {
			what = "need authentication"
			if best.Operations == 1 {
				what = "needs authentication"
			}
		}
		fmt.Fprintf(w, "! %s %s: sluice toolset auth %s set %s\n", terminal.Plural(best.Operations, "tool"), what, t.Slug, authCommand(best.Suggestion))
		return
	}
	fmt.Fprintf(w, "! the specification asks for %s, which is not supported yet\n", describe.Methods(t.Methods))
}

// effort orders suggestions by what the operator has to bring: a key, a name with
// it, a certificate, a client at an authorization server.
func effort(s *credential.Suggest) int {
	switch s.AuthType {
	case "basic":
		return 1
	case "mtls":
		return 2
	case "oauth2", "oidc":
		return 3
	}
	return 0
}

// authFlag is the value of --auth for a suggestion.
func authFlag(s *credential.Suggest) string {
	switch s.AuthType {
	case "header":
		spec := "header:" + s.HeaderName
		if p := strings.TrimSpace(s.HeaderPrefix); p != "" {
			spec += ":" + p
		}
		return spec
	case "query":
		return "query:" + s.ParameterName
	case "cookie":
		return "cookie:" + s.CookieName
	case "body":
		return "body:" + s.MemberName
	case "basic":
		return "basic:USER"
	case "oauth2", "oidc":
		return s.AuthType + ":CLIENT_ID"
	}
	return s.AuthType
}

// authCommand is the rest of a command that sets a suggestion.
func authCommand(s *credential.Suggest) string {
	words := []string{"--auth", authFlag(s)}
	for _, v := range []struct{ flag, value string }{
		{"--grant", s.Grant}, {"--issuer", s.Issuer}, {"--authorization-url", s.AuthorizationURL}, {"--token-url", s.TokenURL},
	} {
		if v.value != "" {
			words = append(words, v.flag, v.value)
		}
	}
	if s.AuthType == "mtls" {
		words = append(words, "--client-cert", "FILE", "--client-key", "FILE")
	} else {
		words = append(words, "--api-key-file", "FILE")
	}
	for i := range words {
		words[i] = clientconfig.ShellWord(words[i])
	}
	return strings.Join(words, " ")
}
