package main

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/tlsfiles"
)

// requestPage makes the options of the public page of connector requests: flags win over the
// configuration file.
func (f *nodeFlags) requestPage(a *app, of *node.Options) (o node.RequestsOptions, err error) {
	c := a.Config
	o.Listen, o.URL = cmp.Or(f.requests.Listen, c.RequestsListen), strings.TrimSuffix(cmp.Or(f.requests.URL, c.RequestsURL), "/")
	files := firstFiles(f.requests.TLS, tlsfiles.Files{Certificate: c.RequestsTLSCert, Key: c.RequestsTLSKey})
	if o.Listen == "" {
		if o.URL != "" || files != (tlsfiles.Files{}) {
			return o, exit.Usagef("--requests-url, --requests-tls-cert and --requests-tls-key need --requests-listen")
		}
		return o, nil
	}
	if err := checkListen("requests-listen", o.Listen); err != nil {
		return o, err
	}
	for what, at := range map[string]string{"the gateway": cmp.Or(of.Gateway.Listen, node.DefaultListen), "the admin API": cmp.Or(of.Admin.Listen, node.DefaultAdminListen)} {
		_, port, err := net.SplitHostPort(at)
		if _, own, _ := net.SplitHostPort(o.Listen); err == nil && own == port && port != "0" {
			return o, exit.Usagef("--requests-listen %s has the port of %s: the page needs its own listener", terminal.Printable(o.Listen), what)
		}
	}
	if o.URL != "" {
		u, err := url.Parse(o.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
			return o, exit.Usagef("--requests-url %s is not scheme and host, as in https://requests.example.com", terminal.Printable(o.URL))
		}
	}
	o.TLS, err = checkFiles("the page of requests", "--requests-tls-cert and --requests-tls-key", files)
	return o, err
}
