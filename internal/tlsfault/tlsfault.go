// Package tlsfault explains why the certificate of a server was refused, and gives the
// remedy. It judges nothing itself: crypto/tls and crypto/x509 did.
//
// Every function may be called by many goroutines.
package tlsfault

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// maxNames of a certificate that are told: one of a content delivery network has hundreds.
const maxNames = 10

// Of returns what is wrong with the certificate of server, a host name or address, as a
// [problem.Unreachable]; nil when err reports no fault of TLS. caFlag names the option
// that takes an authority's certificate.
func Of(err error, server, caFlag string, now time.Time) *problem.Error {
	if host, ok := errors.AsType[x509.HostnameError](err); ok {
		return problem.New(problem.Unreachable, "the certificate of %s is for another name: it has %s", server, namesOf(host.Certificate)).
			Fix("use a name that it has, or give the server a certificate for %s", server).Because(err)
	}
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		issuer := "an authority"
		if c := unknown.Cert; c != nil {
			issuer = "“" + c.Issuer.String() + "”"
			if c.Issuer.String() == c.Subject.String() {
				issuer = "itself"
			}
		}
		return problem.New(problem.Unreachable, "the certificate of %s is signed by %s, which this machine does not trust", server, issuer).
			Fix("if it is yours, give the certificate of its authority: %s FILE", caFlag).Because(err)
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if c := invalid.Cert; invalid.Reason == x509.Expired && c != nil {
			if now.Before(c.NotBefore) {
				return problem.New(problem.Unreachable, "the certificate of %s is not valid before %s", server, c.NotBefore.UTC().Format(time.RFC3339)).
					Fix("set the clock of this machine, which says %s", now.UTC().Format(time.RFC3339)).Because(err)
			}
			return problem.New(problem.Unreachable, "the certificate of %s expired on %s", server, c.NotAfter.UTC().Format(time.RFC3339)).
				Fix("renew it on the server; or set the clock of this machine, which says %s", now.UTC().Format(time.RFC3339)).Because(err)
		}
		return problem.New(problem.Unreachable, "the certificate of %s cannot be used: %s", server, strings.TrimPrefix(invalid.Error(), "x509: ")).
			Fix("give the server another certificate").Because(err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return problem.New(problem.Unreachable, "%s does not speak TLS", server).Fix("write http:// if it is on this machine; check its port").Because(err)
	}
	return nil
}

// namesOf are the names that a certificate is for.
func namesOf(c *x509.Certificate) string {
	if c == nil {
		return "none"
	}
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	more := ""
	if len(names) > maxNames {
		names, more = names[:maxNames], " and others"
	}
	if len(names) == 0 {
		return "no name at all"
	}
	return strings.Join(names, ", ") + more
}
