package tlsfiles

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// pollInterval is how often the files are looked at. It costs three calls of the
	// system, finds also what a mounted volume swaps by a link, and is short beside
	// the days for which certificates overlap.
	pollInterval = 2 * time.Second
	// expiryWarning is when a certificate that ends begins to be logged: those of 90
	// days are renewed 30 days ahead, those of six days two.
	expiryWarning = 14 * 24 * time.Hour
	// expiryInterval is how often it is logged.
	expiryInterval = 12 * time.Hour
)

// Files names what a Source reads.
type Files struct {
	// Certificate is the chain, the listener's own certificate first; Key is its
	// private key without a passphrase. Both are required.
	Certificate, Key string
	// ClientCA holds the authorities of client certificates: clients must show one of
	// theirs. Default: clients need none.
	ClientCA string
}

// Options configures a Source.
type Options struct {
	Files
	// Name says in errors and logs whose certificate it is: "the gateway".
	Name string
	// Changed is called with each certificate that replaces another, after it did. Default:
	// nobody is.
	Changed func(*x509.Certificate)
	Logger  *slog.Logger // default: discard
}

// Source is TLS from files.
type Source struct {
	o      Options
	now    atomic.Pointer[loaded]
	config *tls.Config

	mu      sync.Mutex
	seen    fingerprint // guarded by mu; of the files that were tried last
	failed  error       // guarded by mu; of that, until it was logged
	warned  time.Time   // guarded by mu; when the expiry was logged last
	problem error       // guarded by mu; why what is in the files is not served
}

// loaded is one state of the files.
type loaded struct {
	leaf   *x509.Certificate
	config *tls.Config
}

// Open reads the files. It fails with [problem.InvalidArgument], which names the file,
// when they cannot be read or do not belong together.
func Open(o Options) (*Source, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Source{o: o}
	s.seen = look(o.Files)
	l, err := load(o)
	if err != nil {
		return nil, err
	}
	s.now.Store(l)
	s.config = l.config.Clone()
	s.config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.now.Load().config, nil }
	s.warnOfKey()
	s.warnOfExpiry(time.Now())
	return s, nil
}

// Config is what a listener is made with. It serves what the files held last.
func (s *Source) Config() *tls.Config { return s.config }

// Leaf is the certificate that is served.
func (s *Source) Leaf() *x509.Certificate { return s.now.Load().leaf }

// Fault says why what is in the files now is not served, or why clients refuse what is; nil when
// neither is so.
func (s *Source) Fault(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	leaf := s.Leaf()
	switch {
	case s.problem != nil:
		return s.problem
	case now.After(leaf.NotAfter):
		return invalid(s.o.Certificate, "the certificate of %s expired on %s: clients refuse it", s.o.Name, leaf.NotAfter.UTC().Format(time.DateOnly)).Fix("replace the file with the renewed certificate")
	case now.Before(leaf.NotBefore):
		return invalid(s.o.Certificate, "the certificate of %s is not valid before %s: clients refuse it", s.o.Name, leaf.NotBefore.UTC().Format(time.RFC3339)).Fix("check the clock of this machine")
	}
	return nil
}

// Run follows the files until ctx ends, and returns its error.
func (s *Source) Run(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			s.Poll(now)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Poll looks at the files once, as Run does. What cannot be used is logged when it is
// still there with the next Poll: certificate and key are not replaced in one step.
func (s *Source) Poll(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnOfExpiry(now)
	seen := look(s.o.Files)
	if seen.equal(s.seen) {
		if s.failed != nil {
			s.o.Logger.Error("the new certificate cannot be used; the one before is still served", slog.String("listener", s.o.Name),
				slog.Any("error", s.failed), slog.Time("expires", s.Leaf().NotAfter))
			s.failed = nil
		}
		return
	}
	s.seen = seen
	l, err := load(s.o)
	if err == nil && now.After(l.leaf.NotAfter) && !now.After(s.Leaf().NotAfter) {
		err = invalid(s.o.Certificate, "the certificate of %s expired on %s, and the one before is still valid", s.o.Name, l.leaf.NotAfter.UTC().Format(time.DateOnly)).Fix("replace the file with the renewed certificate")
	}
	if s.failed, s.problem = err, err; err != nil {
		return
	}
	before := s.now.Swap(l)
	s.warned = time.Time{}
	s.o.Logger.Info("the certificate was replaced", slog.String("listener", s.o.Name), slog.Any("names", Names(l.leaf)),
		slog.String("serial", l.leaf.SerialNumber.Text(16)), slog.Time("expires", l.leaf.NotAfter))
	s.warnOfExpiry(now)
	if s.o.Changed != nil && !before.leaf.Equal(l.leaf) {
		s.o.Changed(l.leaf)
	}
}

// warnOfExpiry logs that the certificate ends soon, or has ended.
func (s *Source) warnOfExpiry(now time.Time) {
	leaf := s.Leaf()
	left := leaf.NotAfter.Sub(now)
	if left > min(expiryWarning, leaf.NotAfter.Sub(leaf.NotBefore)/3) && !now.Before(leaf.NotBefore) || now.Sub(s.warned) < expiryInterval {
		return
	}
	s.warned = now
	attrs := []any{slog.String("listener", s.o.Name), slog.Any("names", Names(leaf)), slog.Time("from", leaf.NotBefore), slog.Time("expires", leaf.NotAfter), slog.String("file", s.o.Certificate)}
	switch {
	case now.Before(leaf.NotBefore):
		s.o.Logger.Error("the certificate is not valid yet: clients refuse it; check the clock of this machine", attrs...)
	case left <= 0:
		s.o.Logger.Error("the certificate has expired: clients refuse it; replace the file", attrs...)
	default:
		s.o.Logger.Warn("the certificate expires soon: replace the file", attrs...)
	}
}

// warnOfKey logs that everybody on the machine can read the key.
func (s *Source) warnOfKey() {
	if i, err := os.Stat(s.o.Key); err == nil && i.Mode().Perm()&0o004 != 0 && os.PathSeparator == '/' {
		s.o.Logger.Warn("every user of this machine can read the private key: chmod o= FILE", slog.String("listener", s.o.Name), slog.String("file", s.o.Key))
	}
}

// fingerprint tells one state of the files from another; nil: there is no file. What mounts and
// packages bring may all have one time, so that another file tells it, too.
type fingerprint [3]os.FileInfo

func look(f Files) (out fingerprint) {
	for i, name := range []string{f.Certificate, f.Key, f.ClientCA} {
		if info, err := os.Stat(name); err == nil {
			out[i] = info
		}
	}
	return out
}

func (f fingerprint) equal(g fingerprint) bool {
	return slices.EqualFunc(f[:], g[:], func(a, b os.FileInfo) bool {
		return a == nil && b == nil || a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
	})
}

// Names are the names and addresses that a certificate is for.
func Names(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// Leaf reads the files as Open does, and returns the listener's own certificate.
func Leaf(o Options) (*x509.Certificate, error) {
	l, err := load(o)
	if err != nil {
		return nil, err
	}
	return l.leaf, nil
}

func invalid(file, format string, args ...any) *problem.Error {
	return problem.New(problem.InvalidArgument, format, args...).At(file, 0, 0, "")
}
