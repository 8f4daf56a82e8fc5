package admin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/module"
)

// MaxBodyBytes is the largest request body: the largest known specification is
// 13 MB, 64 MB is the limit of the compiler.
const MaxBodyBytes = 64 << 20

// bodyTimeout is how long a client may take to send its body: 64 MB over a
// connection of 1 MB/s.
const bodyTimeout = 70 * time.Second

func instanceOf(ctx context.Context) string {
	if id := request.Of(ctx).ID; id != "" {
		return "/v1/requests/" + id
	}
	return ""
}

// framed is around every request: an id, the Host check, headers that keep
// browsers from doing anything with an answer, and the one place that recovers.
func (s *Server) framed(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &request.Request{ID: s.o.Store.NewID("req"), Prefer: r.Header.Get("Prefer")}
		var https bool
		req.IP, req.Local, https = s.clientOf(r)
		if req.Base = "http://" + r.Host; https {
			req.Base = "https://" + r.Host
		}
		r = r.WithContext(request.With(r.Context(), req))
		answer := &statusWriter{ResponseWriter: w}
		w = answer
		began := time.Now()
		defer func() {
			s.audit.Denied(r, answer.status)
			s.metrics.Request(s.route(r), cmp.Or(answer.status, http.StatusOK), time.Since(began))
		}()
		h := w.Header()
		h.Set("X-Request-Id", req.ID)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			s.log.LogAttrs(r.Context(), slog.LevelError, "request panicked", slog.String("request_id", req.ID),
				slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			s.writeProblem(w, r, problemOf(errors.New("panic")))
		}()
		if !s.hosts[hostName(r.Host)] {
			s.writeProblem(w, r, problem.New(problem.Forbidden, "this listener does not answer for that host name").
				Fix("use the address it listens on, or allow the name in the configuration"))
			return
		}
		next(w, r)
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the first status.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hostName is a Host header without port and brackets, lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// clientOf returns the client's address, whether it is this machine, and whether it
// came over https. A request that a proxy passed on is not local, whatever the proxy's
// address; what it says of the client is believed of the proxies of the operator only.
func (s *Server) clientOf(r *http.Request) (ip string, local, https bool) {
	https = r.TLS != nil
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr, false, https
	}
	o := s.o.Proxies.Of(peer.Addr(), r.Header.Values)
	proxied := r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Via") != ""
	return o.Client.String(), o.Client.IsLoopback() && !proxied, https || o.HTTPS
}

// authenticated lets requests with a valid API token or the cookie of a session through.
func (s *Server) authenticated(next http.HandlerFunc) http.HandlerFunc {
	byToken, bySession := s.withToken(next), s.withSession(next)
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie(sessionCookie); err == nil && r.Header.Get("Authorization") == "" {
			bySession(w, r)
			return
		}
		byToken(w, r)
	}
}

// withToken lets requests with a valid API token through.
func (s *Server) withToken(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, err := apiToken(r.Header.Get("Authorization"))
		if err != nil {
			s.writeProblem(w, r, err)
			return
		}
		row, err := s.o.Store.TokenByHash(r.Context(), access.HashToken(token))
		if err != nil {
			if problem.Is(err, problem.Unauthenticated) {
				s.log.LogAttrs(r.Context(), slog.LevelWarn, "unknown API token", slog.String("request_id", request.Of(r.Context()).ID),
					slog.String("client", request.Of(r.Context()).IP))
			}
			s.writeProblem(w, r, err)
			return
		}
		request.Of(r.Context()).Token = row
		next(w, r)
	}
}

// apiToken is the API token of an Authorization header (RFC 6750 §2.1). Errors say what is
// wrong with the header and nothing of what is in it.
func apiToken(header string) (secrets.Secret, error) {
	const remedy = "send Authorization: Bearer slu_…; the token of the local administrator is in the file admin.token of the data directory"
	scheme, value, _ := strings.Cut(header, " ")
	token := secrets.New(strings.TrimSpace(value))
	var says string
	switch {
	case header == "":
		says = "missing API token"
	case !strings.EqualFold(scheme, "Bearer"):
		says = "the Authorization header is not of the form Bearer TOKEN"
	case access.ValidTokenFor(access.ToolsetPrefix, token):
		says = "this is an access token of a toolset: it opens the toolset URL, not the admin API"
	case !access.ValidToken(token):
		says = "malformed API token: a letter is missing or wrong, or it is another kind of token"
	default:
		return token, nil
	}
	return secrets.Secret{}, problem.New(problem.Unauthenticated, "%s", says).Fix(remedy)
}

// workspace returns the workspace that the request works in.
func (s *Server) workspace(ctx context.Context) *store.Workspace {
	return request.Workspace(ctx, s.o.Store)
}

// withBody reads the whole body, bounded in size and time, so that what follows
// can hash it, and turns a multipart creation into its JSON form.
func (s *Server) withBody(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := readBody(w, r, MaxBodyBytes)
		if err == nil {
			body, err = multipartToJSON(r, body)
		}
		if err == nil {
			err = checkText(r, body)
		}
		if err != nil {
			s.writeProblem(w, r, bodyError(r, err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		next(w, r)
	}
}

// readBody reads a body of at most limit bytes, within [bodyTimeout].
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	// Not every ResponseWriter has deadlines; the server's own hold then.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, bodyError(r, err)
	}
	return body, nil
}

func bodyError(r *http.Request, err error) error {
	var size *http.MaxBytesError
	var timeout net.Error
	if _, done := errors.AsType[*Problem](err); done {
		return err
	}
	switch {
	case problem.As(err) != nil:
		return err
	case errors.As(err, &size):
		p := problem.New(problem.TooLarge, "the request body is larger than %d bytes", size.Limit)
		switch {
		case size.Limit == MaxBodyBytes && r.URL.Path == pluginsPath:
			p = p.Fix("a module may have %d MiB: give fewer or smaller golden cases with it", module.MaxBytes>>20)
		case size.Limit == MaxBodyBytes:
			p = p.Fix("split the specification, or use its URL")
		}
		return p
	case errors.As(err, &timeout) && timeout.Timeout():
		return statusProblem(http.StatusRequestTimeout, fmt.Sprintf("the request body did not arrive within %v", bodyTimeout))
	}
	return problem.New(problem.InvalidArgument, "the request body ended early").Because(err)
}

// recorder keeps an answer instead of sending it.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header, Write and WriteHeader make a recorder an http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader keeps the first status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write keeps the body.
func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

func (r *recorder) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(max(r.status, http.StatusOK))
	_, _ = w.Write(r.body.Bytes()) // the client is gone when this fails
}
