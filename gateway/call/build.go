package call

import (
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// build turns the arguments into the HTTP request.
func (x *exchange) build(args jsonscan.Value) (*fasthttp.Request, error) {
	r := &x.built
	r.Reset()
	if x.c.files != nil {
		x.files.input = &x.input
		r.Files = &x.files
	}
	if err := x.ready.Plan.Build(r, args); err != nil {
		return nil, err
	}
	x.url = x.ready.Base.AppendURL(x.url[:0], r.Target)
	req := &x.http.Request
	req.Header.SetMethod(r.Method)
	req.SetRequestURIBytes(x.url)
	for i := range r.Header {
		if reserved(r.Header[i].Name) {
			continue
		}
		// Add, because a header parameter may be an array of lines.
		req.Header.AddBytesV(r.Header[i].Name, r.Header[i].Value)
	}
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if r.HasBody {
		req.Header.SetContentTypeBytes(r.ContentType)
		req.SetBodyRaw(r.Body) // valid until reset: built and http are reset together
	}
	x.markRequest(req)
	return req, nil
}

// reserved reports whether a header belongs to the connection or to us. A
// specification that declares one as a parameter must not let an agent choose
// where a message ends or which host it is for (RFC 9110 §7.6.1).
func reserved(name string) bool {
	for _, h := range [...]string{
		"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade", "TE", "Trailer",
		"Proxy-Authorization", "Accept-Encoding", "Expect",
	} {
		if len(name) == len(h) && strings.EqualFold(name, h) {
			return true
		}
	}
	return false
}
