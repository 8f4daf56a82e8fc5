package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/mholt/acmez/v3/acme"

	"github.com/sluicegate/sluice/admin/fleet/domain"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// CAs that have a short name.
var shortNames = map[string]string{
	"letsencrypt":         certmagic.LetsEncryptProductionCA,
	"letsencrypt-staging": certmagic.LetsEncryptStagingCA,
}

// DNS01 is the challenge that a command answers, by making DNS records.
const DNS01 = acme.ChallengeTypeDNS01

// Options configure an Authority.
type Options struct {
	Store   *store.Store     // Required
	Keyring *secrets.Keyring // seals what is kept. Required
	// CA is the URL of the authority's ACME directory, or letsencrypt, or
	// letsencrypt-staging. Required; who gives it agrees to its terms.
	CA string
	// Roots are trusted when the authority is asked. Default: those of the system.
	Roots *x509.CertPool
	// Email is told to the authority. Default: none is.
	Email string
	// Challenges are those that the gateways or Command answer: http-01, tls-alpn-01,
	// dns-01. Default: dns-01 with a Command, else http-01 and tls-alpn-01.
	Challenges []string
	// Command makes and removes the DNS records of dns-01. Default: there is none.
	Command string
	// Check is how often certificates are looked at for renewal. Default: that of certmagic,
	// ten minutes.
	Check  time.Duration
	Logger *slog.Logger // default: discard
}

// complete checks the options and sets what is not given.
func (o *Options) complete() error {
	if o.Store == nil || o.Keyring == nil {
		return errors.New("certificate: Options.Store and Keyring are required")
	}
	if long := shortNames[o.CA]; long != "" {
		o.CA = long
	}
	if u, err := url.Parse(o.CA); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return problem.New(problem.InvalidArgument, "%.200q is not the URL of a certificate authority", o.CA).
			Fix("give the https:// URL of its ACME directory, or letsencrypt")
	}
	if len(o.Challenges) == 0 {
		if o.Challenges = []string{registry.ChallengeHTTP, registry.ChallengeTLSALPN}; o.Command != "" {
			o.Challenges = []string{DNS01}
		}
	}
	for _, c := range o.Challenges {
		switch c {
		case registry.ChallengeHTTP, registry.ChallengeTLSALPN:
		case DNS01:
			if o.Command == "" || len(o.Challenges) > 1 {
				return problem.New(problem.InvalidArgument, "the challenge dns-01 needs a command, and no other challenge beside it").
					Fix("give --acme-dns-command CMD, and only --acme-challenge dns-01")
			}
		default:
			return problem.New(problem.InvalidArgument, "%.80q is not a challenge", c).Fix("use http-01, tls-alpn-01 or dns-01")
		}
	}
	if o.Command != "" && !slices.Contains(o.Challenges, DNS01) {
		return problem.New(problem.InvalidArgument, "a command for DNS records is given, and dns-01 is not used").Fix("leave --acme-challenge out")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Authority obtains certificates.
type Authority struct {
	o       Options
	storage *storage
	cache   *certmagic.Cache
	config  *certmagic.Config
	issuer  *certmagic.ACMEIssuer
	seat    net.Listener
	changed publish.Bell

	mu     sync.Mutex
	held   map[string]domain.Held // guarded by mu; by host
	faults map[string]error       // guarded by mu; of renewals, by host
}

var _ domain.Certificates = (*Authority)(nil)

// New reads which certificates there are. It asks the authority nothing yet: that begins with
// RenewDue, and is repeated until Close.
func New(ctx context.Context, o Options) (*Authority, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	a := &Authority{
		o: o, storage: &storage{store: o.Store, ring: o.Keyring, locks: map[string]*lock{}},
		held: map[string]domain.Held{}, faults: map[string]error{},
	}
	// certmagic listens for challenges itself where nobody else does, and takes a port that
	// is in use for one where the challenges are answered: the gateways are that.
	var lc net.ListenConfig
	var err error
	if a.seat, err = lc.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("preparing to obtain certificates: %w", err)
	}
	go closeAll(a.seat)
	port := a.seat.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
	log := bridge(o.Logger)
	a.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return a.config, nil }, RenewCheckInterval: o.Check, Logger: log,
	})
	a.config = certmagic.New(a.cache, certmagic.Config{
		Storage: a.storage, OCSP: certmagic.OCSPConfig{DisableStapling: true}, OnEvent: a.event, Logger: log,
	})
	template := certmagic.ACMEIssuer{
		CA: o.CA, TestCA: "", Email: o.Email, Agreed: true, TrustedRoots: o.Roots, Logger: log, ListenHost: "127.0.0.1", AltHTTPPort: port, AltTLSALPNPort: port,
		DisableHTTPChallenge:    !slices.Contains(o.Challenges, registry.ChallengeHTTP),
		DisableTLSALPNChallenge: !slices.Contains(o.Challenges, registry.ChallengeTLSALPN),
	}
	if o.Command != "" {
		template.DNS01Solver = &hook{command: o.Command}
	}
	a.issuer = certmagic.NewACMEIssuer(a.config, template)
	a.issuer.TestCA = "" // a failure is not tried again elsewhere
	a.config.Issuers = []certmagic.Issuer{issuer{a.issuer, &limits{by: map[string]*domain.TooSoonError{}}}}
	if err := a.loadAll(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// closeAll closes what connects to a listener until it is closed.
func closeAll(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		_ = c.Close() // nothing was written
	}
}

// Close stops renewing.
func (a *Authority) Close() error {
	a.cache.Stop()
	a.storage.close()
	return a.seat.Close()
}

// CA is the directory of the authority.
func (a *Authority) CA() string { return a.o.CA }

// Changed returns a channel that is closed when a certificate is obtained, renewed or
// revoked.
func (a *Authority) Changed() <-chan struct{} { return a.changed.Wait() }

// loadAll reads the certificates that are kept, and has them renewed.
func (a *Authority) loadAll(ctx context.Context) error {
	paths, err := a.o.Store.ACMEPaths(ctx, certmagic.StorageKeys.CertsPrefix(a.issuer.IssuerKey()))
	if err != nil {
		return err
	}
	for _, p := range paths {
		host, ok := strings.CutSuffix(p[strings.LastIndexByte(p, '/')+1:], ".crt")
		if !ok {
			continue
		}
		if err := a.load(ctx, host); err != nil {
			a.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a stored certificate cannot be used, a new one is obtained", slog.String("domain", host), slog.Any("error", err))
			continue
		}
		if _, err := a.config.CacheManagedCertificate(ctx, host); err != nil {
			a.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a stored certificate is not renewed", slog.String("domain", host), slog.Any("error", err))
		}
	}
	return nil
}

// load reads the certificate of a host.
func (a *Authority) load(ctx context.Context, host string) error {
	key := a.issuer.IssuerKey()
	chain, err := a.storage.Load(ctx, certmagic.StorageKeys.SiteCert(key, host))
	if err != nil {
		return err
	}
	private, err := a.storage.Load(ctx, certmagic.StorageKeys.SitePrivateKey(key, host))
	if err != nil {
		return err
	}
	block, _ := pem.Decode(chain)
	if block == nil {
		return fmt.Errorf("the certificate of %s is not PEM", host)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("reading the certificate of %s: %w", host, err)
	}
	name := leaf.Issuer.CommonName
	if len(leaf.Issuer.Organization) > 0 {
		name = leaf.Issuer.Organization[0] + " " + name
	}
	both := append(append(bytes.TrimSpace(chain), '\n'), private...)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[host] = domain.Held{Issuer: strings.TrimSpace(name), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter, PEM: secrets.New(string(both))}
	delete(a.faults, host)
	return nil
}

// event is told by certmagic of what it did.
func (a *Authority) event(ctx context.Context, name string, data map[string]any) error {
	host, _ := data["identifier"].(string)
	switch name {
	case "cert_obtained":
		if err := a.load(ctx, host); err != nil {
			a.o.Logger.LogAttrs(ctx, slog.LevelError, "a new certificate cannot be read", slog.String("domain", host), slog.Any("error", err))
			return nil
		}
		a.o.Logger.LogAttrs(ctx, slog.LevelInfo, "a certificate was obtained", slog.String("domain", host), slog.Bool("renewal", data["renewal"] == true))
		a.changed.Ring()
	case "cert_failed":
		if err, ok := data["error"].(error); ok && data["renewal"] == true {
			a.mu.Lock()
			a.faults[host] = a.faultOf(err)
			a.mu.Unlock()
			a.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a certificate was not renewed, it is tried again", slog.String("domain", host), slog.Any("error", err))
		}
	}
	return nil
}

// Get implements [domain.Certificates].
func (a *Authority) Get(host string) (domain.Held, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, ok := a.held[host]
	return h, ok
}

// Hosts implements [domain.Certificates].
func (a *Authority) Hosts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]string, 0, len(a.held))
	for host := range a.held {
		out = append(out, host)
	}
	slices.Sort(out)
	return out
}

// Fault implements [domain.Certificates].
func (a *Authority) Fault(host string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.faults[host]
}

// Obtain implements [domain.Certificates].
func (a *Authority) Obtain(ctx context.Context, host string) error {
	ask := a.config.ObtainCertSync
	if _, ok := a.Get(host); ok { // it has ended
		ask = func(ctx context.Context, host string) error { return a.config.RenewCertSync(ctx, host, false) }
	}
	err := ask(ctx, host)
	if accountLost(err) {
		err = ask(ctx, host)
	}
	if err != nil {
		return a.faultOf(err)
	}
	if err := a.load(ctx, host); err != nil { // one that was there is not reported
		return err
	}
	if _, err := a.config.CacheManagedCertificate(ctx, host); err != nil {
		return err
	}
	a.changed.Ring()
	return nil
}

// Renew renews the certificate of a host now, whether it needs it or not.
func (a *Authority) Renew(ctx context.Context, host string) error {
	if err := a.config.RenewCertSync(ctx, host, true); err != nil {
		return a.faultOf(err)
	}
	_, err := a.config.CacheManagedCertificate(ctx, host)
	return err
}

// RenewDue implements [domain.Certificates].
func (a *Authority) RenewDue(ctx context.Context) error {
	return a.cache.RenewManagedCertificates(ctx)
}

// Revoke implements [domain.Certificates].
func (a *Authority) Revoke(ctx context.Context, host string) error {
	a.cache.RemoveManaged([]certmagic.SubjectIssuer{{Subject: host, IssuerKey: a.issuer.IssuerKey()}})
	held, _ := a.Get(host)
	err := a.config.RevokeCert(ctx, host, acme.ReasonCessationOfOperation, false)
	switch p, ok := errors.AsType[acme.Problem](err); {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case ok && p.Type == acme.ProblemTypeAlreadyRevoked, ok && !held.NotAfter.IsZero() && time.Now().After(held.NotAfter):
		// The authority knows it as revoked, or as expired: nothing is left to be done.
		if err := a.storage.Delete(ctx, certmagic.StorageKeys.CertsSitePrefix(a.issuer.IssuerKey(), host)); err != nil {
			return err
		}
	default:
		return problem.New(problem.Unavailable, "the certificate of %s could not be revoked: %s", host, a.faultOf(err)).Because(err)
	}
	a.mu.Lock()
	delete(a.held, host)
	delete(a.faults, host)
	a.mu.Unlock()
	a.changed.Ring()
	return nil
}

// Challenge returns what the authority asks a gateway to show at a host; nil: nothing.
func (a *Authority) Challenge(ctx context.Context, host string) (*registry.EdgeChallenge, error) {
	if c, ok := certmagic.GetACMEChallenge(host); ok {
		return challengeOf(&c.Challenge), nil
	}
	// One of a control plane before this one: an authority may still ask.
	at := "acme/" + certmagic.StorageKeys.Safe(a.issuer.IssuerKey()) + "/challenge_tokens/" + certmagic.StorageKeys.Safe(host) + ".json"
	b, err := a.storage.Load(ctx, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	if err != nil {
		return nil, err
	}
	var c acme.Challenge
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("reading the challenge of %s: %w", host, err)
	}
	return challengeOf(&c), nil
}

func challengeOf(c *acme.Challenge) *registry.EdgeChallenge {
	return &registry.EdgeChallenge{Type: c.Type, Token: c.Token, KeyAuthorization: c.KeyAuthorization}
}

// remedies of what an authority says (RFC 8555 §6.7).
var remedies = map[string]string{
	acme.ProblemTypeConnection:   "the gateways must be reached from the internet at this name, on port 80 for http-01 and on port 443 for tls-alpn-01",
	acme.ProblemTypeDNS:          "look at the DNS records of the domain",
	acme.ProblemTypeUnauthorized: "look whether the domain leads to the gateways, and no other server answers there",
	acme.ProblemTypeTLS:          "look whether the domain leads to the gateways, and TLS is passed on to them as it comes",
	acme.ProblemTypeCAA:          "let the CAA records of the domain allow this authority",
}

// noChains is what certmagic says when the authority does not know the account any more: it made
// another one, and asked again with the one that is lost.
const noChains = "no certificate chains"

func accountLost(err error) bool { return err != nil && strings.HasSuffix(err.Error(), noChains) }

// faultOf says why the authority gave no certificate.
func (a *Authority) faultOf(err error) error {
	p, ok := errors.AsType[acme.Problem](err)
	if !ok && accountLost(err) {
		return problem.New(problem.Unavailable, "the certificate authority %s does not know the account of this control plane any more", hostOf(a.o.CA)).
			Fix("nothing: there is another one now, and it is tried again").Because(err)
	}
	if !ok {
		cause := err
		for next := errors.Unwrap(cause); next != nil; next = errors.Unwrap(cause) {
			cause = next
		}
		why := strings.TrimSpace(cause.Error())
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			why = "it did not answer in time"
		}
		return problem.New(problem.Unreachable, "the certificate authority %s gave no certificate: %s", hostOf(a.o.CA), why).
			Fix("look whether it is reached from the control plane; it is tried again").Because(err)
	}
	var detail strings.Builder
	detail.WriteString(p.Detail)
	for i := range p.Subproblems {
		detail.WriteString("; " + p.Subproblems[i].Detail)
	}
	soon, limited := errors.AsType[*domain.TooSoonError](err)
	kind := problem.Unavailable
	if limited {
		kind = problem.RateLimited
	}
	out := problem.New(kind, "the certificate authority %s says: %s", hostOf(a.o.CA), strings.TrimSuffix(detail.String(), ".")).Because(err)
	if limited {
		out = out.Fix("wait: it is not asked about this host before %s", soon.Until.UTC().Format(time.RFC3339))
	} else if remedy := remedies[p.Type]; remedy != "" {
		out = out.Fix("%s", remedy)
	}
	return out
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
