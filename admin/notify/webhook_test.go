package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
)

// TestUnreached: what is kept of a failed delivery says why, and never the URL.
func TestUnreached(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		err = &url.Error{Op: "Post", URL: "https://hooks.example/hidden", Err: fmt.Errorf("dialing: %w", err)}
		if got := saidOf(err); got != "the receiver "+want || strings.Contains(got, "hidden") {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	f(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "hooks.example"}, "has a certificate that is not for its host name")
	f(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "has a certificate of an authority that is not trusted here (SLUICE_CA)")
	f(x509.CertificateInvalidError{Reason: x509.Expired}, "has a certificate that has expired, or is not valid yet")
	f(x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}, "has a certificate that is not valid")
	f(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "does not speak TLS")
	f(&net.DNSError{Err: "no such host", Name: "hooks.example"}, "has a name that does not resolve")
	f(syscall.ECONNREFUSED, "does not accept connections")
	f(io.EOF, "closed the connection without an answer")
	f(syscall.ECONNRESET, "closed the connection without an answer")
	f(errors.New("something else"), "cannot be reached")
	f(context.DeadlineExceeded, "did not answer in 20s")
}
