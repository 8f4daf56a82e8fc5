package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestDescribe: each error of the HTTP client becomes the one thing that it says, with and
// without a client certificate.
func TestDescribe(t *testing.T) {
	alert := func(text string) error { return &net.OpError{Op: "remote error", Err: errors.New(text)} }
	wrapped := func(err error) error { return fmt.Errorf("call: %w", err) }
	for _, c := range []struct {
		err    error
		kind   problem.Kind
		says   string
		mutual string // what it says with a client certificate, where that is something else
	}{
		{problem.New(problem.BlockedAddress, "not public"), problem.BlockedAddress, "not public", ""},
		{wrapped(fasthttp.ErrBodyTooLarge), problem.UpstreamTooLarge, "is larger than", ""},
		{wrapped(fasthttp.ErrNoFreeConns), problem.Unavailable, "too many calls to", ""},
		{wrapped(fasthttp.ErrTimeout), problem.Timeout, "did not answer in time", ""},
		{wrapped(fasthttp.ErrTLSHandshakeTimeout), problem.Timeout, "did not answer in time", ""},
		{&net.DNSError{IsTimeout: true}, problem.Timeout, "did not answer in time", ""},
		{&net.DNSError{}, problem.UpstreamMalformed, "is not valid HTTP", ""},
		{wrapped(x509.HostnameError{Certificate: &x509.Certificate{}}), problem.Unreachable, "certificate of a:1 is not for this host name", ""},
		{wrapped(x509.UnknownAuthorityError{}), problem.Unreachable, "certificate of a:1 is signed by an authority", ""},
		{wrapped(x509.CertificateInvalidError{Reason: x509.Expired}), problem.Unreachable, "certificate of a:1 has expired", ""},
		{wrapped(x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}), problem.Unreachable, "certificate of a:1 is not valid", ""},
		{wrapped(&tls.CertificateVerificationError{Err: errors.New("x")}), problem.Unreachable, "certificate of a:1 is not valid", ""},
		{wrapped(alert("tls: certificate required")), problem.Unauthenticated, "wants a client certificate", "seems not to accept the client certificate"},
		{wrapped(alert("tls: handshake failure")), problem.Unreachable, "does not speak TLS", "seems not to accept the client certificate"},
		{&net.OpError{Op: "read", Err: errors.New("certificate required")}, problem.UpstreamMalformed, "is not valid HTTP", ""},
		{errors.New("certificate required"), problem.UpstreamMalformed, "is not valid HTTP", ""},
		{wrapped(tls.RecordHeaderError{Msg: "x"}), problem.Unreachable, "does not speak TLS", ""},
		{wrapped(io.ErrUnexpectedEOF), problem.UpstreamMalformed, "ended before its announced length", ""},
		{wrapped(fmt.Errorf("%w: %w", errBrokenOff, syscall.ECONNRESET)), problem.Unreachable, "in the middle of its answer", ""},
		{wrapped(io.EOF), problem.Unreachable, "closed the connection without an answer", "seems not to accept the client certificate"},
		{wrapped(fasthttp.ErrConnectionClosed), problem.Unreachable, "closed the connection without an answer", "seems not to accept the client certificate"},
		{wrapped(syscall.ECONNRESET), problem.Unreachable, "closed the connection without an answer", "seems not to accept the client certificate"},
		{wrapped(syscall.EPIPE), problem.Unreachable, "closed the connection without an answer", "seems not to accept the client certificate"},
		{errors.New("x"), problem.UpstreamMalformed, "is not valid HTTP", ""},
	} {
		for _, client := range []*ClientCertificate{nil, {}} {
			kind, says := c.kind, c.says
			if client != nil && c.mutual != "" {
				kind, says = problem.Unauthenticated, c.mutual
			}
			if got := describe(c.err, "a:1", Limits{Client: client}); !problem.Is(got, kind) || !strings.Contains(got.Error(), says) || !errors.Is(got, c.err) {
				t.Errorf("%v, a client certificate %v: %v; want %s: %s", c.err, client != nil, got, kind, says)
			}
		}
	}
}

// TestWhatIsSentAgain: a method that may be repeated, over a connection that was given up.
func TestWhatIsSentAgain(t *testing.T) {
	for _, err := range []error{io.EOF, syscall.ECONNRESET, syscall.EPIPE, fasthttp.ErrTimeout, io.ErrUnexpectedEOF, errors.New("x")} {
		for method, may := range map[string]bool{"GET": true, "HEAD": true, "OPTIONS": true, "PUT": true, "DELETE": true, "POST": false, "PATCH": false} {
			for _, marked := range []bool{false, true} {
				x := &Exchange{Repeatable: marked}
				x.Request.Header.SetMethod(method)
				gone := err == io.EOF || err == syscall.ECONNRESET || err == syscall.EPIPE
				if got := x.repeatable(fmt.Errorf("call: %w", err)); got != (gone && (may || marked)) {
					t.Errorf("%s, marked %v, after %v: %v", method, marked, err, got)
				}
			}
		}
	}
}

// TestWhoSharesConnections: every part of what a connection belongs to is part of its key.
func TestWhoSharesConnections(t *testing.T) {
	lim := func(change func(*Limits)) *Limits {
		l := &Limits{MaxBody: 1 << 20, Client: &ClientCertificate{ID: "c", Version: 1}}
		change(l)
		return l
	}
	same := lim(func(*Limits) {})
	k := keyOf("a:1", true, same)
	if k != keyOf("a:1", true, lim(func(*Limits) {})) {
		t.Error("equal calls do not share connections")
	}
	for what, other := range map[string]hostKey{
		"address": keyOf("b:1", true, same), "TLS": keyOf("a:1", false, same), "class": keyOf("a:1", true, lim(func(l *Limits) { l.MaxBody = 64 << 20 })),
		"client": keyOf("a:1", true, lim(func(l *Limits) { l.Client.ID = "d" })), "version": keyOf("a:1", true, lim(func(l *Limits) { l.Client.Version = 2 })),
		"no client": keyOf("a:1", true, lim(func(l *Limits) { l.Client = nil })),
	} {
		if other == k {
			t.Errorf("another %s has the same connections", what)
		}
	}
}

// TestBasesAreChecked: each fault of a base URL is told as itself.
func TestBasesAreChecked(t *testing.T) {
	for s, want := range map[string]string{
		"http://a b": "cannot be parsed", "ftp://a.example": "must start with", "//a.example": "must start with", "https://": "has no valid host", "https://:80": "has no valid host",
		"https:///x": "has no valid host", "http://[fe80::1%25a%20b]/": "has no valid host", "https://u@a.example": "must not hold credentials", "https://a.example?x": "must not have a query", "https://a.example?": "must not have a query",
		"https://a.example#f": "must not have a query", "https://a.example/{x}": "has variables",
	} {
		if b, err := ParseBase(s); !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), want) || !b.Zero() {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
	}
}

// TestStreams: which media types are streams, and where their last whole event ends.
func TestStreams(t *testing.T) {
	for media, want := range map[string]string{
		"text/event-stream": "\n\n", " text/event-stream ; charset=utf-8": "\n\n", "application/x-ndjson": "\n", "application/x-jsonlines": "\n", "application/x-jsonlines2": "",
		"application/json": "", "": "", "text/event-stream2": "",
	} {
		if got := streamEnd([]byte(media)); got != want {
			t.Errorf("%q ends with %q", media, got)
		}
	}
	for body, want := range map[string]int{"": 0, "a": 0, "\n\n": 2, "\r\n\r\n": 4, "a\n\nb": 3, "a\r\n\r\nb": 5, "a\n\nb\r\n\r\nc": 8, "a\r\n\r\nb\n\nc": 8, "a\n": 0} {
		if got := lastEvent([]byte(body), "\n\n"); got != want {
			t.Errorf("%q: %d, want %d", body, got, want)
		}
	}
	for body, want := range map[string]int{"": 0, "\n": 1, "a": 0, "a\nb": 2, "a\r\n\r\nb": 5} {
		if got := lastEvent([]byte(body), "\n"); got != want {
			t.Errorf("%q: %d, want %d", body, got, want)
		}
	}
}
