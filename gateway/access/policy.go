package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Policy is the door of one toolset URL. It is safe for concurrent use. The nil
// Policy is closed.
type Policy struct {
	mode   string
	limits *limiter // of all callers together; nil: none
	bytes  int      // largest request body; 0: the gateway's
	paused *Refusal // of everybody; nil: it serves

	open   *grant                       // mode none
	tokens map[[sha256.Size]byte]*grant // mode token
	jwt    *jwtPolicy                   // mode jwt
}

// grant is what one caller may do.
type grant struct {
	id        string // of the token; "": another kind of caller
	principal Principal
	expires   time.Time // zero: never
	tools     patterns  // nil: all
	all       bool
	scopes    []string              // of a JWT
	keys      uint64                // generation of the keys that verified a JWT
	signers   []jwt.VerificationKey // of a JWT: one of them made it
	limits    *limiter
	bytes     int
}

// Compile makes the policy of a toolset. doc is its access document; nil: there is
// none and a decides. keys finds the keys of authorization servers; nil: mode jwt
// is refused. shared counts for all nodes of a pool; nil: this node counts alone. prev is the
// policy before, whose counters go on; nil: none. A mode
// this gateway does not know is a [problem.Unsupported]: a toolset must never be
// open because its lock is new.
func Compile(a registry.Access, doc *registry.AccessDocument, toolset string, keys *Keys, shared Counter, prev *Policy) (*Policy, error) {
	if doc == nil {
		doc = &registry.AccessDocument{Mode: a.Mode}
		if a.Mode == registry.AccessJWT {
			return &Policy{mode: a.Mode, jwt: nil}, nil // closed
		}
	}
	p := &Policy{mode: doc.Mode, limits: newLimiter(doc.Limits, prev.limiterOf(), toolset, shared)}
	if doc.Limits != nil {
		p.bytes = doc.Limits.RequestBytes
	}
	if doc.Paused != nil {
		p.paused = pausedRefusal(doc.Paused.Reason)
	}
	switch doc.Mode {
	case registry.AccessNone:
		p.open = &grant{all: true}
	case registry.AccessToken:
		p.tokens = make(map[[sha256.Size]byte]*grant, len(doc.Tokens))
		for i := range doc.Tokens {
			t := &doc.Tokens[i]
			var sum [sha256.Size]byte
			if n, err := hex.Decode(sum[:], []byte(t.Hash)); err != nil || n != len(sum) {
				return nil, problem.New(problem.InvalidRelease, "the hash of access token %.80q is damaged", t.ID)
			}
			g := &grant{id: t.ID, principal: TokenPrincipal(toolset, t.ID), tools: t.Tools, all: len(t.Tools) == 0}
			if t.Expires != nil {
				g.expires = *t.Expires
			}
			if t.Limits != nil {
				g.limits, g.bytes = newLimiter(t.Limits, prev.limiterOfToken(sum), toolset+" token "+t.ID, shared), t.Limits.RequestBytes
			}
			p.tokens[sum] = g
		}
	case registry.AccessJWT:
		if keys == nil {
			return nil, problem.New(problem.Unsupported, "access by JSON Web Tokens is not available on this node")
		}
		p.jwt = newJWTPolicy(doc.JWT, keys, toolset, shared, prev)
	default:
		return nil, problem.New(problem.Unsupported, "access mode %.40q is not known to this gateway", doc.Mode).
			Fix("update the gateway")
	}
	return p, nil
}

func (p *Policy) limiterOf() *limiter {
	if p == nil {
		return nil
	}
	return p.limits
}

func (p *Policy) limiterOfToken(sum [sha256.Size]byte) *limiter {
	if p == nil || p.tokens[sum] == nil {
		return nil
	}
	return p.tokens[sum].limits
}

// Mode is the kind of door: registry.AccessNone, AccessToken or AccessJWT; "" for
// the nil Policy.
func (p *Policy) Mode() string {
	if p == nil {
		return ""
	}
	return p.mode
}

// Reason says why a request was refused, as a metric label.
type Reason string

// The reasons.
const (
	Missing      Reason = "missing"     // 401
	BadToken     Reason = "bad_token"   // 401
	BadScope     Reason = "scope"       // 403
	TooMany      Reason = "rate"        // 429
	TooManyAtOne Reason = "concurrency" // 429
	TooLarge     Reason = "size"        // 413
	NoKeys       Reason = "no_keys"     // 503
	Paused       Reason = "paused"      // 503
)

// Refusal is how a request is turned away.
type Refusal struct {
	Status    int
	Reason    Reason
	Text      string // for people
	Challenge string // WWW-Authenticate; "": none
	Retry     int    // Retry-After in seconds; 0: none
}

// Pass is an admitted request. Leave it when the request was served. It is a
// value; the zero Pass may do nothing.
type Pass struct {
	policy *Policy
	grant  *grant

	lease, toolsetLease string // of a pool
}

// TooLargeRefusal refuses a body that is larger than the toolset or its caller may send.
var TooLargeRefusal = &Refusal{Status: 413, Reason: TooLarge, Text: "the request body is larger than this toolset or token allows"}

// pausedRefusal turns away callers of a paused toolset, once they showed who they are:
// the reason is not for everybody who finds the URL.
func pausedRefusal(reason string) *Refusal {
	text := "this toolset is paused by its operators"
	if reason != "" {
		text += ": " + reason
	}
	return &Refusal{Status: 503, Reason: Paused, Text: text}
}

// Admit decides on a request with this Authorization header and a body of size
// bytes; 0 when that is not known ahead, and [Pass.MaxRequest] is to be kept while it
// is read. It needs nothing of the body. resource is the toolset URL as the client wrote it and metadata the URL
// of its RFC 9728 document; both are only read in mode jwt. It waits for keys of
// an authorization server at most until ctx ends. Exactly one of the results is
// meant: a refusal that is not nil, or a Pass to be left.
func (p *Policy) Admit(ctx context.Context, authorization []byte, size int, resource, metadata string) (Pass, *Refusal) {
	g, refusal := p.identify(ctx, authorization, resource, metadata)
	if refusal != nil {
		return Pass{}, refusal
	}
	if p.paused != nil {
		return Pass{}, p.paused
	}
	if most := least(p.bytes, g.bytes); most > 0 && size > most {
		return Pass{}, TooLargeRefusal
	}
	lease, refusal := g.limits.enter(ctx, "token")
	if refusal != nil {
		return Pass{}, refusal
	}
	ofToolset, refusal := p.limits.enter(ctx, "toolset")
	if refusal != nil {
		g.limits.leave(lease)
		return Pass{}, refusal
	}
	return Pass{p, g, lease, ofToolset}, nil
}

// least is the smaller of two limits, of which 0 is none.
func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// identify finds out who calls.
func (p *Policy) identify(ctx context.Context, authorization []byte, resource, metadata string) (*grant, *Refusal) {
	if p.Mode() == registry.AccessNone {
		return p.open, nil // a credential that is not asked for is not looked at
	}
	token, ok := bearer(authorization)
	switch {
	case p.Mode() == registry.AccessToken:
		// No resource_metadata: some clients start OAuth over it and then ignore the
		// header they were configured with.
		if !ok {
			return nil, &Refusal{Status: 401, Reason: Missing, Text: "this toolset needs an access token", Challenge: "Bearer"}
		}
		g := p.tokens[sha256.Sum256(token)]
		if g == nil || !g.expires.IsZero() && !time.Now().Before(g.expires) {
			return nil, &Refusal{
				Status: 401, Reason: BadToken, Text: "the access token is not known, has expired or was revoked",
				Challenge: `Bearer error="invalid_token", error_description="the access token is not known, has expired or was revoked"`,
			}
		}
		return g, nil
	case p.Mode() == registry.AccessJWT && p.jwt != nil:
		if !ok {
			return nil, &Refusal{
				Status: 401, Reason: Missing, Text: "this toolset needs a token of its authorization server",
				Challenge: p.jwt.challenge(metadata, "", "", p.jwt.supported),
			}
		}
		return p.jwt.verify(ctx, token, resource, metadata)
	}
	return nil, &Refusal{Status: 401, Reason: Missing, Text: "this toolset has no access settings yet", Challenge: "Bearer"}
}

// bearer is the token of an Authorization header (RFC 6750 §2.1).
func bearer(authorization []byte) ([]byte, bool) {
	const scheme = "bearer "
	if len(authorization) <= len(scheme) || !bytes.EqualFold(authorization[:len(scheme)], []byte(scheme)) {
		return nil, false
	}
	token := bytes.TrimSpace(authorization[len(scheme):])
	return token, len(token) > 0
}

// Leave ends the request.
func (p Pass) Leave() {
	if p.grant != nil {
		p.grant.limits.leave(p.lease)
		p.policy.limits.leave(p.toolsetLease)
	}
}

// MaxRequest is the largest request body in bytes that the caller may send; 0: the
// gateway's own limit.
func (p Pass) MaxRequest() int {
	if p.grant == nil {
		return 0
	}
	return least(p.policy.bytes, p.grant.bytes)
}

// Principal is who calls.
func (p Pass) Principal() Principal {
	if p.grant == nil {
		return Principal{}
	}
	return p.grant.principal
}

// Expires is when the credential ends; zero: it does not.
func (p Pass) Expires() time.Time {
	if p.grant == nil {
		return time.Time{}
	}
	return p.grant.expires
}

// Sees reports whether the tool is shown to the caller. A token's tools are all
// it is reported; a JWT's holder is shown what another scope would open.
func (p Pass) Sees(tool string) bool {
	switch {
	case p.grant == nil:
		return false
	case p.grant.principal.kind == JWT:
		return true
	}
	return p.grant.all || p.grant.tools.match(tool)
}

// SeesAll reports whether Sees is true for every tool.
func (p Pass) SeesAll() bool {
	return p.grant != nil && (p.grant.all || p.grant.principal.kind == JWT)
}

// Selection names what Sees selects: equal selections of one policy see the same.
func (p Pass) Selection() string {
	if p.SeesAll() || p.grant == nil {
		return ""
	}
	return strings.Join(p.grant.tools, "\x00")
}

// MayCall reports whether the caller may call a tool it sees. metadata is as in
// Admit.
func (p Pass) MayCall(tool, metadata string) *Refusal {
	if p.grant == nil || p.grant.all || p.grant.principal.kind != JWT || p.grant.tools.match(tool) {
		return nil
	}
	needed := p.policy.jwt.scopesFor(tool, p.grant.scopes)
	return &Refusal{
		Status: 403, Reason: BadScope, Text: "the token's scopes do not open this tool",
		Challenge: p.policy.jwt.challenge(metadata, "insufficient_scope", "the token's scopes do not open this tool", needed),
	}
}

// Renew is pass under the policy that is live now, for streams that outlive a
// change: valid false when the caller would not be let in any more, same false
// when it sees other tools. The request is not counted again, and the result must
// not be left.
func (p *Policy) Renew(pass Pass) (now Pass, valid, same bool) {
	g := pass.grant
	if p == nil || g == nil || p.paused != nil || p.mode != pass.policy.mode || !g.expires.IsZero() && !time.Now().Before(g.expires) {
		return Pass{}, false, false
	}
	switch p.mode {
	case registry.AccessNone:
		return Pass{policy: p, grant: p.open}, true, true
	case registry.AccessToken:
		for _, now := range p.tokens {
			if now.id == g.id && (now.expires.IsZero() || time.Now().Before(now.expires)) {
				next := Pass{policy: p, grant: now}
				return next, true, next.Selection() == pass.Selection()
			}
		}
		return Pass{}, false, false
	}
	if g = p.jwt.renew(g); g == nil {
		return Pass{}, false, false
	}
	return Pass{policy: p, grant: g}, true, true
}

// StillAdmits reports whether a call that pass let in may go on under the policy that is live
// now. Unlike [Policy.Renew] it asks no authorization server, and a token that expires while
// its call runs was valid when the call began.
func (p *Policy) StillAdmits(pass Pass) bool {
	if p == nil || pass.grant == nil || p.mode != pass.policy.mode {
		return false
	}
	switch p.mode {
	case registry.AccessNone:
		return true
	case registry.AccessToken:
		for _, now := range p.tokens {
			if now.id == pass.grant.id {
				return true
			}
		}
		return false
	}
	return p.jwt != nil && p.jwt.grant.Issuer == pass.grant.principal.issuer
}

// AppendMetadata appends the RFC 9728 document of a jwt policy; false for others,
// which have none.
func (p *Policy) AppendMetadata(dst []byte, resource, name string) ([]byte, bool) {
	if p.Mode() != registry.AccessJWT || p.jwt == nil {
		return dst, false
	}
	dst = append(dst, `{"resource":`...)
	dst = jsonscan.AppendStringOf(dst, resource)
	dst = append(dst, `,"authorization_servers":`...)
	servers := p.jwt.grant.AuthorizationServers
	if len(servers) == 0 {
		servers = []string{p.jwt.grant.Issuer}
	}
	dst = appendStrings(dst, servers)
	if len(p.jwt.supported) > 0 {
		dst = append(dst, `,"scopes_supported":`...)
		dst = appendStrings(dst, p.jwt.supported)
	}
	dst = append(dst, `,"bearer_methods_supported":["header"],"resource_name":`...)
	dst = jsonscan.AppendStringOf(dst, name)
	return append(dst, '}'), true
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendStringOf(dst, s)
	}
	return append(dst, ']')
}

// patterns are names and globs (path.Match). Prompts and resources have names that begin
// with one of beginnings, and are matched by patterns that begin so: in those * stands
// for slashes too. A pattern without is for tools only, except "*", which is for all.
type patterns []string

var beginnings = [...]string{"prompt:", "resource:"}

// slashes hides what * does not stand for.
var slashes = strings.NewReplacer("/", "\x00")

func (ps patterns) match(name string) bool {
	begins := ""
	for _, b := range beginnings {
		if strings.HasPrefix(name, b) {
			begins, name = b, slashes.Replace(name)
		}
	}
	for _, p := range ps {
		if begins != "" {
			if p == "*" {
				return true
			}
			if !strings.HasPrefix(p, begins) {
				continue
			}
			p = slashes.Replace(p)
		}
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}

// verified keeps tokens whose signature was checked, so that a client's next
// request costs a hash instead of public key cryptography.
type verified struct {
	mu sync.RWMutex
	m  map[[sha256.Size]byte]*grant // guarded by mu
}

// maxVerified bounds the tokens that are remembered; beyond it all are forgotten.
const maxVerified = 4096

func (v *verified) get(sum [sha256.Size]byte) *grant {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.m[sum]
}

func (v *verified) put(sum [sha256.Size]byte, g *grant) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.m == nil || len(v.m) >= maxVerified {
		v.m = make(map[[sha256.Size]byte]*grant)
	}
	v.m[sum] = g
}
