package access

import (
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestKeysAge: keys serve for ten minutes unasked and for a day when the server is away, and
// the server is asked every ten seconds at most in the long run; of each bound the last moment and the next.
func TestKeysAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		status, body := 200, []byte(nil)
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			if r.Header.Get("Accept") != "application/json" {
				t.Errorf("Accept %q", r.Header.Get("Accept"))
			}
			w := httptest.NewRecorder()
			w.WriteHeader(status)
			_, _ = w.Write(body)
			return w.Result(), nil
		})}
		keySetOf := func(ids ...string) []byte {
			var keys []any
			for _, id := range ids {
				keys = append(keys, publicJWK(t, id, ecKeyOf(t, elliptic.P256())))
			}
			b, err := json.Marshal(map[string]any{"keys": keys})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		k, err := NewKeys(KeysOptions{HTTP: client})
		if err != nil {
			t.Fatal(err)
		}
		s := k.set("https://as.example", "https://as.example/jwks")
		find := func(what, id string, want error, asks int) uint64 {
			t.Helper()
			asked = 0
			_, generation, err := s.find(t.Context(), id, "ES256")
			if !errors.Is(err, want) || asked != asks {
				t.Errorf("%s: %v after %d requests; want %v after %d", what, err, asked, want, asks)
			}
			return generation
		}
		status = 500
		find("no server", "1", errNoKeys, 1)
		status, body = 200, keySetOf("1")
		find("asked again at once", "1", errNoKeys, 0)
		time.Sleep(keysPause - 1)
		find("just before the pause ends", "1", errNoKeys, 0)
		time.Sleep(time.Nanosecond)
		first := find("the pause is over", "1", nil, 1)
		time.Sleep(keysFresh)
		find("as old as fresh keys may be", "1", nil, 0)
		if got := s.current(t.Context(), time.Now()); got != first {
			t.Errorf("generation %d, want %d", got, first)
		}
		time.Sleep(time.Nanosecond)
		if got := find("older", "1", nil, 1); got != first {
			t.Errorf("the same keys are of generation %d, want %d", got, first)
		}
		time.Sleep(keysPause)
		body = keySetOf("1", "2")
		if got := find("an id that is new", "2", nil, 1); got != first+1 {
			t.Errorf("other keys are of generation %d, want %d", got, first+1)
		}
		time.Sleep(keysPause)
		find("an id that nobody has", "3", errNoKey, 1)
		for range maxKeysAsked - 1 {
			find("and again", "3", errNoKey, 1)
		}
		find("and once too often", "3", errNoKey, 0)
		time.Sleep(keysPause - 1)
		find("just before the next one", "3", errNoKey, 0)
		time.Sleep(time.Nanosecond)
		find("after a pause", "3", errNoKey, 1)
		fetched := s.state.Load().fetched
		status = 503
		time.Sleep(keysStale - time.Since(fetched))
		find("as old as stale keys may be", "1", nil, 1)
		time.Sleep(time.Nanosecond)
		find("older than a day", "1", errNoKeys, 0)
		if got := s.current(t.Context(), time.Now()); got != 0 {
			t.Errorf("generation %d of keys that are too old", got)
		}
		if s.hold(t.Context(), []jwt.VerificationKey{s.state.Load().keys[0].public}) {
			t.Error("keys that are too old hold an open stream")
		}
		// Who finds that another call was faster takes what that one got.
		known := s.state.Load()
		faster := &keyState{keys: known.keys, fetched: time.Now(), generation: 9}
		s.state.Store(faster)
		time.Sleep(keysPause)
		asked = 0
		if got := s.refresh(t.Context(), known, false); got != faster || asked != 0 {
			t.Errorf("%+v after %d requests", got, asked)
		}
		s.begin()
		if got := s.refresh(t.Context(), faster, false); got != faster || asked != 0 {
			t.Errorf("while another call fetches: %+v after %d requests", got, asked)
		}
		s.end()
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestPlacesOfMetadata: metadata counts from each of its places, and none that is not of the issuer.
func TestPlacesOfMetadata(t *testing.T) {
	answers := map[string]string{}
	k, err := NewKeys(KeysOptions{HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if answer, ok := answers[r.URL.String()]; ok {
			_, _ = w.WriteString(answer)
		} else {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.WriteString(`{"issuer":"https://as.example","jwks_uri":"https://evil.example"}`)
		}
		return w.Result(), nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	for _, c := range []struct{ issuer, at, answer, want, fault string }{
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://as.example","jwks_uri":"https://as.example/k"}`, "https://as.example/k", ""},
		{"https://as.example", "https://as.example" + openid, `{"issuer":"https://as.example","jwks_uri":"https://as.example/k"}`, "https://as.example/k", ""},
		{"https://as.example/t", "https://as.example" + oauth + "/t", `{"issuer":"https://as.example/t","jwks_uri":"https://cdn.example/k"}`, "https://cdn.example/k", ""},
		{"https://as.example/t", "https://as.example" + openid + "/t", `{"issuer":"https://as.example/t","jwks_uri":"https://cdn.example/k"}`, "https://cdn.example/k", ""},
		{"https://as.example/t", "https://as.example/t" + openid, `{"issuer":"https://as.example/t","jwks_uri":"https://cdn.example/k"}`, "https://cdn.example/k", ""},
		{"https://as.example/t/", "https://as.example/t" + openid, `{"issuer":"https://as.example/t/","jwks_uri":"https://cdn.example/k"}`, "https://cdn.example/k", ""},
		{"http://as.example", "http://as.example" + oauth, `{"issuer":"http://as.example","jwks_uri":"http://as.example/k"}`, "http://as.example/k", ""},
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://as.example","jwks_uri":"http://as.example/k"}`, "", "in the clear"},
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://as.example","jwks_uri":""}`, "", "is not the metadata of an authorization server"},
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://as.example","jwks_uri":"https://as.example/k"`, "", "is not the metadata of an authorization server"},
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://other.example","jwks_uri":"https://as.example/k"}`, "", "of another issuer"},
		{"https://as.example", "https://as.example" + oauth, `{"jwks_uri":"https://as.example/k"}`, "", "of another issuer"},
		{"https://as.example", "https://as.example" + oauth, `{"issuer":"https://as.example/","jwks_uri":"https://as.example/k"}`, "", "of another issuer"},
		{"https://as.example/t/", "https://as.example/t" + openid, `{"issuer":"https://as.example/t","jwks_uri":"https://cdn.example/k"}`, "", "of another issuer"},
		{"https://as.example", "", "", "", "status 404"},
		{"https://as.example/%zz", "", "", "", "reading the issuer"},
		{"https://as.example\x7f", "", "", "", "reading the issuer"},
	} {
		answers = map[string]string{c.at: c.answer}
		got, err := k.set(c.issuer, "").discover(t.Context())
		if got != c.want || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s at %s: %q, %v; want %q, %q", c.issuer, c.at, got, err, c.want, c.fault)
		}
		if _, err := k.set(c.issuer, "").fetch(t.Context()); c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("fetch of %s: %v", c.issuer, err)
		}
	}
	if _, err := k.set("x", "https://as.example\x7f").fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "asking for") {
		t.Errorf("%v", err)
	}
	k.opts.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") })}
	if _, err := k.set("y", "https://as.example/k").fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "no network") {
		t.Errorf("%v", err)
	}
	k.opts.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: broken{}}, nil
	})}
	if _, err := k.set("z", "https://as.example/k").fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "reading https://as.example/k") {
		t.Errorf("%v", err)
	}
	if k, err := NewKeys(KeysOptions{}); !problem.Is(err, problem.InvalidArgument) || k != nil {
		t.Errorf("without a client: %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cut off") }

func (broken) Close() error { return nil }

// TestWhichKeys: of a set those are taken that may verify and are whole, with their id and
// algorithm; and of those the ones that a token may name.
func TestWhichKeys(t *testing.T) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change map[string]any) map[string]any {
		k := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(public), "kid": "1"}
		maps.Copy(k, change)
		return k
	}
	long := append(append([]byte{}, public...), 1) // 33 bytes, a multiple of three
	for _, c := range []struct {
		change map[string]any
		ok     bool
	}{
		{nil, true},
		{map[string]any{"use": "sig"}, true},
		{map[string]any{"use": "enc"}, false},
		{map[string]any{"key_ops": []string{"verify"}}, true},
		{map[string]any{"key_ops": []string{"sign", "verify"}}, true},
		{map[string]any{"key_ops": []string{"encrypt"}}, false},
		{map[string]any{"key_ops": []string{"sign", "wrapKey"}}, false},
		{map[string]any{"key_ops": []string{}}, true},
		{map[string]any{"use": "enc", "key_ops": []string{"verify"}}, false},
		{map[string]any{"use": "sig", "key_ops": []string{"encrypt"}}, false},
		{map[string]any{"crv": "X25519"}, false},
		{map[string]any{"crv": ""}, false},
		{map[string]any{"x": b64(public[:31])}, false},
		{map[string]any{"x": b64(long)}, false},
		{map[string]any{"x": b64(public) + "!"}, false},
		{map[string]any{"x": ""}, false},
		{map[string]any{"kty": "oct"}, false},
		{map[string]any{"kty": ""}, false},
	} {
		b, err := json.Marshal(map[string]any{"keys": []any{with(c.change)}})
		if err != nil {
			t.Fatal(err)
		}
		if keys, err := parseKeys(b); (err == nil) != c.ok || (len(keys) == 1) != c.ok || !c.ok && !errors.Is(err, errBadKeys) {
			t.Errorf("%v: %d keys, %v", c.change, len(keys), err)
		}
	}
	good, err := json.Marshal(with(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{"", "{}", "[]", `{"keys":[]}`, `{"keys":[` + string(good) + `]`, `{"keys":[` + string(good) + `,{"kty":7}]}`} {
		if keys, err := parseKeys([]byte(doc)); !errors.Is(err, errBadKeys) || keys != nil {
			t.Errorf("%s: %v, %v", doc, keys, err)
		}
	}
	state := &keyState{keys: []key{{id: "a", public: public}, {id: "b", alg: "EdDSA", public: public}, {id: "c", alg: "ES256", public: public}, {id: "EdDSA", alg: "b", public: public}}}
	for _, c := range []struct {
		id, alg string
		n       int
	}{{"a", "EdDSA", 1}, {"b", "EdDSA", 1}, {"c", "EdDSA", 0}, {"c", "ES256", 0}, {"a", "ES256", 0}, {"", "EdDSA", 2}, {"x", "EdDSA", 0}, {"EdDSA", "b", 0}} {
		if got := state.find(c.id, c.alg); len(got) != c.n {
			t.Errorf("%q for %s: %d keys, want %d", c.id, c.alg, len(got), c.n)
		}
	}
	// What decoding stops at is refused, though what stands before it would do.
	number := b64(new(big.Int).Lsh(big.NewInt(1), 2063).Bytes()) // whole groups of base64
	if k := rsaKey(number, "AQAB"); k == nil {
		t.Error("the control")
	}
	for _, bad := range [][2]string{{number + "!", "AQAB"}, {number, "AQAB!"}, {number + "!", "AQAB!"}, {number, ""}, {"", "AQAB"}} {
		if k := rsaKey(bad[0], bad[1]); k != nil {
			t.Errorf("a key of %.10q and %q", bad[0], bad[1])
		}
	}
}
