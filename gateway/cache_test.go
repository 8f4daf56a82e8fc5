package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// TestCache: kept per credential and request, never for what is not safe, not
// against the upstream's will.
func TestCache(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	up.Handle("POST /items", upstreamtest.JSON(200, `{}`))
	up.Handle("GET /private", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60, No-Store")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	}))
	up.Handle("GET /fails", upstreamtest.JSON(500, `{}`))
	up.Handle("GET /moved", upstreamtest.Redirect(302, "/items/7"))
	up.Handle("GET /search", upstreamtest.JSON(200, `{}`))
	s := start(t, gatewaytest.Options{})
	search := gatewaytest.Operation("search", "GET", "/search")
	search.InputSchema = []byte(`{"type":"object","properties":{"body":{"type":"object"}}}`)
	search.Plan.Body = &operation.Body{MediaType: "application/json", Arg: "body", Required: true}
	ops := []*operation.Operation{
		getItem(), gatewaytest.Operation("create", "POST", "/items"), gatewaytest.Operation("private", "GET", "/private"), search,
		gatewaytest.Operation("fails", "GET", "/fails"),
		gatewaytest.Operation("moved", "GET", "/moved"),
	}
	f := func(tool, args string, want int) {
		t.Helper()
		up.Forget()
		for range 3 {
			if status, body := post(t, s.URL("acme"), callBody(tool, args)); status != 200 {
				t.Fatalf("%d %s", status, body)
			}
			s.Caller.WaitCache()
		}
		if n := len(up.Requests()); n != want {
			t.Fatalf("3 calls of %s %s made %d requests, want %d", tool, args, n, want)
		}
	}
	serve(t, s, up, nil, ops...)
	f("get_item", `{"id":1}`, 3) // off by default
	auth := &registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Key", CredentialID: "c1"}
	s.Secrets.Set("c1", credentials.Credential{Value: secrets.New("first"), Version: 1, Origins: registry.Origins{up.URL}})
	c, err := gatewaytest.Connector("acme", up.URL, ops...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 2, c, func(b *registry.Toolset) {
		b.Cache = &registry.CachePolicy{TTLSeconds: 60}
		b.Connectors[0].Auth = auth
	})); err != nil {
		t.Fatal(err)
	}
	f("get_item", `{"id":1}`, 1)
	f("get_item", `{"id":1}`, 0)
	f("get_item", `{"id":2}`, 1)
	s.Secrets.Set("c1", credentials.Credential{Value: secrets.New("second"), Version: 2, Origins: registry.Origins{up.URL}})
	f("get_item", `{"id":1}`, 1) // another key, another answer
	f("search", `{"body":{"q":1}}`, 1)
	f("search", `{"body":{"q":2}}`, 1) // another body, another answer
	f("search", `{"body":{"q":1}}`, 0)
	f("create", `{}`, 3)
	f("private", `{}`, 3)
	f("fails", `{}`, 3)
	f("moved", `{}`, 6) // where it leads may change, and is another origin's to say
}

// TestStreamIsNotKept: of a stream that goes on each call hears what came for it, and that there
// is more; the beginning is not kept as the answer.
func TestStreamIsNotKept(t *testing.T) {
	up := upstreamtest.New(t)
	var asked atomic.Int64
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: event of request %d\n\n", asked.Add(1))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, func(b *registry.Toolset) {
		b.Cache, b.Answers = &registry.CachePolicy{TTLSeconds: 60}, &registry.Answers{TimeoutMilliseconds: 500}
	}, getItem())
	for i := range 2 {
		_, body := post(t, s.URL("acme"), callBody("get_item", `{"id":1}`))
		if !strings.Contains(body, fmt.Sprintf("event of request %d", i+1)) || !strings.Contains(body, "the stream goes on") {
			t.Errorf("call %d: %s", i, body)
		}
		s.Caller.WaitCache()
	}
}

// TestSharedFlight: calls for the same answer at the same time make one request.
func TestSharedFlight(t *testing.T) {
	up := upstreamtest.New(t)
	release := make(chan struct{})
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		upstreamtest.JSON(200, item).ServeHTTP(w, r)
	}))
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, func(b *registry.Toolset) { b.Cache = &registry.CachePolicy{TTLSeconds: 60} }, getItem())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, body := post(t, s.URL("acme"), callBody("get_item", `{"id":1}`)); !strings.Contains(body, "9007199254740993") {
				t.Errorf("answer %s", body)
			}
		})
	}
	for len(up.Requests()) == 0 {
		runtime.Gosched()
	}
	for s.Caller.Waiting() < 7 {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	if n := len(up.Requests()); n != 1 {
		t.Fatalf("%d requests, want 1", n)
	}
}
