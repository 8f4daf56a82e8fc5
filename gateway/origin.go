package gateway

import (
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/http1"
)

// origin is who sent a request: its peer, or the client of a proxy in front.
func (s *Server) origin(rc *fasthttp.RequestCtx) forwarded.Origin {
	peer, ok := http1.RemoteIP(rc.RemoteAddr())
	if !ok || s.opts.Proxies.Empty() {
		return forwarded.Origin{Client: peer}
	}
	return s.opts.Proxies.Of(peer, func(name string) (values []string) {
		for _, v := range rc.Request.Header.PeekAll(name) {
			values = append(values, string(v))
		}
		return values
	})
}

// callerKey tells callers apart where a trial draws some of them: who they are, and by
// their address where nobody knows.
func (s *Server) callerKey(rc *fasthttp.RequestCtx, pass access.Pass) string {
	p := pass.Principal()
	if key := p.Key(); key != "" {
		return key
	}
	return "address\x00" + s.origin(rc).Client.String()
}
