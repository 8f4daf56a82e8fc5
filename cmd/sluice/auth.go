package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/secrets"
)

// authFlags say how calls to the upstream are authenticated. A key is never the
// value of a flag: command lines are visible to other users and kept in histories.
type authFlags struct {
	specs             []string
	keyFiles, keyEnvs []string // in the order of specs that take a secret

	grant, issuer, authorizationURL, tokenURL, audience string
	resource                                            string
	scopes                                              []string
	perUser, noBrowser                                  bool
	certificate, privateKey                             string
}

func (f *authFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.specs, "auth", nil,
		"authentication: header:NAME[:PREFIX], query:NAME, cookie:NAME, body:MEMBER, bearer, basic:USER, oauth[:CLIENT_ID], oauth2:CLIENT_ID, oidc:CLIENT_ID, mtls, none; again for each that is combined")
	fl.StringArrayVar(&f.keyFiles, "api-key-file", nil, "file with the key, token, password or client secret, - for stdin; one for each --auth")
	fl.StringArrayVar(&f.keyEnvs, "api-key-env", nil, "name of the environment variable with the key; one for each --auth")
	fl.StringVar(&f.grant, "grant", "", "oauth2, oidc: client_credentials or authorization_code")
	fl.StringVar(&f.issuer, "issuer", "", "oauth2, oidc: issuer whose metadata names the endpoints")
	fl.StringVar(&f.authorizationURL, "authorization-url", "", "oauth2: page where a person logs in")
	fl.StringVar(&f.tokenURL, "token-url", "", "oauth2: token endpoint")
	fl.StringSliceVar(&f.scopes, "scope", nil, "oauth2, oidc: scopes to ask for")
	fl.StringVar(&f.audience, "audience", "", "oauth2, oidc: API that the token is for")
	fl.StringVar(&f.resource, "resource", "", "oauth, oauth2, oidc: resource that the token is for, default with oauth the MCP server")
	fl.BoolVar(&f.perUser, "per-user", false, "oauth, oauth2, oidc: each caller of the toolset logs in with an account of their own")
	fl.BoolVar(&f.noBrowser, "no-browser", false, "login: only print the page to open")
	fl.StringVar(&f.certificate, "client-cert", "", "mtls: file with the PEM certificate chain")
	fl.StringVar(&f.privateKey, "client-key", "", "mtls: file with the PEM private key")
}

func (f *authFlags) given() bool {
	return len(f.specs) > 0 || len(f.keyFiles) > 0 || len(f.keyEnvs) > 0 || f.oauthOnly() != "" || f.certificate != "" || f.privateKey != ""
}

// stdin reports whether a secret comes from stdin.
func (f *authFlags) stdin() bool {
	return slices.Contains(f.keyFiles, "-") || f.certificate == "-" || f.privateKey == "-"
}

// isOAuth reports whether the flags are of an OAuth client that is found out.
func (f *authFlags) isOAuth() bool {
	kind, _, _ := strings.Cut(f.specs[0], ":")
	return kind == "oauth"
}

// oauthOnly names a flag that is given and belongs to OAuth.
func (f *authFlags) oauthOnly() string {
	for _, v := range []struct {
		name string
		set  bool
	}{
		{"--grant", f.grant != ""},
		{"--issuer", f.issuer != ""},
		{"--authorization-url", f.authorizationURL != ""},
		{"--token-url", f.tokenURL != ""},
		{"--scope", len(f.scopes) > 0},
		{"--audience", f.audience != ""},
		{"--resource", f.resource != ""},
		{"--per-user", f.perUser},
	} {
		if v.set {
			return v.name
		}
	}
	return ""
}

// authRequest is admin.SetAuth as it goes over the wire: secrets print as
// [redacted] everywhere else.
type authRequest struct {
	admin.SetAuth
	APIKey       string        `json:"apiKey,omitempty"`
	Token        string        `json:"token,omitempty"`
	Password     string        `json:"password,omitempty"`
	ClientSecret string        `json:"clientSecret,omitempty"`
	PrivateKey   string        `json:"privateKey,omitempty"`
	Items        []authRequest `json:"items,omitempty"`
}

// request makes the authentication configuration; it asks for the keys where
// nothing else gives them.
func (f *authFlags) request(a *app) (authRequest, error) {
	specs := f.specs
	if len(specs) == 0 {
		specs = []string{""}
	}
	var items []authRequest
	for _, spec := range specs {
		r, err := parseAuth(spec)
		if err != nil {
			return r, err
		}
		if r.AuthType == "none" && len(specs) > 1 {
			return r, exit.Usagef("--auth none cannot be combined")
		}
		items = append(items, r)
	}
	if err := f.complete(items); err != nil {
		return authRequest{}, err
	}
	next := &keySource{a: a, files: f.keyFiles, envs: f.keyEnvs}
	for i := range items {
		if err := f.fill(&items[i], next); err != nil {
			return authRequest{}, err
		}
	}
	if err := next.rest(); err != nil {
		return authRequest{}, err
	}
	if len(items) == 1 {
		return items[0], nil
	}
	list := authRequest{Items: items}
	list.AuthType = "list"
	return list, nil
}

// complete puts the flags of OAuth on the item they belong to.
func (f *authFlags) complete(items []authRequest) error {
	var to *authRequest
	certificates := 0
	for i := range items {
		switch items[i].AuthType {
		case "oauth2", "oidc":
			if to != nil {
				return exit.Usagef("--auth %s: only one OAuth client can be given here; use the admin API for more", items[i].AuthType)
			}
			to = &items[i]
		case "mtls":
			certificates++
		}
	}
	switch flag := f.oauthOnly(); {
	case to == nil && flag != "":
		return exit.Usagef("%s belongs to --auth oauth2:CLIENT_ID, oidc:CLIENT_ID or oauth", flag)
	case certificates == 0 && (f.certificate != "" || f.privateKey != ""):
		return exit.Usagef("--client-cert and --client-key belong to --auth mtls")
	case to == nil:
		return nil
	}
	if to.Grant = strings.ReplaceAll(f.grant, "-", "_"); to.Grant == "" {
		to.Grant = "client_credentials"
		if to.AuthType == "oidc" || f.authorizationURL != "" || len(f.specs) == 1 && f.isOAuth() {
			to.Grant = "authorization_code"
		}
	}
	to.Resource, to.PerUser = f.resource, f.perUser
	to.Issuer, to.AuthorizationURL, to.TokenURL, to.Audience, to.Scopes = f.issuer, f.authorizationURL, f.tokenURL, f.audience, f.scopes
	return nil
}

// fill reads the secret of an item.
func (f *authFlags) fill(r *authRequest, from *keySource) error {
	var to *string
	var what string
	switch r.AuthType {
	case "none":
		return nil
	case "mtls":
		return f.fillCertificate(r, from.a)
	case "bearer":
		to, what = &r.Token, "Token: "
	case "basic":
		to, what = &r.Password, "Password of "+terminal.Printable(r.Username)+": "
	case "oauth2", "oidc":
		to, what = &r.ClientSecret, "Client secret: "
		if r.Grant == "authorization_code" && from.empty() {
			return nil // a public client; PKCE protects its login
		}
	default:
		to, what = &r.APIKey, "Key: "
	}
	key, err := from.next(what)
	*to = key.Reveal()
	return err
}

func (f *authFlags) fillCertificate(r *authRequest, a *app) error {
	if f.certificate == "" || f.privateKey == "" {
		return exit.Usagef("--auth mtls needs --client-cert FILE and --client-key FILE")
	}
	chain, err := a.ReadSecretText(f.certificate)
	if err != nil {
		return err
	}
	key, err := a.ReadSecretText(f.privateKey)
	r.Certificate, r.PrivateKey = chain.Reveal(), key.Reveal()
	return err
}

// parseAuth reads the value of --auth. A prefix that ends in a letter or digit
// gets the blank that separates a scheme from its value: "Bearer" is meant as
// "Bearer ". To send none, end it with something else, as in "key=".
func parseAuth(spec string) (r authRequest, err error) {
	kind, rest, _ := strings.Cut(spec, ":")
	r.AuthType = kind
	needs := func(to *string, form string) (authRequest, error) {
		if rest == "" {
			return authRequest{}, exit.Usagef("--auth %s needs something after it: %s", kind, form)
		}
		*to = rest
		return r, nil
	}
	switch kind {
	case "header":
		name, prefix, _ := strings.Cut(rest, ":")
		if name == "" {
			return authRequest{}, exit.Usagef("--auth header needs the name of the header: header:NAME[:PREFIX]")
		}
		if prefix != "" {
			if last := prefix[len(prefix)-1]; last >= 'a' && last <= 'z' || last >= 'A' && last <= 'Z' || last >= '0' && last <= '9' {
				prefix += " "
			}
		}
		r.HeaderName, r.HeaderPrefix = name, prefix
		return r, nil
	case "bearer", "none", "mtls":
		if rest != "" {
			return authRequest{}, exit.Usagef("--auth %s takes nothing after it; secrets come from files", kind)
		}
		return r, nil
	case "query":
		return needs(&r.ParameterName, "query:NAME")
	case "cookie":
		return needs(&r.CookieName, "cookie:NAME")
	case "body":
		return needs(&r.MemberName, "body:MEMBER")
	case "basic":
		return needs(&r.Username, "basic:USER")
	case "oauth": // everything is found out, a client registered
		r.AuthType, r.ClientID = "oauth2", rest
		return r, nil
	case "oauth2", "oidc":
		return needs(&r.ClientID, kind+":CLIENT_ID")
	case "":
		return authRequest{}, exit.Usagef("a key needs --auth, for example --auth header:Authorization:Bearer")
	}
	return authRequest{}, exit.Usagef("--auth %s is not known; use header:NAME[:PREFIX], query:NAME, cookie:NAME, bearer, basic:USER, oauth[:CLIENT_ID], oauth2:CLIENT_ID, oidc:CLIENT_ID, mtls or none", terminal.Printable(kind))
}

// keySource gives the secrets of the command line in their order.
type keySource struct {
	a           *app
	files, envs []string
}

func (k *keySource) empty() bool { return len(k.files) == 0 && len(k.envs) == 0 }

func (k *keySource) next(question string) (secrets.Secret, error) {
	switch {
	case len(k.files) > 0 && len(k.envs) > 0:
		return secrets.Secret{}, exit.Usagef("--api-key-file and --api-key-env cannot both be given")
	case len(k.files) > 0:
		path := k.files[0]
		k.files = k.files[1:]
		return k.a.ReadSecretFile(path)
	case len(k.envs) > 0:
		name := k.envs[0]
		k.envs = k.envs[1:]
		return k.a.Env.Secret(name)
	}
	return k.a.PromptSecret(question)
}

// rest refuses secrets that nobody asked for.
func (k *keySource) rest() error {
	if k.empty() {
		return nil
	}
	return exit.Usagef("there are more keys than --auth flags that take one")
}
