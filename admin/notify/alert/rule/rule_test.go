package rule

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestNewRule(t *testing.T) {
	num := func(n float64) *float64 { return &n }
	count := func(n uint64) *uint64 { return &n }
	f := func(s Settings, want string) {
		t.Helper()
		if s.Metric == "" {
			s.Metric = ErrorRate
		}
		if s.Threshold == nil {
			s.Threshold = num(5)
		}
		_, err := New("mine", "", &s)
		switch {
		case want == "" && err != nil:
			t.Errorf("%+v: %v", s, err)
		case want != "" && (!problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), want)):
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
	f(Settings{}, "")
	f(Settings{Metric: "nope"}, "no metric")
	f(Settings{Threshold: num(0)}, "above 0")
	f(Settings{Threshold: num(100)}, "")
	f(Settings{Threshold: num(100.1)}, "more than all calls")
	f(Settings{Metric: Tokens, Threshold: num(MaxThreshold)}, "")
	f(Settings{Metric: Tokens, Threshold: num(MaxThreshold * 1.1)}, "above 0 and at most")
	f(Settings{MinCalls: count(MaxMinCalls)}, "")
	f(Settings{MinCalls: count(MaxMinCalls + 1)}, "never met")
	f(Settings{Severity: "bad"}, "no severity")
	f(Settings{Each: "principal"}, "not of")
	f(Settings{Each: EachCaller}, "")
	f(Settings{Caller: strings.Repeat("a", MaxCaller)}, "")
	f(Settings{Caller: strings.Repeat("a", MaxCaller+1)}, "at most 255 bytes")
	f(Settings{Each: EachCaller, Metric: LatencyP95}, "")
	f(Settings{Caller: "act_1", Metric: UpstreamP50, Window: "60m"}, "")
	f(Settings{Caller: "act_1", Metric: UpstreamP50, Window: "2h"}, "an hour at most")
	f(Settings{Each: EachCaller, Tool: "list", Window: "60m"}, "")
	f(Settings{Each: EachCaller, Tool: "list", Window: "2h"}, "by tool")
	f(Settings{Each: EachTool, Caller: "act_1", Window: Day}, "by tool")
	f(Settings{Each: EachCaller, Window: Month}, "")
	f(Settings{For: MaxFor.String()}, "")
	f(Settings{For: (MaxFor + time.Second).String()}, "not a time between")
	f(Settings{For: "-1s"}, "not a time between")
	f(Settings{Window: Text(MaxMinutes)}, "")
	f(Settings{Window: "61m"}, "not a window")
	f(Settings{Window: "30s"}, "not a window")
	f(Settings{Window: "90s"}, "not a window")
	f(Settings{Window: "2h"}, "")
	f(Settings{Window: Text(MaxWindow)}, "")
	f(Settings{Window: Text(MaxWindow + 24*time.Hour)}, "not a window")
	f(Settings{Window: "month"}, "")
	f(Settings{Window: "year"}, "not a window")
	f(Settings{Metric: LatencyP95, Window: "2h"}, "an hour at most")
	f(Settings{Connector: "x", Window: "2h"}, "by connector")
	for _, bad := range []string{"", "A", "a b", "-a", strings.Repeat("a", 64)} {
		if _, err := New(bad, "", &Settings{Metric: Calls, Threshold: num(1)}); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("the name %q: %v", bad, err)
		}
	}
	if _, err := New(strings.Repeat("a", 63), "", &Settings{Metric: Calls, Threshold: num(1)}); err != nil {
		t.Error(err)
	}
}

// TestSettingsRoundTrip: a rule reads what it writes.
func TestSettingsRoundTrip(t *testing.T) {
	limit := 5.0
	for _, s := range []Settings{
		{Metric: ErrorRate, Threshold: &limit},
		{Metric: Tokens, Threshold: &limit, Window: Month, Each: EachWorkspace},
		{Metric: LatencyP99, Threshold: &limit, Window: "45m", For: "90s", Tool: "x"},
		{Metric: Calls, Threshold: &limit, Each: EachCaller, Caller: "ann@a.example"},
	} {
		a, err := New("mine", "ts_1", &s)
		if err != nil {
			t.Fatal(err)
		}
		given := a.Settings()
		b, err := New("mine", "ts_1", &given)
		if err != nil || *a != *b {
			t.Errorf("%+v became %+v, %v", a, b, err)
		}
	}
}

func TestClassOf(t *testing.T) {
	for cause, want := range map[string]Class{
		"unreachable": Unreachable, "timeout": TimedOut, "http_500": Broken, "http_599": Broken, "http_429": Limited, "http_401": Refused, "http_403": Refused, "http_404": Other,
		"invalid_plugin": PluginFault, "unavailable": Turned, "cancelled": Cancelled, "mcp_error": Other, "http_": Other, "": Other, "other": Other, "upstream_malformed": Broken,
	} {
		if got := classOf(cause); got != want {
			t.Errorf("%q is of class %d, want %d", cause, got, want)
		}
	}
}

func TestWindowBegins(t *testing.T) {
	f := func(window, want string) {
		t.Helper()
		limit := 5.0
		r, err := New("mine", "", &Settings{Metric: Calls, Threshold: &limit, Window: window})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.from(clock).Format(time.RFC3339); got != want {
			t.Errorf("%s begins at %s, want %s", window, got, want)
		}
	}
	f("10m", "2026-03-10T12:21:00Z")
	f("1m", "2026-03-10T12:30:00Z")
	f("6h", "2026-03-10T07:00:00Z")
	f("day", "2026-03-10T00:00:00Z")
	f("month", "2026-03-01T00:00:00Z")
}
