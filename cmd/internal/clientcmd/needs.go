package clientcmd

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/internal/clientconfig"
	"github.com/sluicegate/sluice/internal/safedial"
)

// missing says what stands between an application and a toolset, each as a sentence with
// what to do.
func (c application) missing(s clientconfig.Endpoint, getenv func(string) string) []string {
	var out []string
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil
	}
	local := privateHost(u.Hostname())
	switch {
	case c.Cloud && local:
		out = append(out, c.Title+" connects from its vendor's cloud, which does not reach "+u.Host+
			": serve the gateway at a public address and say which with sluice serve --public-url https://…")
	case c.Cloud && u.Scheme != "https":
		out = append(out, c.Title+" connects to https URLs only: start the gateway with --tls-cert and --tls-key, or say with --public-url https://… which proxy speaks TLS for it")
	case u.Scheme == "http" && !safedial.Loopback(u.Hostname()) && (s.Token || s.Login):
		out = append(out, "tokens are sent to "+u.Host+" without encryption: start the gateway with --tls-cert and --tls-key, or say with --public-url https://… which proxy speaks TLS for it")
	}
	switch {
	case s.Token:
		switch c.Secret {
		case clientconfig.NoSecret:
			out = append(out, c.Title+" sends no access tokens: let it log in with sluice toolset access "+s.Name+" set jwt --issuer URL")
		case clientconfig.FromVariable:
			if getenv(s.Variable) == "" {
				out = append(out, c.Title+" needs an access token in the environment variable "+s.Variable+", which is not set here: "+makeToken(s, c))
			}
		case clientconfig.FromPrompt:
			out = append(out, c.Title+" asks for an access token when it first connects: "+makeToken(s, c))
		case clientconfig.FromBridge:
			out = append(out, "the access token is to be in "+s.Headers+" as a line \"Authorization: Bearer …\"; --install makes it")
		}
	case s.Login:
		if c.Login == "" {
			out = append(out, c.Title+" cannot log in at "+s.Issuer+" here: use sluice toolset access "+s.Name+" set token")
		} else {
			out = append(out, s.Name+" needs a login at "+s.Issuer+". It is started by: "+strings.ReplaceAll(c.Login, "%s", s.Name))
		}
	}
	return out
}

func makeToken(s clientconfig.Endpoint, c application) string {
	return "make one with sluice toolset access " + s.Name + " token create " + c.Name
}

// privateHost reports whether a host is certainly not reached from elsewhere, by its
// address or name. No name is looked up.
func privateHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified()
	}
	return safedial.Loopback(host) || !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}
