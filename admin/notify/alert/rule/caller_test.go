package rule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/rollup"
)

// TestCallerRules: rules over single callers count each by itself, or one of them, by toolset,
// tool and connector, over minutes and hours; what is known of a caller is not in the key.
func TestCallerRules(t *testing.T) {
	num := func(n float64) *float64 { return &n }
	ann, bob := Caller{"jwt", "ann@a.example"}, Caller{"token", "act_1"}
	f := func(name string, set Settings, toolset string, want ...string) {
		t.Helper()
		s := newStage()
		s.Set.Put(own(t, "mine", toolset, set))
		at := clock.Truncate(time.Minute)
		s.Callers = Callers{
			at.Unix(): {
				{Toolset: "shop", Tool: "list", Caller: ann, Totals: Totals{Calls: 10, Errors: 5, Tokens: 100}},
				{Toolset: "shop", Tool: "other_get", Caller: ann, Totals: Totals{Calls: 3}},
				{Toolset: "bank", Tool: "list", Caller: bob, Totals: Totals{Calls: 8, Errors: 8}},
			},
			at.Add(-5 * time.Minute).Unix():  {{Toolset: "bank", Tool: "list", Caller: ann, Totals: Totals{Calls: 7}}},
			at.Add(-30 * time.Minute).Unix(): {{Toolset: "bank", Tool: "list", Caller: ann, Totals: Totals{Calls: 50}}},
		}
		s.CallerHours = func(from time.Time) ([]CallerCell, error) {
			n := uint64(clock.Sub(from).Hours())
			return []CallerCell{{Toolset: "shop", Caller: ann, Totals: Totals{Tokens: 1000 * n}}, {Toolset: "bank", Caller: ann, Totals: Totals{Tokens: 500 * n}}, {Toolset: "bank", Caller: bob, Totals: Totals{Tokens: 100 * n}}}, nil
		}
		found, err := Evaluate(&s.Input)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range found {
			if strings.HasPrefix(found[i].Kind, "tool") { // what presets find is not asked here
				continue
			}
			if strings.Contains(found[i].Key, "ann") || strings.Contains(found[i].Key, "act_") {
				t.Errorf("%s: the key %s names the caller", name, found[i].Key)
			}
			got = append(got, strings.Join(strings.Fields(fmt.Sprint(found[i].Kind, " ", found[i].Caller.ID, " ", strings.Join(found[i].Toolsets, "+"), " ", found[i].Value)), " "))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
	f("each caller", Settings{Metric: Calls, Threshold: num(8), Each: EachCaller}, "", "rule.fired act_1 bank 8", "rule.fired ann@a.example bank+shop 20")
	f("above what one has", Settings{Metric: Calls, Threshold: num(9), Each: EachCaller}, "", "rule.fired ann@a.example bank+shop 20")
	f("of a toolset", Settings{Metric: Calls, Threshold: num(8), Each: EachCaller}, "bank", "rule.fired act_1 bank 8")
	f("a longer window", Settings{Metric: Calls, Threshold: num(50), Each: EachCaller, Window: "45m"}, "", "rule.fired ann@a.example bank+shop 70")
	f("of a tool", Settings{Metric: Calls, Threshold: num(10), Each: EachCaller, Tool: "list"}, "", "rule.fired ann@a.example bank+shop 17")
	f("of a connector", Settings{Metric: Calls, Threshold: num(3), Each: EachCaller, Connector: "other"}, "", "rule.fired ann@a.example shop 3")
	f("one caller", Settings{Metric: Calls, Threshold: num(8), Caller: "act_1"}, "", "rule.fired act_1 bank 8")
	f("one caller, by toolset", Settings{Metric: Calls, Threshold: num(7), Caller: "ann@a.example"}, "", "rule.fired ann@a.example bank 7", "rule.fired ann@a.example shop 13")
	f("one caller in the workspace", Settings{Metric: Calls, Threshold: num(20), Caller: "ann@a.example", Each: EachWorkspace}, "", "rule.fired ann@a.example 20")
	f("one that does not call", Settings{Metric: Calls, Threshold: num(1), Caller: "act_2"}, "")
	few := uint64(5)
	f("error rate", Settings{Metric: ErrorRate, Threshold: num(90), Each: EachCaller, MinCalls: &few}, "", "rule.fired act_1 bank 100")
	f("budget of a day", Settings{Metric: Tokens, Threshold: num(18000), Each: EachCaller, Window: Day}, "", "budget.spent ann@a.example bank+shop 18000")
	f("hours", Settings{Metric: Tokens, Threshold: num(500), Each: EachCaller, Window: "6h"}, "bank", "rule.fired act_1 bank 500", "rule.fired ann@a.example bank 2500")
}

// TestCallerLatency: the latency of a caller is that of all of its calls in the window, of what
// a rule looks at.
func TestCallerLatency(t *testing.T) {
	took := func(caller, tool string, ms ...int) CallerCell {
		c := CallerCell{Toolset: "shop", Tool: tool, Caller: Caller{"jwt", caller}}
		var whole, waited rollup.Histogram
		for _, n := range ms {
			d := time.Duration(n) * time.Millisecond
			whole.Add(d)
			waited.Add(d / 2)
			c.Calls, c.Took, c.Waited = c.Calls+1, c.Took+uint64(d.Microseconds()), c.Waited+uint64(d.Microseconds())/2
		}
		c.Latency, c.Upstream = whole.AppendBinary(nil), waited.AppendBinary(nil)
		return c
	}
	at := clock.Truncate(time.Minute)
	few := uint64(4)
	for _, c := range []struct {
		name string
		set  Settings
		want []string
	}{
		{"each caller", Settings{Metric: LatencyP95, Each: EachCaller}, []string{"ann"}},
		{"upstream", Settings{Metric: UpstreamP95, Each: EachCaller}, nil},
		{"upstream from less", Settings{Metric: UpstreamP95, Each: EachCaller, Threshold: new(900.0)}, []string{"ann"}},
		{"the half", Settings{Metric: LatencyP50, Each: EachCaller}, nil},
		{"of a tool", Settings{Metric: LatencyP50, Each: EachCaller, Tool: "slow"}, []string{"ann"}},
		{"one caller", Settings{Metric: LatencyP95, Caller: "bob"}, nil},
	} {
		s := newStage()
		if c.set.MinCalls = &few; c.set.Threshold == nil {
			c.set.Threshold = new(1500.0)
		}
		s.Set.Put(own(t, "slow", "", c.set))
		s.Callers = Callers{
			at.Unix():                       {took("ann", "list", 10, 10, 10, 10, 10, 10), took("ann", "slow", 2000, 2000), took("bob", "list", 10, 20, 30, 40)},
			at.Add(-3 * time.Minute).Unix(): {took("ann", "slow", 2000, 2000), took("cyd", "slow", 9000)},
		}
		found, err := Evaluate(&s.Input)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range found {
			if found[i].Kind != KindRule {
				continue
			}
			got = append(got, found[i].Caller.ID)
			want := 2000.0
			if c.set.Metric == UpstreamP95 {
				want = 1000
			}
			if v := found[i].Value; v < 0.86*want || v > 1.14*want {
				t.Errorf("%s: %g ms, want about %g", c.name, v, want)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}
