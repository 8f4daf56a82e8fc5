package registry

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// Bounds of an access document. It is kept in memory by every edge.
const (
	// MaxAccessBytes is the size of an access document: MaxAccessTokens of about
	// 1 KB each.
	MaxAccessBytes = 4 << 20
	// MaxAccessTokens of one toolset: one for each person of a large company's
	// department. Beyond that identities belong to an authorization server.
	MaxAccessTokens = 2000
	// MaxAccessPatterns of one token or scope.
	MaxAccessPatterns = 256
	// MaxAccessScopes of one toolset.
	MaxAccessScopes = 64
	// MaxRequestsPerMinute a limit may allow: what one processor serves at most.
	MaxRequestsPerMinute = 6_000_000
	// MaxConcurrent requests a limit may allow.
	MaxConcurrent = 100_000
	// MaxRequestBytes a limit may allow; the gateway's own limit may be lower.
	MaxRequestBytes = 64 << 20
	// MaxPauseReason is the length in characters of why a toolset is paused: a sentence
	// that every refused caller reads.
	MaxPauseReason = 200
)

// Ways a toolset URL is opened.
const (
	// AccessNone lets everyone in who reaches the URL.
	AccessNone = "none"
	// AccessToken wants one of the toolset's named access tokens.
	AccessToken = "token"
	// AccessJWT wants a JSON Web Token of an authorization server, made for exactly
	// this URL.
	AccessJWT = "jwt"
)

// AccessFormat is the version of the access document this package reads and writes.
const AccessFormat = 1

// AccessDocument says who may open a toolset URL and how much they may ask. It is
// only ever obeyed as the verified payload of a DSSE envelope whose artifact the
// release names: a change of it is a new release without a new revision of the
// toolset, and an old one cannot be replayed. It holds hashes of tokens, never
// tokens.
type AccessDocument struct {
	FormatVersion int          `json:"formatVersion"`    // AccessFormat
	Workspace     string       `json:"workspace"`        // Toolset.Workspace
	Toolset       string       `json:"toolset"`          // Toolset.ID
	Mode          string       `json:"mode"`             // AccessNone, AccessToken, AccessJWT
	Tokens        []TokenGrant `json:"tokens,omitempty"` // only AccessToken; none: nobody may enter
	JWT           *JWTGrant    `json:"jwt,omitempty"`    // AccessJWT: needed; else nil
	Limits        *RateLimits  `json:"limits,omitempty"` // of all callers together; nil: none
	// Capture says of which calls the log keeps arguments and answers, redacted:
	// CaptureErrors or CaptureAll. Empty: of none.
	Capture string `json:"capture,omitempty"`
	// Paused refuses every caller. nil: the member is absent, so that gateways of a version
	// before pauses read the document; with one they refuse it, and serve on.
	Paused *Pause `json:"paused,omitempty"`
}

// Pause is why a toolset serves nobody for now.
type Pause struct {
	Reason string `json:"reason,omitempty"` // for callers who are let in otherwise; at most MaxPauseReason characters
}

// TokenGrant is one access token: its hash and what it may do.
type TokenGrant struct {
	ID      string      `json:"id"`                // stable identifier
	Name    string      `json:"name"`              // for people
	Hash    string      `json:"hash"`              // SHA-256 of the token's text, lower-case hex
	Expires *time.Time  `json:"expires,omitempty"` // nil: never
	Tools   []string    `json:"tools,omitempty"`   // names and globs of tools; none: all
	Limits  *RateLimits `json:"limits,omitempty"`  // of this token; nil: none
}

// JWTGrant says whose JSON Web Tokens open the URL. Their audience must be exactly
// the toolset URL (RFC 8707).
type JWTGrant struct {
	Issuer  string `json:"issuer"`            // claim "iss", and where keys and metadata are found
	JWKSURL string `json:"jwksUrl,omitempty"` // ""; as the issuer's metadata says
	// AuthorizationServers that clients are sent to (RFC 9728). None: the issuer.
	AuthorizationServers []string `json:"authorizationServers,omitempty"`
	// Scopes and the tools each opens. None: every valid token opens all tools.
	Scopes []ScopeGrant `json:"scopes,omitempty"`
	Limits *RateLimits  `json:"limits,omitempty"` // of one subject; nil: none
}

// ScopeGrant opens tools to a scope. A tool that no scope opens cannot be called.
type ScopeGrant struct {
	Scope string   `json:"scope"` // RFC 6749 §3.3
	Tools []string `json:"tools"` // names and globs
}

// RateLimits bound requests. Zero fields do not limit. They hold for one node:
// nodes do not know of each other's requests.
type RateLimits struct {
	RequestsPerMinute int `json:"requestsPerMinute,omitempty"` // on average
	Burst             int `json:"burst,omitempty"`             // at once; 0: a tenth of a minute's, at least one
	Concurrent        int `json:"concurrent,omitempty"`        // at the same time
	RequestBytes      int `json:"maxRequestBytes,omitempty"`   // of one request's body
}

// Validate reports every fault of d as one *problem.Error of kind
// [problem.InvalidArgument] whose Parts name the JSON pointers; nil when there is none.
func (d *AccessDocument) Validate() error {
	f := &faults{kind: problem.InvalidArgument}
	f.check(d.FormatVersion == AccessFormat, "/formatVersion", "format version %d is not known", d.FormatVersion)
	f.check(ValidSlug(d.Workspace), "/workspace", "workspace %.80q is not a slug", d.Workspace)
	f.check(validID(d.Toolset), "/toolset", "toolset %.80q is not an identifier", d.Toolset)
	f.check(validMode(d.Mode), "/mode", "access mode %.80q is none of none, token, jwt", d.Mode)
	f.check(len(d.Tokens) == 0 || d.Mode == AccessToken, "/tokens", "mode %.20q has no tokens", d.Mode)
	f.check((d.JWT != nil) == (d.Mode == AccessJWT), "/jwt", "mode jwt, and only it, needs an issuer")
	f.check(len(d.Tokens) <= MaxAccessTokens, "/tokens", "%d tokens are more than %d", len(d.Tokens), MaxAccessTokens)
	d.Limits.validate(f, "/limits")
	f.check(validCapture(d.Capture), "/capture", "capture %.80q is none of off, errors, all", d.Capture)
	if d.Paused != nil {
		f.text("/paused/reason", d.Paused.Reason, 0, MaxPauseReason)
	}
	ids, hashes := make(map[string]bool, len(d.Tokens)), make(map[string]bool, len(d.Tokens))
	for i := range d.Tokens {
		if f.full() {
			break
		}
		t, at := &d.Tokens[i], fmt.Sprintf("/tokens/%d", i)
		f.check(validID(t.ID) && !ids[t.ID], at+"/id", "id %.80q is not an identifier or used twice", t.ID)
		f.text(at+"/name", t.Name, 1, MaxNameRunes)
		f.check(isHex64(t.Hash) && !hashes[t.Hash], at+"/hash", "the hash is not a SHA-256 in hex or used twice")
		validPatterns(f, at+"/tools", t.Tools)
		t.Limits.validate(f, at+"/limits")
		ids[t.ID], hashes[t.Hash] = true, true
	}
	if d.JWT != nil {
		d.JWT.validate(f, "/jwt")
	}
	return f.err("the access document of toolset %.80q is not valid", d.Toolset)
}

func validMode(m string) bool { return m == AccessNone || m == AccessToken || m == AccessJWT }

func (j *JWTGrant) validate(f *faults, at string) {
	address := func(s, at string) {
		if why := baseURLFault(s); why != "" {
			f.add(at, "the URL %s", why)
		} else if u, err := url.Parse(s); err != nil || u.Scheme != "https" && !loopbackName(u.Hostname()) {
			f.add(at, "the URL must start with https://: keys that came in the clear prove nothing")
		}
	}
	address(j.Issuer, at+"/issuer")
	if j.JWKSURL != "" {
		address(j.JWKSURL, at+"/jwksUrl")
	}
	f.check(len(j.AuthorizationServers) <= 8, at+"/authorizationServers", "%d authorization servers are more than 8", len(j.AuthorizationServers))
	for i, s := range j.AuthorizationServers {
		address(s, fmt.Sprintf("%s/authorizationServers/%d", at, i))
	}
	f.check(len(j.Scopes) <= MaxAccessScopes, at+"/scopes", "%d scopes are more than %d", len(j.Scopes), MaxAccessScopes)
	seen := map[string]bool{}
	for i := range j.Scopes {
		s, at := &j.Scopes[i], fmt.Sprintf("%s/scopes/%d", at, i)
		f.check(validScope(s.Scope) && !seen[s.Scope], at+"/scope", "%.80q is not a scope or used twice", s.Scope)
		seen[s.Scope] = true
		f.check(len(s.Tools) > 0, at+"/tools", "a scope must open some tool; * opens all")
		validPatterns(f, at+"/tools", s.Tools)
	}
	j.Limits.validate(f, at+"/limits")
}

func (l *RateLimits) validate(f *faults, at string) {
	if l == nil {
		return
	}
	between := func(n, most int, name string) {
		f.check(n >= 0 && n <= most, at+"/"+name, "%d is not between 0 and %d", n, most)
	}
	between(l.RequestsPerMinute, MaxRequestsPerMinute, "requestsPerMinute")
	between(l.Burst, MaxRequestsPerMinute, "burst")
	between(l.Concurrent, MaxConcurrent, "concurrent")
	between(l.RequestBytes, MaxRequestBytes, "maxRequestBytes")
	f.check(l.Burst == 0 || l.RequestsPerMinute > 0, at+"/burst", "a burst needs requestsPerMinute")
}

func validPatterns(f *faults, at string, patterns []string) {
	f.check(len(patterns) <= MaxAccessPatterns, at, "%d patterns are more than %d", len(patterns), MaxAccessPatterns)
	for i, p := range patterns {
		_, err := path.Match(p, "")
		f.check(err == nil && p != "" && len(p) <= 128, fmt.Sprintf("%s/%d", at, i), "%.80q is not the name of a tool or a glob", p)
	}
}

// validScope: RFC 6749 §3.3 scope-token.
func validScope(s string) bool {
	return s != "" && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

func loopbackName(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// Encode validates d and returns its document: deterministic JSON, tokens sorted,
// times in UTC and whole seconds. The caller owns the bytes; d is not changed.
func (d *AccessDocument) Encode() ([]byte, error) {
	c := *d
	c.FormatVersion = AccessFormat
	if c.Capture == CaptureOff {
		c.Capture = ""
	}
	c.Tokens = slices.Clone(d.Tokens)
	for i := range c.Tokens {
		if e := c.Tokens[i].Expires; e != nil {
			c.Tokens[i].Expires = new(e.UTC().Truncate(time.Second))
		}
	}
	slices.SortFunc(c.Tokens, func(a, b TokenGrant) int { return strings.Compare(a.ID, b.ID) })
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return encode(&c, MaxAccessBytes, problem.TooLarge, "access document")
}

// ParseAccess reads an access document from verified bytes. It refuses unknown
// fields, duplicate fields, trailing bytes, more than [MaxAccessBytes] and
// whatever Validate refuses, as *problem.Error. It does not keep b.
func ParseAccess(b []byte) (*AccessDocument, error) {
	d := new(AccessDocument)
	if err := decode(b, d, MaxAccessBytes, problem.InvalidRelease, "access document"); err != nil {
		return nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return d, nil
}
