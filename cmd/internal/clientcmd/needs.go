package clientcmd

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/registry"
)

// missing says what stands between an application and a toolset, each as a sentence with
// what to do.
func (c application) missing(s endpoint, getenv func(string) string) []string {
	var out []string
	u, err := url.Parse(s.url)
	if err != nil {
		return nil
	}
	local := privateHost(u.Hostname())
	switch {
	case c.cloud && local:
		out = append(out, c.title+" connects from its vendor's cloud, which does not reach "+u.Host+
			": serve the gateway at a public address and say which with sluice serve --public-url https://…")
	case c.cloud && u.Scheme != "https":
		out = append(out, c.title+" connects to https URLs only: start the gateway with --tls-cert and --tls-key, or say with --public-url https://… which proxy speaks TLS for it")
	case u.Scheme == "http" && !safedial.Loopback(u.Hostname()) && s.mode != registry.AccessNone && s.mode != "":
		out = append(out, "tokens are sent to "+u.Host+" without encryption: start the gateway with --tls-cert and --tls-key, or say with --public-url https://… which proxy speaks TLS for it")
	}
	switch s.mode {
	case registry.AccessToken:
		switch c.secret {
		case noSecret:
			out = append(out, c.title+" sends no access tokens: let it log in with sluice toolset access "+s.name+" set jwt --issuer URL")
		case fromVariable:
			if getenv(s.variable) == "" {
				out = append(out, c.title+" needs an access token in the environment variable "+s.variable+", which is not set here: "+makeToken(s, c))
			}
		case fromPrompt:
			out = append(out, c.title+" asks for an access token when it first connects: "+makeToken(s, c))
		case fromBridge:
			out = append(out, "the access token is to be in "+s.headers+" as a line \"Authorization: Bearer …\"; --install makes it")
		}
	case registry.AccessJWT:
		if c.login == "" {
			out = append(out, c.title+" cannot log in at "+s.issuer+" here: use sluice toolset access "+s.name+" set token")
		} else {
			out = append(out, s.name+" needs a login at "+s.issuer+". It is started by: "+strings.ReplaceAll(c.login, "%s", s.name))
		}
	}
	return out
}

func makeToken(s endpoint, c application) string {
	return "make one with sluice toolset access " + s.name + " token create " + c.name
}

// privateHost reports whether a host is certainly not reached from elsewhere, by its
// address or name. No name is looked up.
func privateHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified()
	}
	return safedial.Loopback(host) || !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}
