package alert

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// by reports calls of a tool that one caller made.
func (h *hall) by(kind, caller string, ts *store.Toolset, tool string, n int) {
	h.t.Helper()
	calls := make([]registry.UsageCall, n)
	for i := range calls {
		c := h.call(ts, tool, 200)
		c.CallerKind, c.Caller, c.TokensAfter = kind, caller, 100
		calls[i] = c
	}
	h.report(calls...)
}

// TestCallerRule: usage that nodes report makes an alert for each caller that passes the
// threshold, also after a restart; the alert says who it is, and no notice does.
func TestCallerRule(t *testing.T) {
	const ann = "ann o'neil@a.example"
	h := newHall(t)
	shop, bank := h.toolset("shop"), h.toolset("bank")
	ctx := t.Context()
	h.update(func(ctx context.Context, tx *store.Tx) error {
		return tx.AddAccessToken(ctx, &store.AccessToken{ID: "act_1", ToolsetID: bank.ID, Name: "ci", Hash: []byte(fmt.Sprintf("%032s", "ci"))})
	})
	limit := 30.0
	if _, err := h.AddRule(ctx, h.ws, &NewRule{Name: "busy", Settings: rule.Settings{Metric: rule.Calls, Threshold: &limit, Each: rule.EachCaller}}); err != nil {
		t.Fatal(err)
	}
	h.by("jwt", ann, shop, "list", 20)
	h.by("token", "act_1", bank, "list", 29)
	h.by("anonymous", "", bank, "list", 500)
	h.told()
	h.pass(time.Minute)
	h.by("jwt", ann, bank, "list", 10)
	h.told("alert.fired rule.fired")
	a := h.open()
	d := a.Details
	if a.Title != "rule busy: calls of one caller of toolsets shop, bank passed 30 calls" || d.Caller == nil || *d.Caller != (Caller{Kind: "jwt", ID: ann}) || d.Value != 30 ||
		d.Command != `sluice logs --since 1h --caller 'ann o'\''neil@a.example'` {
		t.Errorf("%+v, caller %+v", a, d.Caller)
	}
	h.restart()
	h.pass(usageEvery)
	h.told()
	h.by("token", "act_1", bank, "list", 1)
	h.pass(usageEvery)
	h.told("alert.fired rule.fired")
	rows, err := h.ws.OpenAlerts(ctx)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d alerts, %v", len(rows), err)
	}
	token, err := Show(&rows[1])
	if err != nil || token.Details.Caller == nil || *token.Details.Caller != (Caller{Kind: "token", ID: "act_1", Name: "ci"}) || token.ToolsetID != bank.ID {
		t.Errorf("%+v, %+v, %v", token, token.Details.Caller, err)
	}
	events, _, err := h.ws.Events(ctx, "", store.Page{Limit: store.MaxLimit})
	if err != nil || len(events) != 2 {
		t.Fatalf("%d notices, %v", len(events), err)
	}
	for _, e := range events {
		if strings.Contains(e.Document, "neil") || strings.Contains(e.Document, "act_1") || !strings.Contains(e.Document, "sluice alert show alert_") {
			t.Errorf("a notice: %s", e.Document)
		}
	}
	try, err := h.TestRule(ctx, h.ws, "busy", "", time.Hour, &rule.Settings{})
	if err != nil || len(try.Firings) != 2 || try.Firings[0].Caller == nil || try.Firings[0].Caller.ID != ann {
		t.Errorf("%+v, %v", try, err)
	}
	h.pass(12 * time.Minute)
	h.told()
	h.pass(time.Minute)
	h.told("alert.resolved rule.fired", "alert.resolved rule.fired")
}

// TestCallerBudget: a budget of each caller is reported at 80 % and when it is spent.
func TestCallerBudget(t *testing.T) {
	h := newHall(t)
	shop := h.toolset("shop")
	limit := 1000.0
	if _, err := h.AddRule(t.Context(), h.ws, &NewRule{Name: "daily", Settings: rule.Settings{Metric: rule.Tokens, Threshold: &limit, Each: rule.EachCaller, Window: rule.Day}}); err != nil {
		t.Fatal(err)
	}
	h.pass(time.Second)
	h.by("jwt", "ann", shop, "list", 8)
	h.by("jwt", "bob", shop, "list", 7)
	h.told("alert.fired budget.spent")
	if a := h.open(); a.Severity != "info" || a.Details.Caller.ID != "ann" || a.Title != "budget daily of one caller of toolset shop is nearly spent" {
		t.Errorf("%+v", a)
	}
	h.pass(2 * time.Hour)
	h.by("jwt", "ann", shop, "get", 2)
	h.told("alert.changed budget.spent")
}

// TestCallerRuleLimit: so many rules of a workspace count single callers, and one more is
// refused, also when another becomes one.
func TestCallerRuleLimit(t *testing.T) {
	h := newHall(t)
	limit := 5.0
	add := func(name string, s rule.Settings) error {
		s.Metric, s.Threshold = rule.Calls, &limit
		_, err := h.AddRule(t.Context(), h.ws, &NewRule{Name: name, Settings: s})
		return err
	}
	for i := range rule.MaxCallerRules {
		if err := add(fmt.Sprintf("caller-%d", i), rule.Settings{Caller: fmt.Sprintf("act_%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := add("more", rule.Settings{Each: rule.EachCaller}); !problem.Is(err, problem.Conflict) {
		t.Errorf("one more: %v", err)
	}
	if err := add("plain", rule.Settings{}); err != nil {
		t.Error(err)
	}
	if _, err := h.ChangeRule(t.Context(), h.ws, "plain", "", &request.MatchInput{}, &rule.Settings{Each: rule.EachCaller}); !problem.Is(err, problem.Conflict) {
		t.Errorf("one that becomes one: %v", err)
	}
	if _, err := h.ChangeRule(t.Context(), h.ws, "caller-1", "", &request.MatchInput{}, &rule.Settings{Each: rule.EachCaller}); err != nil {
		t.Errorf("one that is one: %v", err)
	}
}
