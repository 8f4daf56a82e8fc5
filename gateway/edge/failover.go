package edge

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sluicegate/sluice/internal/problem"
)

// MaxControlPlanes an edge may know: each that is gone costs a question the time
// of a dial.
const MaxControlPlanes = 8

// ParseControlPlanes reads the addresses of the control planes of one database, separated
// by commas, without their trailing slashes. It fails with [problem.InvalidArgument].
func ParseControlPlanes(list string) ([]*url.URL, error) {
	var out []*url.URL
	for text := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSuffix(strings.TrimSpace(text), "/"))
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, problem.New(problem.InvalidArgument, "the control plane is not named by an http or https URL").
				Fix("give the address of its admin API; several are separated by commas")
		}
		if slices.ContainsFunc(out, func(other *url.URL) bool { return other.String() == u.String() }) {
			return nil, problem.New(problem.InvalidArgument, "the control plane %s is named twice", u.Host)
		}
		out = append(out, u)
	}
	if len(out) > MaxControlPlanes {
		return nil, problem.New(problem.InvalidArgument, "%d control planes are named, more than %d", len(out), MaxControlPlanes)
	}
	return out, nil
}

// failover sends what is meant for the first control plane to the one that answered
// last, and to the next ones when that one cannot be reached or is not there for edges
// (502, 503, 504). A request is sent again only when the one before did not get it, or
// when it changes nothing.
type failover struct {
	next   http.RoundTripper
	planes []*url.URL
	now    atomic.Int32 // the index of the one that answered last
	log    *slog.Logger
}

// RoundTrip implements [http.RoundTripper].
func (f *failover) RoundTrip(r *http.Request) (*http.Response, error) {
	first := int(f.now.Load())
	var last *http.Response // of one that is there, but not for edges
	var errs []error
	for i := range f.planes {
		at := (first + i) % len(f.planes)
		try, err := f.aim(r, at, i > 0)
		if err != nil {
			errs = append(errs, err)
			break
		}
		resp, err := f.next.RoundTrip(try)
		switch {
		case err == nil && !away(resp.StatusCode):
			if i > 0 && f.now.CompareAndSwap(int32(first), int32(at)) {
				f.log.LogAttrs(r.Context(), slog.LevelWarn, "another control plane answers", slog.String("control_plane", f.planes[at].Host), slog.String("before", f.planes[first].Host))
			}
			closeBody(last)
			return resp, nil
		case err == nil:
			closeBody(last)
			last = resp
			continue // it said that it did nothing
		}
		errs = append(errs, err)
		if r.Context().Err() != nil || !unsent(r.Method, err) {
			// The next question goes to another one: this one may be gone.
			f.now.CompareAndSwap(int32(first), int32((at+1)%len(f.planes)))
			break
		}
	}
	if last != nil {
		return last, nil
	}
	return nil, errors.Join(errs...)
}

// aim is the request for a control plane; again says that its body was read before.
func (f *failover) aim(r *http.Request, at int, again bool) (*http.Request, error) {
	to := f.planes[at]
	c := r.Clone(r.Context())
	c.URL.Scheme, c.URL.Host, c.Host = to.Scheme, to.Host, ""
	c.URL.Path = to.Path + strings.TrimPrefix(r.URL.Path, f.planes[0].Path)
	if c.URL.RawPath != "" {
		c.URL.RawPath = to.EscapedPath() + strings.TrimPrefix(r.URL.RawPath, f.planes[0].EscapedPath())
	}
	if again && r.Body != nil && r.Body != http.NoBody {
		if r.GetBody == nil {
			return nil, errors.New("the body of a request cannot be sent again")
		}
		var err error
		if c.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// away reports whether a status is that of a control plane that is starting, or of a
// proxy in front of none.
func away(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// unsent reports whether a request that failed may be sent to another one: nobody got
// it, or it only reads.
func unsent(method string, err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return method == http.MethodGet || method == http.MethodHead || ok && op.Op == "dial"
}

func closeBody(r *http.Response) {
	if r != nil {
		_ = r.Body.Close() // nobody reads it
	}
}
