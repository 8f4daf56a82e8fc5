package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/problem"
)

// Kinds of callers that have an identity.
const (
	UserToken = "token" // holder of a named access token of a toolset
	UserJWT   = "jwt"   // subject of a token of an authorization server
)

// maxUserText of an id, subject or issuer, in bytes: RFC 7519 has no bound, OpenID
// Connect Core §2 bounds sub to 255 characters.
const maxUserText = 2048

// User is a caller of a toolset as a gateway knows it, for credentials that belong
// to one caller.
type User struct {
	Kind    string `json:"kind"`              // UserToken or UserJWT
	ID      string `json:"id"`                // of the access token, or the subject
	Toolset string `json:"toolset,omitempty"` // id of the toolset of an access token
	Issuer  string `json:"issuer,omitempty"`  // who vouches for a subject
}

// Validate refuses who cannot be told from others, with [problem.InvalidArgument].
func (u *User) Validate() error {
	ok := u.ID != "" && len(u.ID) <= maxUserText && len(u.Issuer) <= maxUserText && len(u.Toolset) <= maxUserText && utf8.ValidString(u.ID) && utf8.ValidString(u.Issuer)
	switch u.Kind {
	case UserToken:
		ok = ok && u.Toolset != "" && u.Issuer == ""
	case UserJWT:
		ok = ok && u.Issuer != "" && u.Toolset == ""
	default:
		ok = false
	}
	if !ok {
		return problem.New(problem.InvalidArgument, "the caller has no identity that credentials can belong to")
	}
	return nil
}

// Key is the same for the same caller only: 64 hexadecimal digits.
func (u *User) Key() string {
	sum := sha256.Sum256(framed("sluice/user/1", []byte(u.Kind), []byte(u.Toolset), []byte(u.Issuer), []byte(u.ID)))
	return hex.EncodeToString(sum[:])
}

// LoginError is the cause of a problem that a caller can solve by logging in at the
// authorization server of an upstream.
type LoginError struct {
	// URL of the page to open. It is good for a short time and one login, and only
	// the caller may see it. "": there is none, because the control plane has no
	// address for browsers.
	URL string
}

// Error does not repeat the URL.
func (*LoginError) Error() string { return "the caller must log in" }
