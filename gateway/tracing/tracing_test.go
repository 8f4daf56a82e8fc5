package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector records what it is sent.
type collector struct {
	*httptest.Server

	mu      sync.Mutex
	answers []int           // status of the next answers; then 200
	got     []*http.Request // requests
	spans   []*tracepb.Span // of those that were answered with 200
	all     []*tracepb.TracesData
	bad     error
}

func newCollector(t *testing.T, answers ...int) *collector {
	t.Helper()
	c := &collector{answers: answers}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		b, err := io.ReadAll(body)
		// TracesData and ExportTraceServiceRequest are the same message.
		data := &tracepb.TracesData{}
		if err == nil {
			err = proto.Unmarshal(b, data)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.got = append(c.got, r)
		if err != nil {
			c.bad = err
		}
		status := http.StatusOK
		if len(c.answers) > 0 {
			status, c.answers = c.answers[0], c.answers[1:]
		}
		if status == http.StatusOK {
			c.all = append(c.all, data)
			for _, r := range data.GetResourceSpans() {
				for _, s := range r.GetScopeSpans() {
					c.spans = append(c.spans, s.GetSpans()...)
				}
			}
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(c.Close)
	return c
}

// tracer makes a tracer of variables and what ends it, which sends what waits.
func (c *collector) tracer(t *testing.T, log io.Writer, variables ...string) (*Tracer, func()) {
	t.Helper()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_BSP_SCHEDULE_DELAY": "600000"}
	for i := 0; i+1 < len(variables); i += 2 {
		env[variables[i]] = variables[i+1]
	}
	tr, err := New(func(k string) string { return env[k] }, "1.2.3", slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); tr.Run(ctx) }()
	end := func() { cancel(); <-done }
	t.Cleanup(end)
	return tr, end
}

func attributesOf(s *tracepb.Span) map[string]string {
	out := map[string]string{}
	for _, a := range s.GetAttributes() {
		v := a.GetValue()
		switch {
		case v.GetStringValue() != "":
			out[a.GetKey()] = v.GetStringValue()
		case v.GetBoolValue():
			out[a.GetKey()] = "true"
		default:
			out[a.GetKey()] = strconv.FormatInt(v.GetIntValue(), 10)
		}
	}
	return out
}

const parentOf = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpans(t *testing.T) {
	c := newCollector(t)
	tr, end := c.tracer(t, io.Discard, "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=a%20b", "OTEL_SERVICE_NAME", "gate",
		"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20key", "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	start := time.Now()
	call := tr.Server(&Request{Method: MethodCall, Target: "list_pets", Protocol: "2026-07-28", RequestID: []byte(`"a"`), Toolset: "pets", Connector: "api"},
		[]byte(parentOf), []byte("00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"), start)
	http := call.HTTP("GET", "/pets/{id}", "api.example", 443)
	header := string(http.Traceparent(nil))
	http.EndExchange(503, "")
	call.Plugin("tidy", "1.0.0", start, "no \xff")
	inner := call.Call(&Request{Method: MethodCall, Target: "get_pet", Toolset: "pets", Inner: true, RequestID: []byte("1")}, start)
	server := inner.MCP(MethodCall, "up", "mcp.example", 0)
	server.EndExchange(0, "timeout")
	inner.EndCall(&End{Outcome: "ok", Cached: true})
	call.EndCall(&End{Outcome: "upstream_error", Failed: true, Cause: "http_503", Received: 7, Result: 9})
	end()
	if c.bad != nil || len(c.spans) != 5 || len(c.got) != 1 {
		t.Fatalf("%d spans in %d requests, %v", len(c.spans), len(c.got), c.bad)
	}
	if r := c.got[0]; r.URL.Path != "/v1/traces" || r.Header.Get("Authorization") != "Bearer key" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	resource := attributesOf(&tracepb.Span{Attributes: c.all[0].GetResourceSpans()[0].GetResource().GetAttributes()})
	if resource["service.name"] != "gate" || resource["service.version"] != "1.2.3" || resource["deployment.environment.name"] != "a b" {
		t.Errorf("resource %v", resource)
	}
	by := map[string]*tracepb.Span{}
	for _, s := range c.spans {
		by[s.GetName()] = s
		if hex.EncodeToString(s.GetTraceId()) != "0af7651916cd43dd8448eb211c80319c" || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() || s.GetFlags() != 1 {
			t.Errorf("%v", s)
		}
	}
	f := func(name, parent string, kind tracepb.Span_SpanKind, failure string, attributes ...string) *tracepb.Span {
		t.Helper()
		s := by[name]
		if s == nil {
			t.Fatalf("there is no span %s", name)
		}
		want := "b7ad6b7169203331"
		if parent != "" {
			want = hex.EncodeToString(by[parent].GetSpanId())
		}
		have := attributesOf(s)
		if hex.EncodeToString(s.GetParentSpanId()) != want || s.GetKind() != kind || have["error.type"] != failure || (s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR) != (failure != "") {
			t.Errorf("%s: %v", name, s)
		}
		for i := 0; i+1 < len(attributes); i += 2 {
			if have[attributes[i]] != attributes[i+1] {
				t.Errorf("%s: %s is %q, want %q", name, attributes[i], have[attributes[i]], attributes[i+1])
			}
		}
		return s
	}
	outer := f("tools/call list_pets", "", tracepb.Span_SPAN_KIND_SERVER, "upstream_error", "mcp.method.name", "tools/call", "gen_ai.tool.name", "list_pets",
		"gen_ai.operation.name", "execute_tool", "mcp.protocol.version", "2026-07-28", "jsonrpc.request.id", `"a"`, "sluice.toolset", "pets", "sluice.connector", "api",
		"sluice.answer.received_bytes", "7", "sluice.answer.result_bytes", "9")
	if len(outer.GetLinks()) != 1 || hex.EncodeToString(outer.GetLinks()[0].GetSpanId()) != "c7ad6b7169203331" || outer.GetStatus().GetMessage() != "http_503" {
		t.Errorf("%v", outer)
	}
	asked := f("GET /pets/{id}", outer.GetName(), tracepb.Span_SPAN_KIND_CLIENT, "503", "http.response.status_code", "503", "url.template", "/pets/{id}",
		"server.address", "api.example", "server.port", "443")
	if want := "00-0af7651916cd43dd8448eb211c80319c-" + hex.EncodeToString(asked.GetSpanId()) + "-01"; header != want {
		t.Errorf("the upstream is told %s, want %s", header, want)
	}
	if s := f("sluice.plugin tidy", outer.GetName(), tracepb.Span_SPAN_KIND_INTERNAL, "plugin_error", "sluice.plugin.version", "1.0.0"); s.GetStatus().GetMessage() != "no \uFFFD" {
		t.Errorf("%v", s)
	}
	f("tools/call get_pet", outer.GetName(), tracepb.Span_SPAN_KIND_INTERNAL, "", "sluice.cached", "true", "jsonrpc.request.id", "")
	f("tools/call up", "tools/call get_pet", tracepb.Span_SPAN_KIND_CLIENT, "timeout", "gen_ai.tool.name", "up")
	if sent, lost := tr.Counts(); sent != 5 || lost != 0 {
		t.Errorf("%d sent, %d lost", sent, lost)
	}
}

// TestSampling: with a parent its word counts, unless the sampler does not look at it.
func TestSampling(t *testing.T) {
	const unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for _, c := range []struct {
		sampler, arg            string
		alone, sampled, without bool // without a parent, with one that is sampled, or not
	}{
		{"", "", true, true, false},
		{"parentbased_always_on", "", true, true, false},
		{"always_on", "", true, true, true},
		{"always_off", "", false, false, false},
		{"parentbased_always_off", "", false, true, false},
		{"traceidratio", "0", false, false, false},
		{"traceidratio", "1", true, true, true},
		{"parentbased_traceidratio", "0", false, true, false},
	} {
		tr, err := New(func(k string) string {
			return map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": c.sampler, "OTEL_TRACES_SAMPLER_ARG": c.arg}[k]
		}, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Method: "m"}
		if got := tr.Server(&r, nil, nil, time.Now()) != nil; got != c.alone {
			t.Errorf("%s %s alone: %v", c.sampler, c.arg, got)
		}
		if got := tr.Server(&r, []byte(parentOf), nil, time.Now()) != nil; got != c.sampled {
			t.Errorf("%s %s below one that is sampled: %v", c.sampler, c.arg, got)
		}
		if got := tr.Server(&r, nil, []byte(unsampled), time.Now()) != nil; got != c.without {
			t.Errorf("%s %s below one that is not: %v", c.sampler, c.arg, got)
		}
	}
	s, err := newSampler("traceidratio", "0.25")
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for range 10_000 {
		var c Context
		putRandom(c.Trace[:])
		if s.sample(&c, false) {
			taken++
		}
	}
	if taken < 2000 || taken > 3000 {
		t.Errorf("%d of 10,000 with a ratio of 0.25", taken)
	}
}

func TestConfig(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(fault string, variables ...string) {
		t.Helper()
		tr, err := New(func(k string) string {
			for i := 0; i+1 < len(variables); i += 2 {
				if variables[i] == k {
					return variables[i+1]
				}
			}
			return ""
		}, "", nil)
		switch {
		case fault == "off":
			if tr != nil || err != nil {
				t.Errorf("%q: %v, %v", variables, tr, err)
			}
		case fault == "":
			if tr == nil || err != nil {
				t.Errorf("%q: %v", variables, err)
			}
		case err == nil || !strings.Contains(err.Error(), fault):
			t.Errorf("%q: %v, want %s", variables, err, fault)
		case strings.Contains(err.Error(), "hidden"):
			t.Errorf("%q: %v tells a secret", variables, err)
		}
	}
	const at, here = "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"
	f("off")
	f("off", "OTEL_TRACES_EXPORTER", "none", at, here)
	f("off", "OTEL_SDK_DISABLED", "true", at, here)
	f("", at, here)
	f("", "OTEL_TRACES_EXPORTER", "otlp")
	f("", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", here+"/other")
	f("OTEL_TRACES_EXPORTER", "OTEL_TRACES_EXPORTER", "zipkin")
	f("port 4318", at, here, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	f("is not a URL", at, "collector:4318")
	f("OTEL_EXPORTER_OTLP_HEADERS", at, "http://me:hidden@127.0.0.1")
	f("part 2", at, here, "OTEL_EXPORTER_OTLP_HEADERS", "a=b,hidden")
	f("OTEL_EXPORTER_OTLP_COMPRESSION", at, here, "OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")
	f("OTEL_EXPORTER_OTLP_CERTIFICATE", at, here, "OTEL_EXPORTER_OTLP_CERTIFICATE", empty)
	f("OTEL_TRACES_SAMPLER:", at, here, "OTEL_TRACES_SAMPLER", "some")
	for _, ratio := range []string{"2", "-1", "NaN", "x"} {
		f("from 0 to 1", at, here, "OTEL_TRACES_SAMPLER", "traceidratio", "OTEL_TRACES_SAMPLER_ARG", ratio)
	}
	f("", at, here, "OTEL_BSP_MAX_QUEUE_SIZE", strconv.Itoa(maxQueue))
	f("OTEL_BSP_MAX_QUEUE_SIZE", at, here, "OTEL_BSP_MAX_QUEUE_SIZE", strconv.Itoa(maxQueue+1))
	f("", at, here, "OTEL_EXPORTER_OTLP_TIMEOUT", strconv.Itoa(int(maxTime/time.Millisecond)))
	f("OTEL_EXPORTER_OTLP_TIMEOUT", at, here, "OTEL_EXPORTER_OTLP_TIMEOUT", strconv.Itoa(int(maxTime/time.Millisecond)+1))
	f("OTEL_BSP_SCHEDULE_DELAY", at, here, "OTEL_BSP_SCHEDULE_DELAY", "0")
}

// TestCollectorFaults: a collector that is busy is asked again, one that refuses is not,
// what is too much is dropped, and nothing of that tells a credential.
func TestCollectorFaults(t *testing.T) {
	span := func(tr *Tracer) { tr.Server(&Request{Method: "m"}, nil, nil, time.Now()).EndCall(&End{Outcome: "ok"}) }
	var log bytes.Buffer
	busy := newCollector(t, http.StatusServiceUnavailable)
	tr, end := busy.tracer(t, &log, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	span(tr)
	for sent := uint64(0); sent == 0; sent, _ = tr.Counts() {
		time.Sleep(time.Millisecond)
	}
	end()
	if len(busy.got) != 2 || len(busy.spans) != 1 || log.Len() > 0 {
		t.Errorf("%d requests, %d spans, log %q", len(busy.got), len(busy.spans), log.String())
	}
	refusing := newCollector(t, http.StatusUnauthorized)
	tr, end = refusing.tracer(t, &log, "OTEL_EXPORTER_OTLP_HEADERS", "authorization=hidden")
	span(tr)
	end()
	if _, lost := tr.Counts(); lost != 1 || len(refusing.got) != 1 || !strings.Contains(log.String(), "401") || strings.Contains(log.String(), "hidden") {
		t.Errorf("%d lost, %d requests, log %q", lost, len(refusing.got), log.String())
	}
	tr, err := New(func(k string) string {
		return map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_QUEUE_SIZE": "2"}[k]
	}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // nobody sends them
		span(tr)
	}
	if _, lost := tr.Counts(); lost != 3 {
		t.Errorf("%d of 5 are lost with room for 2", lost)
	}
}

// TestLongReply: of a reply only the first maxReply bytes are read.
func TestLongReply(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, maxReply))
		w.(http.Flusher).Flush()
		<-release // more would come
	}))
	defer s.Close()
	defer close(release)
	c := &collector{Server: s}
	tr, end := c.tracer(t, io.Discard)
	tr.Server(&Request{Method: "m"}, nil, nil, time.Now()).EndCall(&End{Outcome: "ok"})
	end()
	if sent, _ := tr.Counts(); sent != 1 {
		t.Errorf("%d sent", sent)
	}
}

func TestParseTraceparent(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if _, ok := parseTraceparent([]byte(text)); ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	}
	f(parentOf, true)
	f("01"+parentOf[2:], true)
	f("01"+parentOf[2:]+"-later", true)
	f("01"+parentOf[2:]+"later", false)
	f(parentOf+"-later", false)
	f("ff"+parentOf[2:], false)
	f(strings.ToUpper(parentOf), false)
	f("00-00000000000000000000000000000000-b7ad6b7169203331-01", false)
	f("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false)
	f(parentOf[:54], false)
	f("", false)
}

func FuzzParseTraceparent(f *testing.F) {
	f.Add([]byte(parentOf))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, ok := parseTraceparent(b)
		if !ok {
			return
		}
		s := &Span{context: c}
		if again, ok := parseTraceparent(s.Traceparent(nil)); !ok || again.Trace != c.Trace || again.Span != c.Span {
			t.Fatalf("%q is read as %v and then as %v", b, c, again)
		}
	})
}

// TestOff: without a tracer nothing is allocated.
func TestOff(t *testing.T) {
	var tr *Tracer
	r := Request{Method: MethodCall}
	if n := testing.AllocsPerRun(100, func() {
		s := tr.Server(&r, nil, nil, time.Time{})
		s.HTTP("GET", "/", "h", 1).EndExchange(200, "")
		s.Call(&r, time.Time{}).EndCall(&End{})
		s.Plugin("p", "1", time.Time{}, "")
		s.Traceparent(nil)
		s.EndCall(&End{})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
