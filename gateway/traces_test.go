package gateway_test

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/tracing"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

// traced makes a stack that sends spans, and what ends the sending and returns them.
func traced(t *testing.T) (s *gatewaytest.Stack, spans func() map[string]*tracepb.Span) {
	t.Helper()
	var mu sync.Mutex
	got := map[string]*tracepb.Span{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		data := &tracepb.TracesData{}
		if err == nil {
			err = proto.Unmarshal(b, data)
		}
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, r := range data.GetResourceSpans() {
			for _, s := range r.GetScopeSpans() {
				for _, s := range s.GetSpans() {
					got[s.GetName()] = s
				}
			}
		}
	}))
	t.Cleanup(collector.Close)
	tracer, err := tracing.New(func(k string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[k]
	}, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); tracer.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return start(t, gatewaytest.Options{Tracer: tracer}), func() map[string]*tracepb.Span {
		cancel()
		<-done
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// below reports whether a span is a child of another.
func below(child, parent *tracepb.Span) bool {
	return child != nil && parent != nil && string(child.GetTraceId()) == string(parent.GetTraceId()) && string(child.GetParentSpanId()) == string(parent.GetSpanId())
}

// TestTracesOfREST: a call is a child of the context in its _meta, the upstream is asked in
// a child of that, and nothing that a caller chose is in a span but the name of the tool.
func TestTracesOfREST(t *testing.T) {
	s, spans := traced(t)
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(404, `{"error":"secret answer"}`))
	serve(t, s, up, func(ts *registry.Toolset) { ts.Selection = &registry.Selection{Mode: registry.SelectAll, Batch: true} }, getItem())
	const meta = `"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`
	body := strings.Replace(callBody("get_item", `{"id":73001,"q":"secret question"}`), `"params":{`, `"params":{`+meta+`,`, 1)
	if status, got := post(t, s.URL("acme"), body, "Traceparent", "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"); status != 200 || !strings.Contains(got, "404") {
		t.Fatalf("%d %s", status, got)
	}
	asked := up.Requests()
	// Without a context in _meta that of the HTTP request counts.
	batch := callBody("batch", `{"calls":[{"tool":"get_item","arguments":{"id":2}}]}`)
	if status, got := post(t, s.URL("acme"), batch, "Traceparent", "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	if status, got := post(t, s.URL("acme"), callBody("get_item", `{"id":3}`), "Traceparent", "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-00"); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	if h := up.Requests()[2].Header.Get("Traceparent"); h != "" {
		t.Errorf("a call that is not sampled tells its upstream %s", h)
	}
	got := spans()
	outer, inner := got["tools/call batch"], got["tools/call get_item"]
	if outer == nil || hex.EncodeToString(outer.GetParentSpanId()) != "c7ad6b7169203331" || !below(inner, outer) || !below(got["GET /items/{id}"], inner) {
		t.Fatalf("spans of the batch: %v", got)
	}
	header := asked[0].Header.Get("Traceparent")
	if !strings.HasPrefix(header, "00-0af7651916cd43dd8448eb211c80319c-") {
		t.Errorf("the upstream was told %q", header)
	}
	for name, s := range got {
		if text := s.String(); strings.Contains(text, "secret") || strings.Contains(text, "73001") {
			t.Errorf("%s tells %s", name, text)
		}
	}
}

// TestTracesOfServer: so it is with an MCP server, whose failure is told.
func TestTracesOfServer(t *testing.T) {
	s, spans := traced(t)
	u := newUpstreamServer(t, true)
	serveServer(t, s, u, nil, anyTool)
	u.answer("do.it", `"result":{"resultType":"complete","isError":true,"content":[{"type":"text","text":"secret"}]}`)
	if status, got := callRaw(t, s, false, "do_it", ""); status != 200 || !strings.Contains(got, "isError") {
		t.Fatalf("%d %s", status, got)
	}
	got := spans()
	outer := got["tools/call do_it"]
	if !below(got["tools/call do.it"], outer) || len(outer.GetParentSpanId()) != 0 || outer.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || outer.GetStatus().GetMessage() != "mcp_error" {
		t.Fatalf("%v", got)
	}
}
