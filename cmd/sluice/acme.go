package main

import (
	"cmp"
	"crypto/x509"
	"os"

	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/internal/problem"
)

// domainFlags are those of domains and their certificates.
type domainFlags struct {
	config.Domains
	tls bool
}

func (f *domainFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.CA, "acme-ca", "", "certificate authority that issues the certificates of domains: `URL` of its ACME directory, letsencrypt, or letsencrypt-staging; you agree to its terms (default: none)")
	fs.StringVar(&f.Root, "acme-ca-root", "", "PEM `FILE` of the authority that signed the certificate of --acme-ca (default: those of the system)")
	fs.StringVar(&f.Email, "acme-email", "", "address that the certificate authority may write to")
	fs.StringSliceVar(&f.Challenges, "acme-challenge", nil, "how domains are proven to it: http-01, tls-alpn-01, dns-01 (default: the first two; with --acme-dns-command the third)")
	fs.StringVar(&f.Command, "acme-dns-command", "", "program for dns-01: PROGRAM present|cleanup NAME VALUE makes and removes a TXT record")
	fs.StringVar(&f.Listen, "acme-http-listen", "", "address for port 80: answers http-01, and sends browsers to https (default: none)")
	fs.StringVar(&f.Target, "domain-target", "", "host name or address that domains must lead to (default: the host of --public-url)")
	fs.StringVar(&f.DNS, "domain-dns", "", "DNS server that is asked about domains (default: as the system does)")
}

// options are those of a node: flags win over the environment, and that over the
// configuration file.
func (f *domainFlags) options(a *app) (o node.DomainOptions, err error) {
	env, file := a.Env.Domains, a.Config.Domains
	o = node.DomainOptions{
		CA: cmp.Or(f.CA, env.CA, file.CA), Email: cmp.Or(f.Email, env.Email, file.Email), Command: cmp.Or(f.Command, file.Command),
		Listen: cmp.Or(f.Listen, file.Listen), Target: cmp.Or(f.Target, env.Target, file.Target), DNS: cmp.Or(f.DNS, file.DNS),
		Challenges: f.Challenges, TLS: f.tls || file.TLS,
	}
	if o.Challenges == nil {
		o.Challenges = file.Challenges
	}
	if root := cmp.Or(f.Root, env.Root, file.Root); root != "" {
		pem, err := os.ReadFile(root)
		if err != nil {
			return o, problem.New(problem.InvalidArgument, "the file of --acme-ca-root cannot be read").At(root, 0, 0, "").Because(err)
		}
		if o.Roots = x509.NewCertPool(); !o.Roots.AppendCertsFromPEM(pem) {
			return o, problem.New(problem.InvalidArgument, "the file of --acme-ca-root holds no certificate in PEM").At(root, 0, 0, "")
		}
	}
	if o.Listen != "" {
		err = checkListen("acme-http-listen", o.Listen)
	}
	return o, err
}
