package admin_test

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/member/session"
)

// TestClientBehindProxy: the audit log has the client that the proxy names, and links the
// scheme that it was asked with; nobody else is believed.
func TestClientBehindProxy(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		remote, ip, base string
		headers          []string
	}{
		"the proxy":              {proxyOfTests + ":80", "198.51.100.7", "https://", []string{"X-Forwarded-For", "1.1.1.1, 198.51.100.7", "X-Forwarded-Proto", "https"}},
		"the proxy, RFC 7239":    {proxyOfTests + ":80", "198.51.100.7", "https://", []string{"Forwarded", "for=1.1.1.1, for=198.51.100.7;proto=https"}},
		"the proxy says nothing": {proxyOfTests + ":80", proxyOfTests, "http://", nil},
		"somebody else":          {"203.0.113.10:80", "203.0.113.10", "http://", []string{"X-Forwarded-For", "198.51.100.7", "X-Forwarded-Proto", "https", "Forwarded", "for=198.51.100.7;proto=https"}},
	} {
		headers := append([]string{"Remote", c.remote}, c.headers...)
		if link := want[session.LoginLink](w, w.do("POST", "/v1/login-link", nil, headers...), 201); !strings.HasPrefix(link.URL, c.base) {
			t.Errorf("%s: the link is %s, want %s", name, link.URL, c.base)
		}
		w.do("POST", "/v1/tokens", map[string]any{"name": name, "role": "viewer"}, headers...)
		records := w.records("token.create")
		if last := records[len(records)-1]; last.Actor.IP != c.ip {
			t.Errorf("%s: the audit log has %+v, want %s", name, last.Actor, c.ip)
		}
	}
}
