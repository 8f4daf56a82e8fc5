package registry

import (
	"fmt"
	"reflect"
	"slices"
)

// Types of authentication a binding may have.
const (
	AuthNone   = "none"
	AuthHeader = "header" // key in a header, behind a prefix
	AuthQuery  = "query"  // key in a query parameter
	AuthCookie = "cookie" // key in a cookie
	AuthBody   = "body"   // key in a member of a JSON object or form that is the body
	AuthBasic  = "basic"  // user name and password (RFC 7617)
	AuthBearer = "bearer" // token that stays as it is (RFC 6750)
	AuthOAuth2 = "oauth2" // access token that the control plane refreshes
	AuthOIDC   = "oidc"   // the same, from an issuer that was discovered
	AuthMTLS   = "mtls"   // client certificate of the connection
	AuthList   = "list"   // several of the others
)

var authTypes = []string{AuthHeader, AuthQuery, AuthCookie, AuthBody, AuthBasic, AuthBearer, AuthOAuth2, AuthOIDC, AuthMTLS, AuthList}

// MaxAuthItems of a list: an operation combines two or three, and specifications
// declare a dozen schemes at most.
const MaxAuthItems = 16

// MaxSchemeBytes of the id of a security scheme.
const MaxSchemeBytes = 256

// AuthShape says where a credential goes and which one; never its value.
//
// An item that names a Scheme is used by the operations that ask for that scheme.
// An item without one is used by every operation that does not say it needs none.
type AuthShape struct {
	Type          string      `json:"type"`                    // one of the constants Auth…
	Scheme        string      `json:"scheme,omitempty"`        // id of the security scheme it fulfils; "": any
	HeaderName    string      `json:"headerName,omitempty"`    // AuthHeader: an RFC 9110 token
	HeaderPrefix  string      `json:"headerPrefix,omitempty"`  // AuthHeader: put before the value, with its own space: "Bearer "
	ParameterName string      `json:"parameterName,omitempty"` // AuthQuery
	CookieName    string      `json:"cookieName,omitempty"`    // AuthCookie: an RFC 6265 token
	MemberName    string      `json:"memberName,omitempty"`    // AuthBody
	User          bool        `json:"user,omitempty"`          // AuthOAuth2, AuthOIDC: the token is the caller's own
	CredentialID  string      `json:"credentialId,omitempty"`  // identifier of the stored credential; not for AuthNone and AuthList
	Items         []AuthShape `json:"items,omitempty"`         // AuthList: 1 to [MaxAuthItems], none of them a list
}

// Each lists the single items of a: of a list its items, of none nothing, of
// everything else a itself. a may be nil.
func (a *AuthShape) Each() []AuthShape {
	switch {
	case a == nil || a.Type == AuthNone:
		return nil
	case a.Type == AuthList:
		return a.Items
	}
	return []AuthShape{*a}
}

func (a *AuthShape) validate(f *faults, at string, top bool) {
	if a.Type == AuthNone {
		f.check(top, at+"/type", "an item of a list is not none")
		f.check(reflect.DeepEqual(*a, AuthShape{Type: AuthNone}), at, "authentication of type none has no other fields")
		return
	}
	if !slices.Contains(authTypes, a.Type) {
		f.add(at+"/type", "authentication type %.80q is not known", a.Type)
		return
	}
	only := func(kind, field, value string) {
		f.check(a.Type == kind || value == "", at+"/"+field, "%s does not belong to authentication of type %.80q", field, a.Type)
	}
	only(AuthHeader, "headerName", a.HeaderName)
	only(AuthHeader, "headerPrefix", a.HeaderPrefix)
	only(AuthQuery, "parameterName", a.ParameterName)
	only(AuthCookie, "cookieName", a.CookieName)
	only(AuthBody, "memberName", a.MemberName)
	f.check(!a.User || a.Type == AuthOAuth2 || a.Type == AuthOIDC, at+"/user", "only OAuth tokens can be the caller's own, not authentication of type %.80q", a.Type)
	f.check(a.Type == AuthList || len(a.Items) == 0, at+"/items", "items belong to a list")
	f.check(len(a.Scheme) <= MaxSchemeBytes && validText(a.Scheme, 0, MaxSchemeBytes), at+"/scheme", "the name of the scheme is too long or has control characters")
	switch a.Type {
	case AuthHeader:
		f.check(headerPattern.MatchString(a.HeaderName), at+"/headerName", "%.80q is not an HTTP header name", a.HeaderName)
		f.check(validFieldText(a.HeaderPrefix) && len(a.HeaderPrefix) <= 64, at+"/headerPrefix",
			"the prefix must be at most 64 printable ASCII characters")
	case AuthQuery:
		f.check(validText(a.ParameterName, 1, 128), at+"/parameterName", "a query parameter has a name of 1 to 128 characters")
	case AuthCookie:
		f.check(headerPattern.MatchString(a.CookieName), at+"/cookieName", "%.80q is not the name of a cookie", a.CookieName)
	case AuthBody:
		f.check(validText(a.MemberName, 1, 128), at+"/memberName", "a member of a body has a name of 1 to 128 characters")
	}
	if a.Type == AuthList {
		a.validateList(f, at, top)
	} else {
		f.check(validID(a.CredentialID), at+"/credentialId", "credential %.80q is not an identifier", a.CredentialID)
	}
}

func (a *AuthShape) validateList(f *faults, at string, top bool) {
	if !top {
		f.add(at+"/type", "a list holds no list")
		return
	}
	f.check(a.CredentialID == "" && a.Scheme == "", at, "the fields of a list are those of its items")
	f.check(len(a.Items) >= 1 && len(a.Items) <= MaxAuthItems, at+"/items", "%d items is not between 1 and %d", len(a.Items), MaxAuthItems)
	if len(a.Items) > MaxAuthItems {
		return
	}
	schemes := map[string]bool{}
	for i := range a.Items {
		it, where := &a.Items[i], fmt.Sprintf("%s/items/%d", at, i)
		it.validate(f, where, false)
		f.check(it.Scheme == "" || !schemes[it.Scheme], where+"/scheme", "the scheme %.80q is fulfilled twice", it.Scheme)
		schemes[it.Scheme] = true
	}
}
