package access

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// keysFresh is how long keys are used without asking again: authorization
	// servers announce a new key hours before they use it.
	keysFresh = 10 * time.Minute
	// keysStale is how long keys are used when the server cannot be reached.
	keysStale = 24 * time.Hour
	// keysPause is the time between two requests for keys, in the long run and while the
	// server fails, so that tokens with made-up key ids cannot make this node ask for each.
	keysPause = 10 * time.Second
	// maxKeysAsked is how many requests may come at once: a key may be new a moment after
	// the last request, and the caller who shows it is not to blame.
	maxKeysAsked = 4
	// keysTimeout of one document.
	keysTimeout = 5 * time.Second
	// maxKeysBytes of one document; large servers publish 20 KB.
	maxKeysBytes = 512 << 10
	// maxKeys of one set.
	maxKeys = 64
	// maxTried is how many keys of a set one token is tried with, when it names none or
	// several have the name: servers announce one or two keys beside the one in use.
	// Anybody may send tokens, and each try takes this node's time.
	maxTried = 8
	// minRSABits of a key (RFC 7518 §3.3).
	minRSABits = 2048
	// maxRSABits and maxRSAExponent of a key: servers have 4,096 bits and 65,537. The
	// time of a try grows with the square of the one and the digits of the other; the
	// keys are those of whoever configures a toolset, the time is that of all.
	maxRSABits, maxRSAExponent = 8192, 1<<16 + 1
)

// KeysOptions configures Keys. HTTP is required.
type KeysOptions struct {
	// HTTP fetches metadata and keys. It must dial through package safedial:
	// issuers come from tenants.
	HTTP   *http.Client
	Logger *slog.Logger // default: discard
}

// Keys finds and keeps the public keys of authorization servers: by the address
// that was configured, or by RFC 8414 metadata or OpenID Connect discovery of the
// issuer. It is safe for concurrent use.
type Keys struct {
	opts KeysOptions
	mu   sync.Mutex
	sets map[[2]string]*keySet // guarded by mu; by issuer and configured address
}

// NewKeys makes Keys. It fails with [problem.InvalidArgument] without HTTP.
func NewKeys(o KeysOptions) (*Keys, error) {
	if o.HTTP == nil {
		return nil, problem.New(problem.InvalidArgument, "the keys of authorization servers need an HTTP client")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.HTTP = withoutDowngrade(o.HTTP)
	return &Keys{opts: o, sets: map[[2]string]*keySet{}}, nil
}

// withoutDowngrade is a client that follows no redirect from https to http: keys that
// came in the clear are those of whoever is on the way. A client that says nothing of
// redirects follows none.
func withoutDowngrade(c *http.Client) *http.Client {
	out, next := *c, c.CheckRedirect
	out.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch {
		case via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https":
			return errDowngrade
		case next == nil:
			return http.ErrUseLastResponse
		}
		return next(r, via)
	}
	return &out
}

func (k *Keys) set(issuer, address string) *keySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := [2]string{issuer, address}
	s := k.sets[key]
	if s == nil {
		s = &keySet{opts: &k.opts, issuer: issuer, address: address, fetching: make(chan struct{}, 1)}
		k.sets[key] = s
	}
	return s
}

// keySet is the keys of one authorization server.
type keySet struct {
	opts            *KeysOptions
	issuer, address string
	state           atomic.Pointer[keyState] // nil: never fetched

	fetching chan struct{} // holds a value while somebody fetches
	asked    time.Time     // guarded by fetching; of the last attempt
	paid     time.Time     // guarded by fetching; until when the attempts so far are paid for, a pause each
	failing  atomic.Bool   // the last attempt failed
}

type keyState struct {
	keys    []key
	fetched time.Time
	// generation changes when the keys do: what one of an older generation verified
	// must be verified again, because its key may have been withdrawn.
	generation uint64
}

type key struct {
	id, alg string // "": any
	public  crypto.PublicKey
}

var (
	errNoKeys    = errors.New("the keys of the authorization server cannot be fetched")
	errNoKey     = errors.New("no key of the authorization server has this id and algorithm")
	errWhich     = errors.New("too many keys of the authorization server have this id and algorithm")
	errDowngrade = errors.New("it redirects from https to http")
	errBadKeys   = errors.New("the document is not a JSON Web Key Set with usable keys")
)

// current is the generation of the keys as they are now, which are fetched again when
// they are old; 0: there are none, or they are too old to trust.
func (s *keySet) current(ctx context.Context, now time.Time) uint64 {
	if s.state.Load() == nil {
		return 0 // and nothing was verified
	}
	if state := s.latest(ctx, now); state != nil {
		return state.generation
	}
	return 0
}

// latest is the keys as they are now, which are fetched again when they are old; nil:
// there are none, or they are too old to trust. A call waits for the server, unless it
// did not answer the last time and there are keys: a server that is away would hold up
// one call in every ten seconds.
func (s *keySet) latest(ctx context.Context, now time.Time) *keyState {
	state := s.state.Load()
	switch {
	case state == nil || now.Sub(state.fetched) > keysStale:
		state = s.refresh(ctx, state, true)
	case now.Sub(state.fetched) > keysFresh && s.failing.Load():
		s.refreshLater(ctx, state)
	case now.Sub(state.fetched) > keysFresh:
		state = s.refresh(ctx, state, false)
	}
	if state == nil || now.Sub(state.fetched) > keysStale {
		return nil
	}
	return state
}

// find returns the key, or the set of keys when the token names none, that may
// have signed, and the generation it is of. It fetches when nothing is known, when
// what is known is old, and when the id is new.
func (s *keySet) find(ctx context.Context, id, alg string) (jwt.VerificationKeySet, uint64, error) {
	state := s.latest(ctx, time.Now())
	if state == nil {
		return jwt.VerificationKeySet{}, 0, errNoKeys
	}
	found := state.find(id, alg)
	if found == nil {
		if state = s.refresh(ctx, state, true); state != nil {
			found = state.find(id, alg)
		}
	}
	if found == nil {
		return jwt.VerificationKeySet{}, 0, errNoKey
	}
	if len(found) > maxTried {
		return jwt.VerificationKeySet{}, 0, errWhich
	}
	return jwt.VerificationKeySet{Keys: found}, state.generation, nil
}

// changed reports whether the keys are others than those of a generation, and asks for
// them: a server may put another key under the id of one that is known.
func (s *keySet) changed(ctx context.Context, generation uint64) bool {
	state := s.state.Load()
	if state != nil && state.generation == generation {
		state = s.refresh(ctx, state, true)
	}
	return state != nil && state.generation != generation
}

// hold reports whether all of these keys are still those of the server, as far as is
// known; it has them asked for when they are old, and does not wait.
func (s *keySet) hold(ctx context.Context, signers []jwt.VerificationKey) bool {
	state := s.state.Load()
	if state == nil || time.Since(state.fetched) > keysStale {
		return false
	}
	if time.Since(state.fetched) > keysFresh {
		s.refreshLater(ctx, state)
	}
	for _, k := range signers {
		if !slices.ContainsFunc(state.keys, func(now key) bool { return reflect.DeepEqual(now.public, k) }) {
			return false
		}
	}
	return true
}

func (k *keyState) find(id, alg string) (out []jwt.VerificationKey) {
	for _, key := range k.keys {
		if (id == "" || key.id == id) && (key.alg == "" || key.alg == alg) && fits(key.public, alg) {
			out = append(out, key.public)
		}
	}
	return out
}

// fits reports whether an algorithm is made for a kind of key: the token's header
// must not choose another reading of it.
func fits(public crypto.PublicKey, alg string) bool {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(alg, "RS") || strings.HasPrefix(alg, "PS")
	case *ecdsa.PublicKey:
		bits := map[string]int{"ES256": 256, "ES384": 384, "ES512": 521}
		return bits[alg] == k.Params().BitSize
	case ed25519.PublicKey:
		return alg == "EdDSA"
	}
	return false
}

// refresh fetches the keys, unless another call just did, and returns the newest state.
// While another call fetches, it waits for what that one gets, or returns what is known.
func (s *keySet) refresh(ctx context.Context, known *keyState, wait bool) *keyState {
	switch {
	case s.begin():
	case !wait:
		return known
	default:
		select {
		case s.fetching <- struct{}{}:
		case <-ctx.Done():
			return known
		}
	}
	defer s.end()
	return s.refreshLocked(ctx, known)
}

// begin reports whether no other call fetches; end follows then.
func (s *keySet) begin() bool {
	select {
	case s.fetching <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *keySet) end() { <-s.fetching }

// refreshLater is refresh behind the back of the call.
func (s *keySet) refreshLater(ctx context.Context, known *keyState) {
	if !s.begin() {
		return
	}
	if time.Since(s.asked) < keysPause {
		s.end()
		return
	}
	go func() {
		defer s.end()
		s.refreshLocked(context.WithoutCancel(ctx), known)
	}()
}

func (s *keySet) refreshLocked(ctx context.Context, known *keyState) *keyState {
	if now := s.state.Load(); now != known {
		return now // another call was faster
	}
	now := time.Now()
	if s.failing.Load() && now.Sub(s.asked) < keysPause || s.paid.Sub(now) > (maxKeysAsked-1)*keysPause {
		return known
	}
	if s.asked = now; s.paid.Before(now) {
		s.paid = now
	}
	s.paid = s.paid.Add(keysPause)
	keys, err := s.fetch(ctx)
	s.failing.Store(err != nil)
	if err != nil {
		s.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the keys of an authorization server cannot be fetched",
			slog.String("issuer", s.issuer), slog.Any("error", err))
		return known
	}
	state := &keyState{keys: keys, fetched: s.asked, generation: 1}
	if known != nil {
		if state.generation = known.generation; !reflect.DeepEqual(known.keys, keys) {
			state.generation++
		}
	}
	s.state.Store(state)
	return state
}

func (s *keySet) fetch(ctx context.Context) ([]key, error) {
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	address := s.address
	if address == "" {
		var err error
		if address, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	b, err := s.get(ctx, address)
	if err != nil {
		return nil, err
	}
	return parseKeys(b)
}

// discover asks for the issuer's metadata at the places of MCP 2026-07-28
// "Authorization Server Metadata Discovery", in its order.
func (s *keySet) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(s.issuer)
	if err != nil {
		return "", fmt.Errorf("reading the issuer %s: %w", s.issuer, err)
	}
	origin, at := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{origin + "/.well-known/oauth-authorization-server" + at, origin + "/.well-known/openid-configuration" + at}
	if at != "" {
		places = append(places, origin+at+"/.well-known/openid-configuration")
	}
	var errs []error
	for _, place := range places {
		b, err := s.get(ctx, place)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var m struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		switch {
		case json.Unmarshal(b, &m) != nil || m.JWKS == "":
			errs = append(errs, fmt.Errorf("%s is not the metadata of an authorization server", place))
		case m.Issuer != s.issuer: // RFC 8414 §3.3
			errs = append(errs, fmt.Errorf("%s is the metadata of another issuer", place))
		case !strings.HasPrefix(m.JWKS, "https://") && u.Scheme == "https":
			errs = append(errs, fmt.Errorf("%s names keys that would come in the clear", place))
		default:
			return m.JWKS, nil
		}
	}
	return "", errors.Join(errs...)
}

func (s *keySet) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", address, err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.opts.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", address, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking for %s: status %d", address, resp.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxKeysBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", address, err)
	}
	if len(b) > maxKeysBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", address, maxKeysBytes)
	}
	return b, nil
}

// parseKeys reads a JSON Web Key Set (RFC 7517). Keys that are not for signatures,
// of a kind that is not known or too weak are left out.
func parseKeys(b []byte) ([]key, error) {
	var set struct {
		Keys []struct {
			Type  string   `json:"kty"`
			Use   string   `json:"use"`
			Ops   []string `json:"key_ops"`
			ID    string   `json:"kid"`
			Alg   string   `json:"alg"`
			Curve string   `json:"crv"`
			N     string   `json:"n"`
			E     string   `json:"e"`
			X     string   `json:"x"`
			Y     string   `json:"y"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, errBadKeys
	}
	var out []key
	for i := range set.Keys {
		k := &set.Keys[i]
		if k.Use != "" && k.Use != "sig" || len(k.Ops) > 0 && !slices.Contains(k.Ops, "verify") || len(out) == maxKeys {
			continue
		}
		var public crypto.PublicKey
		switch k.Type {
		case "RSA":
			public = rsaKey(k.N, k.E)
		case "EC":
			public = ecKey(k.Curve, k.X, k.Y)
		case "OKP":
			if x, err := base64.RawURLEncoding.DecodeString(k.X); err == nil && k.Curve == "Ed25519" && len(x) == ed25519.PublicKeySize {
				public = ed25519.PublicKey(x)
			}
		}
		if public != nil {
			out = append(out, key{id: k.ID, alg: k.Alg, public: public})
		}
	}
	if len(out) == 0 {
		return nil, errBadKeys
	}
	return out, nil
}

func rsaKey(n, e string) crypto.PublicKey {
	nb, err1 := base64.RawURLEncoding.DecodeString(n)
	eb, err2 := base64.RawURLEncoding.DecodeString(e)
	if err1 != nil || err2 != nil || len(eb) > 4 {
		return nil
	}
	k := &rsa.PublicKey{N: new(big.Int).SetBytes(nb), E: int(new(big.Int).SetBytes(eb).Int64())}
	if k.N.BitLen() < minRSABits || k.N.BitLen() > maxRSABits || k.E < 3 || k.E > maxRSAExponent {
		return nil
	}
	return k
}

func ecKey(name, x, y string) crypto.PublicKey {
	curve := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[name]
	xb, err1 := base64.RawURLEncoding.DecodeString(x)
	yb, err2 := base64.RawURLEncoding.DecodeString(y)
	if curve == nil || err1 != nil || err2 != nil {
		return nil
	}
	size := (curve.Params().BitSize + 7) / 8
	if len(xb) != size || len(yb) != size {
		return nil
	}
	// RFC 7518 §6.2: coordinates of full length; the point must be on the curve.
	k, err := ecdsa.ParseUncompressedPublicKey(curve, append(append([]byte{4}, xb...), yb...))
	if err != nil {
		return nil
	}
	return k
}
