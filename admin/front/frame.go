package front

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/front/metrics"
	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/cluster"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Room is around every request. Its fields must be set before it serves one.
type Room struct {
	Store    *store.Store
	Keyring  *secrets.Keyring
	Log      *slog.Logger
	Audit    *audit.Log
	Metrics  *metrics.Metrics
	Sessions *session.Room
	// Proxies are those in front of the listener whose word on a request is taken.
	Proxies forwarded.Proxies
	// Hosts are the values of the Host header that are answered, see [HostNames].
	Hosts map[string]bool
	// PublicURL is where browsers reach the console; "": what they wrote.
	PublicURL string
	// Mux has the operations of the API.
	Mux *http.ServeMux
}

// HostNames are hosts as a Host header names them, without port and brackets.
func HostNames(hosts []string) map[string]bool {
	out := make(map[string]bool, len(hosts))
	for _, h := range hosts {
		out[strings.ToLower(strings.Trim(h, "[]"))] = true
	}
	return out
}

// Framed is around every request: an id, the Host check, headers that keep
// browsers from doing anything with an answer, and the one place that recovers.
func (f *Room) Framed(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &request.Request{ID: f.Store.NewID("req"), Prefer: r.Header.Get("Prefer")}
		var https bool
		req.IP, req.Local, https = f.clientOf(r)
		if req.Base = "http://" + r.Host; https {
			req.Base = "https://" + r.Host
		}
		r = r.WithContext(request.With(r.Context(), req))
		answer := &statusWriter{ResponseWriter: w}
		w = answer
		began := time.Now()
		defer func() {
			f.Audit.Denied(r, answer.status)
			f.Metrics.Request(f.route(r), cmp.Or(answer.status, http.StatusOK), time.Since(began))
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
			f.Log.LogAttrs(r.Context(), slog.LevelError, "request panicked", slog.String("request_id", req.ID),
				slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			f.WriteProblem(w, r, ProblemOf(errors.New("panic")))
		}()
		if !f.Hosts[hostName(r.Host)] && !cluster.HostChecked(r.Context()) {
			f.WriteProblem(w, r, problem.New(problem.Forbidden, "this listener does not serve that host name").
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
func (f *Room) clientOf(r *http.Request) (ip string, local, https bool) {
	https = r.TLS != nil
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr, false, https
	}
	o := f.Proxies.Of(peer.Addr(), r.Header.Values)
	proxied := r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Via") != ""
	return o.Client.String(), o.Client.IsLoopback() && !proxied, https || o.HTTPS
}

func instanceOf(ctx context.Context) string {
	if id := request.Of(ctx).ID; id != "" {
		return "/v1/requests/" + id
	}
	return ""
}

func (f *Room) workspace(ctx context.Context) *store.Workspace {
	return request.Workspace(ctx, f.Store)
}
