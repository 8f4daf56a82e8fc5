package admin_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/internal/secrets"
)

// TestUnsubscribePage: the link of a reminder shows a button without a login, a POST of it
// ends the reminders of its address, as a program that shows mail sends it (RFC 8058).
func TestUnsubscribePage(t *testing.T) {
	w := newWorld(t)
	c := want[notify.Channel](w, w.do("POST", "/v1/channels", notify.NewChannel{Name: "mail", Kind: notify.Email, Mail: &notify.Mail{
		Host: "mail.example", From: "sluice@a.example", To: []string{"ann@a.example", "bob@b.example"},
	}}), http.StatusCreated)
	b, err := json.Marshal(map[string]string{"w": "default", "c": c.ID, "a": "ann@a.example"})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := w.ring.SealBytes(secrets.Record{Key: "links/unsubscribe", Version: 1}, b)
	if err != nil {
		t.Fatal(err)
	}
	link := "/unsubscribe/" + base64.RawURLEncoding.EncodeToString(sealed)
	f := func(method, link, body string, status int, says string) {
		t.Helper()
		req := httptest.NewRequest(method, link, strings.NewReader(body))
		if body != "" {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		rec := httptest.NewRecorder()
		w.srv.Handler().ServeHTTP(rec, req)
		if rec.Code != status || !strings.Contains(rec.Body.String(), says) || rec.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s; want %d, %q", method, rec.Code, rec.Header(), rec.Body, status, says)
		}
	}
	unsubscribed := func() string {
		t.Helper()
		return strings.Join(want[notify.Channel](w, w.do("GET", "/v1/channels/mail", nil), http.StatusOK).Unsubscribed, " ")
	}
	f("GET", link, "", http.StatusOK, `<form method="post">`)
	f("HEAD", link, "", http.StatusOK, "")
	if got := unsubscribed(); got != "" {
		t.Fatalf("looking at the link unsubscribed %s", got)
	}
	f("POST", link, "List-Unsubscribe=One-Click", http.StatusOK, "<b>ann@a.example</b> gets no reminders of channel mail any more")
	f("POST", link, "List-Unsubscribe=One-Click", http.StatusOK, "any more")
	f("GET", link, "", http.StatusOK, "No reminders any more")
	if got := unsubscribed(); got != "ann@a.example" {
		t.Fatalf("unsubscribed are %q", got)
	}
	f("DELETE", link, "", http.StatusMethodNotAllowed, "method")
	f("POST", link+"A", "", http.StatusNotFound, "not valid")
	f("GET", "/unsubscribe/", "", http.StatusNotFound, "not valid")
	if got := w.records("channel.unsubscribe"); len(got) != 1 || got[0].Actor.Type != "recipient" || got[0].Actor.ID != "ann@a.example" || got[0].Resource != c.ID || got[0].Actor.IP == "" {
		t.Errorf("%+v", got)
	}
	back := want[notify.Channel](w, w.do("PATCH", "/v1/channels/mail", notify.ChangeChannel{Resubscribe: []string{"ann@a.example"}}), http.StatusOK)
	if len(back.Unsubscribed) != 0 {
		t.Errorf("%+v", back)
	}
	// Without the channel the link is for nothing.
	if a := w.do("DELETE", "/v1/channels/mail", nil); a.StatusCode != http.StatusNoContent {
		t.Fatal(a.body)
	}
	f("POST", link, "", http.StatusNotFound, "not valid")
}
