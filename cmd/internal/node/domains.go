package node

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	admincertificate "github.com/sluicegate/sluice/admin/fleet/certificate"
	"github.com/sluicegate/sluice/admin/fleet/domain"
	"github.com/sluicegate/sluice/gateway/certificate"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/tlsfiles"
	"github.com/sluicegate/sluice/registry"
)

// DomainOptions are about domains of toolsets and their certificates.
type DomainOptions struct {
	// CA, Roots, Email, Challenges and Command are those of the certificate authority, see
	// package admin/fleet/certificate (roles all and control). CA is needed by the others.
	// Default: no certificates are obtained.
	CA         string
	Roots      *x509.CertPool
	Email      string
	Challenges []string
	Command    string
	// TLS lets an edge speak TLS with the certificates that its control plane obtains.
	TLS bool
	// Listen is where challenges are answered in the clear, and browsers sent to https; the
	// port that clients reach as 80. Default: only the gateway answers.
	Listen string
	// Target is where domains must lead: a host name or an address. Default: the host of
	// the gateway's public URL.
	Target string
	// DNS is the address of the server that is asked about domains. Default: as the machine
	// does.
	DNS string
}

// certified reports whether the gateway shows certificates of domains.
func (n *Node) certified() bool { return n.o.Domains.CA != "" || n.o.Domains.TLS }

// publicHost is the host of the gateway's public URL, if a certificate can be obtained for
// it; else "".
func (n *Node) publicHost() string {
	u, err := url.Parse(n.o.Gateway.PublicURL)
	if err != nil || u.Scheme != "https" || !registry.ValidHost(u.Hostname()) {
		return ""
	}
	return u.Hostname()
}

// openCertificates makes the table of the gateway's certificates. challenge is where the
// gateway asks for challenges.
func (n *Node) openCertificates(challenge func(context.Context, string) (*registry.EdgeChallenge, error)) {
	own, base := n.publicHost(), tlsfiles.Config()
	if n.tls != nil {
		base = n.tls.Config()
	}
	n.certificates = certificate.New(certificate.Options{
		Base: base, Challenge: challenge,
		Serves: func(host string) bool { return host != "" && (host == own || n.servesDomain(host)) },
	})
	n.meter.Gauge(metering.Series("sluice_certificate_expiry_timestamp_seconds", "listener", "domains"), func() float64 {
		if at := n.certificates.Expiry(); !at.IsZero() {
			return float64(at.Unix())
		}
		return 0
	})
	n.meter.Gauge("sluice_domain_certificates", func() float64 { return float64(n.certificates.Len()) })
}

// servesDomain reports whether a host is a domain of the live release.
func (n *Node) servesDomain(host string) bool {
	_, ok := n.holder.Load().Domain([]byte(host))
	return ok
}

// openPlain listens for what comes to port 80.
func (n *Node) openPlain(ctx context.Context) error {
	if n.o.Domains.Listen == "" || n.certificates == nil {
		return nil
	}
	ln, err := n.listenOn(ctx, "the listener of challenges", n.o.Domains.Listen, "--acme-http-listen")
	if err != nil {
		return err
	}
	n.plain = strict(ln, opsHeadBytes, nil)
	n.plainHTTP = n.newServer(http.HandlerFunc(n.servePlain), opsHeadBytes)
	n.plainHTTP.ReadTimeout = 10 * time.Second // nothing it serves has a body
	return nil
}

// servePlain answers challenges, and sends everything else that is meant for a domain to
// https.
func (n *Node) servePlain(w http.ResponseWriter, r *http.Request) {
	host := strings.ToLower(r.Host)
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(host, ".")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if strings.HasPrefix(r.URL.Path, certificate.ChallengePath) {
		if answer := n.certificates.Answer(host, r.URL.Path); answer != "" {
			_, _ = w.Write([]byte(answer)) //nolint:gosec // plain text of ours; the client is gone when this fails
			return
		}
		http.Error(w, "there is no challenge here", http.StatusNotFound)
		return
	}
	if (r.Method != http.MethodGet && r.Method != http.MethodHead) || !n.certificates.Serves(host) {
		http.Error(w, "nothing is served here without TLS", http.StatusNotFound)
		return
	}
	http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusPermanentRedirect) //nolint:gosec // G710: the host is one of this node
}

// runPlain serves what comes to port 80 until ctx ends.
func (n *Node) runPlain(ctx context.Context, g *errgroup.Group) {
	if n.plain != nil {
		serve(ctx, g, "challenges", n.plainHTTP, n.plain, time.Second)
	}
}

// openAuthority opens what obtains certificates, if the operator named an authority.
func (c *control) openAuthority(ctx context.Context, ring *secrets.Keyring) (err error) {
	o := c.o.Domains
	if o.CA == "" {
		return nil
	}
	c.authority, err = admincertificate.New(ctx, admincertificate.Options{
		Store: c.store, Keyring: ring, CA: o.CA, Roots: o.Roots, Email: o.Email, Challenges: o.Challenges, Command: o.Command, Logger: c.o.Logger,
	})
	if err == nil {
		c.onClose(c.authority.Close)
	}
	return err
}

// challenge is what an authority asks the gateway of this node to show at a host.
func (c *control) challenge(ctx context.Context, host string) (*registry.EdgeChallenge, error) {
	return c.admin.Domains().Challenge(ctx, c.holder.Load().Release(), host)
}

// domains are the options of the room of domains.
func (c *control) domains() domain.Room {
	o := c.o.Domains
	r := domain.Room{
		Target: o.Target, Reserved: []string{hostOf(c.o.Gateway.PublicURL), hostOf(c.o.Admin.PublicURL)},
		Elsewhere: c.tls != nil || !c.o.Proxies.Empty() || c.gateway == nil,
	}
	if r.Target == "" && c.o.Gateway.PublicURL != "" {
		if u, err := url.Parse(c.o.Gateway.PublicURL); err == nil {
			r.Target = u.Hostname()
		}
	}
	if o.DNS != "" {
		r.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, o.DNS)
		}}
	}
	if c.authority != nil {
		r.Certificates = c.authority
		if own := c.publicHost(); own != "" && c.tls == nil {
			r.Own, r.Edges = []string{own}, c.gateway == nil
		}
	}
	return r
}

// showCertificates keeps the certificates that the gateway of this node shows those of its
// release, until ctx ends.
func (c *control) showCertificates(ctx context.Context) error {
	for {
		release, certificates := c.holder.Changed(), c.authority.Changed()
		list, _ := c.admin.Domains().For(c.holder.Load().Release())
		if err := c.certificates.Set(nil, list); err != nil {
			c.o.Logger.LogAttrs(ctx, slog.LevelError, "a certificate is not shown", slog.Any("error", err))
		}
		select {
		case <-release:
		case <-certificates:
		case <-ctx.Done():
			return nil
		}
	}
}

// checkDomains refuses options that cannot work.
func (o *Options) checkDomains() error {
	d := &o.Domains
	switch {
	case d.TLS && o.Role != RoleEdge:
		return problem.New(problem.InvalidArgument, "the certificates of a control plane are for edges").Fix("give --acme-ca to obtain them here, or --role edge")
	case o.Role == RoleEdge && d.CA != "":
		return problem.New(problem.InvalidArgument, "an edge obtains no certificates").Fix("give --acme-ca to its control plane, and --domain-tls to the edge")
	case d.CA == "" && (d.Email != "" || d.Roots != nil || len(d.Challenges) > 0 || d.Command != ""):
		return problem.New(problem.InvalidArgument, "no certificate authority is named").Fix("give --acme-ca, such as --acme-ca letsencrypt")
	case d.Listen != "" && (d.CA == "" && !d.TLS || o.Role == RoleControl):
		return problem.New(problem.InvalidArgument, "challenges are answered where a gateway shows certificates of domains").Fix("give --acme-http-listen to a node with --acme-ca and a gateway, or to an edge with --domain-tls")
	}
	if d.DNS != "" {
		if _, _, err := net.SplitHostPort(d.DNS); err != nil {
			if _, err := netip.ParseAddr(d.DNS); err != nil {
				return problem.New(problem.InvalidArgument, "the DNS server %.100q is not an address", d.DNS).Fix("write it as 192.0.2.53 or 192.0.2.53:53")
			}
			d.DNS = net.JoinHostPort(d.DNS, "53")
		}
	}
	if t := d.Target; t != "" && !registry.ValidHost(strings.ToLower(t)) {
		if _, err := netip.ParseAddr(t); err != nil {
			return problem.New(problem.InvalidArgument, "%.200q is not an address that domains can point to", t).Fix("give a host name or an address with --domain-target")
		}
	}
	return nil
}
