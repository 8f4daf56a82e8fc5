package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/registry"
)

// TestRequestsByStatus: requests of plugins are counted by the first digit of their statuses;
// what is not a status of HTTP, as of one that was not answered, is none.
func TestRequestsByStatus(t *testing.T) {
	m := metering.New()
	s := &series{m: m, name: "acme/join", kind: "workflow"}
	var sent []extism.Request
	for _, status := range []int{0, 99, 100, 199, 200, 404, 503, 599, 600, 1000} {
		sent = append(sent, extism.Request{Status: status})
	}
	s.requested(sent)
	s.requested(nil)
	want(t, m, map[string]int{`"1xx"`: 2, `"2xx"`: 1, `"4xx"`: 1, `"5xx"`: 2, `"none"`: 4}, `sluice_plugin_requests_total{plugin="acme/join",status=%s} %d`)
}

// TestFailuresByCause: each call that fails is counted once, in the metrics and in what the
// control plane is told, under what it failed of.
func TestFailuresByCause(t *testing.T) {
	m := metering.New()
	e := &entry{key: registry.PluginKey{}, metrics: &series{m: m, name: "acme/join", kind: "workflow"}}
	for _, err := range []error{
		extism.ErrDeadline, &extism.TrapError{Reason: "unreachable"}, &extism.TrapError{Reason: "stack"},
		fmt.Errorf("an answer: %w", extism.ErrTooLarge), errors.New("it said so"), errors.New("it said so"), errors.New("and again"),
	} {
		e.metrics.failed(e.cause(err))
	}
	e.metrics.failed("no such cause")
	e.metrics.called(2 * time.Second)
	e.metrics.called(3 * time.Second)
	want(t, m, map[string]int{`"deadline"`: 1, `"trap"`: 2, `"output"`: 1, `"error"`: 3}, `sluice_plugin_failures_total{plugin="acme/join",cause=%s} %d`)
	want(t, m, map[string]int{"sum": 5, "count": 2}, `sluice_plugin_duration_seconds_%s{plugin="acme/join",kind="workflow"} %d`)
	got := map[registry.PluginKey]*registry.PluginCounts{}
	e.take(got)
	if n := got[e.key]; n == nil || n.Deadlines != 1 || n.Traps != 2 || n.Errors != 4 {
		t.Errorf("reported %+v", n)
	}
	e.take(got)
	if n := got[e.key]; n.Traps != 2 {
		t.Errorf("told twice: %+v", n)
	}
}

// want checks that a page of metrics has a line for each value, and no other of that series.
func want(t *testing.T, m *metering.Meter, values map[string]int, line string) {
	t.Helper()
	var page bytes.Buffer
	m.WritePrometheus(&page)
	name, _, _ := strings.Cut(line, "{")
	if n := strings.Count(page.String(), "\n"+name+"{"); !strings.Contains(name, "%") && n != len(values) {
		t.Errorf("%d lines of %s, want %d:\n%s", n, name, len(values), page.String())
	}
	for value, n := range values {
		if text := fmt.Sprintf(line, value, n) + "\n"; !strings.Contains(page.String(), text) {
			t.Errorf("the metrics lack %s:\n%s", text, page.String())
		}
	}
}

// TestNoMeter: where nothing is counted calls go on.
func TestNoMeter(t *testing.T) {
	s := &series{name: "acme/join", kind: "workflow"}
	s.called(time.Second)
	s.failed("trap")
	s.requested([]extism.Request{{Status: 200}})
	s.unbound()
	if s.duration.Load() != nil || s.failures[1].Load() != nil {
		t.Error("it has metrics of nobody")
	}
}
