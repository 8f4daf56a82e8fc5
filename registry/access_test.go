package registry

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

func accessDocument() *AccessDocument {
	return &AccessDocument{
		FormatVersion: AccessFormat, Workspace: "w", Toolset: "ts_1", Mode: AccessToken,
		Tokens: []TokenGrant{
			{ID: "b", Name: "B", Hash: strings.Repeat("b", 64), Tools: []string{"get_*"}, Limits: &RateLimits{RequestsPerMinute: 60, Burst: 5, Concurrent: 2, RequestBytes: 10}},
			{ID: "a", Name: "A", Hash: strings.Repeat("a", 64), Expires: new(time.Date(2030, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600)))},
		},
	}
}

func jwtDocument() *AccessDocument {
	return &AccessDocument{
		FormatVersion: AccessFormat, Workspace: "w", Toolset: "ts_1", Mode: AccessJWT,
		JWT: &JWTGrant{Issuer: "https://id.example/t", JWKSURL: "https://id.example/keys", Scopes: []ScopeGrant{{Scope: "read", Tools: []string{"*"}}}},
	}
}

// TestAccessRoundTrip: a document reads back as it was written, and the order in
// which tokens were made does not matter.
func TestAccessRoundTrip(t *testing.T) {
	d := accessDocument()
	b, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `"expires":"2030-01-02T02:04:05Z"`) {
		t.Errorf("a time is not in UTC and whole seconds: %s", b)
	}
	read, err := ParseAccess(b)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := read.Encode(); err != nil || !bytes.Equal(again, b) {
		t.Errorf("%s became %s, %v", b, again, err)
	}
	d.Tokens[0], d.Tokens[1] = d.Tokens[1], d.Tokens[0]
	if again, err := d.Encode(); err != nil || !bytes.Equal(again, b) {
		t.Errorf("the order of tokens matters: %s, %v", again, err)
	}
	if b, err = jwtDocument().Encode(); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseAccess(b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "{}", string(b) + "{}", strings.Replace(string(b), `"mode"`, `"Mode"`, 1), strings.Replace(string(b), `{"formatVersion":1`, `{"formatVersion":1,"open":true`, 1)} {
		if d, err := ParseAccess([]byte(bad)); err == nil {
			t.Errorf("%s was read as %+v", bad, d)
		}
	}
}

func TestAccessFaults(t *testing.T) {
	f := func(at string, d *AccessDocument, change func(*AccessDocument)) {
		t.Helper()
		change(d)
		err := d.Validate()
		if p := problem.As(err); p == nil || p.Kind != problem.InvalidArgument || !strings.HasPrefix(p.Place.Pointer, at) {
			t.Errorf("%s: %v", at, err)
		}
	}
	f("/mode", accessDocument(), func(d *AccessDocument) { d.Mode, d.Tokens = "retina", nil })
	f("/tokens", accessDocument(), func(d *AccessDocument) { d.Mode = AccessNone })
	f("/tokens/1/id", accessDocument(), func(d *AccessDocument) { d.Tokens[1].ID = "b" })
	f("/tokens/1/hash", accessDocument(), func(d *AccessDocument) { d.Tokens[1].Hash = d.Tokens[0].Hash })
	f("/tokens/0/hash", accessDocument(), func(d *AccessDocument) { d.Tokens[0].Hash = "slt_secret" })
	f("/tokens/0/tools/0", accessDocument(), func(d *AccessDocument) { d.Tokens[0].Tools[0] = "[" })
	f("/tokens/0/limits/burst", accessDocument(), func(d *AccessDocument) { d.Tokens[0].Limits.RequestsPerMinute = 0 })
	f("/tokens/0/limits/concurrent", accessDocument(), func(d *AccessDocument) { d.Tokens[0].Limits.Concurrent = MaxConcurrent + 1 })
	f("/limits/requestsPerMinute", accessDocument(), func(d *AccessDocument) { d.Limits = &RateLimits{RequestsPerMinute: -1} })
	f("/jwt", jwtDocument(), func(d *AccessDocument) { d.JWT = nil })
	f("/jwt/issuer", jwtDocument(), func(d *AccessDocument) { d.JWT.Issuer = "http://id.example" })
	f("/jwt/jwksUrl", jwtDocument(), func(d *AccessDocument) { d.JWT.JWKSURL = "https://u:p@id.example" })
	f("/jwt/scopes/0/scope", jwtDocument(), func(d *AccessDocument) { d.JWT.Scopes[0].Scope = `a"b` })
	f("/jwt/scopes/0/tools", jwtDocument(), func(d *AccessDocument) { d.JWT.Scopes[0].Tools = nil })
	local := jwtDocument()
	local.JWT.Issuer, local.JWT.JWKSURL = "http://127.0.0.1:9000", ""
	if err := local.Validate(); err != nil {
		t.Errorf("an issuer on this machine: %v", err)
	}
	for n, want := range map[int]bool{MaxAccessTokens: true, MaxAccessTokens + 1: false} {
		d := accessDocument()
		d.Tokens = nil
		for i := range n {
			d.Tokens = append(d.Tokens, TokenGrant{ID: fmt.Sprint("t", i), Name: "x", Hash: fmt.Sprintf("%064x", i)})
		}
		if err := d.Validate(); (err == nil) != want {
			t.Errorf("%d tokens: %v", n, err)
		}
	}
}
