package upstreamauth

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/clientconfig"
)

// Advise says which authentication the toolset still lacks.
func Advise(w io.Writer, t *view.Toolset) {
	if t.Authentication != nil {
		for _, to := range SentTo(t.Authentication) {
			fmt.Fprintf(w, "  sent   to %s and nowhere else\n", to)
		}
		return
	}
	if len(t.Methods) == 0 {
		return
	}
	best, command, keys, several := suggestion(t)
	if best != nil && best.Operations == 0 {
		fmt.Fprintf(w, "! no tool requires authentication; if the API does: %s\n", command)
		return
	}
	if best != nil {
		what := "take a key"
		if several {
			what = "take several keys together"
		}
		if !keys {
			what = "need authentication"
		}
		who, one := acceptedBy(t, best)
		if verb, rest, _ := strings.Cut(what, " "); one {
			what = verb + "s " + rest
		}
		fmt.Fprintf(w, "! %s %s: %s\n", who, what, command)
		return
	}
	fmt.Fprintf(w, "! the specification asks for %s, which is not supported yet\n", describe.Methods(t.Methods))
}

// acceptedBy says how many of the tools that agents see accept a method. Methods count disabled
// tools too: where only some of all accept it, how many of the enabled ones do is not known.
func acceptedBy(t *view.Toolset, m *credential.AuthMethod) (who string, one bool) {
	n := m.Operations
	if t.EnabledTools < t.ToolCount {
		if n < t.ToolCount {
			return "tools", false
		}
		n = t.EnabledTools
	}
	return terminal.Plural(n, "tool"), n == 1
}

// Command is the command that sets what the specification asks for, with the method that
// is the least work; "" where none can be set.
func Command(t *view.Toolset) string {
	_, command, _, _ := suggestion(t)
	return command
}

// Mend is the command that replaces what the API of a connector refused, or sets what it
// lacks; "" where the specification does not say what that is.
func Mend(t *view.Toolset, connector string) string {
	set, methods, flag := t.Authentication, t.Methods, ""
	for i := range t.Connectors {
		if c := &t.Connectors[i]; c.Name == connector && len(t.Connectors) > 1 {
			set, methods, flag = c.Authentication, c.Methods, " --connector "+clientconfig.ShellWord(c.Name)
		}
	}
	switch {
	case set == nil || set.AuthType == "none":
		lacks := &view.Toolset{Slug: t.Slug, Methods: methods}
		if command := Command(lacks); command != "" {
			return command + flag
		}
		return ""
	case set.AuthType == "list":
		return "sluice toolset auth " + t.Slug + flag
	case set.AuthType == "mtls":
		return "sluice toolset auth " + t.Slug + " rotate --client-cert FILE --client-key FILE" + flag
	case set.Grant == "authorization_code":
		return "sluice toolset auth " + t.Slug + " login" + flag
	}
	return "sluice toolset auth " + t.Slug + " rotate --api-key-file FILE" + flag
}

// suggestion is the method that is the least work, or nil, the command that sets it with
// those that it goes with, whether all that they lack are keys, and whether they are several.
func suggestion(t *view.Toolset) (best *credential.AuthMethod, command string, keys, several bool) {
	for i := range t.Methods {
		if m := &t.Methods[i]; m.Suggestion != nil && (best == nil || lessWork(m, best)) {
			best = m
		}
	}
	if best == nil {
		return nil, "", false, false
	}
	command, keys = "sluice toolset auth "+t.Slug+" set "+authCommand(best.Suggestion), isKey(best.Suggestion)
	for i := range t.Methods {
		if m := &t.Methods[i]; m.Suggestion != nil && slices.Contains(best.With, m.ID) {
			command += " " + authCommand(m.Suggestion)
			keys, several = keys && isKey(m.Suggestion), true
		}
	}
	return best, command, keys, several
}

// lessWork says that a method is a better suggestion than another: tools require it, and
// those that none requires come last; then what the operator has to bring decides.
func lessWork(m, than *credential.AuthMethod) bool {
	if used := m.Operations > 0; used != (than.Operations > 0) {
		return used
	}
	return effort(m.Suggestion) < effort(than.Suggestion)
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

// SentTo returns the addresses that credentials are sent to, each list of them once.
func SentTo(a *credential.Authentication) []string {
	var to []string
	for _, it := range append(slices.Clone(a.Items), a.AuthenticationItem) {
		if at := describe.Addresses(it.Origins); it.CredentialID != "" && !slices.Contains(to, at) {
			to = append(to, at)
		}
	}
	return to
}

// isKey says that all that a suggestion lacks is a key.
func isKey(s *credential.Suggest) bool { return s.Grant == "" && s.AuthType != "mtls" }

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
