package credential

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// TestTokenState: how it stands with a token, by what is known of it.
func TestTokenState(t *testing.T) {
	now := time.Unix(1e9, 0)
	row := func(sealed, fault string, expires time.Duration) *store.OAuthToken {
		out := &store.OAuthToken{Sealed: []byte(sealed), Error: fault}
		if expires != 0 {
			out.ExpiresAt = store.Time{Time: now.Add(expires)}
		}
		return out
	}
	const person, client = oauth.AuthorizationCode, oauth.ClientCredentials
	for i, c := range []struct {
		row           *store.OAuthToken
		grant         string
		state, fault  string
		expiresIsTold bool
	}{
		{nil, person, stateLogin, "", false},
		{nil, client, stateOK, "", false},
		{row("x", "", time.Minute), person, stateOK, "", true},
		{row("x", "", 0), person, stateOK, "", false},
		{row("x", "", -time.Minute), person, stateExpired, "", true},
		{row("x", "", -time.Minute), client, stateOK, "", true},
		{row("x", "refused", time.Minute), person, stateFailing, "refused", true},
		{row("", "refused", 0), person, stateLogin, "refused", false},
		{row("", "refused", 0), client, stateFailing, "refused", false},
		{row("", "", time.Minute), person, stateLogin, "", false},
	} {
		state, fault, expires := TokenState(c.row, c.grant, now)
		if state != c.state || fault != c.fault || (expires != nil) != c.expiresIsTold {
			t.Errorf("%d: %s, %q, %v", i, state, fault, expires)
		}
	}
	if state, _, _ := TokenState(row("x", "", 1), person, now.Add(1)); state != stateOK {
		t.Errorf("at its end: %s", state)
	}
}

// TestClients: a client that was registered is used again where it was registered, for as
// long as its secret is good for a login; it keeps the scopes that its server wanted.
func TestClients(t *testing.T) {
	now := time.Unix(1e9, 0)
	c := Client{Issuer: "i", TokenURL: "t", Redirect: "r", ClientID: "app", Registered: true}
	for what, x := range map[string]struct {
		change func(c, found *Client)
		want   bool
	}{
		"the same":             {func(*Client, *Client) {}, true},
		"one that was found":   {func(c, _ *Client) { c.Registered = false }, false},
		"another issuer":       {func(_, f *Client) { f.Issuer = "x" }, false},
		"another token server": {func(_, f *Client) { f.TokenURL = "x" }, false},
		"another callback":     {func(_, f *Client) { f.Redirect = "x" }, false},
		"an end that is far":   {func(c, _ *Client) { c.Expires = now.Add(clientEarly).Unix() + 1 }, true},
		"an end that is near":  {func(c, _ *Client) { c.Expires = now.Add(clientEarly).Unix() }, false},
	} {
		have, found := c, c
		x.change(&have, &found)
		if got := have.UsableFor(&found, now); got != x.want {
			t.Errorf("%s: usable %v", what, got)
		}
	}
	if (*Client)(nil).UsableFor(&c, now) {
		t.Error("none is usable")
	}
	have := Client{Issuer: "i", Scopes: []string{"read"}}
	have.AddScopes([]string{"write", "read", "a b"}, &Client{Issuer: "i", More: []string{"admin", "write"}})
	if strings.Join(have.Scopes, " ") != "read write admin" || strings.Join(have.More, " ") != "write admin" {
		t.Errorf("scopes %q, more %q", have.Scopes, have.More)
	}
	have = Client{Issuer: "i"}
	have.AddScopes(nil, &Client{Issuer: "other", More: []string{"admin"}})
	if len(have.Scopes) != 0 {
		t.Errorf("scopes of another server: %q", have.Scopes)
	}
	have.Scopes = slices.Repeat([]string{"x"}, maxScopes-1)
	have.AddScopes([]string{"last", "more"}, nil)
	if len(have.Scopes) != maxScopes || strings.Join(have.More, " ") != "last" {
		t.Errorf("%d scopes, more %q", len(have.Scopes), have.More)
	}
	cfg := oauth.Config{ClientID: "mine", ClientSecret: secrets.New("s")}
	found := Client{Issuer: "i", AuthorizationURL: "a", TokenURL: "t", ClientID: "app", ClientSecret: secrets.Wire{Secret: secrets.New("other")}, AuthMethod: "m", Resource: "res", Redirect: "r", Scopes: []string{"s"}}
	found.Apply(&cfg)
	if cfg.ClientID != "mine" || cfg.ClientSecret.Reveal() != "s" || cfg.AuthMethod != "" || cfg.Issuer != "i" || cfg.AuthorizationURL != "a" || cfg.TokenURL != "t" || cfg.Resource != "res" || cfg.RedirectURL != "r" || len(cfg.Scopes) != 1 {
		t.Errorf("a client of the operator becomes %+v", cfg)
	}
	cfg = oauth.Config{}
	if found.Apply(&cfg); cfg.ClientID != "app" || cfg.ClientSecret.Reveal() != "other" || cfg.AuthMethod != "m" {
		t.Errorf("one that was found: %+v", cfg)
	}
	for sh, want := range map[*Shape]bool{
		{}: false, {Resource: "r"}: true, {Resource: "r", Issuer: "i"}: true, {Resource: "r", ClientID: "c"}: true,
		{Resource: "r", Issuer: "i", ClientID: "c"}: false, {Resource: "r", TokenURL: "t"}: false,
	} {
		if sh.Discovers() != want {
			t.Errorf("%+v discovers: %v", sh, !want)
		}
	}
}

// draftOf is a stored credential of an item.
func draftOf(id string, it *AuthItem) Draft {
	return Draft{Row: store.Credential{ID: id, Version: 1, AuthType: it.AuthType, Shape: store.JSON(it.Shape()), Last4: "wxyz"}}
}

// TestSecretsStayWithTheirServer: a change that gives no secret keeps the stored one, but
// for a client whose server, or who it is, becomes another.
func TestSecretsStayWithTheirServer(t *testing.T) {
	all := valid(t)
	newID := func(string) string { return "cred_new" }
	use := &Use{Toolset: "ts", Connector: "main"}
	client := all["oauth2"]
	client.Issuer, client.Resource = "https://id.example", "https://api.example"
	for what, c := range map[string]struct {
		change            func(*AuthItem)
		fault             bool
		forget, elsewhere bool
	}{
		"nothing":          {change: func(*AuthItem) {}},
		"a scope":          {change: func(a *AuthItem) { a.Scopes = []string{"read"} }, forget: true},
		"the client":       {change: func(a *AuthItem) { a.ClientID = "other" }, fault: true},
		"the issuer":       {change: func(a *AuthItem) { a.Issuer = "https://evil.example" }, fault: true},
		"the token server": {change: func(a *AuthItem) { a.TokenURL = "https://evil.example" }, fault: true},
		"the resource":     {change: func(a *AuthItem) { a.Resource = "https://evil.example" }, fault: true},
		"the server, with a secret": {change: func(a *AuthItem) {
			a.TokenURL, a.ClientSecret = "https://evil.example", secrets.New("another")
		}, forget: true, elsewhere: true},
		"the secret": {change: func(a *AuthItem) { a.ClientSecret = secrets.New("another") }, forget: true},
	} {
		it := client
		it.ClientSecret = secrets.Secret{}
		c.change(&it)
		next, err := (&SetAuth{AuthItem: it}).Configure(use, []Draft{draftOf("cred_1", &client)}, newID, "/a")
		if c.fault {
			if faultsOf(err) != "clientSecret" {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil || len(next) != 1 || next[0].Row.ID != "cred_1" || next[0].Forget != c.forget || next[0].Elsewhere != c.elsewhere || next[0].Given == it.ClientSecret.IsZero() || next[0].Shared || next[0].Adopted != nil {
			t.Errorf("%s: %+v, %v", what, next, err)
		}
	}
	header := all["header"]
	header.APIKey = secrets.Secret{}
	header.HeaderName = "X-Other"
	stored := all["header"]
	next, err := (&SetAuth{AuthItem: header}).Configure(use, []Draft{draftOf("cred_1", &stored)}, newID, "/a")
	if err != nil || next[0].Row.ID != "cred_1" || next[0].Given || next[0].Forget || next[0].Elsewhere || next[0].Row.Last4 != "wxyz" {
		t.Errorf("another header: %+v, %v", next, err)
	}
	// Another type is another credential.
	bearer := all["bearer"]
	next, err = (&SetAuth{AuthItem: bearer}).Configure(use, []Draft{draftOf("cred_1", &stored)}, newID, "/a")
	if err != nil || next[0].Row.ID != "cred_new" || !next[0].Given || next[0].Row.Last4 != "hars" || next[0].Row.ToolsetID != "ts" || next[0].Row.Connector != "main" {
		t.Errorf("another type: %+v, %v", next, err)
	}
	bearer.Token = secrets.Secret{}
	if _, err := (&SetAuth{AuthItem: bearer}).Configure(use, []Draft{draftOf("cred_1", &stored)}, newID, "/a"); faultsOf(err) != "token" {
		t.Errorf("another type without a secret: %v", err)
	}
	// The certificate stays what it is shown as.
	mtls := all["mtls"]
	first, err := (&SetAuth{AuthItem: mtls}).Configure(use, nil, newID, "/a")
	if err != nil {
		t.Fatal(err)
	}
	first[0].Row.Version = 1
	again, err := (&SetAuth{AuthItem: AuthItem{AuthType: "mtls"}}).Configure(use, first, newID, "/a")
	if err != nil || again[0].Row.Shape != first[0].Row.Shape || !strings.Contains(first[0].Row.Shape, "CN=client") || first[0].Row.Last4 != "" {
		t.Errorf("%+v, %v", again, err)
	}
	// What is new was sent nowhere before, and is given, with a secret or without.
	for _, it := range []AuthItem{all["oauth2"], all["oidc"], all["header"]} {
		next, err = (&SetAuth{AuthItem: it}).Configure(use, nil, newID, "/a")
		if err != nil || next[0].Elsewhere || next[0].Forget || next[0].Shared || !next[0].Given {
			t.Errorf("a new %s: %+v, %v", it.AuthType, next, err)
		}
	}
	if next, err = (&SetAuth{AuthItem: AuthItem{AuthType: "none"}}).Configure(use, []Draft{draftOf("cred_1", &stored)}, newID, "/a"); err != nil || len(next) != 0 {
		t.Errorf("none: %+v, %v", next, err)
	}
	broken := store.Credential{AuthType: "oauth2", Shape: "{"}
	if KeepsSecret(&broken, &AuthItem{AuthType: "oauth2"}) || !KeepsSecret(&broken, &AuthItem{AuthType: "header"}) {
		t.Error("nobody knows which client it was for")
	}
	// A key in the body has no place in the messages of MCP.
	for _, name := range []string{"body", "header"} {
		for _, mcp := range []bool{false, true} {
			_, err := (&SetAuth{AuthItem: all[name]}).Configure(&Use{MCP: mcp}, nil, newID, "/a")
			p := problem.As(err)
			if refused := mcp && name == "body"; (err != nil) != refused || refused && (len(p.Parts) == 0 && p.Place.Pointer != "/a/authType" || len(p.Parts) > 0 && p.Parts[0].Place.Pointer != "/a/authType") {
				t.Errorf("%s, of an MCP server %v: %v", name, mcp, err)
			}
		}
	}
	body := all["body"]
	if _, err := (&SetAuth{AuthItem: body}).Configure(&Use{MCP: true}, nil, newID, "/a"); err == nil || !strings.Contains(err.Error(), "MCP") {
		t.Error(err)
	}
	// Whoever logs in now logs in for themselves, or no more.
	person := all["oidc"]
	person.PerUser = true
	shared := person
	shared.PerUser = false
	next, err = (&SetAuth{AuthItem: shared}).Configure(use, []Draft{draftOf("cred_1", &person)}, newID, "/a")
	if err != nil || !next[0].Shared || next[0].Forget {
		t.Errorf("shared: %+v, %v", next, err)
	}
	if next, err = (&SetAuth{AuthItem: person}).Configure(use, []Draft{draftOf("cred_1", &person)}, newID, "/a"); err != nil || next[0].Shared {
		t.Errorf("as before: %+v, %v", next, err)
	}
	next, err = (&SetAuth{AuthItem: person}).Configure(use, []Draft{draftOf("cred_1", &shared)}, newID, "/a")
	if err != nil || next[0].Shared || next[0].Forget {
		t.Errorf("no more shared: %+v, %v", next, err)
	}
}

// TestItemsOfAList replace the stored ones that they are most like, each once, and fulfil
// the schemes that they fit.
func TestItemsOfAList(t *testing.T) {
	header := func(name string) AuthItem {
		return AuthItem{AuthType: "header", HeaderName: name, APIKey: secrets.New("key-of-sixteen-chars")}
	}
	item := func(authType, of string) AuthItem {
		return AuthItem{AuthType: authType, HeaderName: of, ParameterName: of, CookieName: of, MemberName: of}
	}
	a, b := header("X-A"), header("X-B")
	old := []Draft{draftOf("a", &a), draftOf("b", &b)}
	for _, c := range []struct {
		items []AuthItem
		want  []int
	}{
		{[]AuthItem{header("X-B"), header("X-A")}, []int{1, 0}},
		{[]AuthItem{header("X-C"), header("X-A")}, []int{1, 0}},
		{[]AuthItem{header("X-A"), header("X-A")}, []int{0, 1}},
		{[]AuthItem{header("X-A"), header("X-B"), header("X-C")}, []int{0, 1, -1}},
		{[]AuthItem{{AuthType: "bearer"}, header("X-B")}, []int{-1, 1}},
	} {
		list := SetAuth{AuthItem: AuthItem{AuthType: "list"}, Items: c.items}
		if got := list.Matching(old); !slices.Equal(got, c.want) {
			t.Errorf("matching %v, want %v", got, c.want)
		}
	}
	for _, authType := range []string{"header", "query", "cookie", "body", "bearer"} {
		x, y := item(authType, "x"), item(authType, "y")
		if authType == "bearer" {
			x, y = AuthItem{AuthType: "bearer", Scheme: "x"}, AuthItem{AuthType: "bearer", Scheme: "y"}
		}
		list := SetAuth{AuthItem: AuthItem{AuthType: "list"}, Items: []AuthItem{y, x}}
		if got := list.Matching([]Draft{draftOf("x", &x), draftOf("y", &y)}); !slices.Equal(got, []int{1, 0}) {
			t.Errorf("%s: matching %v", authType, got)
		}
	}
	// Each part of where a key goes tells one from another.
	base := AuthItem{AuthType: "header", Scheme: "s", HeaderName: "h", ParameterName: "p", CookieName: "c", MemberName: "m"}
	for i, change := range []func(*AuthItem){
		func(a *AuthItem) { a.Scheme = "x" }, func(a *AuthItem) { a.HeaderName = "x" }, func(a *AuthItem) { a.ParameterName = "x" },
		func(a *AuthItem) { a.CookieName = "x" }, func(a *AuthItem) { a.MemberName = "x" },
	} {
		other := base
		change(&other)
		one := SetAuth{AuthItem: base}
		if got := one.Matching([]Draft{draftOf("other", &other), draftOf("base", &base)}); got[0] != 1 {
			t.Errorf("part %d: matching %v", i, got)
		}
	}
	// A name or a scheme alone tells, too: the secret of one key is not sent as another one.
	ka, kb := header("X-A"), header("X-B")
	ka.Scheme, kb.Scheme = "a", "b"
	pair := []Draft{draftOf("a", &ka), draftOf("b", &kb)}
	renamed := header("X-C")
	renamed.Scheme = "b"
	for _, it := range []AuthItem{header("X-B"), renamed} {
		if got := (&SetAuth{AuthItem: it}).Matching(pair); got[0] != 1 {
			t.Errorf("%s of scheme %q: matching %v", it.HeaderName, it.Scheme, got)
		}
	}
	unread := []Draft{{Row: store.Credential{AuthType: "header", Shape: "{"}}}
	if got := (&SetAuth{AuthItem: header("X-A")}).Matching(unread); got[0] != -1 {
		t.Errorf("what cannot be read is matched: %v", got)
	}
	for i, c := range []struct {
		it   AuthItem
		m    AuthMethod
		want bool
	}{
		{item("header", "X-A"), AuthMethod{Type: "apiKey", In: "header", Name: "x-a"}, true},
		{item("header", "X-A"), AuthMethod{Type: "apiKey", In: "header", Name: "x-b"}, false},
		{item("header", "X-A"), AuthMethod{Type: "apiKey", In: "query", Name: "X-A"}, false},
		{item("query", "k"), AuthMethod{Type: "apiKey", In: "query", Name: "k"}, true},
		{item("query", "k"), AuthMethod{Type: "apiKey", In: "query", Name: "K"}, false},
		{item("query", "k"), AuthMethod{Type: "apiKey", In: "cookie", Name: "k"}, false},
		{item("cookie", "k"), AuthMethod{Type: "apiKey", In: "cookie", Name: "k"}, true},
		{item("cookie", "k"), AuthMethod{Type: "apiKey", In: "cookie", Name: "l"}, false},
		{item("cookie", "k"), AuthMethod{Type: "apiKey", In: "body", Name: "k"}, false},
		{item("body", "k"), AuthMethod{Type: "apiKey", In: "body", Name: "k"}, true},
		{item("body", "k"), AuthMethod{Type: "apiKey", In: "body", Name: "l"}, false},
		{item("body", "k"), AuthMethod{Type: "apiKey", In: "header", Name: "k"}, false},
		{item("basic", ""), AuthMethod{Type: "http", Scheme: "basic"}, true},
		{item("bearer", ""), AuthMethod{Type: "http", Scheme: "basic"}, false},
		{item("bearer", ""), AuthMethod{Type: "http", Scheme: "bearer"}, true},
		{item("basic", ""), AuthMethod{Type: "http", Scheme: "bearer"}, false},
		{item("oauth2", ""), AuthMethod{Type: "http", Scheme: "bearer"}, true},
		{item("oauth2", ""), AuthMethod{Type: "http", Scheme: "basic"}, false},
		{item("oidc", ""), AuthMethod{Type: "oauth2"}, true},
		{item("bearer", ""), AuthMethod{Type: "openIdConnect"}, true},
		{item("basic", ""), AuthMethod{Type: "oauth2"}, false},
		{item("mtls", ""), AuthMethod{Type: "mutualTLS"}, true},
		{item("bearer", ""), AuthMethod{Type: "mutualTLS"}, false},
		{item("bearer", ""), AuthMethod{Type: "other"}, false},
	} {
		if got := fits(&c.it, &c.m); got != c.want {
			t.Errorf("%d: %s fits %+v: %v", i, c.it.AuthType, c.m, got)
		}
	}
	items := []AuthItem{header("X-A"), header("X-A"), {AuthType: "bearer", Scheme: "mine"}, {AuthType: "bearer"}}
	bindSchemes(items, []AuthMethod{{ID: "key", Type: "apiKey", In: "header", Name: "X-A"}, {ID: "mine", Type: "http", Scheme: "bearer"}, {ID: "cert", Type: "mutualTLS"}, {ID: "second", Type: "http", Scheme: "bearer"}})
	var got []string
	for i := range items {
		got = append(got, items[i].Scheme)
	}
	if !slices.Equal(got, []string{"key", "", "mine", "second"}) {
		t.Errorf("schemes %q", got)
	}
	// One credential alone goes with every operation; several go where they are asked for.
	methods := []AuthMethod{{ID: "key", Type: "apiKey", In: "header", Name: "X-A"}}
	n := 0
	newID := func(string) string { n++; return "cred_" + string(rune('0'+n)) }
	for count, want := range map[int]string{1: "", 2: "key"} {
		set := SetAuth{AuthItem: AuthItem{AuthType: "list"}, Items: []AuthItem{header("X-A"), header("X-B")}[:count]}
		next, err := set.Configure(&Use{Methods: methods}, nil, newID, "/a")
		if err != nil {
			t.Fatal(err)
		}
		shape, err := ShapeOf(&next[0].Row)
		if err != nil || shape.Scheme != want || next[count-1].Row.Position != int64(count-1) {
			t.Errorf("%d items: scheme %q, %v", count, shape.Scheme, err)
		}
	}
	login := &Adopted{Login: "l"}
	set := SetAuth{AuthItem: header("X-A")}
	if set.Adopts() {
		t.Error("no login comes with it")
	}
	set.Adopt(login)
	two := SetAuth{AuthItem: AuthItem{AuthType: "list"}, Items: []AuthItem{header("X-A"), header("X-B")}}
	two.Adopt(login)
	if next, err := two.Configure(&Use{}, nil, newID, "/a"); err != nil || next[0].Adopted != nil || next[1].Adopted != nil {
		t.Errorf("nobody knows which of two: %+v, %v", next, err)
	}
	if next, err := set.Configure(&Use{}, nil, newID, "/a"); err != nil || next[0].Adopted != login || !set.Adopts() {
		t.Errorf("%+v, %v", next, err)
	}
}

// TestShown: what is shown of credentials has the end of a secret at most, and says how it
// is sent.
func TestShown(t *testing.T) {
	now := time.Unix(1e9, 0)
	all := valid(t)
	for name, want := range map[string]string{
		"header": "X-Key: Key ••••wxyz", "query": "?key=••••wxyz", "cookie": "Cookie: sid=••••wxyz", "body": "body: key=••••wxyz",
		"bearer": "Authorization: Bearer ••••wxyz", "basic": "Authorization: Basic ••••", "oauth2": "Authorization: Bearer •••• (access token)",
		"oidc": "Authorization: Bearer •••• (access token)", "mtls": "client certificate ",
	} {
		it := all[name]
		d := draftOf("c", &it)
		a, err := Show([]Draft{d}, now)
		if err != nil || a.Preview != want || a.AuthType != name || a.CredentialID != "c" || (a.State != "") != IsOAuth(name) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	person := all["oidc"]
	person.PerUser = true
	d := draftOf("c", &person)
	for until, pending := range map[time.Duration]bool{time.Second: true, 0: false, -time.Second: false} {
		d.Login = &store.OAuthLogin{ExpiresAt: store.Time{Time: now.Add(until)}}
		if a, err := Show([]Draft{d}, now); err != nil || a.LoginPending != pending || !strings.HasSuffix(a.Preview, "of the caller)") {
			t.Errorf("a login that ends in %s: %+v, %v", until, a, err)
		}
	}
	x, y := all["header"], all["query"]
	a, err := Show([]Draft{draftOf("a", &x), draftOf("b", &y)}, now)
	if err != nil || a.AuthType != "list" || len(a.Items) != 2 || a.Preview != "X-Key: Key ••••wxyz, ?key=••••wxyz" {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := Show(nil, now); err != nil || a.AuthType != "none" {
		t.Errorf("%+v, %v", a, err)
	}
	for n, want := range map[int]string{0: "", 1: "header", 2: "list"} {
		sh, err := BundleShape([]Draft{draftOf("a", &x), draftOf("b", &y)}[:n])
		if err != nil || (sh == nil) != (n == 0) || sh != nil && (sh.Type != want || n == 1 && (sh.CredentialID != "a" || sh.HeaderName != "X-Key") || n == 2 && len(sh.Items) != 2) {
			t.Errorf("%d in a bundle: %+v, %v", n, sh, err)
		}
	}
	broken := Draft{Row: store.Credential{Shape: "{"}}
	if _, err := Show([]Draft{broken}, now); err == nil {
		t.Error("a shape that cannot be read is shown")
	}
	if _, err := Show([]Draft{draftOf("a", &x), broken}, now); err == nil {
		t.Error("one of two shapes cannot be read")
	}
	if _, err := Show([]Draft{{Row: store.Credential{Shape: "{}", Origins: "{"}}}, now); err == nil {
		t.Error("origins that cannot be read are shown")
	}
	if _, err := (&Draft{Row: store.Credential{AuthType: "basic", Shape: "{"}}).Value(); err == nil {
		t.Error("a user without a name is applied")
	}
	if _, err := BundleShape([]Draft{broken}); err == nil {
		t.Error("a shape that cannot be read goes into a bundle")
	}
	if _, err := broken.Value(); err != nil {
		t.Errorf("only basic needs its shape: %v", err)
	}
	basic := all["basic"]
	d = draftOf("c", &basic)
	d.Secret = secrets.New("pass")
	if v, err := d.Value(); err != nil || v.Reveal() != "ann:pass" {
		t.Errorf("basic is applied as %v, %v", v.Reveal(), err)
	}
	d = draftOf("c", &x)
	d.Secret = secrets.New("key")
	if v, err := d.Value(); err != nil || v.Reveal() != "key" {
		t.Errorf("a key is applied as %v, %v", v.Reveal(), err)
	}
	client := all["oauth2"]
	if pub := client.Public(); !pub.ClientSecret.IsZero() || pub.ClientID != "app" || pub.TokenURL != client.TokenURL {
		t.Errorf("public %+v", pub)
	}
}

// TestWhoLogsIn: the one credential that a person logs in for, or the one that is named.
func TestWhoLogsIn(t *testing.T) {
	all := valid(t)
	person, client := all["oidc"], all["oauth2"]
	a, b, c := draftOf("a", &person), draftOf("b", &person), draftOf("c", &client)
	for _, x := range []struct {
		creds []Draft
		id    string
		want  string // "" an error
	}{
		{[]Draft{c, a}, "", "a"}, {[]Draft{a, b}, "", ""}, {[]Draft{a, b}, "b", "b"}, {[]Draft{c}, "", ""}, {[]Draft{c}, "c", ""}, {nil, "", ""}, {[]Draft{a}, "b", ""},
	} {
		d, sh, err := ForLogin(x.creds, x.id)
		if x.want == "" && !problem.Is(err, problem.InvalidArgument) || x.want != "" && (err != nil || d.Row.ID != x.want || sh.ClientID != "app") {
			t.Errorf("%q of %d: %+v, %v", x.id, len(x.creds), d, err)
		}
	}
	if _, _, err := ForLogin([]Draft{{Row: store.Credential{Shape: "{"}}}, ""); err == nil || problem.As(err) != nil {
		t.Errorf("a shape that cannot be read: %v", err)
	}
	// What does not say where to log in is for the server that is called.
	set := SetAuth{AuthItem: AuthItem{AuthType: "oauth2"}, Items: []AuthItem{
		{AuthType: "oauth2", Grant: oauth.ClientCredentials},
		{AuthType: "bearer"},
		{AuthType: "oidc", Issuer: "https://id.example"},
		{AuthType: "oauth2", TokenURL: "https://id.example"},
		{AuthType: "oauth2", AuthorizationURL: "https://id.example"},
		{AuthType: "oauth2", Resource: "https://r.example"},
	}}
	set.Aim("https://mcp.example")
	if set.Resource != "https://mcp.example" || set.Grant != oauth.AuthorizationCode || set.Items[0].Resource != "https://mcp.example" || set.Items[0].Grant != oauth.ClientCredentials {
		t.Errorf("%+v", set)
	}
	for i, want := range []string{"https://mcp.example", "", "", "", "", "https://r.example"} {
		if set.Items[i].Resource != want {
			t.Errorf("item %d is for %q", i, set.Items[i].Resource)
		}
	}
	one := SetAuth{AuthItem: AuthItem{AuthType: "oauth2", Issuer: "i", AuthorizationURL: "a", TokenURL: "t", Resource: "r"}}
	if got := strings.Join(one.Addresses(), " "); got != "i a t r" {
		t.Errorf("addresses %s", got)
	}
	shape := Shape{Grant: oauth.AuthorizationCode}
	if got := strings.Join(shape.Asked("oidc"), " "); got != "openid offline_access" || shape.Asked("oauth2") != nil {
		t.Errorf("asked %s", got)
	}
	shape.Scopes = []string{"read"}
	if got := strings.Join(shape.Asked("oidc"), " "); got != "read" {
		t.Errorf("asked %s", got)
	}
	shape = Shape{Grant: oauth.ClientCredentials}
	if shape.Asked("oidc") != nil {
		t.Error("a program stays logged in")
	}
}
