package access

import (
	"crypto/elliptic"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluicegate/sluice/registry"
)

// turning is an authorization server in memory whose keys change and that may be slow:
// its time is that of the test.
type turning struct {
	mu     sync.Mutex
	keys   []map[string]any
	status int
	slow   time.Duration
	asked  int
}

// RoundTrip implements [http.RoundTripper].
func (s *turning) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked++
	slow, status := s.slow, s.status
	body, err := json.Marshal(map[string]any{"keys": s.keys})
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(slow):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return w.Result(), nil
}

func (s *turning) set(slow time.Duration, status int, keys ...map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow, s.status, s.keys = slow, status, keys
}

// count is how often the server was asked.
func (s *turning) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

const turningIssuer = "https://as.example"

func (s *turning) door(t *testing.T, prev *Policy, scopes ...registry.ScopeGrant) *Policy {
	t.Helper()
	var k *Keys
	if prev == nil {
		var err error
		if k, err = NewKeys(KeysOptions{HTTP: &http.Client{Transport: s}}); err != nil {
			t.Fatal(err)
		}
	} else {
		k = &Keys{sets: map[[2]string]*keySet{{turningIssuer, turningIssuer + "/jwks"}: prev.jwt.keys}}
	}
	return compile(t, &registry.AccessDocument{
		Mode: registry.AccessJWT, JWT: &registry.JWTGrant{Issuer: turningIssuer, JWKSURL: turningIssuer + "/jwks", Scopes: scopes},
	}, k, prev)
}

func turningClaims() jwt.MapClaims {
	return jwt.MapClaims{"iss": turningIssuer, "sub": "alice", "aud": resource, "exp": time.Now().Add(240 * time.Hour).Unix(), "scope": "read"}
}

func refused(t *testing.T, what string, p *Policy, token string, status int) {
	t.Helper()
	got := 0
	pass, refusal := admit(t, p, token)
	if refusal != nil {
		got = refusal.Status
	} else {
		pass.Leave()
	}
	if got != status {
		t.Errorf("%s: status %d, want %d", what, got, status)
	}
}

// TestKeyReplacedUnderItsName: a server that puts another key under the same id, or has
// one key without an id, is asked again when a signature does not fit.
func TestKeyReplacedUnderItsName(t *testing.T) {
	for _, id := range []string{"current", ""} {
		synctest.Test(t, func(t *testing.T) {
			s := &turning{}
			first, second := ecKeyOf(t, elliptic.P256()), ecKeyOf(t, elliptic.P256())
			s.set(0, 200, publicJWK(t, id, first))
			p := s.door(t, nil)
			old, next := signed(t, jwt.SigningMethodES256, id, first, turningClaims()), signed(t, jwt.SigningMethodES256, id, second, turningClaims())
			refused(t, "the first key", p, old, 0)
			time.Sleep(keysPause)
			s.set(0, 200, publicJWK(t, id, second))
			refused(t, "the key that took its place", p, next, 0)
			refused(t, "the key that was replaced", p, old, 401)
			for range 20 { // nobody makes this node ask for each
				refused(t, "a forged signature", p, next[:len(next)-8]+"AAAAAAAA", 401)
			}
			if n := s.count(); n != 1+maxKeysAsked {
				t.Errorf("id %q: asked %d times, want %d", id, n, 1+maxKeysAsked)
			}
		})
	}
}

// TestNewKeyAtOnce: a key that is new a moment after the server was asked is let in, and so
// are the next ones, as far as the requests that may come at once reach; strangers who name
// made-up keys take those, and then a new key waits for the pause at most.
func TestNewKeyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turning{}
		key := ecKeyOf(t, elliptic.P256())
		token := func(id string) string { return signed(t, jwt.SigningMethodES256, id, key, turningClaims()) }
		var p *Policy
		for i := range maxKeysAsked {
			id := string(rune('a' + i))
			s.set(0, 200, publicJWK(t, id, key))
			if p == nil {
				p = s.door(t, nil)
			}
			refused(t, "the new key "+id, p, token(id), 0)
		}
		s.set(0, 200, publicJWK(t, "late", key))
		refused(t, "one too many at once", p, token("late"), 401)
		time.Sleep(keysPause)
		refused(t, "after the pause", p, token("late"), 0)
		for range 3 {
			time.Sleep(keysPause)
			for range 50 {
				refused(t, "a made-up key", p, token("stranger"), 401)
			}
		}
		if n := s.count(); n != maxKeysAsked+1+3 {
			t.Errorf("asked %d times, want %d", n, maxKeysAsked+1+3)
		}
		s.set(0, 500)
		time.Sleep(maxKeysAsked * keysPause)
		before := s.count()
		for range 50 {
			refused(t, "while the server fails", p, token("stranger"), 401)
		}
		if n := s.count() - before; n != 1 {
			t.Errorf("a server that fails was asked %d times at once", n)
		}
	})
}

// TestRotationUnderLoad: of many calls that come with a new key at once, one asks for it,
// and the others wait for what it gets.
func TestRotationUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turning{}
		first, second := ecKeyOf(t, elliptic.P256()), ecKeyOf(t, elliptic.P256())
		s.set(0, 200, publicJWK(t, "1", first))
		p := s.door(t, nil)
		refused(t, "the first key", p, signed(t, jwt.SigningMethodES256, "1", first, turningClaims()), 0)
		time.Sleep(keysPause)
		s.set(time.Second, 200, publicJWK(t, "2", second))
		next := signed(t, jwt.SigningMethodES256, "2", second, turningClaims())
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { refused(t, "one of many with the new key", p, next, 0) })
		}
		wg.Wait()
		if n := s.count(); n != 2 {
			t.Errorf("asked %d times, want 2", n)
		}
	})
}

// TestSlowKeysHoldUpOneCall: where keys are known, a server that does not answer holds up
// one call, not one in every ten seconds, and what it says later counts.
func TestSlowKeysHoldUpOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turning{}
		first, second := ecKeyOf(t, elliptic.P256()), ecKeyOf(t, elliptic.P256())
		s.set(0, 200, publicJWK(t, "1", first))
		p := s.door(t, nil)
		token := signed(t, jwt.SigningMethodES256, "1", first, turningClaims())
		refused(t, "the first call", p, token, 0)
		time.Sleep(keysFresh + 1)
		s.set(time.Hour, 200)
		held := 0
		for range 100 {
			began := time.Now()
			refused(t, "a call", p, token, 0)
			if time.Since(began) > 0 {
				held++
			}
			time.Sleep(time.Second)
		}
		if n := s.count(); held != 1 || n < 8 {
			t.Errorf("%d of 100 calls were held up, asked %d times", held, n)
		}
		s.set(0, 200, publicJWK(t, "2", second))
		time.Sleep(keysPause)
		refused(t, "the call that has the server asked", p, token, 0)
		synctest.Wait()
		refused(t, "a key that is gone", p, token, 401)
	})
}

// TestRenewWithdrawnKey: a stream ends when the key that signed its token is withdrawn or
// the operator names other keys, and not because a key was added.
func TestRenewWithdrawnKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turning{}
		first, second := ecKeyOf(t, elliptic.P256()), ecKeyOf(t, elliptic.P256())
		s.set(0, 200, publicJWK(t, "1", first))
		p := s.door(t, nil)
		pass, refusal := admit(t, p, signed(t, jwt.SigningMethodES256, "1", first, turningClaims()))
		if refusal != nil {
			t.Fatal(refusal)
		}
		f := func(what string, p *Policy, want bool) {
			t.Helper()
			synctest.Wait()
			if _, valid, _ := p.Renew(pass); valid != want {
				t.Errorf("%s: valid %v, want %v", what, valid, want)
			}
			synctest.Wait() // keys that are old are asked for meanwhile
		}
		f("as it was", p, true)
		f("the same door again", s.door(t, p), true)
		other := &turning{}
		other.set(0, 200, publicJWK(t, "1", second))
		f("other keys", other.door(t, nil), false)
		s.set(0, 200, publicJWK(t, "1", first), publicJWK(t, "2", second))
		time.Sleep(keysFresh + 1)
		f("a key is added, not asked for yet", p, true)
		f("a key is added", p, true)
		s.set(0, 200, publicJWK(t, "2", second))
		time.Sleep(keysFresh + 1)
		f("the key is withdrawn, not asked for yet", p, true)
		f("the key is withdrawn", p, false)
	})
}

// TestRenewScopes: a stream goes on with what its token's scopes open now.
func TestRenewScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turning{}
		key := ecKeyOf(t, elliptic.P256())
		s.set(0, 200, publicJWK(t, "1", key))
		p := s.door(t, nil, registry.ScopeGrant{Scope: "read", Tools: []string{"get_*"}})
		pass, refusal := admit(t, p, signed(t, jwt.SigningMethodES256, "1", key, turningClaims()))
		if refusal != nil {
			t.Fatal(refusal)
		}
		now, valid, _ := s.door(t, p, registry.ScopeGrant{Scope: "read", Tools: []string{"list"}}).Renew(pass)
		if !valid || now.MayCall("get_one", metadata) == nil || now.MayCall("list", metadata) != nil {
			t.Errorf("valid %v, of other scopes: %+v, %+v", valid, now.MayCall("get_one", metadata), now.MayCall("list", metadata))
		}
	})
}

// TestKeysRedirectedToTheClear: keys behind TLS are not taken from a place without, though
// a redirect leads there.
func TestKeysRedirectedToTheClear(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("keys were fetched in the clear") }))
	defer plain.Close()
	s := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer s.Close()
	k, err := NewKeys(KeysOptions{HTTP: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.set(s.URL, s.URL+"/jwks").fetch(t.Context()); err == nil {
		t.Error("keys in the clear were taken")
	}
}
