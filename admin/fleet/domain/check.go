package domain

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

const (
	// checkTimeout of all questions to DNS about one domain: a resolver asks several
	// servers, some of which do not answer.
	checkTimeout = 10 * time.Second
	// maxShown addresses are named in a cause.
	maxShown = 4
)

// Resolver asks DNS; [net.Resolver] is one.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// hostOf is the host that somebody wrote, in the form of records: lower case, A-labels
// (RFC 5891), without a dot at its end.
func hostOf(written string) (string, error) {
	host, err := idna.Lookup.ToASCII(strings.TrimSuffix(strings.TrimSpace(written), "."))
	if err == nil && registry.ValidHost(host) {
		return host, nil
	}
	remedy := "write a host name such as tools.example.com"
	switch {
	case strings.Contains(written, "/"):
		remedy = "write the host name alone, without https:// and path"
	case strings.Contains(written, "*"):
		remedy = "name each host: one certificate is got for each, not for a wildcard"
	case strings.Contains(written, ":"):
		remedy = "write the host name alone, without a port"
	}
	return "", problem.New(problem.InvalidArgument, "%.300q cannot be a domain", written).At("", 0, 0, "/host").Fix("%s", remedy)
}

// Name is the host of a path as records have it; what is not a host stays as it is.
func Name(written string) string {
	if host, err := hostOf(written); err == nil {
		return host
	}
	return written
}

// check asks DNS whether a domain is proven and leads to the gateways; nil: both.
func (r *Room) check(ctx context.Context, row *store.Domain) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	name, want := proofName+row.Host, proofPrefix+row.Token
	texts, err := r.Resolver.LookupTXT(ctx, dot(name))
	switch {
	case err != nil && !absent(err):
		return unanswered(name, err)
	case len(texts) == 0:
		return problem.New(problem.NotFound, "there is no TXT record at %s", name).Fix("make it with the value %s; DNS may take some minutes to show it", want)
	case !slices.ContainsFunc(texts, func(t string) bool { return strings.TrimSpace(t) == want }):
		return problem.New(problem.Conflict, "the TXT record at %s does not have the value of this domain", name).Fix("set it to %s", want)
	}
	at, err := r.addresses(ctx, row.Host)
	if err != nil {
		return err
	}
	if len(at) == 0 {
		return problem.New(problem.NotFound, "%s has no address", row.Host).Fix("make a record that leads to the gateways: CNAME, A or AAAA")
	}
	if r.Target == "" {
		return nil // the operator did not say where the gateways are
	}
	wanted, err := r.addresses(ctx, r.Target)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(at, func(a netip.Addr) bool { return slices.Contains(wanted, a) }) {
		return problem.New(problem.Conflict, "%s leads to %s, and the gateways are at %s", row.Host, shown(at), r.target(wanted)).
			Fix("make its record lead to %s; DNS may take some minutes to show it", r.Target)
	}
	return nil
}

// target names where the gateways are.
func (r *Room) target(at []netip.Addr) string {
	if text := shown(at); text != r.Target {
		return r.Target + " (" + text + ")"
	}
	return r.Target
}

// addresses of a name; an address has itself.
func (r *Room) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	list, err := r.Resolver.LookupNetIP(ctx, "ip", dot(host))
	if err != nil && !absent(err) {
		return nil, unanswered(host, err)
	}
	for i := range list {
		list[i] = list[i].Unmap()
	}
	return list, nil
}

// dot makes a name absolute, so that no search list of the machine is tried.
func dot(name string) string { return name + "." }

// absent reports whether DNS says that there is no such record. A server that answers for
// no other and has none refers nowhere, which package net calls lame.
func absent(err error) bool {
	e, ok := errors.AsType[*net.DNSError](err)
	return ok && (e.IsNotFound || e.Err == "lame referral")
}

func unanswered(name string, err error) error {
	text := "its servers fail"
	switch e, ok := errors.AsType[*net.DNSError](err); {
	case ok && e.IsTimeout, errors.Is(err, context.DeadlineExceeded):
		text = "there was no answer in time"
	case ok && e.Err != "":
		text = e.Err
	}
	return problem.New(problem.Unavailable, "DNS does not answer for %s: %s", name, text).Fix("look at the name servers of the domain; it is tried again").Because(err)
}

func shown(list []netip.Addr) string {
	var b strings.Builder
	for i, a := range list {
		if i == maxShown {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.String())
	}
	if b.Len() == 0 {
		return "no address"
	}
	return b.String()
}
