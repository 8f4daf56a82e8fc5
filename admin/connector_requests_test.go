package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
)

// wish is a request for a connector.
func wish(name string) map[string]any {
	host := strings.ToLower(strings.ReplaceAll(name, " ", "")) + ".example"
	return map[string]any{
		"serviceName": name, "website": "https://" + host, "apiDocsUrl": "https://" + host + "/docs",
		"useCase": "find customers of " + name + " and add notes", "expectedVolume": "1,000 calls a day",
	}
}

func (w *world) wish(name string, headers ...string) connectorrequest.Request {
	w.t.Helper()
	return want[connectorrequest.Request](w, w.do("POST", "/v1/connector-requests", wish(name), headers...), http.StatusCreated)
}

func TestConnectorRequestVotes(t *testing.T) {
	w := newWorld(t)
	viewer, editor := w.withRole("default", "viewer"), w.withRole("default", "editor")
	acme := w.wish("Acme")
	if acme.Votes != 1 || !acme.Voted || acme.State != "open" || acme.ServiceName != "Acme" || acme.ExpectedVolume != "1,000 calls a day" {
		t.Errorf("%+v", acme)
	}
	blue := w.wish("Blue", bearer(viewer)...)
	vote := func(method, id string, votes int64, voted bool, headers ...string) {
		t.Helper()
		got := want[connectorrequest.Request](w, w.do(method, "/v1/connector-requests/"+id+"/vote", nil, headers...), http.StatusOK)
		if got.Votes != votes || got.Voted != voted {
			t.Errorf("%s: %d votes, voted %v", method, got.Votes, got.Voted)
		}
	}
	vote("PUT", blue.ID, 2, true)
	vote("PUT", blue.ID, 2, true)
	vote("DELETE", blue.ID, 1, false)
	vote("DELETE", blue.ID, 1, false)
	vote("PUT", blue.ID, 2, true, bearer(editor)...)
	list := want[admin.List[connectorrequest.Request]](w, w.do("GET", "/v1/connector-requests?state=open,planned", nil), http.StatusOK).Items
	if len(list) != 2 || list[0].ID != blue.ID || list[0].Voted || !list[1].Voted {
		t.Errorf("%+v", list)
	}
	for _, action := range []string{"connector-request.create", "connector-request.vote", "connector-request.unvote"} {
		if !strings.Contains(strings.Join(w.audits(), " "), action) {
			t.Errorf("the audit log has no %s: %v", action, w.audits())
		}
	}
	// A member has one vote, through whichever token.
	member := want[struct{ ID string }](w, w.do("POST", "/v1/members", map[string]any{"email": "ann@acme.example", "role": "viewer"}), http.StatusCreated)
	for i := range 2 {
		made := want[struct{ Token string }](w, w.do("POST", "/v1/tokens", map[string]any{"name": fmt.Sprint("ann", i), "role": "viewer", "member": member.ID}), http.StatusCreated)
		vote("PUT", blue.ID, 3, true, "Authorization", "Bearer "+made.Token)
	}
	// So has a token that is nobody's, through whichever of its sessions.
	vote("PUT", blue.ID, 4, true)
	for range 2 {
		b := &browser{w: w}
		b.signIn(want[session.LoginLink](w, w.do("POST", "/v1/login-link", nil), http.StatusCreated).URL)
		vote("PUT", blue.ID, 4, true, "Authorization", "", "Cookie", "sluice_session="+b.cookie, "Sec-Fetch-Site", "same-origin")
	}
	want[front.Problem](w, w.do("PATCH", "/v1/connector-requests/"+blue.ID, map[string]any{"state": "planned"}, bearer(viewer)...), http.StatusForbidden)
	// The vote of a member who is removed goes with them: who comes back has one again, not two.
	if a := w.do("DELETE", "/v1/members/"+member.ID, nil, "If-Match", "*"); a.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	vote("PUT", blue.ID, 3, true)
}

// TestConnectorRequestFields: what is not valid is named, and what repeats another request
// is not kept.
func TestConnectorRequestFields(t *testing.T) {
	w := newWorld(t)
	for field, values := range map[string][]any{
		"serviceName":    {"", "x", strings.Repeat("x", 81), "\u200b\u200b", nil},
		"website":        {"acme", "ftp://acme.example", "https://", "https://user:pass@acme.example", nil},
		"apiDocsUrl":     {"javascript:alert(1)", "https://localhost", nil},
		"useCase":        {"short", strings.Repeat("x", 2001), nil},
		"expectedVolume": {"", strings.Repeat("x", 201), nil},
	} {
		for _, value := range values {
			body := wish("Acme")
			if body[field] = value; value == nil {
				delete(body, field)
			}
			a := w.do("POST", "/v1/connector-requests", body)
			if a.StatusCode/100 != 4 || !strings.Contains(a.body, field) {
				t.Errorf("%s %q: %d %s", field, value, a.StatusCode, a.body)
			}
		}
	}
	acme := w.wish("Acme")
	for name, website := range map[string]string{"ACME": "https://other.example", "Something": "https://www.acme.example/home"} {
		body := wish(name)
		body["website"] = website
		if a := w.do("POST", "/v1/connector-requests", body); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, acme.ID) {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
		want[connectorrequest.Request](w, w.do("POST", "/v1/connector-requests?evenIfSimilar=true", body), http.StatusCreated)
	}
	// Twenty a day, by one person.
	for i := range 17 {
		w.wish(fmt.Sprint("Service ", i))
	}
	if a := w.do("POST", "/v1/connector-requests", wish("One more")); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "within a day") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	w.wish("One more", bearer(w.withRole("default", "viewer"))...)
	w.later.Add(int64(25 * 60 * 60 * 1e9))
	w.wish("The next day")
}

func TestSimilarConnectorRequests(t *testing.T) {
	w := newWorld(t)
	for name, useCase := range map[string]string{
		"Zendrive":   "score how safely drivers of our delivery fleet drive",
		"Pipecandle": "send candles and greeting cards to customers on their birthdays",
		"Ledgerly":   "book invoices and reconcile bank statements of subsidiaries",
	} {
		body := wish(name)
		body["useCase"] = useCase
		want[connectorrequest.Request](w, w.do("POST", "/v1/connector-requests", body), http.StatusCreated)
	}
	for _, c := range []struct {
		query url.Values
		want  string
	}{
		{url.Values{"serviceName": {"zen-drive"}}, "Zendrive: name"},
		{url.Values{"serviceName": {"Ledgerli"}}, "Ledgerly: name"},
		{url.Values{"serviceName": {"ledgerly"}, "website": {"http://www.ledgerly.example/x"}}, "Ledgerly: name, host"},
		{url.Values{"useCase": {"reconcile bank statements and invoices"}}, "Ledgerly: use case"},
		{url.Values{"useCase": {"birthday cards for customers"}}, "Pipecandle: use case"},
		{url.Values{"serviceName": {"Wholly Other"}, "useCase": {"simulate weather on mars"}}, ""},
		{url.Values{}, ""},
	} {
		got := want[admin.SimilarConnectors](w, w.do("GET", "/v1/connector-requests/similar?"+c.query.Encode(), nil), http.StatusOK)
		var out []string
		for i := range got.Requests {
			out = append(out, got.Requests[i].Request.ServiceName+": "+strings.Join(got.Requests[i].Because, ", "))
		}
		if strings.Join(out, "; ") != c.want {
			t.Errorf("%v: %v, want %s", c.query, out, c.want)
		}
	}
	got := want[admin.SimilarConnectors](w, w.do("GET", "/v1/connector-requests/similar?serviceName=git", nil), http.StatusOK)
	if len(got.Entries) == 0 || len(got.Entries) > 3 || !strings.HasPrefix(got.Entries[0].ID, "git") {
		t.Errorf("%+v", got.Entries)
	}
}

// TestConnectorRequestOfToolset: what a request led to may be a toolset, by its slug or its id.
func TestConnectorRequestOfToolset(t *testing.T) {
	w := newAlertWorld(t)
	toolset := w.create("Pets", "pets.yaml")
	for i, entry := range []string{toolset.Slug, toolset.ID} {
		wish := w.wish([]string{"Acme", "Zenith"}[i])
		a := w.do("PATCH", "/v1/connector-requests/"+wish.ID, map[string]any{"state": "published", "entry": entry})
		if a.StatusCode != http.StatusOK || !strings.Contains(a.body, `"entry":"`+entry+`"`) {
			t.Errorf("%s: %d %s", entry, a.StatusCode, a.body)
		}
	}
}

// TestConnectorRequestOutcome: a request is published with a connector that exists, or
// declined with a reason, and the channels are told once.
func TestConnectorRequestOutcome(t *testing.T) {
	w := newAlertWorld(t)
	r, _ := w.webhook("ops", notify.Routes{})
	acme := w.wish("Acme")
	at := "/v1/connector-requests/" + acme.ID
	change := func(status int, text string, body map[string]any) {
		t.Helper()
		if a := w.do("PATCH", at, body); a.StatusCode != status || !strings.Contains(a.body, text) {
			t.Errorf("%v: %d %s, want %d %s", body, a.StatusCode, a.body, status, text)
		}
	}
	change(200, `"state":"planned"`, map[string]any{"state": "planned", "comment": "next month\u200b"})
	change(200, `"text":"next month"`, map[string]any{"state": "building"})
	change(400, "/entry", map[string]any{"state": "published"})
	change(400, "no toolset \\\"nothing\\\"", map[string]any{"state": "published", "entry": "nothing"})
	change(400, "/entry", map[string]any{"entry": "github"})
	change(400, "/reason", map[string]any{"state": "declined"})
	want[front.Problem](w, w.do("PATCH", at, map[string]any{"state": "open"}, "If-Match", `"v1"`), http.StatusPreconditionFailed)
	change(200, `"entry":"github"`, map[string]any{"state": "published", "entry": "github"})
	change(200, `"entry":"github"`, map[string]any{"comment": "enjoy"})
	want[front.Problem](w, w.do("PUT", at+"/vote", nil), http.StatusConflict)

	events, _, err := w.st.Workspace("default").Events(t.Context(), "", store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for i := range events {
		if events[i].Type == connectorrequest.TypePublished {
			told++
			if !strings.Contains(events[i].Document, acme.RequestedBy) || !strings.Contains(events[i].Document, "github") {
				t.Error(events[i].Document)
			}
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	w.until("the notice is delivered", func() bool { return len(r.hooks(t)) == 1 })
	if h := r.hooks(t)[0]; h.Type != connectorrequest.TypePublished || h.Data.Workspace != "default" {
		t.Errorf("%+v", h)
	}

	declined := w.wish("Blue")
	at = "/v1/connector-requests/" + declined.ID
	change(200, `"reason":"it has no API"`, map[string]any{"state": "declined", "reason": "it has no API"})
	change(200, `"state":"open"`, map[string]any{"state": "open"})
	again := want[connectorrequest.Request](w, w.do("GET", at, nil), http.StatusOK)
	if again.Reason != "" {
		t.Errorf("%+v", again)
	}
	// Comments are bounded.
	for i := range 50 {
		change(200, "", map[string]any{"comment": fmt.Sprint("comment ", i)})
	}
	change(400, "which is the most", map[string]any{"comment": "one more"})
	var shown connectorrequest.Request
	if err := json.Unmarshal([]byte(w.do("GET", at, nil).body), &shown); err != nil || len(shown.Comments) != 50 {
		t.Errorf("%d comments, %v", len(shown.Comments), err)
	}
}
