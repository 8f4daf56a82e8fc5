package notify

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/notify/mailtest"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

var listUnsubscribe = regexp.MustCompile(`(?m)^List-Unsubscribe: <https://sluice\.example/unsubscribe/([A-Za-z0-9_-]+)>\r$`)

// mailing is a channel of two addresses at a mail server.
func mailing(t *testing.T, h *hall, digest *Digest) *mailtest.Server {
	t.Helper()
	s, _ := newMailServer(t, func(s *mailtest.Server) { s.TLS = nil })
	if h.public == "" { // nothing is delivered yet
		h.public = "https://sluice.example"
	}
	h.create(NewChannel{Name: "mail", Kind: Email, Digest: digest, Mail: &Mail{
		Host: "127.0.0.1", Port: s.Port(), Security: "none", From: "sluice@a.example", To: []string{"Ann <Ann@a.example>", "bob@b.example"},
	}})
	return s
}

func messages(s *mailtest.Server) (out []string) {
	for _, m := range s.Got() {
		out = append(out, m.Text)
	}
	return out
}

// TestUnsubscribe: a reminder goes to each address with a link of its own, which ends the
// reminders of that address and nothing else, is in the audit log, and can be undone.
func TestUnsubscribe(t *testing.T) {
	h := newHall(t)
	s := mailing(t, h, nil)
	h.run()
	arrive := func(n *Notice, more int) (got []string) {
		t.Helper()
		before, ended := len(messages(s)), len(h.deliveries(store.DeliveryFilter{State: store.DeliveryDelivered}))
		h.add(n)
		h.until("delivered", func() bool {
			return len(h.deliveries(store.DeliveryFilter{State: store.DeliveryDelivered})) == ended+1
		})
		if got = messages(s)[before:]; len(got) != more {
			t.Fatalf("%d mails of %s, want %d:\n%s", len(got), n.Title, more, strings.Join(got, "\n\n"))
		}
		return got
	}
	if got := arrive(&Notice{Type: "a", Severity: Warning, Title: "An alert"}, 1); strings.Contains(got[0], "nsubscribe") || !strings.Contains(got[0], "bob@b.example") {
		t.Errorf("an alert: %s", got[0])
	}
	reminder := &Notice{Type: "a", Severity: Info, Title: "A key is due", Reminder: true}
	got := arrive(reminder, 2)
	links := map[string]string{}
	for _, m := range got {
		found := listUnsubscribe.FindStringSubmatch(m)
		if found == nil || !strings.Contains(m, "\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n") || len(found[0]) > 998 {
			t.Fatalf("the headers of RFC 8058 are missing: %s", m)
		}
		to := "ann@a.example"
		if strings.Contains(m, "To: <bob@b.example>") {
			to = "bob@b.example"
		}
		links[to] = found[1]
	}
	if len(links) != 2 || links["ann@a.example"] == links["bob@b.example"] {
		t.Fatalf("%v", links)
	}

	// Looking at it changes nothing.
	if of, err := h.SubscriptionOf(t.Context(), links["ann@a.example"]); err != nil || *of != (Subscription{"mail", "ann@a.example", false}) {
		t.Fatalf("%+v, %v", of, err)
	}
	for range 2 {
		if of, err := h.Unsubscribe(t.Context(), links["ann@a.example"]); err != nil || *of != (Subscription{"mail", "ann@a.example", true}) {
			t.Fatalf("%+v, %v", of, err)
		}
	}
	log, _, err := h.ws.AuditLog(t.Context(), store.Page{})
	if err != nil || len(log) != 2 || log[0].Action != "channel.unsubscribe" || log[0].ActorType != "recipient" || log[0].ActorID != "ann@a.example" {
		t.Fatalf("the audit log: %+v, %v", log, err)
	}
	if got := arrive(reminder, 1); !strings.Contains(got[0], "To: <bob@b.example>") {
		t.Errorf("%s", got[0])
	}
	arrive(&Notice{Type: "a", Severity: Warning, Title: "An alert"}, 1)

	// Nobody is left: nothing is sent, and nothing is recorded as sent.
	if _, err := h.Unsubscribe(t.Context(), links["bob@b.example"]); err != nil {
		t.Fatal(err)
	}
	n := len(h.deliveries(store.DeliveryFilter{}))
	h.add(reminder)
	h.until("it was routed", func() bool { rows, err := h.ws.Outbox(t.Context(), 1); return err == nil && len(rows) == 0 })
	if now := h.deliveries(store.DeliveryFilter{}); len(now) != n {
		t.Errorf("%+v", now[0])
	}

	row, err := h.Change(t.Context(), h.ws, "mail", &request.MatchInput{}, &ChangeChannel{Resubscribe: []string{"Ann <ANN@a.example>"}})
	if err != nil {
		t.Fatal(err)
	}
	if shown, err := Show(row); err != nil || !slices.Equal(shown.Unsubscribed, []string{"bob@b.example"}) {
		t.Errorf("%+v, %v", shown, err)
	}
	if _, err := h.Change(t.Context(), h.ws, "mail", &request.MatchInput{}, &ChangeChannel{Resubscribe: []string{"ann@a.example"}}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("an address that gets reminders: %v", err)
	}
	arrive(reminder, 1)
}

// TestUnsubscribeOfDigests: who unsubscribed gets digests without their reminders.
func TestUnsubscribeOfDigests(t *testing.T) {
	c := newClocked(t)
	s := mailing(t, c.hall, &Digest{Every: "hourly"})
	link, err := c.link(subscription{"one", c.channel("mail"), "ann@a.example"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Unsubscribe(t.Context(), strings.TrimPrefix(link, c.public+UnsubscribePath)); err != nil {
		t.Fatal(err)
	}
	c.add(&Notice{Type: "a", Severity: Info, Title: "A key is due", Reminder: true})
	c.add(&Notice{Type: "b", Severity: Warning, Title: "An alert"})
	c.until("they wait", func() bool { return len(c.state(store.DeliveryPending)) == 2 })
	c.at("2026-03-10T10:00:00Z")
	c.until("the digest is there", func() bool { return len(c.state(store.DeliveryDelivered)) == 1 })
	got := messages(s)
	if len(got) != 2 {
		t.Fatalf("%d mails", len(got))
	}
	for _, m := range got {
		ann := strings.Contains(m, "nn@a.example>")
		if ann == strings.Contains(m, "A key is due") || ann == strings.Contains(m, "\nList-Unsubscribe: ") || ann != strings.Contains(m, "Subject: Warning: 1 notice\r\n") || !strings.Contains(m, "An alert") {
			t.Errorf("%s", m)
		}
	}
	// A digest of reminders alone is not sent to her at all.
	c.add(&Notice{Type: "a", Severity: Info, Title: "A key is due", Reminder: true})
	c.add(&Notice{Type: "a", Severity: Info, Title: "Another is", Reminder: true})
	c.until("they wait", func() bool { return len(c.state(store.DeliveryPending)) == 2 })
	c.at("2026-03-10T11:00:00Z")
	c.until("the digest is there", func() bool { return len(c.state(store.DeliveryDelivered)) == 2 })
	if got := messages(s); len(got) != 3 || !strings.Contains(got[2], "bob@b.example") {
		t.Errorf("%d mails", len(got))
	}
}

func (h *hall) channel(name string) string {
	h.t.Helper()
	row, err := h.ws.Channel(h.t.Context(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	return row.ID
}

// TestUnsubscribeRefused: no link is valid but one that this control plane made for an
// address of a channel that is there; without an https address there are none.
func TestUnsubscribeRefused(t *testing.T) {
	h := newHall(t)
	mailing(t, h, nil)
	id := h.channel("mail")
	tokenOf := func(s subscription) string {
		t.Helper()
		link, err := h.link(s)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(link, h.public+UnsubscribePath)
	}
	good := tokenOf(subscription{"one", id, "ann@a.example"})
	if _, err := h.SubscriptionOf(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	plain, err := json.Marshal(subscription{"one", id, "ann@a.example"})
	if err != nil {
		t.Fatal(err)
	}
	for what, link := range map[string]string{
		"nothing": "", "no base64": "!", "text": base64.RawURLEncoding.EncodeToString(plain), "one bit": base64.RawURLEncoding.EncodeToString(raw),
		"another address": tokenOf(subscription{"one", id, "eve@e.example"}), "another channel": tokenOf(subscription{"one", "chan_0", "ann@a.example"}),
		"another workspace": tokenOf(subscription{"two", id, "ann@a.example"}), "cut": good[:len(good)-4],
	} {
		if _, err := h.SubscriptionOf(t.Context(), link); !problem.Is(err, problem.NotFound) {
			t.Errorf("%s is shown: %v", what, err)
		}
		if _, err := h.Unsubscribe(t.Context(), link); !problem.Is(err, problem.NotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, public := range []string{"", "http://sluice.example"} {
		h.public = public
		if link, err := h.link(subscription{"one", id, "ann@a.example"}); link != "" || err != nil {
			t.Errorf("%q: %q, %v", public, link, err)
		}
	}
}

// TestUnsubscribeBound: a link of maxLink bytes is opened, a longer one is not.
func TestUnsubscribeBound(t *testing.T) {
	h := newHall(t)
	h.public = "https://sluice.example"
	opened := func(address int) (size int, ok bool) {
		t.Helper()
		link, err := h.link(subscription{"one", "chan_1", strings.Repeat("a", address)})
		if err != nil {
			t.Fatal(err)
		}
		link = strings.TrimPrefix(link, h.public+UnsubscribePath)
		_, err = h.openLink(link)
		return len(link), err == nil
	}
	n := 254
	if size, ok := opened(n); size > maxLink-128 || !ok {
		t.Fatalf("a link of the longest address has %d bytes, opened: %v", size, ok)
	}
	for {
		size, ok := opened(n)
		if ok != (size <= maxLink) {
			t.Fatalf("a link of %d bytes is opened: %v, want those of up to %d", size, ok, maxLink)
		}
		if size > maxLink {
			return
		}
		n++
	}
}
