package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/guest"
)

// sign has the auth plugin of the tool sign the request, with handles for the
// credentials. A request that it cannot sign is not sent.
func (x *exchange) sign(wire *fasthttp.Request, b credentials.Bound) error {
	p := x.ready.Auth
	given, keys := x.handles(b)
	defer keys.Wipe()
	in, err := json.Marshal(x.signable(wire, given))
	if err != nil {
		return fmt.Errorf("describing a request to plugin %s: %w", p.Ref.Name, err)
	}
	ctx, cancel := context.WithDeadline(x.ctx, x.deadline)
	defer cancel()
	var out []byte
	begin := time.Now()
	err = errNoPlugins
	c := &guest.Context{Caller: x.principalKey, Tool: x.tool.Name, Operation: x.ready.Method + " " + x.ready.Path, Arguments: x.args.Raw(), Keys: keys}
	if x.c.plugins != nil {
		out, err = x.c.plugins.Transform(ctx, nil, in, p, c)
		if err == nil {
			err = x.c.plugins.Check(p, x.principalKey, func() error { return x.patch(wire, out, keys) })
		}
	}
	x.ranPlugin(p, len(in), len(out), begin, time.Since(begin), c.Requests, err)
	if err == nil {
		return nil
	}
	x.c.log.LogAttrs(x.ctx, slog.LevelDebug, "plugin did not sign the request", slog.String("toolset", x.ts.Slug), slog.String("tool", x.tool.Name),
		slog.String("plugin", p.Ref.Name), slog.Any("error", err))
	return problem.New(problem.InvalidPlugin, "the request was not sent: the plugin %s could not sign it", p.Ref.Name).
		Fix("ask the operator of %s to look at the plugin", x.ts.Slug)
}

var typeNames = map[credentials.Type]string{
	credentials.Header: "header", credentials.Query: "query", credentials.Cookie: "cookie", credentials.Body: "body", credentials.Basic: "basic", credentials.Bearer: "bearer", credentials.Token: "token",
}

// handles gives each credential a handle.
func (x *exchange) handles(b credentials.Bound) ([]guest.Credential, *guest.Keys) {
	given := []guest.Credential{}
	var list []secrets.Secret
	for i, r := range b.Rules {
		if r.Type == credentials.Certificate || len(list) == guest.MaxSecrets {
			continue
		}
		c := guest.Credential{Handle: len(list) + 1, Type: typeNames[r.Type], Scheme: r.Scheme}
		secret := b.Values[i].Value
		if r.Type == credentials.Basic {
			user, password, _ := strings.Cut(secret.Reveal(), ":")
			c.Username, secret = user, secrets.New(password)
		}
		given, list = append(given, c), append(list, secret)
	}
	return given, guest.NewKeys(x.ready.Auth.Package, list...)
}

// signable describes the request as it will be sent.
func (x *exchange) signable(req *fasthttp.Request, given []guest.Credential) *guest.Request {
	body := req.Body()
	sum := sha256.Sum256(body)
	r := &guest.Request{
		Method: string(req.Header.Method()), URL: string(req.URI().FullURI()), Headers: [][2]string{{"Host", string(req.URI().Host())}},
		BodyBytes: len(body), BodySHA256: hex.EncodeToString(sum[:]), Time: x.start.UTC().Truncate(time.Second), Credentials: given,
	}
	for name, value := range req.Header.All() {
		if !strings.EqualFold(string(name), "Host") {
			r.Headers = append(r.Headers, [2]string{string(name), string(value)})
		}
	}
	if len(body) <= guest.MaxSignedBody {
		r.Body = body
	}
	return r
}

// patch applies the answer of an auth plugin, all of it or nothing. Scheme, host,
// path and method stay.
func (x *exchange) patch(req *fasthttp.Request, answer []byte, keys *guest.Keys) error {
	p, err := guest.ParsePatch(answer)
	if err != nil {
		return err
	}
	for _, names := range [...]iter.Seq[string]{maps.Keys(p.Headers), maps.Keys(p.Tokens)} {
		for name := range names {
			if reserved(name) || overrides(name) {
				return fmt.Errorf("its patch sets the header %.80q, which belongs to the connection or gives the method, the path or the host", name)
			}
		}
	}
	for name, held := range p.Tokens {
		token, ok := keys.Token(held.Handle)
		if !ok {
			return fmt.Errorf("its patch sets the header %.80q to a token that it has not", name)
		}
		if p.Headers == nil {
			p.Headers = make(map[string]string, len(p.Tokens))
		}
		p.Headers[name] = held.Prefix + token
	}
	for name, value := range p.Headers {
		req.Header.Set(name, value)
		x.signed.headers = append(x.signed.headers, name)
	}
	if len(p.Query) > 0 {
		query := req.URI().QueryString()
		for _, q := range p.Query {
			if len(query) > 0 {
				query = append(slices.Clip(query), '&')
			}
			x.signed.queries = append(x.signed.queries, q.Name)
			query = append(query, queryEscape(q.Name)+"="+queryEscape(q.Value)...)
		}
		req.URI().SetQueryStringBytes(query)
	}
	if p.Body != nil {
		req.SetBodyRaw(p.Body)
	}
	return nil
}

// overrides reports whether there are servers that take the method, the path or the host of
// a request from a header: an auth plugin signs a request, and makes no other of it.
func overrides(name string) bool {
	for _, h := range [...]string{
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-Method", "X-Original-URL", "X-Rewrite-URL", "X-Original-URI",
		"X-Forwarded-Host", "X-Host", "X-Original-Host", "Forwarded",
	} {
		if strings.EqualFold(name, h) {
			return true
		}
	}
	return false
}

// queryEscape escapes everything but unreserved characters (RFC 3986 §2.3).
func queryEscape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// stripCredentials removes the credentials of the call on a cross-origin redirect.
func (x *exchange) stripCredentials() upstream.Stripper {
	x.stripper = credentialStripper{x.bound, x.signed.headers, x.signed.queries}
	return &x.stripper
}

// credentialStripper removes what credentials and an auth plugin put on a request.
type credentialStripper struct {
	bound   credentials.Bound
	headers []string
	queries []string
}

// Strip implements [upstream.Stripper].
func (s *credentialStripper) Strip(req *fasthttp.Request) {
	s.bound.Strip(req)
	for _, n := range s.headers {
		req.Header.Del(n)
	}
	for _, n := range s.queries {
		credentials.StripQuery(req, n)
	}
}
