package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// servers answers requests by address: "status body", with "\n" before a header.
type servers struct {
	t       *testing.T
	answers map[string]string // by address, or by method and address
	err     error             // instead of any answer
	asked   []string
	forms   []url.Values
	basic   []string
}

func (s *servers) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r.Method+" "+r.URL.String())
	if s.err != nil {
		return nil, s.err
	}
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		form, _ := url.ParseQuery(string(b))
		s.forms = append(s.forms, form)
		name, secret, _ := r.BasicAuth()
		s.basic = append(s.basic, name+":"+secret)
	}
	answer, ok := s.answers[r.URL.String()]
	if !ok {
		answer = "404 none"
	}
	head, challenge, _ := strings.Cut(answer, "\n")
	var status int
	code, body, _ := strings.Cut(head, " ")
	if _, err := fmt.Sscan(code, &status); err != nil {
		s.t.Error(err)
	}
	h := http.Header{}
	if challenge != "" {
		h.Set("WWW-Authenticate", challenge)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (s *servers) client() *Client {
	c, err := New(Options{HTTP: &http.Client{Transport: s}})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func says(t *testing.T, what string, err error, kind problem.Kind, text string) {
	t.Helper()
	if !problem.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want %s: %s", what, err, kind, text)
	}
}

// TestStatusesWithoutReason: of each bound between what a status means, both sides.
func TestStatusesWithoutReason(t *testing.T) {
	for status, want := range map[int]problem.Kind{
		199: problem.UpstreamMalformed, 300: problem.UpstreamMalformed, 399: problem.UpstreamMalformed, 400: problem.Unauthenticated, 401: problem.Unauthenticated, 402: problem.UpstreamMalformed,
		403: problem.Unauthenticated, 404: problem.UpstreamMalformed, 429: problem.Unavailable, 430: problem.UpstreamMalformed, 499: problem.UpstreamMalformed, 500: problem.Unavailable, 503: problem.Unavailable,
	} {
		err := refusedStatus("h", status)
		says(t, fmt.Sprint(status), err, want, fmt.Sprintf("status %d", status))
		if redirects := strings.Contains(err.Error(), "redirects"); redirects != (status >= 300 && status < 400) {
			t.Errorf("%d redirects: %v", status, redirects)
		}
		if refused, _ := Refused(err); refused != (want == problem.Unauthenticated) {
			t.Errorf("%d is a refusal: %v", status, refused)
		}
	}
	s := &servers{t: t}
	cfg := &Config{TokenURL: "https://as.example/token", ClientID: "c", ClientSecret: secrets.New("secret123")}
	for status, ok := range map[int]bool{200: true, 201: true, 299: true, 300: false, 400: false} {
		s.answers = map[string]string{"https://as.example/token": fmt.Sprint(status, ` {"access_token":"a"}`)}
		if _, err := s.client().Obtain(t.Context(), cfg); (err == nil) != ok {
			t.Errorf("a token with status %d: %v", status, err)
		}
		s.answers["https://as.example/token"] = fmt.Sprint(status, ` no JSON`)
		_, err := s.client().Obtain(t.Context(), cfg)
		if err == nil || strings.Contains(err.Error(), "did not answer with JSON") != ok {
			t.Errorf("no JSON with status %d: %v", status, err)
		}
		s.answers["https://as.example/reg"] = fmt.Sprint(status, ` {"client_id":"a"}`)
		if _, err := s.client().Register(t.Context(), &Metadata{RegistrationEndpoint: "https://as.example/reg"}, &ClientMetadata{}); (err == nil) != ok {
			t.Errorf("a client with status %d: %v", status, err)
		}
		s.answers["https://as.example/revoke"] = fmt.Sprint(status, ` x`)
		if err := s.client().revoke(t.Context(), "https://as.example/revoke", AuthBasic, cfg, url.Values{}); (err == nil) != ok {
			t.Errorf("a revocation with status %d: %v", status, err)
		}
	}
}

// TestWhoCanHelp: which codes mean that a person must log in, and which that the client is
// to be registered anew.
func TestWhoCanHelp(t *testing.T) {
	for code, want := range map[string][3]bool{ // a refusal, a login helps, another client helps
		"invalid_grant": {true, true, false}, "access_denied": {true, true, false}, "interaction_required": {true, true, false}, "login_required": {true, true, false},
		"invalid_client": {true, false, true}, "unauthorized_client": {true, false, true}, "invalid_scope": {true, false, false}, "": {true, false, false},
		"server_error": {}, "temporarily_unavailable": {},
	} {
		err := refused("as.example", code, "because", 400)
		is, login := Refused(err)
		if got := [3]bool{is, login, InvalidClient(err)}; got != want {
			t.Errorf("%q: %v, want %v", code, got, want)
		}
		if problem.As(err).Remedy == "" || !strings.Contains(err.Error(), "server as.example ") {
			t.Errorf("%q: %v, remedy %q", code, err, problem.As(err).Remedy)
		}
	}
	if is, login := Refused(errors.New("invalid_grant")); is || login || InvalidClient(errors.New("x")) {
		t.Error("another error is a refusal")
	}
	if err := Refusal("access_denied", "by Ada"); !strings.Contains(err.Error(), "the authorization server refused: access_denied (by Ada)") {
		t.Errorf("%v", err)
	}
	for raw, want := range map[string]string{"": "", "null": "", `"x"`: "x", `""`: "", `{"code":"c","type":"t"}`: "c", `{"type":"t"}`: "t", `{"status":"s"}`: "s", `{"message":"m"}`: "m", `{}`: "error", `7`: "error"} {
		if got := errorCode([]byte(raw)); got != want {
			t.Errorf("errorCode(%s) = %q, want %q", raw, got, want)
		}
	}
	for in, want := range map[string]string{" a  b ": "a b", "a\x7fb": "a b", "a\ufffdb": "a b", "a\x00b": "a b", "a~b": "a~b", "a!b": "a!b", "a\u0080b": "a\u0080b", "a\ufffeb": "a\ufffeb"} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestNoAnswer: a time-out, a cancelled request and the dialer's refusal are told apart, and
// nothing is said of the address but its host.
func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind problem.Kind
		says string
	}{
		{problem.New(problem.BlockedAddress, "not public").Fix("allow it"), problem.BlockedAddress, "what of h.example cannot be asked: not public"},
		{context.DeadlineExceeded, problem.Timeout, "what of h.example did not answer in time"},
		{fmt.Errorf("dial: %w", context.DeadlineExceeded), problem.Timeout, "what of h.example"},
		{&net.DNSError{IsTimeout: true}, problem.Timeout, "what of h.example"},
		{&net.DNSError{}, problem.Unreachable, "what of h.example cannot be reached"},
		{errors.New("x"), problem.Unreachable, "what of h.example cannot be reached"},
	} {
		got := unreachable("what", "h.example", c.err)
		says(t, fmt.Sprint(c.err), got, c.kind, c.says)
		if !errors.Is(got, c.err) || problem.As(got).Remedy == "" {
			t.Errorf("%v: the cause or the remedy is lost", got)
		}
	}
	cancelled := fmt.Errorf("ask: %w", context.Canceled)
	if got := unreachable("what", "h", cancelled); got != cancelled {
		t.Errorf("%v", got)
	}
	s := &servers{t: t, err: errors.New("no network")}
	c := s.client()
	m := &Metadata{RegistrationEndpoint: "https://as.example/r", TokenEndpoint: "https://as.example/t"}
	cfg := &Config{Issuer: "https://as.example", ClientID: "c"}
	_, registered := c.Register(t.Context(), m, &ClientMetadata{})
	_, obtained := c.Obtain(t.Context(), cfg)
	_, at := c.AuthorizationURL(t.Context(), cfg, "s", "v")
	announced, revoked := c.Revoke(t.Context(), cfg, secrets.New("t"), "refresh_token")
	_, discovered := c.DiscoverServer(t.Context(), "https://api.example/mcp", Challenge{}, "")
	for what, err := range map[string]error{
		"the registration endpoint of as.example": registered, "the metadata of as.example": obtained, "the metadata of as.example ": at, " the metadata of as.example": revoked,
		"the metadata of as.example  ": c.CheckIssuer(t.Context(), cfg, "x"), "the metadata of api.example": discovered,
	} {
		says(t, what, err, problem.Unreachable, strings.TrimSpace(what)+" cannot be reached")
	}
	if announced {
		t.Error("announced, and nothing was read")
	}
	if got := c.Ask(t.Context(), "https://api.example"); got.Error != "" || len(got.Scopes) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestAsk: only what a resource says with 401 is a challenge, and only a place that secrets
// may be sent to is asked.
func TestAsk(t *testing.T) {
	const at = "https://api.example/mcp"
	for answer, want := range map[string]string{
		"401 x\nBearer error=\"e\"": "e", "403 x\nBearer error=\"e\"": "", "200 x\nBearer error=\"e\"": "", "401 x\nBasic realm=\"x\"": "", "401 x": "",
	} {
		s := &servers{t: t, answers: map[string]string{at: answer}}
		if got := s.client().Ask(t.Context(), at); got.Error != want || len(s.asked) != 1 || s.asked[0] != "GET "+at {
			t.Errorf("%q: %+v after %q", answer, got, s.asked)
		}
	}
	s := &servers{t: t}
	for _, bad := range []string{"http://api.example", "https://u@api.example", "", "https://"} {
		if s.client().Ask(t.Context(), bad); len(s.asked) != 0 {
			t.Errorf("%q was asked", bad)
		}
	}
}

// TestAddresses: where secrets may go, whose metadata may name what, and what a resource
// covers.
func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://as.example": true, "https://as.example/x?y": true, "http://localhost:1/x": true, "http://127.0.0.1": true, "http://as.example": false, "ftp://as.example": false, "": false,
		"https:": false, "https://": false, "https:as.example": false, "https:/as.example": false, "/x": false, "https://u:p@as.example": false, "https://as.example#f": false, "https://as.example/%zz": false,
		"https://[::1": false,
	} {
		if err := CheckURL(address); (err == nil) != ok {
			t.Errorf("CheckURL(%q) = %v", address, err)
		}
	}
	for _, c := range []struct {
		by, address string
		kind        problem.Kind
	}{
		{"https://as.example", "https://as.example/t", ""},
		{"https://as.example", "https://other.example/t", ""},
		{"https://as.example", "https://localhost/t", problem.BlockedAddress},
		{"https://as.example", "http://127.0.0.1/t", problem.BlockedAddress},
		{"http://localhost", "http://127.0.0.1/t", ""},
		{"https://as.example/%zz", "https://as.example/t", problem.InvalidArgument},
		{"https://as.example", "http://as.example/t", problem.InvalidArgument},
		{"https://as.example", "", problem.InvalidArgument},
	} {
		if err := checkNamed(c.by, c.address); c.kind == "" && err != nil || c.kind != "" && !problem.Is(err, c.kind) {
			t.Errorf("%s names %s: %v, want %q", c.by, c.address, err, c.kind)
		}
	}
	for _, bad := range [][2]string{{"https://", "https://a.example"}, {"/", "https://a.example"}, {"https://a.example", "https://a.example/%zz"}, {"https://a.example/%zz", "https://a.example"}, {"http://a.example:443", "https://a.example"}, {"", ""}} {
		if covers(bad[0], bad[1]) {
			t.Errorf("%q covers %q", bad[0], bad[1])
		}
	}
	if got := host("https://as.example:8443/x"); got != "as.example:8443" {
		t.Error(got)
	}
	if got := host("https://as.example/%zz"); got != "the authorization server" {
		t.Error(got)
	}
	for in, want := range map[string]string{
		"https://a.example":       "https://a.example/.well-known/oauth-protected-resource",
		"https://a.example/m/":    "https://a.example/.well-known/oauth-protected-resource/m https://a.example/.well-known/oauth-protected-resource",
		"https://a.example/m?q=1": "https://a.example/.well-known/oauth-protected-resource/m?q=1 https://a.example/.well-known/oauth-protected-resource",
		"https://a.example/%zz":   "",
	} {
		if got := strings.Join(resourceURLs(in), " "); got != want {
			t.Errorf("resourceURLs(%s) = %s", in, got)
		}
	}
	if got, err := originOf("https://a.example/%zz"); err == nil {
		t.Error(got)
	}
	if got := metadataURLs("https://a.example/%zz"); got != nil {
		t.Errorf("%q", got)
	}
	for redirect, kind := range map[string]string{"http://127.0.0.1/cb": "native", "https://gw.example/cb": "web", "http://[::1": "web", "%zz": "web"} {
		if got := Describe("n", redirect).ApplicationType; got != kind {
			t.Errorf("%s is of a %s client", redirect, got)
		}
	}
	if c, err := New(Options{}); err == nil || c != nil {
		t.Error("a client without HTTP")
	}
}

// TestTextsOfAnswers: lifetimes, tokens and secrets at their bounds.
func TestTextsOfAnswers(t *testing.T) {
	for raw, want := range map[string]time.Duration{"": 0, "0": 0, "-1": 0, "1": time.Second, `"60"`: time.Minute, "0.5": time.Second / 2, "NaN": 0, "x": 0, `"x"`: 0, "null": 0, "1e300": maxLifetime, "1e999": 0} {
		if got := lifetime([]byte(raw)); got != want {
			t.Errorf("lifetime(%s) = %s, want %s", raw, got, want)
		}
	}
	for s, want := range map[string]bool{"": true, "!": true, "~": true, "a b": false, " ": false, "\x7f": false, "a\n": false, "é": false, "az09": true} {
		if got := visible(s); got != want {
			t.Errorf("visible(%q) = %v", s, got)
		}
	}
	for secret, want := range map[string]string{"1234567": "x1234567", "12345678": "x[", "": "x"} {
		if got := string(redact([]byte("x"+secret), secret)); !strings.HasPrefix(got, want) || want == "x[" && strings.Contains(got, secret) {
			t.Errorf("%q: %q", secret, got)
		}
	}
	long := strings.Repeat("a", maxToken)
	s := &servers{t: t}
	for _, c := range []struct {
		answer string
		ok     bool
	}{
		{`{"access_token":"` + long + `"}`, true},
		{`{"access_token":"` + long + `a"}`, false},
		{`{"access_token":"a","refresh_token":"` + long + `"}`, true},
		{`{"access_token":"a","refresh_token":"` + long + `a"}`, false},
		{`{"access_token":"a b"}`, false},
		{`{"access_token":""}`, false},
		{`{"access_token":"a","token_type":"mac"}`, false},
		{`{"access_token":"a","token_type":"BEARER"}`, true},
		{`{"access_token":"a","error":"x"}`, false},
	} {
		if _, err := s.client().readToken("h", 200, "application/json", []byte(c.answer)); (err == nil) != c.ok {
			t.Errorf("%.40s: %v", c.answer, err)
		}
	}
}

// TestWhatIsSent: scopes, audience and resource are sent where they are asked for, and a
// refresh token that is not replaced stays.
func TestWhatIsSent(t *testing.T) {
	const at = "https://as.example/token"
	s := &servers{t: t, answers: map[string]string{at: `200 {"access_token":"a"}`}}
	c := s.client()
	one := &Config{TokenURL: at, ClientID: "c", Scopes: []string{"x"}, Audience: "aud", Resource: "res"}
	none := &Config{TokenURL: at, ClientID: "c"}
	sent := func() string {
		f := s.forms[len(s.forms)-1]
		return fmt.Sprint(f.Get("scope"), " ", f.Get("audience"), " ", f.Get("resource"), " ", f.Has("scope"))
	}
	for _, x := range []struct {
		cfg             *Config
		obtain, refresh string
	}{{one, "x aud res true", "x  res true"}, {none, "   false", "   false"}} {
		if _, err := c.Obtain(t.Context(), x.cfg); err != nil || sent() != x.obtain {
			t.Errorf("%q, %v; want %q", sent(), err, x.obtain)
		}
		got, err := c.Refresh(t.Context(), x.cfg, secrets.New("old"))
		if err != nil || sent() != x.refresh || got.Refresh.Reveal() != "old" {
			t.Errorf("%q, %v; want %q", sent(), err, x.refresh)
		}
	}
	s.answers[at] = `200 {"access_token":"a","refresh_token":"new"}`
	if got, err := c.Refresh(t.Context(), none, secrets.New("old")); err != nil || got.Refresh.Reveal() != "new" {
		t.Errorf("%v", err)
	}
	s.answers[at] = `400 {"error":"invalid_grant"}`
	if got, err := c.Refresh(t.Context(), none, secrets.New("old")); err == nil || got != nil {
		t.Errorf("%v", got)
	}
	if _, err := c.Obtain(t.Context(), &Config{}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("without an endpoint: %v", err)
	}
	says(t, "no URL", func() error { _, err := c.Obtain(t.Context(), &Config{TokenURL: "https://a\x7f"}); return err }(), problem.InvalidArgument, "is not a URL")
	// What must be permitted is the places that the secret goes to.
	for revocation, want := range map[string]string{"": "[t]", "r": "[t r]"} {
		var got []string
		cfg := &Config{Permit: func(_ context.Context, _ string, known []string) error { got = known; return nil }}
		if err := cfg.permit(t.Context(), "t", &endpoints{token: "t", revocation: revocation}); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%v, %v; want %s", got, err, want)
		}
	}
}

// TestWayToAuthenticate: how the client shows itself, by what it has, what is configured and
// what the server knows; a second way is tried only where the first one was a guess and is
// what was refused.
func TestWayToAuthenticate(t *testing.T) {
	const issuer, token, revoke = "https://as.example", "https://as.example/t", "https://as.example/r"
	for _, c := range []struct {
		methods, configured string
		secret              bool
		want                string
		guessed             bool
	}{
		{`[]`, "", true, AuthBasic, true},
		{`["client_secret_basic"]`, "", true, AuthBasic, false},
		{`["client_secret_post"]`, "", true, AuthPost, false},
		{`["client_secret_post","client_secret_basic"]`, "", true, AuthBasic, false},
		{`["none"]`, "", true, AuthBasic, true},
		{`["private_key_jwt","client_secret_post"]`, "", true, AuthPost, false},
		{`["client_secret_basic"]`, AuthPost, true, AuthPost, false},
		{`["client_secret_basic"]`, AuthNone, true, AuthNone, false},
		{`["client_secret_basic"]`, "", false, AuthNone, false},
		{`["client_secret_basic"]`, AuthBasic, false, AuthNone, false},
	} {
		for code, tries := range map[string]int{"invalid_client": 2, "invalid_grant": 1} {
			if !c.guessed {
				tries = 1
			}
			s := &servers{t: t, answers: map[string]string{
				issuer + "/.well-known/oauth-authorization-server": `200 {"issuer":"` + issuer + `","token_endpoint":"` + token + `","revocation_endpoint":"` + revoke + `","token_endpoint_auth_methods_supported":` + c.methods + `}`,
				token: `401 {"error":"` + code + `"}`, revoke: `401 {"error":"` + code + `"}`,
			}}
			cfg := &Config{Issuer: issuer, ClientID: "id", AuthMethod: c.configured}
			if c.secret {
				cfg.ClientSecret = secrets.New("secret-of-client")
			}
			client := s.client()
			ep, err := client.endpoints(t.Context(), cfg)
			if err != nil || ep.auth != c.want || ep.guessed != c.guessed || ep.revocation != revoke {
				t.Errorf("%+v: %+v, %v", c, ep, err)
			}
			for what, run := range map[string]func() error{
				token: func() error { _, err := client.Obtain(t.Context(), cfg); return err },
				revoke: func() error {
					_, err := client.Revoke(t.Context(), cfg, secrets.New("tok"), "access_token")
					return err
				},
			} {
				s.asked, s.forms, s.basic = nil, nil, nil
				if err := run(); codeOf(err) != code || len(s.forms) != tries {
					t.Errorf("%+v, %s: %v after %d requests, want %d", c, what, err, len(s.forms), tries)
					continue
				}
				basic, posted := s.basic[0] == "id:secret-of-client", s.forms[0].Get("client_secret") != ""
				if basic != (c.want == AuthBasic) || posted != (c.want == AuthPost) || s.forms[0].Has("client_id") == basic {
					t.Errorf("%+v, %s: sent %q and %q", c, what, s.basic[0], s.forms[0])
				}
				if tries == 2 && (s.basic[1] != ":" || s.forms[1].Get("client_secret") == "" || s.forms[1].Get("client_id") != "id") {
					t.Errorf("%+v, %s: the second time %q and %q", c, what, s.basic[1], s.forms[1])
				}
			}
			// A server that is content is asked once.
			s.answers[token], s.answers[revoke] = `200 {"access_token":"a"}`, "200 "
			s.forms = nil
			_, err1 := client.Obtain(t.Context(), cfg)
			announced, err2 := client.Revoke(t.Context(), cfg, secrets.New("tok"), "access_token")
			if err1 != nil || err2 != nil || !announced || len(s.forms) != 2 {
				t.Errorf("%+v: %v, %v after %d requests", c, err1, err2, len(s.forms))
			}
		}
	}
}

// TestIssuerOfAnswer: RFC 9207, whatever is known of the server.
func TestIssuerOfAnswer(t *testing.T) {
	for _, c := range []struct {
		sends bool
		iss   string
		ok    bool
	}{{false, "", true}, {false, "https://as.example", true}, {false, "https://evil.example", false}, {true, "", false}, {true, "https://as.example", true}, {true, "https://evil.example", false}} {
		s := &servers{t: t, answers: map[string]string{
			"https://as.example/.well-known/oauth-authorization-server": fmt.Sprintf(`200 {"issuer":"https://as.example","token_endpoint":"https://as.example/t","authorization_response_iss_parameter_supported":%v}`, c.sends),
		}}
		if err := s.client().CheckIssuer(t.Context(), &Config{Issuer: "https://as.example"}, c.iss); (err == nil) != c.ok || err != nil && !problem.Is(err, problem.Forbidden) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	// Nothing is known of whom to expect: any server may answer.
	s := &servers{t: t}
	for _, iss := range []string{"", "https://as.example"} {
		if err := s.client().CheckIssuer(t.Context(), &Config{TokenURL: "https://as.example/t"}, iss); err != nil {
			t.Errorf("%q: %v", iss, err)
		}
	}
}

// TestLoginPage: the query of the page stays, and a refresh token is asked for where the
// scope says so.
func TestLoginPage(t *testing.T) {
	s := &servers{t: t}
	for scopes, consent := range map[string]bool{"offline_access": true, "a offline_access": true, "a": false, "": false} {
		got, err := s.client().AuthorizationURL(t.Context(), &Config{AuthorizationURL: "https://as.example/a?tenant=1", TokenURL: "https://as.example/t", Scopes: strings.Fields(scopes)}, "st", "ver")
		u, perr := url.Parse(got)
		if err != nil || perr != nil || u.Query().Get("tenant") != "1" || u.Query().Get("state") != "st" || u.Query().Get("code_challenge") != codeChallenge("ver") || (u.Query().Get("prompt") == "consent") != consent || u.Query().Has("scope") != (scopes != "") {
			t.Errorf("%q: %s, %v", scopes, got, err)
		}
	}
}

// TestWhereServerIs: the server that was known is kept while the resource names it, a
// revocation endpoint that must not be asked is forgotten, a fault is not an absence.
func TestWhereServerIs(t *testing.T) {
	const res = "https://api.example/mcp"
	const at = "https://api.example/.well-known/oauth-protected-resource/mcp"
	meta := func(issuer, more string) string {
		return `200 {"issuer":"` + issuer + `","token_endpoint":"` + issuer + `/t","authorization_endpoint":"` + issuer + `/a","code_challenge_methods_supported":["S256"]` + more + `}`
	}
	const wk = "/.well-known/oauth-authorization-server"
	s := &servers{t: t, answers: map[string]string{
		at:                         `200 {"resource":"` + res + `","authorization_servers":["https://one.example","https://two.example"],"scopes_supported":["r"]}`,
		"https://one.example" + wk: meta("https://one.example", `,"scopes_supported":["offline_access"],"revocation_endpoint":"http://one.example/r"`),
		"https://two.example" + wk: meta("https://two.example", `,"revocation_endpoint":"https://two.example/r"`),
	}}
	c := s.client()
	for known, want := range map[string]string{"": "https://one.example", "https://two.example": "https://two.example", "https://gone.example": "https://one.example"} {
		got, err := c.DiscoverServer(t.Context(), res, Challenge{}, known)
		if err != nil || got.Metadata.Issuer != want || (got.Metadata.RevocationEndpoint == "") != (want == "https://one.example") {
			t.Errorf("known %q: %+v, %v", known, got, err)
			continue
		}
		if scopes := strings.Join(got.Scopes, " "); scopes != map[bool]string{true: "r offline_access", false: "r"}[want == "https://one.example"] {
			t.Errorf("known %q: scopes %q", known, scopes)
		}
	}
	got, err := c.DiscoverServer(t.Context(), res, Challenge{Scopes: []string{"offline_access", "x"}}, "")
	if err != nil || strings.Join(got.Scopes, " ") != "offline_access x" {
		t.Errorf("%+v, %v", got, err)
	}
	for answer, kind := range map[string]problem.Kind{"500 x": problem.Unavailable, "503 x": problem.Unavailable, "200 x": problem.UpstreamMalformed, "200 {}": problem.Forbidden} {
		s.answers[at] = answer
		if _, err := s.client().DiscoverServer(t.Context(), res, Challenge{}, ""); !problem.Is(err, kind) {
			t.Errorf("%s: %v, want %s", answer, err, kind)
		}
	}
	// A page for people is not metadata; where it is the resource's own address it is a fault.
	if _, err := s.client().resource(t.Context(), res, res+"\x7f"); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("%v", err)
	}
	s.answers[at], s.answers[res] = "200 <html>", "200 <html>"
	if _, err := s.client().resource(t.Context(), res, at); !problem.Is(err, problem.NotFound) {
		t.Errorf("%v", err)
	}
	if _, err := s.client().resource(t.Context(), res, res); !problem.Is(err, problem.UpstreamMalformed) {
		t.Errorf("%v", err)
	}
	s.answers[at] = "499 x" // not there, so the origin is the guess
	if got, err := s.client().DiscoverResource(t.Context(), res, Challenge{}); err != nil || !got.Guessed || got.Issuers[0] != "https://api.example" {
		t.Errorf("%+v, %v", got, err)
	}
	s.asked = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.client().Discover(ctx, "https://three.example"); err == nil || len(s.asked) > 1 {
		t.Errorf("%v after %q", err, s.asked)
	}
}

// TestRegistrations: what is not a client, and until when its secret is good.
func TestRegistrations(t *testing.T) {
	for _, c := range []struct {
		status  int
		body    string
		says    string
		expires int64
	}{
		{201, `{"client_id":"a"}`, "", 0},
		{201, `{"client_id":"a","client_secret_expires_at":0}`, "", 0},
		{201, `{"client_id":"a","client_secret_expires_at":1}`, "", 1},
		{201, `{"client_id":"a","client_secret_expires_at":-1}`, "", 0},
		{201, `{"client_id":"a","client_secret_expires_at":99999999999999999999}`, "", 0},
		{201, `{"client_id":"a","client_secret_expires_at":1.5}`, "", 0},
		{201, `{"client_id":""}`, "did not answer with a client", 0},
		{201, `{"client_id":"a","client_secret":7}`, "did not answer with a client", 0},
		{201, `{"client_id":"a"`, "did not answer with a client", 0},
		{400, `{}`, "did not register a client (status 400)", 0},
		{400, `x`, "did not register a client (status 400)", 0},
		{400, `{"error":"e","client_id":7}`, "did not register a client (status 400)", 0},
		{400, `{"error":"e"}`, "refused: e", 0},
		{199, `{"client_id":"a"}`, "(status 199)", 0},
		{300, `{"client_id":"a"}`, "(status 300)", 0},
	} {
		got, err := readRegistration("h", c.status, []byte(c.body), AuthBasic)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || got != nil {
				t.Errorf("%d %s: %v, %v; want %q", c.status, c.body, got, err, c.says)
			}
			continue
		}
		if err != nil || got.AuthMethod != AuthNone || got.Expires.IsZero() != (c.expires == 0) || c.expires != 0 && got.Expires.Unix() != c.expires {
			t.Errorf("%d %s: %+v, %v", c.status, c.body, got, err)
		}
	}
	s := &servers{t: t}
	for _, m := range []*Metadata{{Issuer: "https://as.example"}, {TokenEndpoint: "https://as.example/t"}} {
		for _, redirects := range [][]string{nil, {"https://gw.example/cb"}} {
			_, err := s.client().Register(t.Context(), m, &ClientMetadata{RedirectURIs: redirects})
			says(t, fmt.Sprint(redirects), err, problem.Unsupported, "the authorization server as.example registers no clients")
		}
	}
	_, err := s.client().Register(t.Context(), &Metadata{RegistrationEndpoint: "https://a\x7f"}, &ClientMetadata{})
	says(t, "no URL", err, problem.InvalidArgument, "is not a URL")
}

// TestChallengeForms: the first Bearer challenge, wherever it stands, and what is cut off.
func TestChallengeForms(t *testing.T) {
	for header, want := range map[string]string{
		``: "-", `,`: "-", `=`: "-", `"`: "-", `Bearer`: "", `bearer error=e`: "e", `Basic realm="x", Bearer error="e"`: "e", `Negotiate abc==, Bearer error=e`: "e", `Negotiate abc== , Bearer error=e`: "e",
		`Bearer error=e, Bearer error=f`: "e", `Bearer error="a\"b"`: `a"b`, `Bearer error="a\`: `a\`, `Bearer error="a`: "a", `Bearer error=`: "", `Bearer =e, error=f`: "", `Basic`: "-", `Digest a="b"`: "-",
		`Negotiate, Bearer error=e`: "e", `Bearer error = "e"`: "e", `Basic "x", Bearer error=e`: "e", `Negotiate a b, Bearer error=e`: "e",
	} {
		c, ok := ParseChallenge(header)
		got := c.Error
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
}
