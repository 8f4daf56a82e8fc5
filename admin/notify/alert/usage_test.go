package alert

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

// used reports calls of a tool that ended in a cause; "": well.
func (h *hall) used(ts *store.Toolset, tool string, calls uint64, cause string) {
	h.t.Helper()
	h.usedFor(ts, tool, calls, cause, "what the agent was notified of "+cause, 80*time.Millisecond)
}

// usedFor reports calls that took a time, and what agents were told.
func (h *hall) usedFor(ts *store.Toolset, tool string, calls uint64, cause, text string, each time.Duration) {
	h.t.Helper()
	h.sent++
	now := h.now()
	var took rollup.Histogram
	for range calls {
		took.Add(each)
	}
	r := &registry.UsageReport{Epoch: "E", Sequence: h.sent, Oldest: 1, Minute: now.Truncate(time.Minute).Unix(), Posted: now}
	key := registry.UsageKey{Workspace: h.ws.ID(), Toolset: ts.ID, Tool: tool, Outcome: "ok", Credential: "accepted"}
	if cause != "" {
		key.Outcome = "upstream_error"
		r.Causes = []registry.UsageCause{{Workspace: h.ws.ID(), Toolset: ts.ID, Tool: tool, Cause: cause, Calls: calls}}
		r.Samples = []registry.UsageSample{{Workspace: h.ws.ID(), Toolset: ts.ID, Tool: tool, Outcome: key.Outcome, Cause: cause, At: now, Text: text}}
		for range calls {
			r.Calls = append(r.Calls, registry.UsageCall{Workspace: h.ws.ID(), Toolset: ts.ID, Tool: tool, Connector: ts.ConnectorName, At: now, Outcome: key.Outcome, Cause: cause, Credential: "accepted", CallerKind: "token", Caller: "act_1"})
		}
	}
	b := took.AppendBinary(nil)
	r.Series = []registry.UsageSeries{{UsageKey: key, UsageCounts: registry.UsageCounts{Calls: calls, TokensAfter: 100 * calls, Duration: calls * uint64(each.Microseconds()), Upstream: calls * uint64(each.Microseconds()), Latency: b, UpstreamLatency: b}}}
	if applied, err := h.st.ApplyUsage(h.t.Context(), "edge", r); err != nil || !applied {
		h.t.Fatalf("applied %v, %v", applied, err)
	}
}

// restart is a control plane that starts again on the records.
func (h *hall) restart() { h.Room = New(Room{Store: h.st}) }

// TestDeadUpstream: an upstream that is gone behind nine tools is one alert, which survives a
// restart while it is pending and when it fires, and is over when calls work again.
func TestDeadUpstream(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("shop")
	h.used(ts, "list", 1, "unreachable")
	h.used(ts, "list", 1, "")
	h.told() // one of two calls
	h.pass(time.Minute)
	for i := range 9 {
		h.used(ts, fmt.Sprintf("tool_%d", i), 2, "unreachable")
	}
	h.told() // pending
	h.restart()
	h.pass(31 * time.Second)
	h.told("alert.fired upstream.unreachable")
	a := h.open()
	d := a.Details
	if a.Severity != "critical" || a.ToolsetID != ts.ID || d.Toolset != "shop" || d.Upstream != "shop.example" || d.Calls != 18 || d.Callers != 1 || len(d.Tools) != 10 || d.FirstCall == "" || d.LastCall == "" ||
		!strings.Contains(a.Title, "shop.example cannot be reached") || !strings.Contains(d.Cause, "18 of 18 calls failed") || !strings.Contains(d.Cause, "what the agent was notified of unreachable") ||
		d.Command != "sluice toolset test shop" || d.Rule != "upstream.unreachable" {
		t.Errorf("%+v", a)
	}
	h.restart()
	h.told()
	h.pass(20 * time.Minute)
	h.told() // no calls
	for i := range 9 {
		h.used(ts, fmt.Sprintf("tool_%d", i), 2, "")
	}
	h.pass(usageEvery)
	h.told() // it must be gone for a minute
	h.pass(time.Minute)
	h.used(ts, "list", 5, "")
	h.told("alert.resolved upstream.unreachable")
	h.pass(time.Minute)
	h.told()
}

// edge enrols an edge and returns what it says of itself.
func (h *hall) edge(name string) func(registry.EdgeStatus) {
	h.t.Helper()
	e := &store.Edge{Name: name, SealKey: []byte{1}, SignKey: []byte{2}, TokenHash: []byte("token of " + name)}
	e.SetLabels("one", nil)
	h.update(func(ctx context.Context, tx *store.Tx) error {
		join := &store.JoinToken{Name: "j", Hash: []byte("join of " + name)}
		return errors.Join(tx.AddJoinToken(ctx, join), tx.Enrol(ctx, join.ID, e))
	})
	return func(st registry.EdgeStatus) {
		h.t.Helper()
		if err := h.st.ReportEdge(h.t.Context(), "one", e.ID, store.JSON(st)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// TestLateUsage: an alert stays while the usage of an edge is late, which is an alert of its
// own.
func TestLateUsage(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("shop")
	says := h.edge("eu-1")
	says(registry.EdgeStatus{Ready: true})
	h.used(ts, "list", 20, "http_500")
	h.told()
	h.pass(time.Minute)
	h.told("alert.fired upstream.errors")
	late := registry.EdgeStatus{Ready: true, Usage: "the control plane does not answer"}
	says(late)
	h.later(0)
	h.told()
	h.later(edgeHold)
	says(late)
	h.told("alert.fired usage.late")
	for range 30 {
		h.pass(2 * time.Minute)
		says(late)
		h.told()
	}
	says(registry.EdgeStatus{Ready: true})
	h.later(0)
	h.told("alert.resolved usage.late")
	h.pass(2 * time.Minute)
	says(registry.EdgeStatus{Ready: true})
	h.told("alert.resolved upstream.errors")
}

// TestOwnRule: a rule of people's own fires, is changed, and its alert ends with it; what it
// would have reported is what it did.
func TestOwnRule(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("shop")
	ctx := t.Context()
	limit, more := 1000.0, 1e6
	if _, err := h.AddRule(ctx, h.ws, &NewRule{Name: "spend", Toolset: ts.ID, Settings: rule.Settings{Metric: rule.Tokens, Threshold: &limit}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.AddRule(ctx, h.ws, &NewRule{Name: "spend", Settings: rule.Settings{Metric: rule.Tokens, Threshold: &limit}}); !problem.Is(err, problem.Conflict) {
		t.Errorf("the same name again: %v", err)
	}
	h.used(ts, "list", 9, "")
	h.told()
	h.pass(time.Minute)
	h.used(ts, "list", 1, "")
	h.told("alert.fired rule.fired")
	if a := h.open(); a.Title != "rule spend: tokens of toolset shop passed 1000 tokens" || !strings.Contains(a.Details.Cause, "tokens is 1000 tokens, in the last 10m") || a.ToolsetID != ts.ID {
		t.Errorf("%+v", a)
	}
	try, err := h.TestRule(ctx, h.ws, "spend", "", time.Hour, &rule.Settings{})
	if err != nil || len(try.Firings) != 1 || try.Firings[0].Value != 1000 || try.Firings[0].Kind != rule.KindRule || !try.Firings[0].Until.IsZero() {
		t.Errorf("%+v, %v", try, err)
	}
	if try, err := h.TestRule(ctx, h.ws, "spend", "", MaxReplay, &rule.Settings{Threshold: &more}); err != nil || len(try.Firings) != 0 {
		t.Errorf("%+v, %v", try, err)
	}
	if _, err := h.TestRule(ctx, h.ws, "spend", "", MaxReplay+time.Minute, &rule.Settings{}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("more than a day: %v", err)
	}
	if _, err := h.ChangeRule(ctx, h.ws, "spend", "", &request.MatchInput{}, &rule.Settings{Threshold: &more}); err != nil {
		t.Fatal(err)
	}
	h.pass(usageEvery)
	h.told()
	h.pass(time.Minute)
	h.told("alert.resolved rule.fired")
	if err := h.RemoveRule(ctx, h.ws, "spend", "", &request.MatchInput{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ShowRule(ctx, h.ws, "spend", ""); !problem.Is(err, problem.NotFound) {
		t.Errorf("after it was removed: %v", err)
	}
}

// TestPresetSettings: settings of a preset count for the workspace, or for a toolset over
// them; what they would have reported is known before.
func TestPresetSettings(t *testing.T) {
	h := newHall(t)
	shop, bank := h.toolset("shop"), h.toolset("bank")
	ctx := t.Context()
	for range 3 {
		h.used(shop, "list", 2, "http_500")
		h.used(bank, "list", 2, "http_500")
		h.told()
		h.pass(time.Minute)
	}
	few := uint64(5)
	try, err := h.TestRule(ctx, h.ws, rule.KindErrors, "", time.Hour, &rule.Settings{MinCalls: &few, For: "0s"})
	if err != nil || len(try.Firings) != 2 || try.Firings[0].Kind != rule.KindErrors {
		t.Errorf("%+v, %v", try, err)
	}
	if _, err := h.ChangeRule(ctx, h.ws, rule.KindErrors, shop.ID, &request.MatchInput{}, &rule.Settings{MinCalls: &few}); err != nil {
		t.Fatal(err)
	}
	h.told() // it must be so for a minute
	h.pass(time.Minute)
	h.told("alert.fired upstream.errors")
	all, err := h.Rules(ctx, h.ws, "")
	if err != nil || len(all) != len(rule.Presets())+1 {
		t.Fatalf("%d rules: %v", len(all), err)
	}
	var got []string
	for _, r := range all {
		if r.Name == rule.KindErrors {
			got = append(got, fmt.Sprint(r.Toolset, " ", *r.MinCalls, " ", r.Changed))
		}
	}
	if fmt.Sprint(got) != "[ 20 false shop 5 true]" {
		t.Errorf("%q", got)
	}
	f := func(name string, s rule.Settings, want problem.Kind) {
		t.Helper()
		if _, err := h.ChangeRule(ctx, h.ws, name, "", &request.MatchInput{}, &s); !problem.Is(err, want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	f("upstream.nope", rule.Settings{For: "1m"}, problem.NotFound)
	f(rule.KindErrors, rule.Settings{Metric: rule.Calls}, problem.InvalidArgument)
	f(rule.KindErrors, rule.Settings{Window: "2h"}, problem.InvalidArgument)
	if err := h.RemoveRule(ctx, h.ws, rule.KindErrors, shop.ID, &request.MatchInput{}); err != nil {
		t.Fatal(err)
	}
	h.pass(usageEvery)
	h.told() // few calls say nothing new
	if r, err := h.ShowRule(ctx, h.ws, rule.KindErrors, shop.ID); err != nil || *r.MinCalls != 20 || r.Changed {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestUsageBounds: what an alert names, what is looked at for it, and how many rules there
// are has an end.
func TestUsageBounds(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("shop")
	ctx := t.Context()
	r, err := rule.Preset(rule.KindUnreachable, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{maxToolsets, maxToolsets + 1} {
		f := &rule.Finding{Key: "k", Kind: r.Name, Rule: r}
		for i := range n {
			f.Toolsets = append(f.Toolsets, fmt.Sprintf("ts_%d", i))
		}
		c, err := h.usageCondition(ctx, h.ws, f, nil)
		if err != nil || len(c.details.Toolsets) != maxToolsets || len(c.details.ToolsetIDs) != n {
			t.Errorf("%d toolsets: %+v, %v", n, c, err)
		}
	}

	h.usedFor(ts, "list", 1, "unreachable", "it is gone", time.Millisecond)
	for i := range maxSamples {
		h.pass(time.Millisecond)
		said, err := h.usageCause(ctx, h.ws, &rule.Finding{Rule: r, Toolsets: []string{ts.ID}, Cause: "unreachable"})
		if err != nil || !strings.Contains(said, "it is gone") {
			t.Fatalf("%d newer samples: %q, %v", i, said, err)
		}
		h.usedFor(ts, "list", 1, "timeout", "it hangs", time.Millisecond)
	}
	if said, err := h.usageCause(ctx, h.ws, &rule.Finding{Rule: r, Toolsets: []string{ts.ID}, Cause: "unreachable"}); err != nil || strings.Contains(said, "it is gone") {
		t.Errorf("%d newer samples: %q, %v", maxSamples, said, err)
	}

	few := 1.0
	if _, err := h.AddRule(ctx, h.ws, &NewRule{Name: "each", Settings: rule.Settings{Metric: rule.Calls, Threshold: &few, Each: rule.EachTool, Tool: ""}}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{maxFirings - 1, maxFirings, maxFirings + 1} { // with the tool above
		for i := range n - 1 {
			if n == maxFirings-1 || i >= maxFirings-3 {
				h.used(ts, fmt.Sprintf("tool_%d", i), 1, "")
			}
		}
		try, err := h.TestRule(ctx, h.ws, "each", "", time.Hour, &rule.Settings{})
		if err != nil || len(try.Firings) != min(n, maxFirings) {
			t.Errorf("%d tools: %d firings, %v", n, len(try.Firings), err)
		}
	}

	h.update(func(ctx context.Context, tx *store.Tx) error {
		for i := range rule.MaxRules - 2 {
			if err := tx.AddAlertRule(ctx, &store.AlertRule{Name: fmt.Sprintf("r-%d", i), Document: "{}"}); err != nil {
				return err
			}
		}
		return nil
	})
	add := func(name string) error {
		_, err := h.AddRule(ctx, h.ws, &NewRule{Name: name, Settings: rule.Settings{Metric: rule.Calls, Threshold: &few}})
		return err
	}
	if err := add("last"); err != nil {
		t.Errorf("rule %d: %v", rule.MaxRules, err)
	}
	if err := add("one-more"); !problem.Is(err, problem.Conflict) {
		t.Errorf("rule %d: %v", rule.MaxRules+1, err)
	}
}
