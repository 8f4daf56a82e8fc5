package rule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/rollup"
)

// clock is a time in the middle of a minute.
var clock = time.Date(2026, 3, 10, 12, 30, 30, 0, time.UTC)

// stage is usage that a test writes, and what is open in it.
type stage struct {
	Input
	hosts   map[string]string // of toolsets; absent: the name of the toolset
	refused map[string]bool
}

func newStage() *stage {
	s := &stage{hosts: map[string]string{}, refused: map[string]bool{}}
	s.Input = Input{Now: clock, Book: Book{}, Set: NewSet(), Open: map[string]Open{}, Places: s, Refused: func(ts string) bool { return s.refused[ts] }}
	return s
}

func (s *stage) Of(toolset string) (func(string) Place, bool, error) {
	if toolset == "gone" {
		return nil, false, nil
	}
	host := s.hosts[toolset]
	if host == "" {
		host = toolset + ".example"
	}
	return func(tool string) Place {
		if strings.HasPrefix(tool, "other_") {
			return Place{Connector: "other", Upstream: "other.example"}
		}
		return Place{Connector: toolset, Upstream: host}
	}, true, nil
}

// call counts calls of a tool some minutes ago that ended in a cause; "": well.
func (s *stage) call(ago int, toolset, tool string, calls uint64, cause string) {
	s.took(ago, toolset, tool, calls, cause, 100*time.Millisecond)
}

func (s *stage) took(ago int, toolset, tool string, calls uint64, cause string, took time.Duration) {
	at := s.Now.Truncate(time.Minute).Add(-time.Duration(ago) * time.Minute).Unix()
	if s.Book[at] == nil {
		s.Book[at] = Minute{}
	}
	var h rollup.Histogram
	for range calls {
		h.Add(took)
	}
	c := s.Book[at].Cell(toolset, tool)
	c.Outcome(calls, 0, 50*calls, calls*uint64(took.Microseconds()), calls*uint64(took.Microseconds()), cause == "", h.AppendBinary(nil), h.AppendBinary(nil))
	if cause != "" {
		c.Cause(cause, calls)
	}
}

// found evaluates and lists what was found: key, kind when it is not in the key, and tools.
func (s *stage) found(t *testing.T) []string {
	t.Helper()
	got, err := Evaluate(&s.Input)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range got {
		f := &got[i]
		text := f.Kind + " " + strings.Join(f.Toolsets, "+") + " " + strings.Join(f.Tools, "+")
		if f.Kept {
			text += " kept"
		}
		out = append(out, strings.TrimSpace(text))
	}
	return out
}

// hold opens what is found now, as if it had been reported.
func (s *stage) hold(t *testing.T) {
	t.Helper()
	got, err := Evaluate(&s.Input)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		f := &got[i]
		s.Open[f.Key] = Open{Kind: f.Kind, Stage: f.Stage, LastCall: s.Now, Toolsets: f.Toolsets, Tools: f.Tools, Value: f.Value}
	}
}

func TestPresets(t *testing.T) {
	f := func(name string, fill func(s *stage), want ...string) {
		t.Helper()
		s := newStage()
		fill(s)
		if got := s.found(t); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
	f("nothing", func(*stage) {})
	f("healthy", func(s *stage) { s.call(0, "shop", "list", 500, "") })
	f("one of two calls says nothing", func(s *stage) { s.call(0, "shop", "list", 1, ""); s.call(0, "shop", "list", 1, "unreachable") })
	f("four calls say nothing", func(s *stage) { s.call(0, "shop", "list", 4, "unreachable") })
	f("five do", func(s *stage) { s.call(0, "shop", "list", 5, "unreachable") }, "upstream.unreachable shop list")
	f("a dead upstream behind nine tools is one", func(s *stage) {
		for i := range 9 {
			s.call(i%3, "shop", fmt.Sprintf("t%d", i), 3, "unreachable")
		}
	}, "upstream.unreachable shop t0+t1+t2+t3+t4+t5+t6+t7+t8")
	f("an hour of calls that worked does not hide it", func(s *stage) {
		for i := 1; i < 15; i++ {
			s.call(i, "shop", "list", 1000, "")
		}
		s.call(0, "shop", "list", 6, "unreachable")
	}, "upstream.unreachable shop list")
	f("toolsets of one host are one", func(s *stage) {
		s.hosts["a"], s.hosts["b"] = "x.example", "x.example"
		s.call(0, "a", "list", 6, "unreachable")
		s.call(0, "b", "get", 6, "unreachable")
	}, "upstream.unreachable a+b get+list")
	f("another connector of the toolset is not hit", func(s *stage) {
		s.call(0, "shop", "other_list", 10, "timeout")
		s.call(0, "shop", "list", 50, "")
	}, "upstream.timeout shop other_list")
	f("calls turned away are of what came before", func(s *stage) {
		s.call(0, "shop", "list", 3, "unreachable")
		s.call(0, "shop", "list", 30, "unavailable")
	}, "upstream.unreachable shop list")
	f("only turned away", func(s *stage) { s.call(0, "shop", "list", 30, "unavailable") }, "upstream.circuit_open shop list")
	f("500s", func(s *stage) { s.call(0, "shop", "list", 10, "http_503"); s.call(0, "shop", "get", 20, "") }, "upstream.errors shop list")
	f("malformed answers", func(s *stage) { s.call(1, "shop", "list", 25, "upstream_malformed") }, "upstream.errors shop list")
	f("a bit of each is errors", func(s *stage) {
		s.call(0, "shop", "list", 4, "unreachable")
		s.call(0, "shop", "list", 4, "timeout")
		s.call(0, "shop", "list", 4, "http_500")
		s.call(0, "shop", "list", 20, "")
	}, "upstream.errors shop list")
	f("mostly unreachable, among calls of the same minute that worked", func(s *stage) {
		s.call(0, "shop", "list", 12, "unreachable")
		s.call(0, "shop", "list", 8, "")
	}, "upstream.unreachable shop list")
	f("429", func(s *stage) { s.call(0, "shop", "list", 8, "http_429"); s.call(0, "shop", "list", 12, "") }, "upstream.rate_limited shop list")
	f("slow", func(s *stage) { s.took(0, "shop", "list", 30, "", 12*time.Second) }, "upstream.slow shop list")
	f("fast enough", func(s *stage) { s.took(0, "shop", "list", 30, "", 8*time.Second) })
	f("a tool that always fails", func(s *stage) { s.call(0, "shop", "list", 12, "http_404"); s.call(0, "shop", "get", 100, "") }, "tool.failing shop list")
	f("a tool that nearly always fails", func(s *stage) {
		s.call(0, "shop", "list", 12, "http_404")
		s.call(0, "shop", "list", 1, "")
	})
	f("one tool that times out", func(s *stage) { s.call(0, "shop", "list", 12, "timeout"); s.call(0, "shop", "get", 100, "") }, "tool.failing shop list")
	f("a tool that was called while the upstream was away, and not since", func(s *stage) {
		s.call(5, "shop", "list", 20, "unreachable")
		s.call(5, "shop", "get", 20, "unreachable")
		s.call(0, "shop", "get", 10, "")
	})
	f("a wrong address: every tool is one alert", func(s *stage) {
		for _, tool := range []string{"a", "b", "c"} {
			s.call(0, "shop", tool, 12, "http_404")
		}
	}, "tool.failing shop a+b+c")
	f("many errors", func(s *stage) {
		for _, tool := range []string{"a", "b", "c"} {
			s.call(0, "shop", tool, 12, "invalid_tool_arguments")
			s.call(0, "shop", tool, 8, "")
		}
	}, "toolset.errors shop")
	f("plugin", func(s *stage) {
		s.call(0, "shop", "list", 5, "invalid_plugin")
		s.call(0, "shop", "list", 5, "")
		s.call(0, "shop", "get", 500, "")
	}, "plugin.failing shop list")
	f("a refused credential is reported elsewhere", func(s *stage) {
		s.refused["shop"] = true
		s.call(0, "shop", "list", 100, "http_401")
	})
	f("and without that alert it is a tool that fails", func(s *stage) { s.call(0, "shop", "list", 100, "http_401") }, "tool.failing shop list")
	f("callers that went away", func(s *stage) { s.call(0, "shop", "list", 100, "cancelled") })
	f("old calls", func(s *stage) { s.call(11, "shop", "list", 100, "unreachable"); s.call(11, "shop", "list", 1, "") })
	f("a toolset that is gone", func(s *stage) { s.call(0, "gone", "list", 100, "unreachable") })
	f("switched off", func(s *stage) {
		no := false
		for _, p := range []string{KindUnreachable, KindErrors, KindToolFailing, KindErrorRate} {
			s.Set.Put(preset2(t, p, "", &Settings{Enabled: &no}))
		}
		s.call(0, "shop", "list", 100, "unreachable")
	})
	f("other settings of a toolset", func(s *stage) {
		few := uint64(2)
		s.Set.Put(preset2(t, KindUnreachable, "shop", &Settings{MinCalls: &few}))
		s.call(0, "shop", "list", 2, "unreachable")
		s.call(0, "bank", "list", 2, "unreachable")
	}, "upstream.unreachable shop list")
}

func preset2(t *testing.T, name, toolset string, s *Settings) *Rule {
	t.Helper()
	r, err := Preset(name, toolset, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOver: an alert is over when enough calls say so, not when there are few or none, and
// not at the threshold.
func TestOver(t *testing.T) {
	f := func(name string, then func(s *stage), want ...string) {
		t.Helper()
		s := newStage()
		s.call(0, "shop", "list", 30, "unreachable")
		s.hold(t)
		s.Now = s.Now.Add(5 * time.Minute)
		then(s)
		if got := s.found(t); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
	still, kept := "upstream.unreachable shop list", "upstream.unreachable shop  kept"
	f("no calls", func(*stage) {}, still)
	f("calls that work", func(s *stage) { s.call(0, "shop", "list", 10, "") })
	f("half of them", func(s *stage) { s.call(0, "shop", "list", 5, ""); s.call(0, "shop", "list", 5, "unreachable") }, still)
	f("a quarter of them", func(s *stage) { s.call(0, "shop", "list", 15, ""); s.call(0, "shop", "list", 5, "unreachable") }, still)
	f("a few of them", func(s *stage) { s.call(0, "shop", "list", 19, ""); s.call(0, "shop", "list", 1, "unreachable") })
	f("no calls for long", func(s *stage) { s.Now = s.Now.Add(20 * time.Minute) }, kept)
	f("no calls for very long", func(s *stage) { s.Now = s.Now.Add(26 * time.Minute) })
	f("but usage is late", func(s *stage) { s.Now, s.Late = s.Now.Add(26*time.Minute), true }, kept)
	f("a few calls that work", func(s *stage) { s.call(0, "shop", "list", 6, "") })
	f("it times out now", func(s *stage) { s.call(0, "shop", "list", 20, "timeout") }, "upstream.timeout shop list")
	f("only turned away now", func(s *stage) { s.Book = Book{}; s.call(0, "shop", "list", 20, "unavailable") }, still)
}

// TestOverByTool: one tool that works says nothing of another that fails.
func TestOverByTool(t *testing.T) {
	s := newStage()
	s.call(0, "shop", "list", 20, "invalid_plugin")
	s.hold(t)
	s.Now = s.Now.Add(16 * time.Minute)
	s.call(0, "shop", "get", 100, "")
	if got := s.found(t); len(got) != 1 {
		t.Errorf("found %q", got)
	}
	s.call(0, "shop", "list", 20, "")
	if got := s.found(t); len(got) != 0 {
		t.Errorf("found %q", got)
	}
}

func own(t *testing.T, name, toolset string, s Settings) *Rule {
	t.Helper()
	r, err := New(name, toolset, &s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOwnRules(t *testing.T) {
	num := func(n float64) *float64 { return &n }
	f := func(name string, set Settings, toolset string, want ...string) {
		t.Helper()
		s := newStage()
		s.Set.Put(own(t, "mine", toolset, set))
		s.call(0, "shop", "list", 30, "")
		s.call(0, "shop", "other_get", 6, "http_404")
		s.call(20, "shop", "list", 100, "")
		s.took(1, "bank", "list", 40, "", 2*time.Second)
		s.Hours = func(from time.Time) (map[Scope]Totals, error) {
			n := uint64(clock.Sub(from).Hours())
			return map[Scope]Totals{{Toolset: "shop", Tool: "list"}: {Calls: 100 * n, Tokens: 1000 * n, Errors: n}, {Toolset: "bank", Tool: "list"}: {Calls: 10 * n}}, nil
		}
		if got := s.found(t); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
	f("calls", Settings{Metric: Calls, Threshold: num(36)}, "", "rule.fired bank", "rule.fired shop")
	f("calls of the workspace", Settings{Metric: Calls, Threshold: num(76), Each: EachWorkspace}, "", "rule.fired")
	f("not as many", Settings{Metric: Calls, Threshold: num(77), Each: EachWorkspace}, "")
	f("calls of a tool", Settings{Metric: Calls, Threshold: num(30), Each: EachTool}, "shop", "rule.fired shop list")
	f("of tools of a name", Settings{Metric: Calls, Threshold: num(30), Tool: "list"}, "", "rule.fired bank", "rule.fired shop")
	f("a longer window", Settings{Metric: Calls, Threshold: num(136), Window: "30m"}, "", "rule.fired shop")
	f("a connector", Settings{Metric: Calls, Threshold: num(6), Connector: "other"}, "", "rule.fired shop")
	f("errors", Settings{Metric: Errors, Threshold: num(6)}, "", "rule.fired shop")
	f("error rate", Settings{Metric: ErrorRate, Threshold: num(16)}, "", "rule.fired shop")
	f("error rate, below", Settings{Metric: ErrorRate, Threshold: num(17)}, "")
	many := uint64(37)
	f("too few calls", Settings{Metric: ErrorRate, Threshold: num(1), MinCalls: &many}, "shop")
	f("latency", Settings{Metric: LatencyP50, Threshold: num(1500)}, "", "rule.fired bank")
	f("upstream", Settings{Metric: UpstreamP99, Threshold: num(2500)}, "")
	f("tokens", Settings{Metric: Tokens, Threshold: num(1800)}, "shop", "rule.fired shop")
	f("hours", Settings{Metric: Calls, Threshold: num(500), Window: "6h"}, "", "rule.fired shop")
	f("budget of a day", Settings{Metric: Tokens, Threshold: num(12000), Window: Day}, "", "budget.spent shop")
	f("budget of a month", Settings{Metric: Calls, Threshold: num(30000), Window: Month}, "")
	no := false
	f("switched off", Settings{Metric: Calls, Threshold: num(1), Enabled: &no}, "")
}

// TestBudgetStages: a budget is reported at 80 percent, when it is spent, and is over with its
// day.
func TestBudgetStages(t *testing.T) {
	limit, used := 1000.0, uint64(0)
	s := newStage()
	s.Set.Put(own(t, "mine", "", Settings{Metric: Tokens, Threshold: &limit, Window: Day, Severity: "critical"}))
	s.Hours = func(time.Time) (map[Scope]Totals, error) {
		return map[Scope]Totals{{Toolset: "shop", Tool: "list"}: {Tokens: used}}, nil
	}
	f := func(n uint64, want string) {
		t.Helper()
		used = n
		got, err := Evaluate(&s.Input)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for i := range got {
			text += got[i].Severity + " " + got[i].Stage
		}
		if text != want {
			t.Errorf("%d used: %q, want %q", n, text, want)
		}
	}
	f(799, "")
	f(800, "info 80 %")
	f(999, "info 80 %")
	f(1000, "critical spent")
	f(0, "")
	// While hours are not read, what was told stays.
	s.Open["rule/mine/shop/"] = Open{Kind: KindBudget, Stage: "spent", Toolsets: []string{"shop"}}
	s.Hours = nil
	if got := s.found(t); !slices.Equal(got, []string{"budget.spent shop  kept"}) {
		t.Errorf("found %q", got)
	}
}

// TestHysteresis: a value around the threshold of an own rule does not come and go.
func TestHysteresis(t *testing.T) {
	limit := 10.0
	s := newStage()
	s.Set.Put(own(t, "mine", "", Settings{Metric: ErrorRate, Threshold: &limit}))
	f := func(bad, good uint64, want int) {
		t.Helper()
		s.Book = Book{}
		s.call(0, "shop", "list", bad, "http_404")
		s.call(0, "shop", "list", good, "")
		if got := s.found(t); len(got) != want {
			t.Errorf("%d of %d failed: %q, want %d", bad, bad+good, got, want)
		}
	}
	f(9, 91, 0)
	f(10, 90, 1)
	s.hold(t)
	f(9, 91, 1)
	f(5, 95, 1)
	f(4, 96, 0)
	// Few calls say nothing new.
	f(1, 2, 1)
	s.Now = s.Now.Add(Quiet + time.Minute)
	f(1, 2, 0)
}

// TestRandomErrors: two random errors in a hundred calls are reported in no toolset, busy or
// not, in a day.
func TestRandomErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := newStage()
	causes := []string{"http_500", "http_503", "unreachable", "timeout", "http_429", "upstream_malformed"}
	for minute := range 24 * 60 {
		s.Now = clock.Add(time.Duration(minute) * time.Minute)
		delete(s.Book, s.Now.Truncate(time.Minute).Add(-20*time.Minute).Unix())
		for i, rate := range []uint64{1, 3, 10, 60, 600} {
			ts := fmt.Sprintf("ts%d", i)
			for tool := range 3 {
				bad := map[string]uint64{}
				n := rng.Uint64N(rate + 1)
				for range n {
					if rng.Float64() < 0.02 {
						bad[causes[rng.IntN(len(causes))]]++
					}
				}
				name := fmt.Sprintf("t%d", tool)
				for cause, k := range bad {
					s.call(0, ts, name, k, cause)
					n -= k
				}
				s.call(0, ts, name, n, "")
			}
		}
		if got := s.found(t); len(got) > 0 {
			t.Fatalf("minute %d: %q", minute, got)
		}
	}
}

// TestNamedTools: an alert names so many tools and no more.
func TestNamedTools(t *testing.T) {
	for _, n := range []int{maxNamed, maxNamed + 1} {
		s := newStage()
		for i := range n {
			s.call(0, "shop", fmt.Sprintf("t%d", i), 6, "unreachable")
		}
		got, err := Evaluate(&s.Input)
		if err != nil || len(got) != 1 || len(got[0].Tools) != maxNamed || got[0].Failed != uint64(6*n) {
			t.Errorf("%d tools: %+v, %v", n, got, err)
		}
	}
}
