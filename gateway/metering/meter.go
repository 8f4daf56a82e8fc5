package metering

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/registry"
)

// MaxTools is how many tools have series of their own; more would make /metrics
// of a large node slower to read than it is worth. The rest is tool="_other"; usage
// reports name every tool.
const MaxTools = 2000

// buckets are OpenTelemetry's for MCP durations with four below 10 ms, where most
// of the gateway's own work is.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// Meter is a set of series.
type Meter struct {
	set       *metrics.Set
	mu        sync.Mutex
	tools     map[ToolID]*Tool      // guarded by mu
	trials    map[TrialID]*Trial    // guarded by mu
	touches   uint64                // guarded by mu; see Trial.touched
	forgotten []registry.UsageTrial // guarded by mu; what trials without counters counted since the last drain
	// inFlight is guarded by mu; exchanges that run, by connector.
	inFlight map[string]*flight

	samples atomic.Int64  // of failed calls, taken or not, since the last drain
	urgent  chan struct{} // capacity 1: usage is to be reported at once
	calls   callLog

	overhead *metrics.PrometheusHistogram
	ops      [mcp.MethodCount][mcp.VersionCount]atomic.Pointer[metrics.PrometheusHistogram]
}

// New makes a Meter without series.
func New() *Meter {
	metrics.ExposeMetadata(true) // HELP and TYPE lines; the library has no setting per set
	set := metrics.NewSet()
	return &Meter{
		set: set, tools: map[ToolID]*Tool{}, trials: map[TrialID]*Trial{}, inFlight: map[string]*flight{}, urgent: make(chan struct{}, 1),
		overhead: set.NewPrometheusHistogramExt("sluice_gateway_overhead_seconds", buckets),
	}
}

// WritePrometheus writes all series with HELP and TYPE lines.
func (m *Meter) WritePrometheus(w io.Writer) {
	if m != nil {
		m.set.WritePrometheus(w)
	}
}

// Gauge registers a value that is read when the metrics are; name may hold labels
// made by [Series]. A name that is registered is left as it is.
func (m *Meter) Gauge(name string, read func() float64) {
	if m != nil {
		m.set.GetOrCreateGauge(name, read)
	}
}

// Series is name{label="value",…} with the values escaped; pairs are label, value.
func Series(name string, pairs ...string) string {
	var b strings.Builder
	b.WriteString(name)
	for i := 0; i+1 < len(pairs); i += 2 {
		if i == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		b.WriteString(pairs[i] + "=" + strconv.Quote(pairs[i+1]))
	}
	if len(pairs) > 1 {
		b.WriteByte('}')
	}
	return b.String()
}

// Operation counts a request of the protocol that was not a tool call.
func (m *Meter) Operation(method mcp.Method, version mcp.Version, seconds float64) {
	if m == nil {
		return
	}
	slot := &m.ops[method][version]
	h := slot.Load()
	if h == nil {
		h = m.set.GetOrCreatePrometheusHistogramExt(Series("mcp_server_operation_duration_seconds",
			"mcp_method_name", method.String(), "mcp_protocol_version", version.String()), buckets)
		slot.Store(h)
	}
	h.Update(seconds)
}

// Cache counts answers of the response cache.
func (m *Meter) Cache(result string) *metrics.Counter {
	if m == nil {
		return nil
	}
	return m.set.GetOrCreateCounter(Series("sluice_cache_requests_total", "cache", "response", "result", result))
}

// Counter gives any other counter, by its full series name.
func (m *Meter) Counter(series string) *metrics.Counter {
	if m == nil {
		return nil
	}
	return m.set.GetOrCreateCounter(series)
}

// Histogram gives any other duration histogram, by its full series name.
func (m *Meter) Histogram(series string) *metrics.PrometheusHistogram {
	if m == nil {
		return nil
	}
	return m.set.GetOrCreatePrometheusHistogramExt(series, buckets)
}
