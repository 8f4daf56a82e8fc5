package main

import (
	"cmp"
	"maps"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/admin/member/oidc"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// registerOpenID registers the flags of the OpenID provider at which members sign in.
func (f *nodeFlags) registerOpenID(fs *pflag.FlagSet) {
	fs.StringVar(&f.openID.Issuer, "oidc-issuer", "", "OpenID provider at which members sign in to the console, such as https://id.example.com/realms/main")
	fs.StringVar(&f.openID.ClientID, "oidc-client-id", "", "client that is registered there for the console; it may come back to /openid/callback of the admin listener")
	fs.StringVar(&f.openID.SecretFile, "oidc-client-secret-file", "", "file with its secret, if it has one (or SLUICE_OIDC_CLIENT_SECRET)")
	fs.StringVar(&f.openID.Name, "oidc-name", "", "name of the provider on the sign-in page (default: its host)")
	fs.StringVar(&f.openID.GroupsClaim, "oidc-groups-claim", "", "claim that names the groups of a person (default groups)")
	fs.StringArrayVar(&f.openIDRoles, "oidc-role", nil, "role of a group, GROUP=viewer, editor, publisher or admin; each login sets the role of the member, and adds those who are not members yet")
}

// openIDOf is the provider: flags win over the environment, that over the configuration file.
func (f *nodeFlags) openIDOf(a *app) (c oidc.Config, err error) {
	file := a.Config.OpenID
	c = oidc.Config{
		Issuer: cmp.Or(f.openID.Issuer, a.Env.OIDCIssuer, file.Issuer), ClientID: cmp.Or(f.openID.ClientID, a.Env.OIDCClientID, file.ClientID),
		Name: cmp.Or(f.openID.Name, file.Name), GroupsClaim: cmp.Or(f.openID.GroupsClaim, file.GroupsClaim), Roles: maps.Clone(file.Roles), Scopes: file.Scopes,
		ClientSecret: a.Env.OIDCSecret,
	}
	if len(f.openIDRoles) > 0 {
		c.Roles = make(map[string]string, len(f.openIDRoles))
	}
	for _, text := range f.openIDRoles {
		i := strings.LastIndexByte(text, '=') // a group may have one, as distinguished names do
		if i < 1 {
			return c, exit.Usagef("--oidc-role %s is not GROUP=ROLE", terminal.Printable(text))
		}
		c.Roles[text[:i]] = text[i+1:]
	}
	if name := cmp.Or(f.openID.SecretFile, file.SecretFile); name != "" && (f.openID.SecretFile != "" || c.ClientSecret.IsZero()) {
		if c.ClientSecret, err = a.ReadSecretFile(name); err != nil {
			return c, err
		}
	}
	return c, c.Check()
}
