package upstreamauth

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Flags say how calls to the upstream are authenticated. A key is never the
// value of a flag: command lines are visible to other users and kept in histories.
type Flags struct {
	Specs             []string
	KeyFiles, KeyEnvs []string // in the order of specs that take a secret

	grant, issuer, authorizationURL, tokenURL, audience string
	resource                                            string
	Scopes                                              []string
	PerUser, NoBrowser                                  bool
	certificate, privateKey                             string
}

// Register declares the flags.
func (f *Flags) Register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.Specs, "auth", nil,
		"authentication: header:NAME[:PREFIX], query:NAME, cookie:NAME, body:MEMBER, bearer, basic:USER, oauth[:CLIENT_ID], oauth2:CLIENT_ID, oidc:CLIENT_ID, mtls, none, of a command env:VARIABLE; again for each that is combined")
	fl.StringArrayVar(&f.KeyFiles, "api-key-file", nil, "file with the key, token, password or client secret, - for stdin; one for each --auth")
	fl.StringArrayVar(&f.KeyEnvs, "api-key-env", nil, "name of the environment variable with the key; one for each --auth")
	fl.StringVar(&f.grant, "grant", "", "oauth2, oidc: client_credentials or authorization_code")
	fl.StringVar(&f.issuer, "issuer", "", "oauth2, oidc: issuer whose metadata names the endpoints")
	fl.StringVar(&f.authorizationURL, "authorization-url", "", "oauth2: page where a person logs in")
	fl.StringVar(&f.tokenURL, "token-url", "", "oauth2: token endpoint")
	fl.StringSliceVar(&f.Scopes, "scope", nil, "oauth2, oidc: scopes to ask for")
	fl.StringVar(&f.audience, "audience", "", "oauth2, oidc: API that the token is for")
	fl.StringVar(&f.resource, "resource", "", "oauth, oauth2, oidc: resource that the token is for, default with oauth the MCP server")
	fl.BoolVar(&f.PerUser, "per-user", false, "oauth, oauth2, oidc: each caller of the toolset logs in with an account of their own")
	fl.BoolVar(&f.NoBrowser, "no-browser", false, "login: only print the page to open")
	fl.StringVar(&f.certificate, "client-cert", "", "mtls: file with the PEM certificate chain")
	fl.StringVar(&f.privateKey, "client-key", "", "mtls: file with the PEM private key")
}

// Given reports whether one of the flags is given.
func (f *Flags) Given() bool {
	return len(f.Specs) > 0 || len(f.KeyFiles) > 0 || len(f.KeyEnvs) > 0 || f.oauthOnly() != "" || f.certificate != "" || f.privateKey != ""
}

// Stdin reports whether a secret comes from stdin.
func (f *Flags) Stdin() bool {
	return slices.Contains(f.KeyFiles, "-") || f.certificate == "-" || f.privateKey == "-"
}

// isOAuth reports whether the flags are of an OAuth client that is found out.
func (f *Flags) isOAuth() bool {
	kind, _, _ := strings.Cut(f.Specs[0], ":")
	return kind == "oauth"
}

// oauthOnly names a flag that is given and belongs to OAuth.
func (f *Flags) oauthOnly() string {
	for _, v := range []struct {
		name string
		set  bool
	}{
		{"--grant", f.grant != ""},
		{"--issuer", f.issuer != ""},
		{"--authorization-url", f.authorizationURL != ""},
		{"--token-url", f.tokenURL != ""},
		{"--scope", len(f.Scopes) > 0},
		{"--audience", f.audience != ""},
		{"--resource", f.resource != ""},
		{"--per-user", f.PerUser},
	} {
		if v.set {
			return v.name
		}
	}
	return ""
}

// Request is credential.SetAuth as it goes over the wire: secrets print as
// [redacted] everywhere else.
type Request struct {
	credential.SetAuth
	APIKey       string    `json:"apiKey,omitempty"`
	Token        string    `json:"token,omitempty"`
	Password     string    `json:"password,omitempty"`
	ClientSecret string    `json:"clientSecret,omitempty"`
	PrivateKey   string    `json:"privateKey,omitempty"`
	Items        []Request `json:"items,omitempty"`
}

// Request makes the authentication configuration; it asks for the keys where
// nothing else gives them.
func (f *Flags) Request(ctx context.Context, cli *command.Session) (Request, error) {
	specs := f.Specs
	if len(specs) == 0 {
		specs = []string{""}
	}
	var items []Request
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
		return Request{}, err
	}
	next := &keys{cli: cli, files: f.KeyFiles, envs: f.KeyEnvs}
	for i := range items {
		if err := f.fill(ctx, &items[i], next); err != nil {
			return Request{}, err
		}
	}
	if err := next.rest(); err != nil {
		return Request{}, err
	}
	if len(items) == 1 {
		return items[0], nil
	}
	list := Request{Items: items}
	list.AuthType = "list"
	return list, nil
}

// NewSecret reads the new secret of a configuration that otherwise stays as it is.
func (f *Flags) NewSecret(ctx context.Context, cli *command.Session, r *Request) error {
	next := &keys{cli: cli, files: f.KeyFiles, envs: f.KeyEnvs}
	if r.Grant == "authorization_code" && next.empty() {
		return exit.Usagef("give the new client secret with --api-key-file FILE|- or --api-key-env NAME")
	}
	return errors.Join(f.fill(ctx, r, next), next.rest())
}

// complete puts the flags of OAuth on the item they belong to.
func (f *Flags) complete(items []Request) error {
	var to *Request
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
		if to.AuthType == "oidc" || f.authorizationURL != "" || len(f.Specs) == 1 && f.isOAuth() {
			to.Grant = "authorization_code"
		}
	}
	to.Resource, to.PerUser = f.resource, f.PerUser
	to.Issuer, to.AuthorizationURL, to.TokenURL, to.Audience, to.Scopes = f.issuer, f.authorizationURL, f.tokenURL, f.audience, f.Scopes
	return nil
}

// fill reads the secret of an item.
func (f *Flags) fill(ctx context.Context, r *Request, from *keys) error {
	var to *string
	var what string
	switch r.AuthType {
	case "none":
		return nil
	case "mtls":
		return f.fillCertificate(r, from.cli)
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
	key, err := from.next(ctx, what)
	*to = key.Reveal()
	return err
}

func (f *Flags) fillCertificate(r *Request, cli *command.Session) error {
	if f.certificate == "" || f.privateKey == "" {
		return exit.Usagef("--auth mtls needs --client-cert FILE and --client-key FILE")
	}
	chain, err := cli.ReadSecretText(f.certificate)
	if err != nil {
		return err
	}
	key, err := cli.ReadSecretText(f.privateKey)
	r.Certificate, r.PrivateKey = chain.Reveal(), key.Reveal()
	return err
}

// parseAuth reads the value of --auth. A prefix that ends in a letter or digit
// gets the blank that separates a scheme from its value: "Bearer" is meant as
// "Bearer ". To send none, end it with something else, as in "key=".
// envName is a variable that a command gets a credential in: the name travels as that of
// a header, where letters have no case.
var envName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,127}$`)

func parseAuth(spec string) (r Request, err error) {
	kind, rest, _ := strings.Cut(spec, ":")
	r.AuthType = kind
	needs := func(to *string, form string) (Request, error) {
		if rest == "" {
			return Request{}, exit.Usagef("--auth %s needs something after it: %s", kind, form)
		}
		*to = rest
		return r, nil
	}
	switch kind {
	case "header":
		name, prefix, _ := strings.Cut(rest, ":")
		if name == "" {
			return Request{}, exit.Usagef("--auth header needs the name of the header: header:NAME[:PREFIX]")
		}
		if prefix != "" {
			if last := prefix[len(prefix)-1]; last >= 'a' && last <= 'z' || last >= 'A' && last <= 'Z' || last >= '0' && last <= '9' {
				prefix += " "
			}
		}
		r.HeaderName, r.HeaderPrefix = name, prefix
		return r, nil
	case "env": // of a command: its front takes them as headers
		r.AuthType = "header"
		if !envName.MatchString(rest) {
			return Request{}, exit.Usagef("--auth env needs the name of a variable in capitals: env:GITHUB_TOKEN")
		}
		r.HeaderName = "Sluice-Env-" + rest
		return r, nil
	case "bearer", "none", "mtls":
		if rest != "" {
			return Request{}, exit.Usagef("--auth %s takes nothing after it; secrets come from files", kind)
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
		return Request{}, exit.Usagef("a key needs --auth, for example --auth header:Authorization:Bearer")
	}
	return Request{}, exit.Usagef("--auth %s is not known; use header:NAME[:PREFIX], query:NAME, cookie:NAME, bearer, basic:USER, oauth[:CLIENT_ID], oauth2:CLIENT_ID, oidc:CLIENT_ID, mtls, env:VARIABLE or none", terminal.Printable(kind))
}

// keys gives the secrets of the command line in their order.
type keys struct {
	cli         *command.Session
	files, envs []string
}

func (k *keys) empty() bool { return len(k.files) == 0 && len(k.envs) == 0 }

func (k *keys) next(ctx context.Context, question string) (secrets.Secret, error) {
	switch {
	case len(k.files) > 0 && len(k.envs) > 0:
		return secrets.Secret{}, exit.Usagef("--api-key-file and --api-key-env cannot both be given")
	case len(k.files) > 0:
		path := k.files[0]
		k.files = k.files[1:]
		return k.cli.ReadSecretFile(path)
	case len(k.envs) > 0:
		name := k.envs[0]
		k.envs = k.envs[1:]
		return k.cli.Env.Secret(name)
	}
	return k.cli.PromptSecret(ctx, question)
}

// rest refuses secrets that nobody asked for.
func (k *keys) rest() error {
	if k.empty() {
		return nil
	}
	return exit.Usagef("there are more keys than --auth flags that take one")
}
