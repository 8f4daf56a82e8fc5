package access

// Kind is how a caller is known.
type Kind uint8

// The kinds of callers.
const (
	Anonymous Kind = iota // the toolset is open and asks for no identity
	Token                 // a named access token of the toolset
	JWT                   // the subject of a token of an authorization server
)

// String is the kind in one word.
func (k Kind) String() string {
	switch k {
	case Token:
		return "token"
	case JWT:
		return "jwt"
	}
	return "anonymous"
}

// Principal is who calls a toolset. The zero Principal is anonymous. It is a
// value without pointers into the request: it may be kept and compared.
//
// What is stored for a caller (a result to be fetched, a login of their own) is
// stored under Key, so that no other caller finds it.
type Principal struct {
	kind    Kind
	id      string
	issuer  string
	toolset string
	key     string
}

// TokenPrincipal is the caller who shows the access token with an id. Ids are
// unique in a toolset, and tokens of different toolsets are different callers.
func TokenPrincipal(toolset, id string) Principal {
	return Principal{kind: Token, id: id, toolset: toolset, key: "token\x00" + toolset + "\x00" + id}
}

// JWTPrincipal is the caller whom an authorization server calls subject. The same
// subject is the same caller at every toolset that trusts this issuer.
func JWTPrincipal(issuer, subject string) Principal {
	return Principal{kind: JWT, id: subject, issuer: issuer, key: "jwt\x00" + issuer + "\x00" + subject}
}

// Kind is how the caller is known.
func (p Principal) Kind() Kind { return p.kind }

// ID is the token's id or the JWT's subject; "" for an anonymous caller.
func (p Principal) ID() string { return p.id }

// Issuer is who vouches for a JWT's subject; "" for others.
func (p Principal) Issuer() string { return p.issuer }

// Key tells callers apart: two principals have the same key only if they are the
// same caller. It is "" for every anonymous caller, is not for people, and making
// it costs nothing.
func (p Principal) Key() string { return p.key }
