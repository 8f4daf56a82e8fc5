package plugin

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/plugins/extism"
)

// series are the metrics of one plugin. They appear with the first call.
type series struct {
	m          *metering.Meter
	name, kind string
	duration   atomic.Pointer[metrics.PrometheusHistogram]
	failures   [len(causes)]atomic.Pointer[metrics.Counter]
}

// causes are the values of the label cause.
var causes = [...]string{"error", "trap", "deadline", "output", "load"}

func newSeries(m *metering.Meter, p *snapshot.Plugin) *series {
	return &series{m: m, name: p.Ref.Name, kind: string(p.Package.Manifest.Kind)}
}

func (s *series) called(took time.Duration) {
	h := s.duration.Load()
	if h == nil {
		if h = s.m.Histogram(metering.Series("sluice_plugin_duration_seconds", "plugin", s.name, "kind", s.kind)); h == nil {
			return
		}
		s.duration.Store(h)
	}
	h.Update(took.Seconds())
}

func (s *series) failed(cause string) {
	for i, known := range causes {
		if known != cause {
			continue
		}
		c := s.failures[i].Load()
		if c == nil {
			if c = s.m.Counter(metering.Series("sluice_plugin_failures_total", "plugin", s.name, "cause", cause)); c == nil {
				return
			}
			s.failures[i].Store(c)
		}
		c.Inc()
	}
}

// requested counts the HTTP requests that were sent for a plugin, by the first digit of
// their statuses.
func (s *series) requested(sent []extism.Request) {
	for i := range sent {
		class := "none"
		if d := sent[i].Status / 100; d >= 1 && d <= 5 {
			class = strconv.Itoa(d) + "xx"
		}
		if c := s.m.Counter(metering.Series("sluice_plugin_requests_total", "plugin", s.name, "status", class)); c != nil {
			c.Inc()
		}
	}
}

func (s *series) unbound() {
	if c := s.m.Counter(metering.Series("sluice_plugin_unbindings_total", "plugin", s.name)); c != nil {
		c.Inc()
	}
}
