package call_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
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

// TestInspect: an inspection has the request, the answer as received and as shaped, and
// of a credential only where it travels, also when the API repeats it.
func TestInspect(t *testing.T) {
	const secret = "a-secret-of-the-toolset-0b5f"
	up := upstreamtest.New(t)
	up.Handle("GET /list", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode([]map[string]any{{"id": 1, "self_url": "https://api.x.example", "license": nil, "name": fmt.Sprint(r.URL, r.Header)}})
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
	revision := uint64(0)
	inspect := func(shape registry.AuthShape) *call.Inspection {
		t.Helper()
		shape.CredentialID = "cred"
		revision++
		if err := s.Serve(gatewaytest.Toolset("acme", revision, c, func(b *registry.Toolset) { b.Connectors[0].Auth = &shape })); err != nil {
			t.Fatal(err)
		}
		tool, err := s.Holder.Load().Slug("acme").Tool([]byte("list"))
		if err != nil {
			t.Fatal(err)
		}
		_, outcome, err := s.Caller.Call(t.Context(), tool, jsonscan.Value{}, call.CallOptions{Inspect: true}, nil)
		if err != nil || outcome.IsError {
			t.Fatalf("%+v, %v", outcome, err)
		}
		if text := fmt.Sprintf("%+v %s %s", outcome.Trace.Inspection, outcome.Trace.Inspection.Received, outcome.Trace.Inspection.Shaped); strings.Contains(text, secret) {
			t.Fatalf("%s: the inspection holds the secret: %s", shape.Type, text)
		}
		return outcome.Trace.Inspection
	}
	masked := func(i *call.Inspection, name string) bool {
		return slices.Contains(i.Headers, call.InspectedHeader{Name: name, Value: call.Masked})
	}

	i := inspect(registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Api-Key"})
	if i.Method != http.MethodGet || i.URL != up.URL+"/list" || !masked(i, "X-Api-Key") {
		t.Errorf("header: %+v", i)
	}
	if !strings.Contains(string(i.Received), "self_url") || strings.Contains(string(i.Shaped), "self_url") || !strings.Contains(string(i.Shaped), `"id":1`) || i.Cut {
		t.Errorf("received %s, shaped %s", i.Received, i.Shaped)
	}
	if i = inspect(registry.AuthShape{Type: registry.AuthBearer}); !masked(i, "Authorization") {
		t.Errorf("bearer: %+v", i.Headers)
	}
	if i = inspect(registry.AuthShape{Type: registry.AuthCookie, CookieName: "sid"}); !masked(i, "Cookie") {
		t.Errorf("cookie: %+v", i.Headers)
	}
	if i = inspect(registry.AuthShape{Type: registry.AuthQuery, ParameterName: "key"}); i.URL != up.URL+"/list?key="+call.Masked {
		t.Errorf("query: %s", i.URL)
	}
}

// TestInspectIsBounded: a text is kept up to MaxInspected, and one byte more is cut.
func TestInspectIsBounded(t *testing.T) {
	most := call.MaxInspected
	for _, size := range []int{most, most + 1} {
		up := upstreamtest.New(t)
		up.Handle("GET /list", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `"`+strings.Repeat("a word ", size)[:size-2]+`"`)
		}))
		s, err := gatewaytest.New(gatewaytest.Options{CacheBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Stop() })
		c, err := gatewaytest.Connector("acme", up.URL, listOperation())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
			t.Fatal(err)
		}
		tool, err := s.Holder.Load().Slug("acme").Tool([]byte("list"))
		if err != nil {
			t.Fatal(err)
		}
		_, outcome, err := s.Caller.Call(t.Context(), tool, jsonscan.Value{}, call.CallOptions{Inspect: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i := outcome.Trace.Inspection; len(i.Received) != most || i.Cut != (size > most) {
			t.Errorf("of %d bytes %d are kept, cut: %v", size, len(i.Received), i.Cut)
		}
	}
}
