package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

// hall is a room on real records.
type hall struct {
	*Room
	t  *testing.T
	st *store.Store
	ws *store.Workspace
}

func newHall(t *testing.T, backoff ...time.Duration) *hall {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	if err := storetest.Prepare(path); err != nil {
		t.Fatal(err)
	}
	r, st, err := openRoom(t.Context(), path, filepath.Join(dir, "key"), backoff)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return &hall{r, t, st, st.Workspace("one")}
}

func openRoom(ctx context.Context, path, key string, backoff []time.Duration) (*Room, *store.Store, error) {
	st, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return nil, nil, err
	}
	ring, err := secrets.OpenFile(key)
	if err != nil {
		return nil, nil, err
	}
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		return nil, nil, err
	}
	if err := st.EnsureWorkspace(ctx, "one", "one"); err != nil {
		return nil, nil, err
	}
	return New(Options{Store: st, Keyring: ring, Dialer: d, Backoff: backoff}), st, nil
}

// run delivers until the test ends.
func (h *hall) run() {
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); h.Run(ctx) }()
	h.t.Cleanup(func() { stop(); <-done })
}

func (h *hall) add(n *Notice) {
	h.t.Helper()
	if err := h.ws.Update(h.t.Context(), func(tx *store.Tx) error { return Add(h.t.Context(), tx, n) }); err != nil {
		h.t.Fatal(err)
	}
	h.Wake()
}

func (h *hall) create(in NewChannel) *Channel {
	h.t.Helper()
	c, err := h.Create(h.t.Context(), h.ws, &in)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// until waits for what must come true.
func (h *hall) until(what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			h.t.Fatal("not in 20 s: " + what)
		}
		select {
		case <-h.t.Context().Done():
			h.t.Fatal(what)
		case <-time.After(5 * time.Millisecond): // what is waited for is in another goroutine's records
		}
	}
}

func (h *hall) deliveries(f store.DeliveryFilter) []store.Delivery {
	h.t.Helper()
	rows, _, err := h.ws.Deliveries(h.t.Context(), f, store.Page{Limit: store.MaxLimit})
	if err != nil {
		h.t.Fatal(err)
	}
	return rows
}

// target is a receiver; answer is called for each message.
type target struct {
	*httptest.Server
	mu   sync.Mutex
	got  []*http.Request // guarded by mu
	body []string        // guarded by mu
}

func newTarget(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *target {
	t.Helper()
	x := &target{}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		x.mu.Lock()
		x.got, x.body = append(x.got, r), append(x.body, string(b))
		n := len(x.got)
		x.mu.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(x.Close)
	return x
}

func (x *target) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.got)
}

func (x *target) id(i int) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.got[i].Header.Get("webhook-id")
}

func taken(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// TestRetriesDeadLettersAndRedelivery: a message has one id in every attempt, is dead
// after the last, is delivered by hand under its id, and again under another one.
func TestRetriesDeadLettersAndRedelivery(t *testing.T) {
	h := newHall(t, time.Millisecond, time.Millisecond)
	x := newTarget(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n <= 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	h.create(NewChannel{Name: "hook", Kind: Webhook, URL: x.URL})
	h.run()
	h.add(&Notice{Type: "a", Severity: Info, Title: "A", Data: 1})
	h.until("dead", func() bool { return len(h.deliveries(store.DeliveryFilter{State: store.DeliveryDead})) == 1 })
	d := h.deliveries(store.DeliveryFilter{})[0]
	if x.count() != 3 || x.id(0) != d.ID || x.id(2) != d.ID || d.Attempts != 3 || d.Status != 500 || d.Fault != "the receiver answered 500" || !strings.Contains(d.Log, `"status":500`) {
		t.Fatalf("%d attempts: %+v", x.count(), d)
	}
	again := func(id string) *store.Delivery {
		t.Helper()
		row, err := h.Redeliver(t.Context(), h.ws, id)
		if err != nil {
			t.Fatal(err)
		}
		h.until("redelivered", func() bool {
			now, err := h.ws.Delivery(t.Context(), row.ID)
			return err == nil && now.State == store.DeliveryDelivered
		})
		return row
	}
	if row := again(d.ID); row.ID != d.ID || x.id(3) != d.ID {
		t.Errorf("a dead message has the id %s, it had %s", x.id(3), d.ID)
	}
	if row := again(d.ID); row.ID == d.ID || x.id(4) != row.ID {
		t.Errorf("a message that was taken was sent again under its id %s", d.ID)
	}
}

// TestSignatures: as the library of the specification verifies them, also while the
// secret is rotated.
func TestSignatures(t *testing.T) {
	h := newHall(t)
	x := newTarget(t, taken)
	c := h.create(NewChannel{Name: "hook", Kind: Webhook, URL: x.URL})
	h.run()
	verify := func(i int, secret string) error {
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		return w.Verify([]byte(x.body[i]), x.got[i].Header)
	}
	h.add(&Notice{Type: "a", Severity: Info, Title: "A", Data: map[string]int{"n": 7}})
	h.until("first", func() bool { return x.count() == 1 })
	if err := verify(0, c.Secret); err != nil {
		t.Error(err)
	}
	var body webhookBody
	if err := json.Unmarshal([]byte(x.body[0]), &body); err != nil || body.Type != "a" || string(body.Data) != `{"n":7}` || body.Timestamp.IsZero() {
		t.Errorf("%s, %v", x.body[0], err)
	}
	next, err := h.RotateSecret(t.Context(), h.ws, c.ID)
	if err != nil || next.Secret == c.Secret || next.Secret == "" {
		t.Fatalf("%+v, %v", next, err)
	}
	h.add(&Notice{Type: "b", Severity: Info, Title: "B"})
	h.until("second", func() bool { return x.count() == 2 })
	if err := errors.Join(verify(1, c.Secret), verify(1, next.Secret)); err != nil {
		t.Error(err)
	}
	if err := verify(0, next.Secret); err == nil {
		t.Error("the new secret signed the first message")
	}
	row, err := h.ws.Channel(t.Context(), "hook")
	if err != nil || strings.Contains(row.Settings+string(row.Sealed), c.Secret) {
		t.Errorf("the secret is in the record: %v", err)
	}
}

// TestHangingChannel: one that hangs delays no other, and messages of one alert keep
// their order although another alert's go on.
func TestHangingChannel(t *testing.T) {
	h := newHall(t, time.Millisecond, 50*time.Millisecond)
	free := make(chan struct{})
	hanging := newTarget(t, func(int, http.ResponseWriter, *http.Request) { <-free })
	defer close(free)
	failing := true
	var mu sync.Mutex
	ordered := newTarget(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if failing {
			failing = false
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	h.create(NewChannel{Name: "hang", Kind: Webhook, URL: hanging.URL})
	h.create(NewChannel{Name: "good", Kind: Webhook, URL: ordered.URL})
	for _, title := range []string{"1", "2", "3"} {
		h.add(&Notice{Type: "t", Severity: Info, AlertID: "alert_1", Title: title})
	}
	h.run()
	h.until("the other channel", func() bool { return ordered.count() == 4 })
	ordered.mu.Lock()
	defer ordered.mu.Unlock()
	var got []string
	for _, b := range ordered.body {
		var body webhookBody
		if err := json.Unmarshal([]byte(b), &body); err != nil {
			t.Fatal(err)
		}
		got = append(got, body.Title)
	}
	if strings.Join(got, "") != "1123" {
		t.Errorf("the order is %v", got)
	}
}

// TestRoutes: what a channel gets.
func TestRoutes(t *testing.T) {
	f := func(want bool, r Routes, ev store.Event) {
		t.Helper()
		s := Settings{Routes: r}
		if got := s.takes(&store.Channel{ID: "chan_1"}, &ev); got != want {
			t.Errorf("%+v of %+v: %v", ev, r, got)
		}
	}
	ev := store.Event{Type: "alert.fired", Subject: "upstream.auth_failed", Severity: Warning, ToolsetID: "ts_1"}
	f(true, Routes{}, ev)
	f(true, Routes{Kinds: []string{"upstream.*"}}, ev)
	f(true, Routes{Kinds: []string{"x", "alert.fired"}}, ev)
	f(false, Routes{Kinds: []string{"key.*"}}, ev)
	f(true, Routes{MinSeverity: Warning}, ev)
	f(false, Routes{MinSeverity: Critical}, ev)
	f(true, Routes{Toolsets: []string{"ts_1"}}, ev)
	f(false, Routes{Toolsets: []string{"ts_2"}}, ev)
	f(false, Routes{}, store.Event{ChannelID: "chan_2"})
	f(true, Routes{Kinds: []string{"key.*"}}, store.Event{ChannelID: "chan_1"})
}

// TestGone: a receiver that answers 410 gets no more.
func TestGone(t *testing.T) {
	h := newHall(t, time.Hour)
	x := newTarget(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	h.create(NewChannel{Name: "hook", Kind: Webhook, URL: x.URL})
	h.run()
	h.add(&Notice{Type: "a", Severity: Info, Title: "A"})
	h.until("disabled", func() bool {
		row, err := h.ws.Channel(t.Context(), "hook")
		return err == nil && strings.Contains(row.Disabled, "410")
	})
	if err := h.Test(t.Context(), h.ws, "hook"); !problem.Is(err, problem.Conflict) {
		t.Errorf("a test of a channel that is off: %v", err)
	}
}

// TestOutboxIsOfItsTransaction: what did not happen is not told.
func TestOutboxIsOfItsTransaction(t *testing.T) {
	h := newHall(t)
	failed := errors.New("failed")
	err := h.ws.Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(Add(t.Context(), tx, &Notice{Type: "a", Severity: Info, Title: "A"}), failed)
	})
	rows, err2 := h.ws.Outbox(t.Context(), 10)
	if !errors.Is(err, failed) || err2 != nil || len(rows) != 0 {
		t.Errorf("%d events, %v, %v", len(rows), err, err2)
	}
}

// TestBounds: the number of channels, and how much of an answer is read.
func TestBounds(t *testing.T) {
	h := newHall(t, time.Hour)
	var ended sync.WaitGroup
	ended.Add(1)
	x := newTarget(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		defer ended.Done()
		for range 1000 { // it ends when the reader hangs up, long before
			if _, err := w.Write(make([]byte, maxAnswer)); err != nil {
				return
			}
		}
		t.Error("all of an answer was read")
	})
	h.create(NewChannel{Name: "c0", Kind: Webhook, URL: x.URL, Routes: Routes{Kinds: []string{"a"}}})
	for i := 1; i < maxChannels; i++ {
		h.create(NewChannel{Name: "c" + strings.Repeat("x", i), Kind: Webhook, URL: "https://a.example", Routes: Routes{Kinds: []string{"none"}}})
	}
	if _, err := h.Create(t.Context(), h.ws, &NewChannel{Name: "one-more", Kind: Webhook, URL: "https://a.example"}); !problem.Is(err, problem.Conflict) {
		t.Errorf("channel %d: %v", maxChannels+1, err)
	}
	h.run()
	h.add(&Notice{Type: "a", Severity: Info, Title: "A"})
	h.until("delivered", func() bool { return len(h.deliveries(store.DeliveryFilter{State: store.DeliveryDelivered})) == 1 })
	ended.Wait()
}

// TestRefusedChannels: what is not a channel.
func TestRefusedChannels(t *testing.T) {
	h := newHall(t)
	f := func(in NewChannel) {
		t.Helper()
		if _, err := h.Create(t.Context(), h.ws, &in); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%+v: %v", in, err)
		}
	}
	mail := func(change func(*Mail)) NewChannel {
		m := &Mail{Host: "mail.example", From: "a@b.example", To: []string{"c@d.example"}}
		change(m)
		return NewChannel{Name: "m", Kind: Email, Mail: m}
	}
	f(NewChannel{Name: "x", Kind: Webhook, URL: "ftp://a.example"})
	f(NewChannel{Name: "x", Kind: Webhook})
	f(NewChannel{Name: "x", Kind: "pigeon"})
	f(NewChannel{Name: "x", Kind: Slack, URL: "https://a.example", Password: "p"})
	f(NewChannel{Name: "x", Kind: Webhook, URL: "https://a.example", Routes: Routes{Kinds: []string{"["}}})
	f(NewChannel{Name: "x", Kind: Webhook, URL: "https://a.example", Routes: Routes{MinSeverity: "awful"}})
	f(mail(func(m *Mail) { m.From = "nobody" }))
	f(mail(func(m *Mail) { m.To = []string{"nobody\r\nBcc: x@y.example"} }))
	f(mail(func(m *Mail) { m.Security, m.Username = "none", "me" }))
	f(mail(func(m *Mail) { m.Host = "mail.example:587" }))
	f(mail(func(m *Mail) { m.Host = "smtp://mail.example" }))
	f(mail(func(m *Mail) { m.Host = "::1 " }))
	if err := checkMail(&Mail{Host: "::1", From: "a@b.example", To: []string{"c@d.example"}}); err != nil {
		t.Error(err)
	}
	if _, err := h.Change(t.Context(), h.ws, "none", &request.MatchInput{}, &ChangeChannel{}); !problem.Is(err, problem.NotFound) {
		t.Errorf("a channel that is not there: %v", err)
	}
}

// TestSlack: the message that an incoming webhook takes; what is in it is not markup.
func TestSlack(t *testing.T) {
	h := newHall(t)
	x := newTarget(t, taken)
	c := h.create(NewChannel{Name: "chat", Kind: Slack, URL: x.URL + "/services/T0/secret"})
	if strings.Contains(c.Where, "secret") || c.Secret != "" {
		t.Errorf("%+v", c)
	}
	h.run()
	h.add(&Notice{Type: "a", Severity: Critical, Title: "<!channel> & co", Lines: []Line{{Name: "Cause", Value: "a < b"}}, Remedy: "mend it", Command: "sluice doctor"})
	h.until("posted", func() bool { return x.count() == 1 })
	var m slackMessage
	if err := json.Unmarshal([]byte(x.body[0]), &m); err != nil || m.Text != "Critical: &lt;!channel&gt; &amp; co" || len(m.Blocks) != 2 ||
		!strings.Contains(m.Blocks[1].Text.Text, "*Cause*  a &lt; b") || !strings.Contains(m.Blocks[1].Text.Text, "`sluice doctor`") {
		t.Errorf("%s, %v", x.body[0], err)
	}
}
