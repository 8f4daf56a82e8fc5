package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluicegate/sluice/registry"
)

const (
	// clockSkew that is forgiven between this node and the authorization server.
	clockSkew = time.Minute
	// maxSubjects whose requests are counted; beyond it counting starts again.
	maxSubjects = 10_000
)

// algorithms that are accepted: all of RFC 7518 §3.1 and RFC 8037 that a public
// key verifies. A shared secret would let every resource forge tokens.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// jwtPolicy verifies tokens of one authorization server (RFC 7519, RFC 9068).
type jwtPolicy struct {
	grant     *registry.JWTGrant
	keys      *keySet
	supported []string // all scopes that open something
	known     verified
	parser    *jwt.Parser

	mu       sync.Mutex
	subjects map[string]*limiter // guarded by mu; by subject

	toolset string  // id, for the counts of a pool
	shared  Counter // nil: this node counts alone
}

func newJWTPolicy(g *registry.JWTGrant, keys *Keys, toolset string, shared Counter, prev *Policy) *jwtPolicy {
	p := &jwtPolicy{
		grant: g, keys: keys.set(g.Issuer, g.JWKSURL), toolset: toolset, shared: shared,
		parser: jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithIssuer(g.Issuer), jwt.WithExpirationRequired(), jwt.WithLeeway(clockSkew),
			jwt.WithStrictDecoding()),
	}
	for _, s := range g.Scopes {
		p.supported = append(p.supported, s.Scope)
	}
	if g.Limits != nil {
		p.subjects = map[string]*limiter{}
		if prev != nil && prev.jwt != nil && prev.jwt.grant.Issuer == g.Issuer {
			prev.jwt.mu.Lock()
			for subject, l := range prev.jwt.subjects {
				p.subjects[subject] = p.newLimiter(subject, l)
			}
			prev.jwt.mu.Unlock()
		}
	}
	return p
}

// verify identifies the holder of a token.
func (p *jwtPolicy) verify(ctx context.Context, token []byte, resource, metadata string) (*grant, *Refusal) {
	// The same token at another URL is another question.
	h := sha256.New()
	h.Write(token)
	h.Write([]byte{0})
	h.Write([]byte(resource))
	sum := [sha256.Size]byte(h.Sum(nil))
	now := time.Now()
	if g := p.known.get(sum); g != nil && now.Before(g.expires) && g.keys == p.keys.current(ctx, now) {
		return g, nil
	}
	if why := inspect(token); why != "" {
		return nil, p.bad(why, metadata)
	}
	c, signers, generation, err := p.parse(ctx, token)
	if errors.Is(err, jwt.ErrTokenSignatureInvalid) && p.keys.changed(ctx, generation) {
		c, signers, generation, err = p.parse(ctx, token)
	}
	why := ""
	switch {
	case errors.Is(err, errNoKeys):
		return nil, &Refusal{
			Status: 503, Reason: NoKeys, Text: "the keys of the authorization server cannot be fetched", Retry: 5,
		}
	case errors.Is(err, errWhich):
		why = "the token does not say which of many keys signed it"
	case errors.Is(err, jwt.ErrTokenExpired):
		why = "the token has expired"
	case errors.Is(err, jwt.ErrTokenNotValidYet), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		why = "the token is not valid yet"
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		why = "the token is of another issuer"
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable):
		why = "the signature of the token is not valid"
	case err != nil:
		why = "the token is not a valid JSON Web Token"
	case !slices.Contains(c.Audience, resource):
		// RFC 8707: a token for another resource, even of this gateway, is not ours.
		why = "the token was issued for another resource"
	case c.Subject == "":
		why = "the token names no subject"
	case c.other:
		why = "the token is not an access token"
	}
	if why != "" {
		return nil, p.bad(why, metadata)
	}
	g := &grant{
		principal: JWTPrincipal(c.Issuer, c.Subject), expires: c.ExpiresAt.Add(clockSkew), scopes: c.scopes, keys: generation, signers: signers,
	}
	p.open(g)
	if l := p.grant.Limits; l != nil {
		g.limits, g.bytes = p.limiterOf(c.Subject), l.RequestBytes
	}
	p.known.put(sum, g)
	return g, nil
}

// parse reads a token and verifies its signature. signers are the keys of which one made
// it, and generation is that of the keys.
func (p *jwtPolicy) parse(ctx context.Context, token []byte) (c *claims, signers []jwt.VerificationKey, generation uint64, err error) {
	c = new(claims)
	_, err = p.parser.ParseWithClaims(string(token), c, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string) // inspect saw that it is one
		set, of, err := p.keys.find(ctx, id, t.Method.Alg())
		signers, generation = set.Keys, of
		return set, err
	})
	return c, signers, generation, err
}

// open sets the tools that the scopes of a caller open.
func (p *jwtPolicy) open(g *grant) {
	g.all, g.tools = len(p.grant.Scopes) == 0, nil
	for _, s := range p.grant.Scopes {
		if slices.Contains(g.scopes, s.Scope) {
			g.tools = append(g.tools, s.Tools...)
		}
	}
}

// renew is what a caller may do under this policy who was let in under another one; nil:
// nothing, because another issuer signs now, or the key that signed was withdrawn.
func (p *jwtPolicy) renew(g *grant) *grant {
	if p == nil || p.grant.Issuer != g.principal.issuer || !p.keys.hold(context.Background(), g.signers) {
		return nil
	}
	now := *g
	p.open(&now)
	return &now
}

// bad is the refusal of a token that was shown.
func (p *jwtPolicy) bad(why, metadata string) *Refusal {
	return &Refusal{Status: 401, Reason: BadToken, Text: why, Challenge: p.challenge(metadata, "invalid_token", why, p.supported)}
}

func (p *jwtPolicy) newLimiter(subject string, prev *limiter) *limiter {
	return newLimiter(p.grant.Limits, prev, p.toolset+" subject "+p.grant.Issuer+" "+subject, p.shared)
}

func (p *jwtPolicy) limiterOf(subject string) *limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, ok := p.subjects[subject]; ok {
		return l
	}
	if len(p.subjects) >= maxSubjects {
		clear(p.subjects)
	}
	l := p.newLimiter(subject, nil)
	p.subjects[subject] = l
	return l
}

// scopesFor is what to ask for to call a tool: what the token has and the first
// scope that opens the tool.
func (p *jwtPolicy) scopesFor(tool string, has []string) []string {
	out := []string{}
	for _, s := range p.grant.Scopes {
		if slices.Contains(has, s.Scope) {
			out = append(out, s.Scope)
		}
	}
	for _, s := range p.grant.Scopes {
		if patterns(s.Tools).match(tool) {
			return append(out, s.Scope)
		}
	}
	return out
}

// challenge is a WWW-Authenticate header (RFC 6750 §3, RFC 9728 §5.1). Its texts
// are constants and validated scopes and URLs: nothing needs escaping.
func (p *jwtPolicy) challenge(metadata, fault, description string, scopes []string) string {
	var b strings.Builder
	b.WriteString("Bearer ")
	if fault != "" {
		b.WriteString(`error="` + fault + `", error_description="` + description + `", `)
	}
	if len(scopes) > 0 {
		b.WriteString(`scope="` + strings.Join(scopes, " ") + `", `)
	}
	b.WriteString(`resource_metadata="` + metadata + `"`)
	return b.String()
}
