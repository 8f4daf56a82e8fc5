package credential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// certificate is a self-signed certificate and its key, in PEM.
func certificate(t *testing.T, tmpl *x509.Certificate) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl.SerialNumber = big.NewInt(1)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

// valid is a configuration of each type without a fault.
func valid(t *testing.T) map[string]AuthItem {
	t.Helper()
	cert, key := certificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour)})
	x := secrets.New("key-of-sixteen-chars")
	return map[string]AuthItem{
		"header": {AuthType: "header", HeaderName: "X-Key", HeaderPrefix: "Key ", APIKey: x},
		"query":  {AuthType: "query", ParameterName: "key", APIKey: x},
		"cookie": {AuthType: "cookie", CookieName: "sid", APIKey: x},
		"body":   {AuthType: "body", MemberName: "key", APIKey: x},
		"bearer": {AuthType: "bearer", Token: x},
		"basic":  {AuthType: "basic", Username: "ann", Password: x},
		"oauth2": {AuthType: "oauth2", Grant: oauth.ClientCredentials, ClientID: "app", ClientSecret: x, TokenURL: "https://id.example/token"},
		"oidc":   {AuthType: "oidc", Grant: oauth.AuthorizationCode, ClientID: "app", Issuer: "https://id.example"},
		"mtls":   {AuthType: "mtls", Certificate: cert, PrivateKey: secrets.New(key)},
		"none":   {AuthType: "none"},
	}
}

func faultsOf(err error) string {
	p := problem.As(err)
	if p == nil {
		return ""
	}
	var at []string
	for _, part := range p.Parts {
		at = append(at, strings.TrimPrefix(part.Place.Pointer, "/a/"))
	}
	slices.Sort(at)
	return strings.Join(slices.Compact(at), " ")
}

// TestFieldsBelongToTypes: a field in a configuration of another type is a fault that names
// it, so that no secret is taken and then not used.
func TestFieldsBelongToTypes(t *testing.T) {
	x := secrets.New("x")
	fields := map[string]func(*AuthItem){
		"headerName": func(a *AuthItem) { a.HeaderName = "X-Key" }, "headerPrefix": func(a *AuthItem) { a.HeaderPrefix = "Key " },
		"parameterName": func(a *AuthItem) { a.ParameterName = "key" }, "cookieName": func(a *AuthItem) { a.CookieName = "sid" },
		"memberName": func(a *AuthItem) { a.MemberName = "key" }, "apiKey": func(a *AuthItem) { a.APIKey = x }, "token": func(a *AuthItem) { a.Token = x },
		"username": func(a *AuthItem) { a.Username = "ann" }, "password": func(a *AuthItem) { a.Password = x },
		"grant": func(a *AuthItem) { a.Grant = oauth.AuthorizationCode }, "clientId": func(a *AuthItem) { a.ClientID = "app" },
		"clientSecret": func(a *AuthItem) { a.ClientSecret = x }, "tokenAuthMethod": func(a *AuthItem) { a.TokenAuth = oauth.AuthPost },
		"authorizationUrl": func(a *AuthItem) { a.AuthorizationURL = "https://id.example/login" }, "tokenUrl": func(a *AuthItem) { a.TokenURL = "https://id.example/token" },
		"scopes": func(a *AuthItem) { a.Scopes = []string{"read"} }, "audience": func(a *AuthItem) { a.Audience = "api" },
		"resource": func(a *AuthItem) { a.Resource = "https://api.example" }, "perUser": func(a *AuthItem) { a.PerUser, a.Grant = true, oauth.AuthorizationCode },
		"issuer": func(a *AuthItem) { a.Issuer = "https://id.example" }, "certificate": nil, "privateKey": nil,
	}
	belongs := map[string]string{
		"header": "headerName headerPrefix apiKey", "query": "parameterName apiKey", "cookie": "cookieName apiKey", "body": "memberName apiKey",
		"bearer": "token", "basic": "username password", "mtls": "certificate privateKey", "none": "",
	}
	all := valid(t)
	certs := all["mtls"]
	fields["certificate"] = func(a *AuthItem) { a.Certificate = certs.Certificate }
	fields["privateKey"] = func(a *AuthItem) { a.PrivateKey = certs.PrivateKey }
	oauthFields := "grant clientId clientSecret tokenAuthMethod authorizationUrl tokenUrl scopes audience resource perUser issuer"
	belongs["oauth2"], belongs["oidc"] = oauthFields, oauthFields
	for name, it := range all {
		if got := faultsOf((&SetAuth{AuthItem: it}).Check("/a", KeepAny)); got != "" {
			t.Errorf("%s: faults %s", name, got)
		}
		if got := it.Secret(); got.IsZero() != (name == "none" || name == "oidc") {
			t.Errorf("%s: sealed is %v", name, got.IsZero())
		}
		for field, set := range fields {
			with := it
			set(&with)
			got := slices.Contains(strings.Fields(faultsOf((&SetAuth{AuthItem: with}).Check("/a", KeepAny))), field)
			if want := !slices.Contains(strings.Fields(belongs[name]), field); got != want {
				t.Errorf("%s with %s: a fault there: %v", name, field, got)
			}
			// A list has nothing of its own.
			list := SetAuth{AuthItem: AuthItem{AuthType: "list"}, Items: []AuthItem{all["bearer"]}}
			set(&list.AuthItem)
			if !slices.Contains(strings.Fields(faultsOf(list.Check("/a", KeepAny))), field) {
				t.Errorf("a list with %s has no fault there", field)
			}
		}
	}
}

// TestWhatAConfigurationLacks: each fault is told at its field.
func TestWhatAConfigurationLacks(t *testing.T) {
	all := valid(t)
	expired, key := certificate(t, &x509.Certificate{NotAfter: time.Now().Add(-time.Hour)})
	keep, forget := KeepAny, func(int) bool { return false }
	for _, c := range []struct {
		of     string
		change func(*AuthItem)
		keep   func(int) bool
		want   string
	}{
		{"header", func(a *AuthItem) { a.APIKey = secrets.Secret{} }, keep, ""},
		{"header", func(a *AuthItem) { a.APIKey = secrets.Secret{} }, forget, "apiKey"},
		{"header", func(a *AuthItem) { a.HeaderName = "" }, keep, "headerName"},
		{"header", func(a *AuthItem) { a.HeaderName = "Host" }, keep, "headerName"},
		{"header", func(a *AuthItem) { a.HeaderName = "transfer-encoding" }, keep, "headerName"},
		{"header", func(a *AuthItem) { a.APIKey = secrets.New("a\nb") }, keep, "apiKey"},
		{"header", func(a *AuthItem) { a.APIKey = secrets.New(" a") }, keep, "apiKey"},
		{"header", func(a *AuthItem) { a.APIKey = secrets.New("a b~!") }, keep, ""},
		{"header", func(a *AuthItem) { a.APIKey = secrets.New("a\x7f") }, keep, "apiKey"},
		{"header", func(a *AuthItem) { a.APIKey = secrets.New("ä") }, keep, "apiKey"},
		{"query", func(a *AuthItem) { a.ParameterName = "" }, keep, "parameterName"},
		{"cookie", func(a *AuthItem) { a.APIKey = secrets.New("a b") }, keep, "apiKey"},
		{"cookie", func(a *AuthItem) { a.APIKey = secrets.New("a;b") }, keep, "apiKey"},
		{"cookie", func(a *AuthItem) { a.APIKey = secrets.New("a\nb") }, keep, "apiKey"},
		{"cookie", func(a *AuthItem) { a.APIKey = secrets.Secret{} }, forget, "apiKey"},
		{"body", func(a *AuthItem) { a.MemberName = "" }, keep, "memberName"},
		{"bearer", func(a *AuthItem) { a.Token = secrets.Secret{} }, forget, "token"},
		{"basic", func(a *AuthItem) { a.Username = "" }, keep, ""},
		{"basic", func(a *AuthItem) { a.Username = "a:b" }, keep, "username"},
		{"basic", func(a *AuthItem) { a.Username = "a\tb" }, keep, "username"},
		{"basic", func(a *AuthItem) { a.Username = "a\x7f" }, keep, "username"},
		{"basic", func(a *AuthItem) { a.Username = "a b" }, keep, ""},
		{"basic", func(a *AuthItem) { a.Password = secrets.New(" with\nanything") }, keep, ""},
		{"basic", func(a *AuthItem) { a.Password = secrets.Secret{} }, forget, "password"},
		{"oauth2", func(a *AuthItem) { a.ClientSecret = secrets.Secret{} }, forget, "clientSecret"},
		{"oauth2", func(a *AuthItem) { a.ClientSecret = secrets.Secret{} }, keep, ""},
		{"oauth2", func(a *AuthItem) { a.Grant = "" }, keep, "grant"},
		{"oauth2", func(a *AuthItem) { a.TokenURL = "" }, keep, "tokenUrl"},
		{"oauth2", func(a *AuthItem) { a.TokenURL, a.Issuer = "", "https://id.example" }, keep, ""},
		{"oauth2", func(a *AuthItem) { a.TokenURL, a.Resource = "", "https://api.example" }, keep, ""},
		{"oauth2", func(a *AuthItem) {
			a.TokenURL, a.Resource, a.AuthorizationURL = "", "https://api.example", "https://id.example/login"
		}, keep, "tokenUrl"},
		{"oauth2", func(a *AuthItem) { a.TokenURL = "ftp://id.example" }, keep, "tokenUrl"},
		{"oauth2", func(a *AuthItem) { a.AuthorizationURL = "ftp://id.example" }, keep, "authorizationUrl"},
		{"oauth2", func(a *AuthItem) { a.Issuer = "ftp://id.example" }, keep, "issuer"},
		{"oauth2", func(a *AuthItem) { a.Resource = "ftp://id.example" }, keep, "resource"},
		{"oauth2", func(a *AuthItem) { a.Grant = oauth.AuthorizationCode }, keep, "authorizationUrl"},
		{"oauth2", func(a *AuthItem) { a.Grant, a.AuthorizationURL = oauth.AuthorizationCode, "https://id.example/login" }, keep, ""},
		{"oauth2", func(a *AuthItem) { a.Grant, a.Issuer = oauth.AuthorizationCode, "https://id.example" }, keep, ""},
		{"oauth2", func(a *AuthItem) { a.Grant, a.Resource = oauth.AuthorizationCode, "https://api.example" }, keep, "authorizationUrl"},
		{"oauth2", func(a *AuthItem) { a.ClientID = "" }, keep, "clientId"},
		{"oauth2", func(a *AuthItem) { a.ClientID, a.TokenURL, a.Resource = "", "", "https://api.example" }, keep, "clientId"},
		{"oauth2", func(a *AuthItem) { a.TokenAuth = "private_key_jwt" }, keep, "tokenAuthMethod"},
		{"oauth2", func(a *AuthItem) { a.TokenAuth = oauth.AuthBasic }, keep, ""},
		{"oauth2", func(a *AuthItem) { a.TokenAuth = oauth.AuthPost }, keep, ""},
		{"oauth2", func(a *AuthItem) { a.PerUser = true }, keep, "perUser"},
		{"oidc", func(a *AuthItem) { a.PerUser = true }, keep, ""},
		{"oidc", func(*AuthItem) {}, forget, ""}, // a person logs in: the client may be public
		{"oidc", func(a *AuthItem) { a.Issuer = "" }, keep, "issuer"},
		{"oidc", func(a *AuthItem) { a.ClientID = "" }, keep, "clientId"},
		{"oidc", func(a *AuthItem) { a.ClientID, a.Resource = "", "https://api.example" }, keep, ""}, // it registers
		{"oidc", func(a *AuthItem) {
			a.ClientID, a.Resource, a.TokenURL = "", "https://api.example", "https://id.example/token"
		}, keep, "clientId"},
		{"oidc", func(a *AuthItem) { a.Scopes = []string{"ok", "a b"} }, keep, "scopes/1"},
		{"mtls", func(a *AuthItem) { a.Certificate = "" }, keep, "certificate"},
		{"mtls", func(a *AuthItem) { a.PrivateKey = secrets.Secret{} }, keep, "privateKey"},
		{"mtls", func(a *AuthItem) { a.Certificate, a.PrivateKey = "", secrets.Secret{} }, keep, ""},
		{"mtls", func(a *AuthItem) { a.Certificate, a.PrivateKey = "", secrets.Secret{} }, forget, "certificate"},
		{"mtls", func(a *AuthItem) { a.PrivateKey = secrets.New(key) }, keep, "certificate"},
		{"mtls", func(a *AuthItem) { a.Certificate, a.PrivateKey = expired, secrets.New(key) }, keep, "certificate"},
		{"none", func(a *AuthItem) { a.AuthType = "digest" }, keep, "authType"},
	} {
		it := all[c.of]
		c.change(&it)
		if got := faultsOf((&SetAuth{AuthItem: it}).Check("/a", c.keep)); got != c.want {
			t.Errorf("%s %+v: faults at %q, want %q", c.of, it.Public(), got, c.want)
		}
	}
	list := func(items ...AuthItem) string {
		return faultsOf((&SetAuth{AuthItem: AuthItem{AuthType: "list"}, Items: items}).Check("/a", func(i int) bool { return i == 0 }))
	}
	bare := AuthItem{AuthType: "bearer"}
	for i, c := range []struct{ got, want string }{
		{list(), "items"},
		{list(all["bearer"]), ""},
		{list(bare, bare), "items/1/token"}, // the first keeps what is stored
		{list(all["none"], bare), "items/0/authType items/1/token"},
		{list(AuthItem{AuthType: "list"}), "items/0/authType"},
		{list(slices.Repeat([]AuthItem{all["bearer"]}, registry.MaxAuthItems)...), ""},
		{list(slices.Repeat([]AuthItem{all["bearer"]}, registry.MaxAuthItems+1)...), "items"},
		{faultsOf((&SetAuth{AuthItem: all["bearer"], Items: []AuthItem{bare}}).Check("/a", keep)), "items"},
	} {
		if c.got != c.want {
			t.Errorf("list %d: faults at %q, want %q", i, c.got, c.want)
		}
	}
	for _, half := range []AuthItem{{AuthType: "mtls", Certificate: all["mtls"].Certificate}, {AuthType: "mtls", PrivateKey: all["mtls"].PrivateKey}} {
		if !half.Secret().IsZero() {
			t.Error("half a certificate is sealed")
		}
	}
}

// TestCertificateInfo is of the first certificate, and says whose it is by its names where
// it has no subject.
func TestCertificateInfo(t *testing.T) {
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for want, tmpl := range map[string]*x509.Certificate{
		"CN=client":      {Subject: pkix.Name{CommonName: "client"}, DNSNames: []string{"client.example"}, NotAfter: until},
		"client.example": {DNSNames: []string{"client.example"}, NotAfter: until},
		"":               {NotAfter: until},
	} {
		cert, key := certificate(t, tmpl)
		it := AuthItem{AuthType: registry.AuthMTLS, Certificate: "\n" + cert + "\n", PrivateKey: secrets.New("\n" + key)}
		info, err := readCertificate(it.Secret())
		if err != nil || info.Subject != want || !info.NotAfter.Equal(until) || info.NotAfter.Location() != time.UTC {
			t.Errorf("%q: %+v, %v", want, info, err)
		}
	}
}

// TestOriginsOfCalls: what the toolset sets in the place of the specification's servers is
// the only place that calls go to; else its servers, and those of operations.
func TestOriginsOfCalls(t *testing.T) {
	g := &toolset.Generated{
		Base: "https://api.example:443", Keyed: registry.Origins{"https://files.example:443"}, Elsewhere: registry.Origins{"https://files.example:443", "https://open.example:443"},
	}
	c := CallsOf("main", "", g)
	c.Credentials = []string{"cred_1"}
	if got := c.Wanted().String(); got != "https://api.example:443, https://files.example:443" && got != "https://files.example:443, https://api.example:443" {
		t.Errorf("wanted %s", got)
	}
	if len(c.all()) != 3 || !c.Uses("cred_1") || c.Uses("cred_2") {
		t.Errorf("all %s", c.all())
	}
	c.Base = ""
	if got := c.Wanted().String(); got != "https://files.example:443" || len(c.all()) != 2 {
		t.Errorf("nobody says the base: %s, %s", got, c.all())
	}
	own := CallsOf("main", "https://own.example/v1", g)
	if len(own.Wanted()) != 1 || len(own.all()) != 1 || !strings.HasPrefix(own.Base, "https://own.example") || own.Connector != "main" {
		t.Errorf("an address of the toolset: %s, %s", own.Wanted(), own.all())
	}
	if bad := CallsOf("main", "ftp://own.example", g); len(bad.Wanted()) != 0 || len(bad.all()) != 0 {
		t.Errorf("an address that is none: %s", bad.all())
	}
	if got := OriginsOf("https://a.example/x", "", "no address", "https://a.example/y", "https://b.example"); len(got) != 2 {
		t.Errorf("origins %s", got)
	}
	// Another version moves calls when it calls where the one before did not.
	next := *g
	next.Elsewhere = g.Elsewhere.With("https://new.example:443")
	if m := Moved("main", "", g, &next); m == nil || len(m.From) != 3 || len(m.To) != 4 || m.Connector != "main" || !strings.Contains(m.String(), "→") {
		t.Errorf("a new server: %+v", m)
	}
	if m := Moved("main", "", &next, g); m != nil {
		t.Errorf("one server less: %+v", m)
	}
	if m := Moved("main", "https://own.example", g, &next); m != nil {
		t.Errorf("a new server that is not called: %+v", m)
	}
	if m := Moved("main", "", &toolset.Generated{}, g); m == nil || m.From == nil {
		t.Errorf("from nowhere: %+v", m)
	}
	change := OriginChange{Connector: "main", From: []string{"https://a.example:443"}, To: []string{"https://b.example:443"}}
	if why := change.Why(); !strings.Contains(why, "to another address") {
		t.Error(why)
	}
	change.New = change.To
	err := Refused("shop", []OriginChange{change})
	if why := change.Why(); !strings.Contains(why, "the credential of main is for https://a.example") || !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), "origins shop --confirm https://b.example") {
		t.Errorf("%s, %v", why, err)
	}
}

// TestBoundOfARecord: what was stored is read, and a record from before origins were kept is
// told from one that may be sent nowhere.
func TestBoundOfARecord(t *testing.T) {
	for text, want := range map[string]struct {
		known, fails bool
		calls        int
	}{
		"": {}, (&Bound{}).Text(): {known: true}, (&Bound{Call: registry.Origins{"https://a.example:443"}}).Text(): {known: true, calls: 1}, "{": {fails: true},
	} {
		b, known, err := ParseBound(&store.Credential{Origins: text})
		if known != want.known || (err != nil) != want.fails || len(b.Call) != want.calls {
			t.Errorf("%q: %+v, %v, %v", text, b, known, err)
		}
	}
	if text := (&Bound{}).Text(); text != `{"call":[]}` {
		t.Errorf("nowhere is %s", text)
	}
	if Host("https://a.example:8080/x") != "a.example:8080" || Hostname("https://a.example:8080/x") != "a.example" || Host("://") != "://" || Hostname("://") != "://" {
		t.Error("hosts of addresses")
	}
}
