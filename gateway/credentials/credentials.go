package credentials

import (
	"context"
	"encoding/base64"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// Source gives the current value of a credential. It is called on each upstream
// call, from many goroutines, and must answer from memory in the usual case. A
// credential that does not exist is a [problem.NotFound].
type Source interface {
	Credential(ctx context.Context, id string) (Credential, error)
}

// Refresher is a [Source] that can replace an access token before its time.
// Refresh returns a credential of another version than rejected, or an error: a
// [problem.Unauthenticated] when a person must log in again. Calls of the same id
// share one request to the authorization server.
type Refresher interface {
	Refresh(ctx context.Context, id string, rejected uint64) (Credential, error)
}

// Credential is a secret value.
type Credential struct {
	// Value in the form of its [Rule]: the key of a header, a query parameter or a
	// cookie; "user:password" of basic; the token of bearer; the access token; or
	// the PEM text of a certificate chain and its private key.
	Value secrets.Secret
	// Version grows with every change of the value. It separates cached answers
	// of the old value from those of the new one.
	Version uint64
	// Origins are where the value may be sent. None: nowhere.
	Origins registry.Origins

	redactor *redactor // of the value, see [Redactors.Prepare]; nil: made when it is needed
}

// Type is a form of authentication.
type Type uint8

// The forms. None leaves the request alone.
const (
	None Type = iota
	Header
	Query
	Cookie
	Body // a member of the JSON object, form or multipart form that is the body
	Basic
	Bearer
	Token // access token that its [Source] may [Refresher.Refresh]; sent as Bearer
	Certificate
)

// Rule says where a credential goes. The zero Rule means no authentication.
type Rule struct {
	Type   Type
	Name   string // header, parameter, cookie or member
	Prefix string // Header: directly followed by the key
	ID     string // id of the credential at the [Source]
	Scheme string // id of the security scheme it fulfils; "": any
	// User says that the token belongs to whoever calls: it comes from [Users].
	User bool
}

// Apply puts c on req, whose address must be set. It fails with [problem.Forbidden]
// when the address is of no origin that c is for, and with
// [problem.Unauthenticated] when the value is missing or cannot travel in its
// place. req keeps no reference to c.
func (r Rule) Apply(req *fasthttp.Request, c Credential) error {
	if r.Type == None {
		return nil
	}
	if u := req.URI(); !c.Origins.Allow(u.Scheme(), u.Host()) {
		return WrongOrigin(c.Origins, string(u.Scheme())+"://"+string(u.Host()))
	}
	switch r.Type {
	case None:
	case Certificate: // travels with the connection
		if c.Value.IsZero() {
			return r.unusable(true)
		}
	case Header:
		v := append([]byte(r.Prefix), c.Value.Reveal()...)
		if c.Value.IsZero() || !fieldValue(v) {
			return r.unusable(c.Value.IsZero())
		}
		req.Header.SetBytesV(r.Name, v)
	case Query:
		if c.Value.IsZero() {
			return r.unusable(true)
		}
		req.URI().SetQueryStringBytes(r.appendPair(req.URI().QueryString(), c.Value))
	case Cookie:
		v := c.Value.Reveal()
		if c.Value.IsZero() || !cookieValue(v) {
			return r.unusable(c.Value.IsZero())
		}
		req.Header.SetCookie(r.Name, v)
	case Body:
		if c.Value.IsZero() {
			return r.unusable(true)
		}
		return setMember(req, r.Name, c.Value)
	case Basic:
		if c.Value.IsZero() {
			return r.unusable(true)
		}
		req.Header.SetBytesV(fasthttp.HeaderAuthorization, appendBasic([]byte("Basic "), c.Value))
	case Bearer, Token:
		v := append([]byte("Bearer "), c.Value.Reveal()...)
		if c.Value.IsZero() || !fieldValue(v) {
			return r.unusable(c.Value.IsZero())
		}
		req.Header.SetBytesV(fasthttp.HeaderAuthorization, v)
	}
	return nil
}

// Strip takes off what Apply put on, for a request that goes to another origin.
func (r Rule) Strip(req *fasthttp.Request) {
	switch r.Type {
	case None, Certificate:
	case Header:
		req.Header.Del(r.Name)
	case Query:
		StripQuery(req, r.Name)
	case Cookie:
		req.Header.DelCookie(r.Name)
	case Body:
		dropMember(req, r.Name)
	case Basic, Bearer, Token:
		req.Header.Del(fasthttp.HeaderAuthorization)
	}
}

// WrongOrigin is the error of a request to an origin that a credential is not for.
func WrongOrigin(origins registry.Origins, origin string) error {
	return problem.New(problem.Forbidden, "the credential of this connector is for %s and is not sent to %.200s", origins, origin).
		Fix("an administrator of the toolset must confirm the new address, or somebody who has the secret must set it again: sluice toolset origins")
}

// appendPair returns a copy of query with the rule's parameter added. A
// parameter of that name that the caller sent is taken out first: an agent must
// not be able to choose the key.
func (r Rule) appendPair(query []byte, key secrets.Secret) []byte {
	var a fasthttp.Args
	a.ParseBytes(nil)
	a.Set(r.Name, key.Reveal())
	out := withoutPairs(query, r.Name)
	if len(out) > 0 {
		out = append(out, '&')
	}
	return append(out, a.QueryString()...)
}

// StripQuery takes the parameters of a name off the query of req. The others stay as
// they are written.
func StripQuery(req *fasthttp.Request, name string) {
	u := req.URI()
	u.SetQueryStringBytes(withoutPairs(u.QueryString(), name))
}

// withoutPairs returns a copy of query without the parameters of a name.
func withoutPairs(query []byte, name string) []byte {
	var out []byte
	for pair := range splitPairs(query) {
		var one fasthttp.Args
		one.ParseBytes(pair)
		if one.Has(name) {
			continue
		}
		if len(out) > 0 {
			out = append(out, '&')
		}
		out = append(out, pair...)
	}
	return out
}

func splitPairs(query []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		start := 0
		for i := 0; i <= len(query); i++ {
			if i == len(query) || query[i] == '&' {
				if i > start && !yield(query[start:i]) {
					return
				}
				start = i + 1
			}
		}
	}
}

func (r Rule) unusable(missing bool) error {
	if missing {
		return problem.New(problem.Unauthenticated, "the credential of this connector has no value").
			Fix("set the authentication of the toolset")
	}
	return problem.New(problem.Unauthenticated, "the credential of this connector holds characters that cannot be sent").
		Fix("set the authentication of the toolset again, without line breaks")
}

// fieldValue reports whether v may be a header's value: RFC 9110 §5.5 without
// obs-text, no outer white space.
func fieldValue(v []byte) bool {
	if len(v) == 0 || v[0] == ' ' || v[len(v)-1] == ' ' {
		return false
	}
	for _, c := range v {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// cookieValue reports whether v is a cookie-value of RFC 6265 §4.1.1.
func cookieValue(v string) bool {
	for i := range len(v) {
		c := v[i]
		if c <= ' ' || c > '~' || c == '"' || c == ',' || c == ';' || c == '\\' {
			return false
		}
	}
	return v != ""
}

// appendBasic appends the credentials of RFC 7617 §2 without their scheme.
func appendBasic(dst []byte, v secrets.Secret) []byte {
	return base64.StdEncoding.AppendEncode(dst, []byte(v.Reveal()))
}
