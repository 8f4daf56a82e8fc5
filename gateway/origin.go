package gateway

import (
	"github.com/valyala/fasthttp"

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
