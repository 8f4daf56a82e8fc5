package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/registry"
)

// rawToken signs a header and claims as they are written, which no library would
// write.
func rawToken(t testing.TB, key *ecdsa.PrivateKey, header, claims string) string {
	t.Helper()
	signed := b64([]byte(header)) + "." + b64([]byte(claims))
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return "Bearer " + signed + "." + b64(sig)
}

// TestTokenForms: what a signed token must not be, whoever signed it.
func TestTokenForms(t *testing.T) {
	i := newIssuer(t)
	key := ecKeyOf(t, elliptic.P256())
	i.publish(publicJWK(t, "1", key))
	p := compile(t, &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{
		Issuer: i.URL + "/tenant", Scopes: []registry.ScopeGrant{{Scope: "read", Tools: []string{"get_*"}}},
	}}, newKeys(t, i), nil)
	plain, err := json.Marshal(i.claims(nil))
	if err != nil {
		t.Fatal(err)
	}
	body := strings.TrimSuffix(string(plain), "}")
	f := func(name, header, claims, want string) {
		t.Helper()
		pass, refusal := admit(t, p, rawToken(t, key, header, claims))
		switch {
		case want == "" && refusal != nil:
			t.Errorf("%s: refused: %s", name, refusal.Text)
		case want != "" && (refusal == nil || refusal.Status != 401 || refusal.Reason != BadToken || refusal.Text != want ||
			!strings.Contains(refusal.Challenge, `error="invalid_token"`)):
			t.Errorf("%s: %+v, want %q", name, refusal, want)
		}
		pass.Leave()
	}
	head := func(more string) string { return `{"alg":"ES256","kid":"1"` + more + `}` }
	header := func(name, more, want string) {
		t.Helper()
		f(name, head(more), body+"}", want)
	}
	claim := func(name, more, want string) {
		t.Helper()
		f(name, head(""), body+more+"}", want)
	}

	// crit (RFC 7515 §4.1.11): nothing is understood, so nothing may be critical.
	header("crit unknown", `,"crit":["exp2"],"exp2":1`, whyCritical)
	header("crit of b64", `,"crit":["b64"]`, whyCritical)
	header("crit empty", `,"crit":[]`, whyCritical)
	header("crit null", `,"crit":null`, whyCritical)
	header("crit that is not a list", `,"crit":"exp"`, whyCritical)
	header("crit escaped", `,"cr\u0069t":["x"]`, whyCritical)

	// typ: access tokens only (RFC 9068 §4, RFC 8725 §3.11).
	for _, ok := range []string{"at+jwt", "AT+JWT", "application/at+jwt", "JWT", "jwt", "application/JWT"} {
		header("typ "+ok, `,"typ":"`+ok+`"`, "")
	}
	header("no typ", ``, "")
	for _, other := range []string{"id_token+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt", "oauth-authz-req+jwt", "ID", "", "at+jwt ", "text/at+jwt"} {
		header("typ "+other, `,"typ":"`+other+`"`, whyKind)
	}
	header("typ that is not text", `,"typ":["at+jwt"]`, whyKind)

	// ID tokens whose header does not say so.
	claim("at_hash", `,"at_hash":"x"`, whyKind)
	claim("c_hash", `,"c_hash":"x"`, whyKind)
	claim("events", `,"events":{}`, whyKind)
	claim("Keycloak's ID token", `,"typ":"ID"`, whyKind)
	claim("Keycloak's refresh token", `,"typ":"Refresh"`, whyKind)
	claim("Keycloak's access token", `,"typ":"Bearer"`, "")
	claim("Cognito's ID token", `,"token_use":"id"`, whyKind)
	claim("Cognito's access token", `,"token_use":"access"`, "")
	claim("token_use that is not text", `,"token_use":1`, whyKind)
	claim("nonce in an access token", `,"nonce":"x"`, "")

	// What the payload is, is not for the header to change.
	header("b64", `,"b64":false`, whyMalformed)
	header("zip", `,"zip":"DEF"`, whyMalformed)
	header("nested", `,"cty":"JWT"`, whyMalformed)
	header("cty json", `,"cty":"json"`, "")
	// Keys come from the issuer only.
	header("jwk, jku, x5u", `,"jwk":{"kty":"EC"},"jku":"https://evil.example","x5u":"https://evil.example"`, "")
	f("kid a number", `{"alg":"ES256","kid":1}`, body+"}", whyMalformed)
	f("kid null", `{"alg":"ES256","kid":null}`, body+"}", whyMalformed)
	f("kid of a path", `{"alg":"ES256","kid":"../1"}`, body+"}", "the signature of the token is not valid")

	// A name twice is read differently by different parsers.
	f("alg twice", `{"alg":"none","alg":"ES256","kid":"1"}`, body+"}", whyMalformed)
	claim("sub twice", `,"sub":"root"`, whyMalformed)
	claim("sub twice, escaped", `,"s\u0075b":"root"`, whyMalformed)
	// Package json would take these for the claims.
	claim("SUB is not sub", `,"SUB":"root"`, "")
	pass, refusal := admit(t, p, rawToken(t, key, head(""), body+`,"Sub":"root","SCOPE":"write","Exp":1}`))
	if refusal != nil || pass.Principal().ID() != "alice" || pass.MayCall("get_x", metadata) != nil {
		t.Errorf("claims in other letters: %+v, %+v", pass.Principal(), refusal)
	}
	f("AUD is not aud", head(""), strings.Replace(body, `"aud"`, `"AUD"`, 1)+"}", "the token was issued for another resource")

	// Times that overflow, and values of other types.
	for _, bad := range []string{`1e300`, `-1`, fmt.Sprint(maxTokenTime + 1), `"tomorrow"`, `{}`, `"` + fmt.Sprint(maxTokenTime) + `"`} {
		f("exp "+bad, head(""), replaceClaim(t, plain, "exp", bad), whyMalformed)
	}
	f("the last time there is", head(""), replaceClaim(t, plain, "exp", fmt.Sprint(maxTokenTime)), "")
	f("sub a number", head(""), replaceClaim(t, plain, "sub", "7"), whyMalformed)
	// Texts that are none would be one subject: half a surrogate pair, bytes that are not UTF-8.
	f("sub half a pair", head(""), strings.Replace(body, `"alice"`, `"\ud800"`, 1)+"}", whyMalformed)
	f("sub no UTF-8", head(""), strings.Replace(body, `"alice"`, "\"a\xff\"", 1)+"}", whyMalformed)
	f("scope a number", head(""), replaceClaim(t, plain, "scope", "7"), whyMalformed)

	// Forms.
	f("a header that is not an object", `["ES256"]`, body+"}", whyMalformed)
	f("claims that are not object", head(""), `[]`, whyMalformed)
	f("claims too deep", head(""), body+`,"x":`+strings.Repeat("[", maxTokenDepth)+strings.Repeat("]", maxTokenDepth)+"}", whyMalformed)
	f("claims as deep as may be", head(""), body+`,"x":`+strings.Repeat("[", maxTokenDepth-1)+strings.Repeat("]", maxTokenDepth-1)+"}", "")
	good := rawToken(t, key, head(""), body+"}")
	for name, bad := range map[string]string{"five parts": good + ".x.y", "four parts": good + ".", "padded": good + "==", "two parts": good[:strings.LastIndexByte(good, '.')]} {
		if _, refusal := admit(t, p, bad); refusal == nil || refusal.Text != whyMalformed {
			t.Errorf("%s: %+v", name, refusal)
		}
	}
	// One signature has one form: the last character of 64 bytes has four bits that say nothing.
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, good[len(good)-1])
	if _, refusal := admit(t, p, good[:len(good)-1]+alphabet[last+1:last+2]); refusal == nil || refusal.Text != whyMalformed {
		t.Errorf("another form of the signature: %+v", refusal)
	}
}

func replaceClaim(t testing.TB, claims []byte, name, raw string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(claims, &m); err != nil {
		t.Fatal(err)
	}
	m[name] = json.RawMessage(raw)
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestTokenLength: a token is looked at up to maxToken and not past it.
func TestTokenLength(t *testing.T) {
	i := newIssuer(t)
	key := ecKeyOf(t, elliptic.P256())
	i.publish(publicJWK(t, "1", key))
	p := compile(t, &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{Issuer: i.URL + "/tenant"}}, newKeys(t, i), nil)
	ofLength := func(n int) string {
		for pad := n / 2; ; pad++ {
			claims, err := json.Marshal(i.claims(map[string]any{"pad": strings.Repeat("x", pad)}))
			if err != nil {
				t.Fatal(err)
			}
			if tok := rawToken(t, key, `{"alg":"ES256","kid":"1"}`, string(claims)); len(tok)-len("Bearer ") >= n {
				return tok
			}
		}
	}
	if _, refusal := admit(t, p, ofLength(maxToken)); refusal != nil {
		t.Errorf("a token of %d bytes: %+v", maxToken, refusal)
	}
	if _, refusal := admit(t, p, ofLength(maxToken+1)); refusal == nil || refusal.Text != whyMalformed {
		t.Errorf("a token of %d bytes: %+v", maxToken+1, refusal)
	}
}

// FuzzInspect: whatever a token looks like, it is judged without a fault, and one
// that passes has a header and claims that package json reads the same.
func FuzzInspect(f *testing.F) {
	for _, s := range []string{"", ".", "..", "e30.e30.", "eyJhbGciOiJFUzI1NiJ9.e30.AA", "eyJjcml0IjpbXX0.e30.AA"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, token []byte) {
		if inspect(token) != "" {
			return
		}
		parts := strings.Split(string(token), ".")
		if len(parts) != 3 {
			t.Fatalf("%d parts passed", len(parts))
		}
		for _, part := range parts[:2] {
			v, ok := object([]byte(part))
			var m map[string]json.RawMessage
			if !ok || json.Unmarshal(v.Raw(), &m) != nil || len(m) != v.Len() {
				t.Fatalf("passed, and package json reads %d members of %d", len(m), v.Len())
			}
		}
	})
}
