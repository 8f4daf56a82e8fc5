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

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
)

// WaitLonger is the remedy of an answer that did not come in time.
const WaitLonger = "try again, or raise the time limit: sluice toolset optimize TOOLSET --tool TOOL --time-limit 5m"

// describe turns an error of the HTTP client into one a person may read. Texts of
// the network stack stay in the cause: they may hold addresses that are internal.
func describe(err error, addr string, lim Limits) error {
	if p := problem.As(err); p != nil {
		return p // of the dialer
	}
	if lim.Cancel.Cancelled() {
		return problem.New(problem.Cancelled, "the call was cancelled: the client has gone").Because(err)
	}
	var (
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		hostname  x509.HostnameError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		nerr      net.Error
	)
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return problem.New(problem.UpstreamTooLarge, "the answer of %s is larger than %s", addr, size(lim.MaxBody)).
			Fix("ask for less: a smaller page, fewer fields, a narrower filter; or raise the limit: sluice toolset optimize TOOLSET --max-response MIB").Because(err)
	case errors.Is(err, ErrNoMemory):
		return problem.New(problem.Unavailable, "the answer of %s is long, and other long answers held the memory for them until the time limit of the call", addr).
			Fix("try again in a few seconds, or ask for less: a smaller page, fewer fields, a narrower filter").Because(err)
	case errors.Is(err, fasthttp.ErrNoFreeConns):
		return problem.New(problem.Unavailable, "too many calls to %s are running", addr).Fix("try again in a few seconds").Because(err)
	case errors.Is(err, fasthttp.ErrTimeout), errors.Is(err, fasthttp.ErrTLSHandshakeTimeout), errors.As(err, &nerr) && nerr.Timeout():
		return problem.New(problem.Timeout, "%s did not answer in time", addr).
			Fix(WaitLonger).Because(err)
	case errors.As(err, &hostname):
		return tlsProblem(err, addr, "is not for this host name")
	case errors.As(err, &authority):
		return tlsProblem(err, addr, "is signed by an authority this machine does not trust")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return tlsProblem(err, addr, "has expired or is not yet valid")
	case errors.As(err, &invalid), errors.As(err, &verify):
		return tlsProblem(err, addr, "is not valid")
	case alerted(err) && lim.Client != nil:
		return refusedCertificate(err, addr)
	case alerted(err) && strings.Contains(err.Error(), "certificate required"):
		return problem.New(problem.Unauthenticated, "%s wants a client certificate", addr).
			Fix("set authentication of type mtls for the toolset").Because(err)
	case errors.As(err, &record), alerted(err):
		return problem.New(problem.Unreachable, "%s does not speak TLS as expected", addr).
			Fix("check whether the base URL should start with http:// or use another port").Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return problem.New(problem.UpstreamMalformed, "the answer of %s ended before its announced length", addr).Fix("try again").Because(err)
	case errors.Is(err, errBrokenOff): // whoever answers has accepted the client certificate
		return problem.New(problem.Unreachable, "%s closed the connection in the middle of its answer", addr).Fix("try again").Because(err)
	case closed(err) && lim.Client != nil: // TLS 1.3 checks it after the client's part is done
		return refusedCertificate(err, addr)
	case closed(err):
		return problem.New(problem.Unreachable, "%s closed the connection without an answer", addr).Fix("try again").Because(err)
	}
	return problem.New(problem.UpstreamMalformed, "the answer of %s is not valid HTTP", addr).
		Fix("check that the base URL is that of an HTTP API").Because(err)
}

// Closed reports whether err is that of a server that closed the connection before it
// answered.
func Closed(err error) bool { return problem.Is(err, problem.Unreachable) && closed(err) }

func closed(err error) bool {
	return errors.Is(err, fasthttp.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// alerted reports whether the server ended TLS with an alert (RFC 8446 §6).
func alerted(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

func refusedCertificate(err error, addr string) error {
	return problem.New(problem.Unauthenticated, "%s closed the connection; it seems not to accept the client certificate of the toolset", addr).
		Fix("check that the certificate is one the API knows, has not ended, and comes with its intermediate certificates").Because(err)
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
