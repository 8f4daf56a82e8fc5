package oidc

import (
	"net/url"
	"slices"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// maxRoles bounds the groups that are mapped: each is a line of a configuration that
// somebody wrote.
const maxRoles = 1000

// Config names a provider and says what its groups may do.
type Config struct {
	Issuer       string // URL, as its ID tokens have it; empty: nobody signs in that way
	ClientID     string
	ClientSecret secrets.Secret
	// Name is what people call the provider. Default: the host of the issuer.
	Name string
	// GroupsClaim is the claim that names the groups. Default: groups.
	GroupsClaim string
	// Roles are the roles of groups. With some, each login sets the role of the member to
	// the highest of their groups', makes a member of who is none, and refuses who is in no
	// such group. Without any, members keep their role, and who is none is refused.
	Roles map[string]string
	// Scopes are asked for. Default: openid, email and profile, and groups with Roles.
	Scopes []string
}

// Check reports what is wrong with a configuration, and completes it.
func (c *Config) Check() error {
	if c.Issuer == "" {
		if c.ClientID != "" || len(c.Roles) > 0 {
			return problem.New(problem.InvalidArgument, "the login with OpenID Connect has no issuer").Fix("set --oidc-issuer")
		}
		return nil
	}
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return problem.New(problem.InvalidArgument, "the issuer of the login with OpenID Connect is not an https URL").Fix("write it as the provider does, such as https://id.example.com/realms/main")
	}
	if u.Scheme == "http" && u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" && u.Hostname() != "::1" {
		return problem.New(problem.InvalidArgument, "the issuer %s is not https", c.Issuer).Fix("use https: whoever is between could sign in as anybody")
	}
	if c.ClientID == "" {
		return problem.New(problem.InvalidArgument, "the login with OpenID Connect has no client ID").Fix("set --oidc-client-id")
	}
	if len(c.Roles) > maxRoles {
		return problem.New(problem.InvalidArgument, "more than %d groups have a role", maxRoles)
	}
	for group, role := range c.Roles {
		if group == "" || !store.ValidRole(role) {
			return problem.New(problem.InvalidArgument, "the group %.80q cannot have the role %.40q", group, role).Fix("the roles are viewer, editor, publisher and admin")
		}
	}
	if c.Name == "" {
		c.Name = u.Host
	}
	if c.GroupsClaim == "" {
		c.GroupsClaim = "groups"
	}
	if len(c.Scopes) == 0 {
		c.Scopes = []string{"openid", "email", "profile"}
		if len(c.Roles) > 0 && c.GroupsClaim == "groups" {
			c.Scopes = append(c.Scopes, "groups")
		}
	}
	if !slices.Contains(c.Scopes, "openid") {
		c.Scopes = append([]string{"openid"}, c.Scopes...)
	}
	return nil
}

// roleOf is the highest role of some groups; "": they have none.
func (c *Config) roleOf(groups []string) (role string) {
	for _, g := range groups {
		if r := c.Roles[g]; r != "" && (role == "" || store.RoleAllows(r, role)) {
			role = r
		}
	}
	return role
}
