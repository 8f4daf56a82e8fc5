package certificate

import (
	"context"
	"crypto/x509"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/mholt/acmez/v3/acme"

	"github.com/sluicegate/sluice/admin/fleet/domain"
)

const (
	// limitedPause is how long an authority is not asked about a host after it said that it
	// was asked too often, and did not say for how long.
	limitedPause = time.Hour
	// maxLimited is the longest that it may say: the longest limits of Let's Encrypt are of
	// a week.
	maxLimited = 7 * 24 * time.Hour
)

// issuer is certmagic's without its questions to a person at a terminal, and without those to
// an authority that said that it was asked too often: certmagic renews again after a minute,
// and people verify a domain again and again.
type issuer struct {
	*certmagic.ACMEIssuer
	limits *limits
}

// PreCheck implements [certmagic.PreChecker].
func (i issuer) PreCheck(ctx context.Context, names []string, _ bool) error {
	return i.ACMEIssuer.PreCheck(ctx, names, false)
}

// Issue implements [certmagic.Issuer].
func (i issuer) Issue(ctx context.Context, csr *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	host := strings.Join(csr.DNSNames, ",")
	if err := i.limits.of(host, time.Now()); err != nil {
		return nil, err
	}
	issued, err := i.ACMEIssuer.Issue(ctx, csr)
	return issued, i.limits.note(host, err, time.Now())
}

// limits are the hosts about which the authority was asked too often. They end with the
// process: the first question of the next one is one more.
type limits struct {
	mu sync.Mutex
	by map[string]*domain.TooSoonError // guarded by mu; by host
}

// of is what the authority said about a host; nil: it may be asked.
func (l *limits) of(host string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if soon := l.by[host]; soon != nil && now.Before(soon.Until) {
		return soon
	}
	return nil
}

// note keeps what the authority said about a host if that is to wait. It returns the error
// that says until when.
func (l *limits) note(host string, err error, now time.Time) error {
	p, ok := errors.AsType[acme.Problem](err)
	if !ok || p.Type != acme.ProblemTypeRateLimited && p.Status != http.StatusTooManyRequests {
		return err
	}
	soon := &domain.TooSoonError{Until: limitedUntil(p.Detail, now), Err: err}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.by, func(_ string, s *domain.TooSoonError) bool { return !now.Before(s.Until) })
	l.by[host] = soon
	return soon
}

// limitedUntil is when an authority may be asked again. Boulder, the authority of Let's Encrypt, says it
// in the text too; the client of ACME does not give the Retry-After of its answer away.
func limitedUntil(detail string, now time.Time) time.Time {
	const form = "2006-01-02 15:04:05 MST"
	if _, after, ok := strings.Cut(detail, "retry after "); ok && len(after) >= len(form) {
		if at, err := time.Parse(form, after[:len(form)]); err == nil && at.After(now) {
			if longest := now.Add(maxLimited); at.After(longest) {
				return longest
			}
			return at
		}
	}
	return now.Add(limitedPause)
}
