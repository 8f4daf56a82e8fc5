package cluster

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

const (
	// dialTime and handshakeTime bound the way to another member, which is near.
	dialTime      = 2 * time.Second
	handshakeTime = 3 * time.Second
	// continueTime is how long a client that asked whether it should send its body waits for
	// the leader's word.
	continueTime = 5 * time.Second
	// idleTime of a connection to the leader: less than the leader's own, so that it is not
	// closed under a request.
	idleTime = time.Minute
	// idleConns connections to the leader are kept.
	idleConns = 128
	// afterlife is how long requests at a leader that was replaced may go on: it may be alive
	// and answer, or its machine may be gone.
	afterlife = 5 * time.Second
)

// pinPrefix begins the digest of a certificate.
const pinPrefix = "sha256:"

// Pin is the digest of a certificate in DER by which other members know it.
func Pin(der []byte) string {
	sum := sha256.Sum256(der)
	return pinPrefix + hex.EncodeToString(sum[:])
}

// errOtherCertificate: who listens at the leader's address shows another certificate than the
// leader.
var errOtherCertificate = errors.New("it shows another certificate than the leader's")

// peer is a leader as its followers know it.
type peer struct {
	number    uint64
	name      string
	base      *url.URL
	key       []byte
	transport *http.Transport
	up        atomic.Bool     // it answered when it was asked last
	life      context.Context //nolint:containedctx // that of requests to the peer, not of a call
	end       context.CancelFunc
}

// newPeer makes the way to a leader. It fails with [problem.InvalidArgument] when the way
// would not be private.
func newPeer(l *store.Leader, key []byte, o *Options) (*peer, error) {
	base, err := ParseURL(l.URL, o.Plain)
	if err != nil {
		return nil, err
	}
	p := &peer{number: l.Number, name: l.Member, base: base, key: key}
	p.life, p.end = context.WithCancel(context.Background())
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: base.Hostname(), RootCAs: o.Roots, NextProtos: []string{"http/1.1"}}
	if l.Pin != "" {
		config.InsecureSkipVerify = true // what is verified instead is stricter: the very certificate
		config.VerifyConnection = func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || Pin(s.PeerCertificates[0].Raw) != l.Pin {
				return errOtherCertificate
			}
			return nil
		}
	}
	d := &net.Dialer{Timeout: dialTime, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: 2 * time.Second, Count: 2}}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnsent, err)
		}
		return c, nil
	}
	p.transport = &http.Transport{
		DialContext: dial,
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, handshakeTime)
			defer cancel()
			secure := tls.Client(c, config)
			if err := secure.HandshakeContext(ctx); err != nil {
				return nil, errors.Join(fmt.Errorf("%w: %w", errUnsent, err), c.Close())
			}
			return secure, nil
		},
		DisableCompression: true, MaxIdleConns: idleConns, MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleTime, ExpectContinueTimeout: continueTime,
	}
	return p, nil
}

// ParseURL reads the address at which the other members of a cluster reach a control plane.
// Without TLS it is on loopback, unless plain says that a network in between is private.
func ParseURL(text string, plain bool) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, problem.New(problem.InvalidArgument, "the address for the other control planes is not scheme and host").Fix("write it as https://one.example:7301, without a path")
	}
	if u.Scheme == "http" && !plain && !safedial.Loopback(u.Hostname()) {
		return nil, problem.New(problem.InvalidArgument, "the other control planes would reach %s without TLS", u.Host).
			Fix("give --admin-tls-cert and --admin-tls-key, and an https address with --advertise")
	}
	u.Path = ""
	return u, nil
}

// replace ends the peer: what runs there gets a moment.
func (p *peer) replace() {
	time.AfterFunc(afterlife, func() {
		p.end()
		p.transport.CloseIdleConnections()
	})
}

// send sends a request that is passed on. Its errors are [errUnsent] when nothing was sent.
func (p *peer) send(req *http.Request, of *passing, now time.Time) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(p.life, cancel)
	out := req.Clone(ctx)
	if req.Body != nil {
		out.Body = unclosed{req.Body}
	}
	out.URL.Scheme, out.URL.Host = p.base.Scheme, p.base.Host
	said := &pass{number: p.number, at: now, client: of.client, https: of.https, member: of.member}
	out.Header.Set(passHeader, said.sign(p.key, out.Method, out.Host, out.URL.RequestURI()))
	res, err := p.transport.RoundTrip(out)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	res.Body = &lease{res.Body, func() { stop(); cancel() }}
	return res, nil
}

// probe asks the leader whether it is there.
func (p *peer) probe(ctx context.Context, member string, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base.String()+"/livez", http.NoBody)
	if err != nil {
		return err
	}
	res, err := p.send(req, &passing{client: unspecified, member: member}, now)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // nothing is wanted of it
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", res.Status)
	}
	return nil
}
