package access

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxToken is the longest JSON Web Token that is looked at, in bytes: tokens with
	// a hundred group claims have 6 KB. More does not fit the header limit of most
	// proxies either.
	maxToken = 12 << 10
	// maxTokenDepth is the nesting of a token's header and claims; claims of profiles
	// nest three deep.
	maxTokenDepth = 16
	// maxTokenTime is the latest time a token may name, in seconds: 9999-12-31. Later
	// ones overflow when they are added to.
	maxTokenTime = 253_402_300_799
)

// The texts say nothing of the token, which is a secret until it was refused.
const (
	whyMalformed = "the token is not a valid JSON Web Token"
	whyCritical  = "the token has critical header parameters that are not understood"
	whyKind      = "the token is not an access token"
)

// inspect looks at the form of a token before anything is verified; "": there is
// nothing to say against it.
//
// crit lists extensions that must be understood (RFC 7515 §4.1.11), and this
// resource server understands none. zip, b64 and a cty that says JWT change what the
// payload is (RFC 7516 §4.1.3, RFC 7797, RFC 7519 §5.2); what the parser does not
// implement must not be ignored. A member that is there twice is read differently by
// different parsers, so it is refused (RFC 7515 §4, RFC 7519 §4).
func inspect(token []byte) string {
	if len(token) > maxToken {
		return whyMalformed
	}
	head, rest, _ := bytes.Cut(token, []byte("."))
	payload, signature, ok := bytes.Cut(rest, []byte("."))
	if !ok || bytes.IndexByte(signature, '.') >= 0 { // five parts are an encrypted token
		return whyMalformed
	}
	h, ok := object(head)
	if !ok {
		return whyMalformed
	}
	for _, name := range []string{"b64", "zip"} {
		if h.Get(name).Exists() {
			return whyMalformed
		}
	}
	if h.Get("crit").Exists() {
		return whyCritical
	}
	if cty := h.Get("cty"); cty.Exists() && !isMediaType(cty, "application/json") {
		return whyMalformed
	}
	if kid := h.Get("kid"); kid.Exists() && kid.Kind() != jsonscan.String {
		return whyMalformed // as if it named none, every key would be tried
	}
	if !accessType(h.Get("typ")) {
		return whyKind
	}
	if _, ok := object(payload); !ok {
		return whyMalformed
	}
	return ""
}

// object is the JSON object of one part of a token, whose members all have other
// names.
func object(part []byte) (jsonscan.Value, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(string(part))
	if err != nil {
		return jsonscan.Value{}, false
	}
	v, err := jsonscan.Parse(b, maxTokenDepth)
	if err != nil || v.Kind() != jsonscan.Object {
		return jsonscan.Value{}, false
	}
	names := map[string]struct{}{}
	for it := v.Members(); it.Next(); {
		names[string(it.KeyText(nil))] = struct{}{}
	}
	return v, len(names) == v.Len()
}

// accessType reports whether a header's typ is one that access tokens have:
// at+jwt, which RFC 9068 §4 asks for, or JWT or none, which is what most
// authorization servers write. Everything else is another kind of token: logout+jwt,
// dpop+jwt, secevent+jwt, id_token+jwt and what will come (RFC 8725 §3.11).
func accessType(typ jsonscan.Value) bool {
	return !typ.Exists() || isMediaType(typ, "application/at+jwt") || isMediaType(typ, "application/jwt")
}

// isMediaType compares a type, whose "application/" may be left out (RFC 7515
// §4.1.9), in any letters.
func isMediaType(v jsonscan.Value, want string) bool {
	if v.Kind() != jsonscan.String {
		return false
	}
	got := strings.ToLower(string(v.AppendText(nil)))
	if !strings.Contains(got, "/") {
		got = "application/" + got
	}
	return got == want
}

// claims are those that matter here, read by their exact names: package json also
// takes members whose letters differ in case, so a custom claim SUB would be sub.
type claims struct {
	jwt.RegisteredClaims
	scopes []string
	other  bool // it is an ID token or another that is not for resource servers
}

var errClaims = errors.New("a claim is not of its type")

// UnmarshalJSON implements [json.Unmarshaler].
func (c *claims) UnmarshalJSON(b []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	for name, into := range map[string]any{
		"iss": &c.Issuer, "sub": &c.Subject, "aud": &c.Audience, "jti": &c.ID,
		"exp": &c.ExpiresAt, "nbf": &c.NotBefore, "iat": &c.IssuedAt,
	} {
		raw, ok := m[name]
		_, date := into.(**jwt.NumericDate)
		// A date is a number (RFC 7519 §2), which the library also takes out of a string.
		if ok && (json.Unmarshal(raw, into) != nil || date && raw[0] == '"') {
			return errClaims
		}
	}
	if strings.ContainsRune(c.Subject, utf8.RuneError) { // what is not text would be one subject with other such
		return errClaims
	}
	for _, at := range []*jwt.NumericDate{c.ExpiresAt, c.NotBefore, c.IssuedAt} {
		if at != nil && (at.Before(time.Unix(0, 0)) || at.After(time.Unix(maxTokenTime, 0))) {
			return errClaims
		}
	}
	for _, name := range []string{"scope", "scp"} { // scp: of servers older than RFC 9068
		var s scopes
		if raw, ok := m[name]; ok && json.Unmarshal(raw, &s) != nil {
			return errClaims
		}
		c.scopes = append(c.scopes, s...)
	}
	c.other = notAccess(m)
	return nil
}

// notAccess reports whether claims are those of a token that is not an access token,
// though its header says JWT, as that of most ID tokens does: hashes that bind an
// ID token to what was issued with it (OpenID Connect Core §3.1.3.6, §3.3.2.11), the
// events of logout and security event tokens (RFC 8417 §2.2), and how Keycloak (typ)
// and Cognito (token_use) tell their tokens apart. nonce alone says nothing: some
// servers copy it to access tokens.
func notAccess(m map[string]json.RawMessage) bool {
	for _, name := range []string{"at_hash", "c_hash", "events"} {
		if _, ok := m[name]; ok {
			return true
		}
	}
	for name, access := range map[string]string{"typ": "bearer", "token_use": "access"} {
		raw, ok := m[name]
		if !ok {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return true
		}
		text = strings.ToLower(text)
		if text != access && text != "at+jwt" && text != "jwt" && text != "dpop" {
			return true
		}
	}
	return false
}

// scopes is a list of scopes: a text with spaces (RFC 8693 §4.2) or an array.
type scopes []string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *scopes) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*s = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(b, (*[]string)(s))
}
