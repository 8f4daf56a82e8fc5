package upstream

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
)

// redirect looks at the answer and turns the request into the next one; false
// when the answer is final. See RFC 9110 §15.4.
func (x *Exchange) redirect(secure bool, strip Stripper) (bool, error) {
	status := x.response.StatusCode()
	switch status {
	case 301, 302, 303, 307, 308:
	default:
		return false, nil
	}
	location := x.response.Header.Peek(fasthttp.HeaderLocation)
	if len(location) == 0 {
		return false, nil
	}
	req := &x.Request
	safe := req.Header.IsGet() || req.Header.IsHead()
	if !safe && status != 303 && status != 307 && status != 308 {
		return false, nil // what a POST becomes after 301 and 302 depends on the client: not guessed
	}
	u := req.URI()
	var next fasthttp.URI
	u.CopyTo(&next)
	next.DisablePathNormalizing = true
	next.UpdateBytes(location)
	next.SetHash("")
	if s := string(next.Scheme()); s != "http" && s != "https" || len(next.Host()) == 0 {
		return false, problem.New(problem.UpstreamMalformed, "the upstream redirects to something that is not an HTTP address")
	}
	same := bytes.Equal(next.Scheme(), u.Scheme()) && bytes.EqualFold(next.Host(), u.Host())
	switch {
	case !same && (!safe || len(req.Body()) > 0) && status != 303:
		return false, nil // a body is not handed to another origin
	case secure && string(next.Scheme()) == "http":
		return false, problem.New(problem.UpstreamMalformed, "the upstream redirects from https to http").
			Fix("correct the base URL of the toolset")
	case x.Redirects >= maxRedirects:
		return false, problem.New(problem.UpstreamMalformed, "the upstream redirects more than %d times", maxRedirects).
			Fix("correct the base URL of the toolset")
	}
	x.Redirects++
	if status == 303 && !safe {
		req.Header.SetMethod(fasthttp.MethodGet)
		req.ResetBody()
		req.Header.Del(fasthttp.HeaderContentType)
		req.Header.Del(fasthttp.HeaderContentLength)
	}
	req.SetURI(&next)
	req.Header.SetHostBytes(next.Host())
	if !same {
		// After the address is set: most servers repeat the query in it, with a key in
		// that.
		if strip != nil {
			strip.Strip(req)
		}
		for _, h := range []string{fasthttp.HeaderAuthorization, fasthttp.HeaderCookie, fasthttp.HeaderProxyAuthorization} {
			req.Header.Del(h)
		}
	}
	return true, nil
}
