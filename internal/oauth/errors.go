package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// RefusedError is the cause of the problem that a refusal of the server becomes.
type RefusedError struct {
	Code   string // as RFC 6749 §5.2 has it; empty: none was given
	Status int
}

// Error names the code.
func (e *RefusedError) Error() string { return "the authorization server refused: " + e.Code }

// Refused reports whether err is a refusal of the server rather than a failure to
// reach it, and whether only a new login can help.
func Refused(err error) (refused, login bool) {
	e, ok := errors.AsType[*RefusedError](err)
	return ok, ok && (e.Code == "invalid_grant" || e.Code == "access_denied" || e.Code == "interaction_required" || e.Code == "login_required")
}

// InvalidClient reports whether the server says that it does not know the client,
// or not with this secret: one that was registered automatically is registered
// anew then.
func InvalidClient(err error) bool {
	code := codeOf(err)
	return code == "invalid_client" || code == "unauthorized_client"
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*RefusedError](err); ok {
		return e.Code
	}
	return ""
}

// remedies by code: of the token endpoint (RFC 6749 §5.2), of the login
// (§4.1.2.1) and of OpenID Connect Core §3.1.2.6.
var remedies = map[string]string{
	"invalid_request":           "check the configuration against the server's documentation; some servers want an audience",
	"invalid_client":            "check clientId, clientSecret and how the server wants them (tokenAuthMethod)",
	"invalid_grant":             "log in again: the login expired, was revoked or was used before",
	"unauthorized_client":       "allow this grant for the client at the authorization server",
	"unsupported_grant_type":    "use another grant: authorization_code or client_credentials",
	"invalid_scope":             "correct the scopes",
	"invalid_target":            "correct the audience or the resource",
	"access_denied":             "log in again and agree",
	"unsupported_response_type": "allow the authorization code flow for the client at the authorization server",
	"interaction_required":      "log in again",
	"login_required":            "log in again",
	"consent_required":          "log in again and agree",
}

// Refusal is the problem of an error that came back from a login page.
func Refusal(code, description string) error { return refused("", code, description, 0) }

func refused(host, code, description string, status int) error {
	who := "the authorization server"
	if host != "" {
		who += " " + host
	}
	switch code {
	case "server_error", "temporarily_unavailable":
		return problem.New(problem.Unavailable, "%s has a fault (%s)", who, code).Fix("try again later")
	}
	detail := who + " refused: " + clean(code)
	if d := clean(description); d != "" {
		detail += " (" + d + ")"
	}
	remedy := remedies[code]
	if remedy == "" {
		remedy = "check the configuration against the server's documentation"
	}
	return problem.New(problem.Unauthenticated, "%s", detail).Fix("%s", remedy).Because(&RefusedError{Code: code, Status: status})
}

func refusedStatus(host string, status int) error {
	switch {
	case status == 401 || status == 403 || status == 400:
		return problem.New(problem.Unauthenticated, "the token endpoint of %s answered with status %d and no reason", host, status).
			Fix("check clientId and clientSecret").Because(&RefusedError{Status: status})
	case status >= 300 && status < 400:
		return problem.New(problem.UpstreamMalformed, "the token endpoint of %s redirects (status %d)", host, status).Fix("set tokenUrl to where it is now")
	case status == 429 || status >= 500:
		return problem.New(problem.Unavailable, "the token endpoint of %s answered with status %d", host, status).Fix("try again later")
	}
	return problem.New(problem.UpstreamMalformed, "the token endpoint of %s answered with status %d", host, status).Fix("check tokenUrl")
}

// errorCode reads the error member, which some servers make an object.
func errorCode(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Code, Message, Type, Status string
	}
	if json.Unmarshal(raw, &o) == nil {
		for _, v := range []string{o.Code, o.Type, o.Status, o.Message} {
			if v != "" {
				return v
			}
		}
	}
	return "error"
}

// clean makes a text from outside printable and short.
func clean(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd }), " ")
	if r := []rune(s); len(r) > maxText {
		s = string(r[:maxText]) + "…"
	}
	return s
}

// unreachable describes a request that got no answer. The cause is kept; its text
// is not shown, because it repeats the URL.
func unreachable(what, host string, err error) error {
	if p := problem.As(err); p != nil {
		return problem.New(p.Kind, "%s of %.100s cannot be asked: %s", what, host, p.Detail).Fix("%s", p.Remedy).Because(err)
	}
	var timeout net.Error // context.DeadlineExceeded is one
	if errors.As(err, &timeout) && timeout.Timeout() {
		return problem.New(problem.Timeout, "%s of %.100s did not answer in time", what, host).Fix("try again later").Because(err)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return problem.New(problem.Unreachable, "%s of %.100s cannot be reached", what, host).Fix("check the address and the network").Because(err)
}
