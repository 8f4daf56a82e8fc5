package admin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/toolset/suggest"
)

func TestSuggestions(t *testing.T) {
	w := newWorld(t)
	w.create("Pets", "pets.yaml")
	const path = "/v1/toolsets/pets/suggestions"
	r := want[advice.Suggestions](w, w.do("GET", path, nil), http.StatusOK)
	if r.From != "rules" || r.Model != "" || r.Looked != 4 || len(r.Items) != 0 {
		t.Errorf("generated tools need no rule: %+v", r)
	}
	w.create("Shop", "shop.yaml")
	const shop = "/v1/toolsets/shop/suggestions"
	rules := want[advice.Suggestions](w, w.do("GET", shop, nil), http.StatusOK)
	proposed := map[string]advice.Suggestion{}
	tokens := 0
	for _, p := range rules.Items {
		proposed[p.Tool] = p
		tokens += p.TokensAfter - p.Tokens
	}
	if p := proposed["post_customers"]; p.Name != "create_customer" || p.Tokens == 0 || p.Description != "" || p.Present != "" {
		t.Errorf("%+v", p)
	}
	if p := proposed["get_accounts_account_people"]; p.Name != "list_account_people" {
		t.Errorf("%+v", p)
	}
	if rules.Tokens == 0 || rules.TokensAfter != rules.Tokens+tokens {
		t.Errorf("%d tokens, %d after", rules.Tokens, rules.TokensAfter)
	}
	// All of them are accepted in one change, and then the rules have nothing to add.
	accepted := []map[string]any{}
	for _, p := range rules.Items {
		u := map[string]any{"tool": p.Tool}
		if p.Name != "" {
			u["name"] = p.Name
		}
		if p.Description != "" {
			u["description"] = p.Description
		}
		accepted = append(accepted, u)
	}
	if a := w.do("POST", "/v1/toolsets/shop/tools/batch-update", map[string]any{"updates": accepted}); a.StatusCode != http.StatusOK {
		t.Fatalf("apply: %d %s", a.StatusCode, a.body)
	}
	if again := want[advice.Suggestions](w, w.do("GET", shop, nil), http.StatusOK); len(again.Items) != 0 {
		t.Errorf("proposed again: %+v", again.Items)
	}
	if a := w.do("POST", path, map[string]any{}); a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "--suggest-url") {
		t.Errorf("without a model: %d %s", a.StatusCode, a.body)
	}

	endpoint := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct {
				Content string `json:"content"`
			} `json:"messages"`
		}
		var data struct {
			Tools []struct {
				ID   int    `json:"id"`
				Name string `json:"name"`
			} `json:"tools"`
		}
		b, _ := io.ReadAll(r.Body)
		if json.Unmarshal(b, &in) != nil || json.Unmarshal([]byte(in.Messages[1].Content), &data) != nil {
			http.Error(rw, "bad", http.StatusBadRequest)
			return
		}
		list := []map[string]any{}
		for _, t := range data.Tools {
			list = append(list, map[string]any{"id": t.ID, "name": "nice_" + t.Name, "description": "Nice: " + t.Name, "reason": "nicer"})
		}
		content, _ := json.Marshal(map[string]any{"suggestions": list})
		_ = json.NewEncoder(rw).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": string(content)}}}})
	}))
	t.Cleanup(endpoint.Close)
	var err error
	if w.suggester, err = suggest.New(suggest.Options{URL: endpoint.URL, Model: "tiny", HTTP: endpoint.Client()}); err != nil {
		t.Fatal(err)
	}
	w.stop()
	w.open()
	before := w.get("pets")
	cost := want[advice.Suggestions](w, w.do("POST", path, map[string]any{"estimate": true}), http.StatusOK)
	if cost.Estimate == nil || cost.Estimate.Questions != 1 || cost.Estimate.InputTokens < 100 || cost.Estimate.OutputTokens < 100 || len(cost.Items) != 0 || cost.Model != "tiny" {
		t.Errorf("%+v", cost)
	}
	all := want[advice.Suggestions](w, w.do("POST", path, map[string]any{}), http.StatusOK)
	if all.From != "model" || all.Model != "tiny" || len(all.Items) != 4 || all.Items[0].Name != "nice_"+all.Items[0].Tool || all.Items[0].Present == "" || all.Items[0].Reason != "nicer" {
		t.Errorf("%+v", all)
	}
	if after := w.get("pets"); after.Digest != before.Digest {
		t.Error("suggestions changed the draft")
	}
	one := want[advice.Suggestions](w, w.do("POST", path, map[string]any{"tools": []string{all.Items[1].Tool}}), http.StatusOK)
	if len(one.Items) != 1 || one.Looked != 1 {
		t.Errorf("%+v", one)
	}
	if a := w.do("POST", path, map[string]any{"tools": []string{"nothing*"}}); a.StatusCode != http.StatusNotFound {
		t.Errorf("no tool: %d %s", a.StatusCode, a.body)
	}
	if a := w.do("GET", path+"?tools=[", nil); a.StatusCode != http.StatusBadRequest {
		t.Errorf("bad glob: %d %s", a.StatusCode, a.body)
	}
	// What is offered can be applied, and is good then.
	updates := []map[string]any{}
	for _, p := range all.Items {
		updates = append(updates, map[string]any{"tool": p.Tool, "name": p.Name, "description": p.Description})
	}
	if a := w.do("POST", "/v1/toolsets/pets/tools/batch-update", map[string]any{"updates": updates}); a.StatusCode != http.StatusOK {
		t.Fatalf("apply: %d %s", a.StatusCode, a.body)
	}
	// A name that a tool keeps is not one that rules mend.
	if a := w.do("PATCH", "/v1/toolsets/pets/tools/"+all.Items[0].Name, map[string]any{"name": "NicePet", "description": "Nice pet"}, "Content-Type", "application/merge-patch+json"); a.StatusCode != http.StatusOK {
		t.Fatalf("patch: %d %s", a.StatusCode, a.body)
	}
	r = want[advice.Suggestions](w, w.do("GET", path+"?tools=NicePet", nil), http.StatusOK)
	if len(r.Items) != 1 || r.Items[0].Name != "nice_pet" || r.Items[0].Description == "" || r.Items[0].Present != "Nice pet" {
		t.Errorf("%+v", r)
	}
}
