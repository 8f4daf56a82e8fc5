package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/installpage"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// browse opens a toolset URL; the body is read.
func browse(t *testing.T, method, url, accept string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

const asBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// TestWhatTheURLSpeaks: who opens a toolset URL with another method learns what it speaks, and
// a client of the older transport what to do.
func TestWhatTheURLSpeaks(t *testing.T) {
	up := upstreamtest.New(t)
	s, n := start(t, gatewaytest.Options{}), newNotebook(t, false)
	serve(t, s, up, nil, getItem())
	for _, c := range []struct{ method, accept, want string }{
		{http.MethodGet, "text/event-stream", "the transport sse (HTTP+SSE of 2024-11-05) must be set to http"},
		{http.MethodGet, "application/json, text/event-stream", "no stream to open with GET"},
		{http.MethodGet, "*/*", "each JSON-RPC message is a POST"},
		{http.MethodDelete, "*/*", "Mcp-Session-Id"},
		{http.MethodPut, "*/*", "each JSON-RPC message is a POST"},
	} {
		res, body := browse(t, c.method, s.URL("acme"), c.accept)
		var p struct {
			Status        int
			Title, Detail string
		}
		if err := json.Unmarshal([]byte(body), &p); err != nil || p.Status != 405 || p.Title == "" || !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s with Accept: %s: %q lacks %q (%v)", c.method, c.accept, body, c.want, err)
		}
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != http.MethodPost || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s with Accept: %s: %s, %v", c.method, c.accept, res.Status, res.Header)
		}
	}
	serveNotebooks(t, s, n, true, "notes")
	if _, body := browse(t, http.MethodGet, s.URL("notes"), "text/event-stream"); !strings.Contains(body, "the stream of the session that Mcp-Session-Id names") {
		t.Errorf("at a toolset with sessions: %q", body)
	}
}

// TestInstallPage: a browser is told how to connect, and a program that asks in the same way
// as before is answered as before.
func TestInstallPage(t *testing.T) {
	up := upstreamtest.New(t)
	s := start(t, gatewaytest.Options{})
	var ops []*operation.Operation
	for i := range installpage.MaxTools + 3 {
		ops = append(ops, gatewaytest.Operation(fmt.Sprintf("get_%d", i), "GET", fmt.Sprintf("/i/%d", i)))
	}
	serve(t, s, up, func(ts *registry.Toolset) { ts.Name, ts.Description = "Acme & Co", "What Acme has." }, ops...)

	res, page := browse(t, http.MethodGet, s.URL("acme"), asBrowser)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/html; charset=utf-8" || res.Header.Get("Content-Security-Policy") != installpage.Policy {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	last := fmt.Sprintf("get_%d<", installpage.MaxTools-1)
	for _, text := range []string{"Acme &amp; Co", "What Acme has.", s.URL("acme"), last, "and 3 more"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	if next := fmt.Sprintf("get_%d<", installpage.MaxTools); strings.Contains(page, next) {
		t.Errorf("the page has %q", next)
	}
	if res, body := browse(t, http.MethodHead, s.URL("acme"), asBrowser); res.StatusCode != http.StatusOK || body != "" || res.ContentLength != int64(len(page)) {
		t.Errorf("HEAD: %d, %d bytes, %d announced of %d", res.StatusCode, len(body), res.ContentLength, len(page))
	}
	for _, accept := range []string{"*/*", "text/event-stream", "application/json, text/event-stream"} {
		if res, _ := browse(t, http.MethodGet, s.URL("acme"), accept); res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("Accept: %s: %d", accept, res.StatusCode)
		}
	}
	if res, _ := browse(t, http.MethodPost, s.URL("acme"), asBrowser); strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		t.Error("a POST got the page")
	}
	if res, _ := browse(t, http.MethodGet, s.URL("other"), asBrowser); res.StatusCode != http.StatusNotFound {
		t.Errorf("a toolset that is not there: %d", res.StatusCode)
	}
}

// TestInstallPageOfClosedToolset: who may not call the tools learns nothing of them, and
// limits of a public toolset hold for its page.
func TestInstallPageOfClosedToolset(t *testing.T) {
	up := upstreamtest.New(t)
	s := start(t, gatewaytest.Options{})
	in := guarded(t, up, 1, tokens(tokenGrant("a")), getItem())
	in.Bundle.Name, in.Bundle.Description = "Inner matters", "Of the merger."
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	res, page := browse(t, http.MethodGet, s.URL("acme"), asBrowser)
	if res.StatusCode != http.StatusOK || !strings.Contains(page, "SLUICE_ACME_TOKEN") {
		t.Fatalf("%d\n%s", res.StatusCode, page)
	}
	for _, text := range []string{"Inner matters", "merger", "get_item"} {
		if strings.Contains(page, text) {
			t.Errorf("the page of a toolset that is opened by tokens has %q", text)
		}
	}

	limited := &registry.AccessDocument{Mode: registry.AccessNone, Limits: &registry.RateLimits{RequestsPerMinute: 1, Burst: 1}}
	if err := s.Serve(guarded(t, up, 2, limited, getItem())); err != nil {
		t.Fatal(err)
	}
	if res, _ := browse(t, http.MethodGet, s.URL("acme"), asBrowser); res.StatusCode != http.StatusOK {
		t.Fatalf("the first: %d", res.StatusCode)
	}
	if res, _ := browse(t, http.MethodGet, s.URL("acme"), asBrowser); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one more than a minute allows: %d", res.StatusCode)
	}
}

// TestNoInstallPage: the operator may refuse browsers.
func TestNoInstallPage(t *testing.T) {
	s := start(t, gatewaytest.Options{NoInstallPage: true})
	serve(t, s, upstreamtest.New(t), nil, getItem())
	if res, _ := browse(t, http.MethodGet, s.URL("acme"), asBrowser); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%d", res.StatusCode)
	}
}
