// Package certificate serves the certificates of domains on the listener of a gateway,
// and answers the challenges of certificate authorities: TLS-ALPN-01 (RFC 8737) in the
// handshake, HTTP-01 (RFC 8555 §8.3) at a path. It obtains no certificates and keeps none
// beyond the process.
//
// A name that is not a domain of the release gets no certificate, unless the operator gave
// the listener one by files. A Table may be used by many goroutines. See docs/adr/0051.
package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"
	"golang.org/x/sync/singleflight"

	"github.com/sluicegate/sluice/registry"
)

const (
	// askTimeout of one question for a challenge: an authority waits some seconds.
	askTimeout = 5 * time.Second
	// askAgain is how long nothing is asked for a host that had no challenge: anybody may
	// begin such a handshake.
	askAgain = time.Second
	// maxAsked hosts are remembered to have none.
	maxAsked = registry.MaxReleaseDomains
)

// ChallengePath is what the path of HTTP-01 begins with; the token follows.
const ChallengePath = "/.well-known/acme-challenge/"

// Options configure a Table.
type Options struct {
	// Serves reports whether a host is one of which certificates may be shown. Required
	Serves func(host string) bool
	// Challenge asks what an authority wants to see at a host; nil: nothing. Default:
	// challenges are not answered.
	Challenge func(ctx context.Context, host string) (*registry.EdgeChallenge, error)
	// Base is the listener's TLS with the certificate of its files. Default: it has none.
	Base *tls.Config
}

// Table holds certificates by host.
type Table struct {
	o       Options
	now     atomic.Pointer[map[string]*entry]
	own     atomic.Pointer[[]string]
	derived atomic.Pointer[derivedConfig]
	flights singleflight.Group

	mu    sync.Mutex
	asked map[string]time.Time // guarded by mu; when a host had no challenge
}

type entry struct {
	pem  string // what pair was read from
	pair *tls.Certificate
}

// derivedConfig is base with the certificates of domains before its own.
type derivedConfig struct{ base, config *tls.Config }

// New makes a table that holds none.
func New(o Options) *Table {
	t := &Table{o: o, asked: map[string]time.Time{}}
	t.now.Store(&map[string]*entry{})
	t.own.Store(&[]string{})
	return t
}

// Serves reports whether a host is one of which certificates may be shown.
func (t *Table) Serves(host string) bool {
	return t.o.Serves(host) || slices.Contains(*t.own.Load(), host)
}

// Set replaces what is held, and which hosts are served besides those of Options.
// Certificates that cannot be used are left out; the error names their hosts.
func (t *Table) Set(own []string, list []registry.EdgeCertificate) error {
	t.own.Store(&own)
	before, after := *t.now.Load(), make(map[string]*entry, len(list))
	var errs []error
	for i := range list {
		host, text := list[i].Host, list[i].PEM.Reveal()
		if old := before[host]; old != nil && old.pem == text {
			after[host] = old
			continue
		}
		pair, err := tls.X509KeyPair([]byte(text), []byte(text))
		if err == nil && pair.Leaf == nil {
			pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the certificate of %s cannot be used: %w", host, err))
			if old := before[host]; old != nil {
				after[host] = old
			}
			continue
		}
		after[host] = &entry{text, &pair}
	}
	t.now.Store(&after)
	return errors.Join(errs...)
}

// Expiry is the end of the certificate that ends first; zero: there is none.
func (t *Table) Expiry() (first time.Time) {
	for _, e := range *t.now.Load() {
		if first.IsZero() || e.pair.Leaf.NotAfter.Before(first) {
			first = e.pair.Leaf.NotAfter
		}
	}
	return first
}

// Len is how many certificates are held.
func (t *Table) Len() int { return len(*t.now.Load()) }

// Config is what a listener is made with.
func (t *Table) Config() *tls.Config {
	c := t.base(nil).Clone()
	c.GetConfigForClient = t.config
	c.GetCertificate = t.certificate
	return c
}

// base is the TLS of the files for a handshake.
func (t *Table) base(hello *tls.ClientHelloInfo) *tls.Config {
	b := t.o.Base
	if b != nil && b.GetConfigForClient != nil && hello != nil {
		if c, err := b.GetConfigForClient(hello); err == nil && c != nil {
			return c
		}
	}
	return b
}

// config is that of one handshake. Handshakes with the same files share one, so that
// sessions can be resumed.
func (t *Table) config(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if slices.Equal(hello.SupportedProtos, []string{acmez.ACMETLS1Protocol}) {
		return t.challengeConfig(hello)
	}
	base := t.base(hello)
	if d := t.derived.Load(); d != nil && d.base == base {
		return d.config, nil
	}
	c := base.Clone()
	c.GetConfigForClient, c.GetCertificate = nil, t.certificate
	t.derived.Store(&derivedConfig{base, c})
	return c, nil
}

// certificate is that of a domain. For other names it is nil: crypto/tls takes the one of
// the files, or refuses the name.
func (t *Table) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host := hostOf(hello.ServerName)
	e := (*t.now.Load())[host]
	if e == nil || !t.Serves(host) {
		return nil, nil //nolint:nilnil // as crypto/tls wants it
	}
	return e.pair, nil
}

var errNoChallenge = errors.New("no challenge is open for this name")

// challengeConfig answers TLS-ALPN-01.
func (t *Table) challengeConfig(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	host := hostOf(hello.ServerName)
	c, err := t.challenge(host)
	if err != nil {
		return nil, err
	}
	if c == nil || c.Type != registry.ChallengeTLSALPN {
		return nil, errNoChallenge
	}
	pair, err := acmez.TLSALPN01ChallengeCert(acme.Challenge{
		Identifier: acme.Identifier{Type: "dns", Value: host}, KeyAuthorization: c.KeyAuthorization,
	})
	if err != nil {
		return nil, fmt.Errorf("answering the challenge of %s: %w", host, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{*pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{acmez.ACMETLS1Protocol}}, nil
}

// Answer returns the body that HTTP-01 wants at a path of a host; "": nothing is served
// there.
func (t *Table) Answer(host, path string) string {
	token, ok := strings.CutPrefix(path, ChallengePath)
	if !ok || token == "" {
		return ""
	}
	c, err := t.challenge(hostOf(host))
	if err != nil || c == nil || c.Type != registry.ChallengeHTTP || c.Token != token {
		return ""
	}
	return c.KeyAuthorization
}

// challenge asks for the challenge of a host; nil: there is none. The answer is for all who
// wait for it, so that it does not end with one of them.
func (t *Table) challenge(host string) (*registry.EdgeChallenge, error) {
	if t.o.Challenge == nil || !t.Serves(host) {
		return nil, nil //nolint:nilnil // none
	}
	t.mu.Lock()
	recent := time.Since(t.asked[host]) < askAgain
	t.mu.Unlock()
	if recent {
		return nil, nil //nolint:nilnil // none
	}
	v, err, _ := t.flights.Do(host, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		c, err := t.o.Challenge(ctx, host)
		if err != nil || c == nil {
			t.mu.Lock()
			if len(t.asked) >= maxAsked {
				clear(t.asked)
			}
			t.asked[host] = time.Now()
			t.mu.Unlock()
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	return v.(*registry.EdgeChallenge), nil //nolint:forcetypeassert // the function above
}

// hostOf is the name of a host that a client wrote: without port and dot, in lower case.
func hostOf(written string) string {
	if i := strings.LastIndexByte(written, ':'); i >= 0 {
		written = written[:i]
	}
	return strings.ToLower(strings.TrimSuffix(written, "."))
}
