package extism

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/cdnloop"
	"github.com/sluicegate/sluice/internal/problem"
)

// Request is an HTTP request that was sent for a plugin.
type Request struct {
	Method, Host string
	Status       int // 0: there was no answer
	Sent, Bytes  int // of the bodies
	Took         time.Duration
}

// own are the headers of the connection, which are not a plugin's to set.
var own = map[string]bool{
	"Host": true, "Connection": true, "Content-Length": true, "Transfer-Encoding": true, "Upgrade": true, "Te": true, "Trailer": true,
	"Keep-Alive": true, "Proxy-Authorization": true, "Proxy-Connection": true, "Expect": true,
}

// private is a context without its values: a request of a plugin has nothing of the call
// that it is made for, such as the private addresses that its toolset may reach.
type private struct{ context.Context }

func (private) Value(any) any { return nil }

// httpRequest sends a request to a granted host and returns the answer's body.
func (i *Instance) httpRequest(stack []uint64) {
	i.status, i.headers = 0, nil
	raw := i.read("an HTTP request", stack[0])
	if len(raw) > maxHTTPRequest {
		deny("an HTTP request of more than %d bytes", maxHTTPRequest)
	}
	var want struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		deny("its HTTP request is not JSON")
	}
	i.release(stack[0])
	var body []byte
	if stack[1] != 0 {
		body = append([]byte(nil), i.read("an HTTP body", stack[1])...)
		i.release(stack[1])
	}
	header := make(http.Header, len(want.Headers)+1)
	for k, v := range want.Headers {
		header.Set(k, v)
	}
	answer, status, headers := i.send(want.Method, want.URL, header, body)
	i.status = uint32(status)
	list := make(map[string]string, len(headers))
	for k, v := range headers {
		list[strings.ToLower(k)] = strings.Join(v, ",")
	}
	i.headers, _ = json.Marshal(list)
	stack[0] = i.write(answer)
}

// send sends a request to a granted host, within what one call may send, and returns its
// answer. It stops the plugin when it cannot.
func (i *Instance) send(method, address string, header http.Header, body []byte) ([]byte, int, http.Header) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		deny("its HTTP request has no usable URL")
	}
	by := i.p.spec.HTTP
	if by == nil {
		by = i.p.h.o.HTTP
	}
	if by == nil || !hostAllowed(i.p.spec.Grants.Hosts, u) {
		withhold("HTTP request to '%s' is not allowed: the host is not granted to it", clip(u.Host, maxShownHost))
	}
	for k := range header {
		if own[http.CanonicalHeaderKey(k)] {
			deny("its HTTP request sets the header '%s', which is the connection's", clip(k, 64))
		}
	}
	if i.requests++; i.requests > maxHTTPCalls {
		deny("more than %d HTTP requests in one call", maxHTTPCalls)
	}
	if method == "" {
		method = http.MethodGet
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "sluice-plugin/"+i.p.spec.Name)
	}
	sent := Request{Method: strings.ToUpper(clip(method, 16)), Host: clip(u.Host, maxShownHost), Sent: len(body)}
	var answer []byte
	var headers http.Header
	var refusal string
	i.await(func(ctx context.Context) {
		header.Set(cdnloop.Header, cdnloop.Sent(ctx)) // the host may be a gateway: a plugin cannot take it away
		ctx, cancel := context.WithTimeout(private{ctx}, max(maxHTTPWait-i.waited, 0))
		defer cancel()
		begin := time.Now()
		defer func() {
			sent.Took = time.Since(begin)
			i.waited += sent.Took
		}()
		req, err := http.NewRequestWithContext(ctx, strings.ToUpper(method), address, bytes.NewReader(body))
		if err != nil {
			refusal = "its HTTP request cannot be sent"
			return
		}
		req.Header = header
		resp, err := by.Do(req)
		if err != nil {
			refusal = "HTTP request to '" + sent.Host + "' went wrong" + because(ctx, err)
			return
		}
		defer resp.Body.Close()
		limit := int64(i.p.limits.HTTPResponse)
		answer, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
		sent.Status, sent.Bytes, headers = resp.StatusCode, len(answer), resp.Header
		switch {
		case err != nil:
			refusal = "the answer to an HTTP request ended early" + because(ctx, err)
		case int64(len(answer)) > limit:
			refusal = "the answer to an HTTP request has more than " + strconv.FormatInt(limit, 10) + " bytes"
		}
	})
	if i.sent != nil {
		*i.sent = append(*i.sent, sent)
	}
	if refusal != "" {
		deny("%s", refusal)
	}
	return answer, sent.Status, headers
}

// because says why a request failed, for the operator who granted it.
func because(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ": the requests of one call may take " + maxHTTPWait.String()
	}
	if p := problem.As(err); p != nil {
		return ": " + clip(p.Detail, maxError/2)
	}
	return ""
}

// hostAllowed reports whether requests may go to the host of a URL: its name matches a
// pattern, whole or below a star, and its port is the pattern's, or else the scheme's.
func hostAllowed(patterns []string, u *url.URL) bool {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	standard := "80"
	if u.Scheme == "https" {
		standard = "443"
	}
	port := cmp.Or(u.Port(), standard)
	for _, p := range patterns {
		name, at, _ := strings.Cut(strings.ToLower(p), ":")
		if cmp.Or(at, standard) != port || host == "" {
			continue
		}
		if name == host {
			return true
		}
		if suffix, ok := strings.CutPrefix(name, "*"); ok && strings.HasPrefix(suffix, ".") && len(host) > len(suffix) && strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

func (i *Instance) httpHeaders(stack []uint64) {
	if i.headers == nil {
		stack[0] = i.write([]byte("{}"))
		return
	}
	stack[0] = i.write(i.headers)
}
