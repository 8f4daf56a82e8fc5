package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
)

// describe turns an error of the HTTP client into one a person may read. Texts of
// the network stack stay in the cause: they may hold addresses that are internal.
func describe(err error, addr string, lim Limits) error {
	if p := problem.As(err); p != nil {
		return p // of the dialer
	}
	if lim.Cancel.Cancelled() {
		return problem.New(problem.Cancelled, "the call was cancelled: whoever asked has gone").Because(err)
	}
	var (
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		hostname  x509.HostnameError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		nerr      net.Error
	)
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return problem.New(problem.UpstreamTooLarge, "the answer of %s is larger than %s", addr, size(lim.MaxBody)).
			Fix("ask for less: a smaller page, fewer fields, a narrower filter").Because(err)
	case errors.Is(err, fasthttp.ErrNoFreeConns):
		return problem.New(problem.Unavailable, "too many calls to %s are running", addr).Fix("try again in a few seconds").Because(err)
	case errors.Is(err, fasthttp.ErrTimeout), errors.Is(err, fasthttp.ErrTLSHandshakeTimeout), errors.As(err, &nerr) && nerr.Timeout():
		return problem.New(problem.Timeout, "%s did not answer in time", addr).
			Fix("try again, or raise the time limit of the toolset").Because(err)
	case errors.As(err, &hostname):
		return tlsProblem(err, addr, "is not for this host name")
	case errors.As(err, &authority):
		return tlsProblem(err, addr, "is signed by an authority this machine does not trust")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return tlsProblem(err, addr, "has expired or is not yet valid")
	case errors.As(err, &invalid), errors.As(err, &verify):
		return tlsProblem(err, addr, "is not valid")
	case errors.As(err, &record), errors.As(err, &alert):
		return problem.New(problem.Unreachable, "%s does not speak TLS as expected", addr).
			Fix("check whether the base URL should start with http:// or use another port").Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return problem.New(problem.UpstreamMalformed, "the answer of %s ended before its announced length", addr).Fix("try again").Because(err)
	case errors.Is(err, fasthttp.ErrConnectionClosed), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return problem.New(problem.Unreachable, "%s closed the connection without an answer", addr).Fix("try again").Because(err)
	}
	return problem.New(problem.UpstreamMalformed, "the answer of %s is not valid HTTP", addr).
		Fix("check that the base URL is that of an HTTP API").Because(err)
}

func tlsProblem(err error, addr, what string) error {
	return problem.New(problem.Unreachable, "the TLS certificate of %s %s", addr, what).
		Fix("correct the certificate or the base URL").Because(err)
}

func size(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
