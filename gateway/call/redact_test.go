package call_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

// TestCredentialIsNotPutTogether: a credential that an answer repeats in parts, which what is
// made of the answer puts together, does not reach the agent.
func TestCredentialIsNotPutTogether(t *testing.T) {
	const secret = "Zq9-Sekrit+Value/0123xyz"
	first, second := secret[:9], secret[9:]
	var contentType, body string
	status := 200
	up := upstreamtest.New(t)
	up.Handle("GET /list", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != secret {
			t.Error("the credential is not sent")
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	s, err := gatewaytest.New(gatewaytest.Options{CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	c, err := gatewaytest.Connector("acme", up.URL, listOperation())
	if err != nil {
		t.Fatal(err)
	}
	s.Secrets.Set("cred", credentials.Credential{Value: secrets.New(secret), Version: 1, Origins: registry.Origins{up.URL}})
	for revision, profile := range []string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise} {
		err := s.Serve(gatewaytest.Toolset("acme", uint64(revision)+1, c, func(b *registry.Toolset) {
			b.Profile, b.Connectors[0].Auth = profile, &registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Key", CredentialID: "cred"}
		}))
		if err != nil {
			t.Fatal(err)
		}
		tool, err := s.Holder.Load().Slug("acme").Tool([]byte("list"))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []struct{ kind, body string }{
			{"application/json", `[{"key":"` + first + "\u200b" + second + `"}]`},
			{"application/json", `[{"key":"` + first + `\u202e` + second + `"}]`},
			{"text/plain", "the key " + first + "\u00ad" + second},
			{"text/plain", "the key " + first + "\x1b[31m" + second},
			{"application/json", "{the key " + first + "\x1b[31m" + second},
			{"application/xml", "<r><key>" + first + "<![CDATA[" + second + "]]></key></r>"},
			{"application/xml", "<r><key>" + first + "<!-- x -->" + second + "</key></r>"},
			{"application/xml", "<r><key>" + first + "&#8203;" + second + "</key></r>"},
			{"text/html", "<html><body><p>" + first + "<b></b>" + second + "</p></body></html>"},
			{"text/html", "<html><body><p>" + first + "<!-- x -->" + second + "</p></body></html>"},
			{"text/html", "<html><body><p>" + first + "&#8203;" + second + "</p></body></html>"},
		} {
			for _, code := range []int{200, 404} {
				contentType, body, status = a.kind, a.body, code
				dst, _, err := s.Caller.Call(t.Context(), tool, jsonscan.Value{}, call.CallOptions{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				got := strings.ReplaceAll(string(dst), `\/`, "/")
				if strings.Contains(got, secret) || strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(secret))) {
					t.Errorf("%s, %s, %d: %+q becomes %s", profile, a.kind, code, a.body, got)
				}
			}
		}
	}
}
