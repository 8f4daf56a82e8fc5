package advice

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/suggest"
	"github.com/sluicegate/sluice/internal/tokens"
)

// What proposals would cost is the sum of what each would, and the present text is shown
// beside the one that would replace it.
func TestShowSuggestions(t *testing.T) {
	long, short := strings.Repeat("Lists the pets of the shop. ", 20), "Lists pets."
	tools := []toolset.Tool{{Name: "a", Description: long, Tokens: 200}, {Name: "get_pets_v1_all", Tokens: 50}}
	out := new(Room).showSuggestions(fromRules, tools, &suggest.Result{
		Suggestions: []suggest.Suggestion{{Tool: "a", Description: short, Reason: "long"}, {Tool: "get_pets_v1_all", Name: "list_pets", Reason: "a verb"}},
		Dropped:     []suggest.Dropped{{Tool: "a", Reason: "taken"}},
	})
	if out.From != fromRules || out.Model != "" || out.Looked != 2 || len(out.Items) != 2 || len(out.Dropped) != 1 || out.Tokens != 250 {
		t.Fatalf("%+v", out)
	}
	first, second := out.Items[0], out.Items[1]
	if first.Present != long || first.TokensAfter != 200+tokens.Estimate([]byte(short))-tokens.Estimate([]byte(long)) {
		t.Errorf("%+v", first)
	}
	if second.Present != "" || second.Name != "list_pets" {
		t.Errorf("%+v", second)
	}
	if out.TokensAfter != first.TokensAfter+second.TokensAfter {
		t.Errorf("after: %d, want %d and %d", out.TokensAfter, first.TokensAfter, second.TokensAfter)
	}
}

func TestNoModelIsAsked(t *testing.T) {
	if r := new(Room).showSuggestions(fromModel, nil, &suggest.Result{}); r.Items == nil || r.Dropped == nil {
		t.Errorf("empty lists are absent: %+v", r)
	}
}
