// Package metrics writes the metrics of a control plane: requests, jobs, alerts,
// deliveries, edges and keys. The names and labels are in docs/gateway.md, the help texts
// in internal/promtext.
package metrics

import (
	"context"
	"io"
	"strconv"
	"sync"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"github.com/sluicegate/sluice/admin/store"
)

const (
	// readEvery is how long what was counted in the database is shown again: several
	// scrapers together cost no more than one.
	readEvery = 5 * time.Second
	// readTimeout bounds the counting: a scraper waits ten seconds by default.
	readTimeout = 3 * time.Second
	// maxKeys is how many toolsets have a series of their key's age: the oldest ones.
	maxKeys = 2000
)

// buckets are those of OpenTelemetry for HTTP servers, in seconds.
var buckets = []float64{.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10}

// Options are what is counted.
type Options struct {
	Store *store.Store
	// KeylessTypes are the authentication types whose credentials nobody rotates by hand.
	KeylessTypes []string
	// Edges counts the edges by state.
	Edges func(ctx context.Context) (map[string]int, error)
	// Published is the revision of the newest release; 0: none.
	Published func() uint64
	// Stopped says why no release is published; nil: they are.
	Stopped func(ctx context.Context) error
}

// Metrics are the series of a control plane.
type Metrics struct {
	o   Options
	set *vm.Set

	mu    sync.Mutex
	read  time.Time // when the counts were read
	shown *counts   // nil: they could not be read
}

// counts are what was read together.
type counts struct {
	*store.Figures
	edges map[string]int
}

// New makes the metrics of one control plane.
func New(o Options) *Metrics {
	vm.ExposeMetadata(true) // HELP and TYPE lines; the library has no setting per set
	return &Metrics{o: o, set: vm.NewSet()}
}

// Request counts a request to the admin listener. route is a pattern with the method, such
// as "GET /v1/toolsets/{id}", of which there must be a bounded number.
func (m *Metrics) Request(route string, code int, took time.Duration) {
	m.set.GetOrCreateCounter(series("sluice_admin_requests_total", "route", route, "code", strconv.Itoa(code))).Inc()
	m.set.GetOrCreatePrometheusHistogramExt(series("sluice_admin_request_duration_seconds", "route", route), buckets).Update(took.Seconds())
}

// Delivery counts an attempt to deliver a notice; outcome is delivered, failed or dead.
func (m *Metrics) Delivery(channel, outcome string) {
	m.set.GetOrCreateCounter(series("sluice_webhook_deliveries_total", "channel", channel, "outcome", outcome)).Inc()
}

// RequestPage counts an answer of the public page of connector requests. route is a pattern
// with the method, of which there must be a bounded number.
func (m *Metrics) RequestPage(route string, code int) {
	m.set.GetOrCreateCounter(series("sluice_request_page_answers_total", "route", route, "code", strconv.Itoa(code))).Inc()
}

// WritePrometheus writes all series. What the database says is at most five seconds old;
// while it cannot be read, sluice_store_up is 0 and those series are left out.
func (m *Metrics) WritePrometheus(w io.Writer) {
	m.set.WritePrometheus(w)
	c := m.counted()
	gauge := func(name string, value float64, pairs ...string) {
		vm.WriteGaugeFloat64(w, series(name, pairs...), value)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	gauge("sluice_published_revision", float64(m.o.Published()))
	gauge("sluice_publish_stopped", bit(m.o.Stopped(ctx) != nil))
	gauge("sluice_store_up", bit(c != nil))
	if c == nil {
		return
	}
	all := func(name string, rows []store.Counted, kind string) {
		for i, r := range rows {
			if i == 0 {
				vm.WriteMetadataIfNeeded(w, name, "gauge")
			}
			pairs := []string{"state", r.State}
			if kind != "" {
				pairs = append(pairs, kind, r.Kind)
			}
			writeSample(w, series(name, pairs...), float64(r.Count))
		}
	}
	all("sluice_jobs", c.Jobs, "kind")
	all("sluice_alerts", c.Alerts, "severity")
	all("sluice_deliveries", c.Deliveries, "")
	all("sluice_sources", c.Sources, "")
	vm.WriteMetadataIfNeeded(w, "sluice_edges", "gauge")
	for _, state := range []string{"connected", "failing", "lagging", "revoked", "silent"} {
		writeSample(w, series("sluice_edges", "state", state), float64(c.edges[state]))
	}
	now := m.o.Store.Now()
	for i, k := range c.Keys {
		if i == 0 {
			vm.WriteMetadataIfNeeded(w, "sluice_key_age_seconds", "gauge")
		}
		writeSample(w, series("sluice_key_age_seconds", "toolset", k.Slug), now.Sub(k.RotatedAt.Time).Seconds())
	}
}

// counted reads the counts, or repeats those of a moment ago.
func (m *Metrics) counted() *counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.read.IsZero() && time.Since(m.read) < readEvery {
		return m.shown
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	m.shown = nil
	if f, err := m.o.Store.Figures(ctx, m.o.KeylessTypes, maxKeys); err == nil {
		if edges, err := m.o.Edges(ctx); err == nil {
			m.shown = &counts{f, edges}
		}
	}
	m.read = time.Now()
	return m.shown
}

// series is name{label="value",…}; pairs are label, value.
func series(name string, pairs ...string) string {
	b := []byte(name)
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		} else {
			b = append(b, '{')
		}
		b = append(append(b, pairs[i]...), '=')
		b = strconv.AppendQuote(b, pairs[i+1])
	}
	if len(pairs) > 1 {
		b = append(b, '}')
	}
	return string(b)
}

func writeSample(w io.Writer, series string, value float64) {
	_, _ = io.WriteString(w, series+" "+strconv.FormatFloat(value, 'g', -1, 64)+"\n") // the page ends early
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
