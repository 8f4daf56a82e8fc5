package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

func TestDigestTimes(t *testing.T) {
	f := func(d *Digest, quiet *Quiet, now, want string) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if due := (&Settings{Digest: d, Quiet: quiet}).digestDue(at); !due.IsZero() {
			got = due.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%+v, quiet %+v at %s: %q, want %q", d, quiet, now, got, want)
		}
	}
	f(nil, nil, "2026-03-10T09:20:00Z", "")
	f(&Digest{Every: "off"}, nil, "2026-03-10T09:20:00Z", "")
	f(&Digest{Every: "hourly"}, nil, "2026-03-10T09:20:00Z", "2026-03-10T10:00:00Z")
	f(&Digest{Every: "hourly"}, nil, "2026-03-10T10:00:00Z", "2026-03-10T11:00:00Z")
	f(&Digest{Every: "daily"}, nil, "2026-03-10T07:59:00Z", "2026-03-10T08:00:00Z")
	f(&Digest{Every: "daily"}, nil, "2026-03-10T08:00:00Z", "2026-03-11T08:00:00Z")
	f(&Digest{Every: "daily", At: "17:30", Zone: "Europe/Berlin"}, nil, "2026-03-28T17:00:00Z", "2026-03-29T15:30:00Z") // the clock goes forward
	f(&Digest{Every: "hourly"}, &Quiet{From: "22:00", To: "07:30"}, "2026-03-10T22:10:00Z", "2026-03-11T07:30:00Z")
	f(&Digest{Every: "daily", Zone: "Nowhere/Zone"}, nil, "2026-03-10T09:20:00Z", "")
	for _, d := range []Digest{{}, {Every: "weekly"}, {Every: "hourly", At: "08:00"}, {Every: "off", Zone: "UTC"}, {Every: "daily", At: "8"}, {Every: "daily", Zone: "Nowhere/Zone"}, {Every: "daily", Zone: "Local"}} {
		if err := d.check(); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%+v: %v", d, err)
		}
	}
}

// clocked is a hall whose clock the test moves, and which can be closed and opened again.
type clocked struct {
	*hall
	dir  string
	now  *atomic.Pointer[time.Time]
	stop func()
}

func newClocked(t *testing.T) *clocked {
	t.Helper()
	c := &clocked{dir: t.TempDir(), now: new(atomic.Pointer[time.Time]), stop: func() {}}
	if err := storetest.Prepare(filepath.Join(c.dir, "s.db")); err != nil {
		t.Fatal(err)
	}
	c.at("2026-03-10T09:20:00Z")
	c.open(t)
	t.Cleanup(func() { c.stop() })
	return c
}

func (c *clocked) at(text string) {
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	c.now.Store(&now)
	if c.hall != nil {
		c.Wake()
	}
}

// open opens the records and delivers until stop is called.
func (c *clocked) open(t *testing.T) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(c.dir, "s.db"), Now: func() time.Time { return *c.now.Load() }})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.OpenFile(filepath.Join(c.dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.EnsureWorkspace(t.Context(), "one", "one"); err != nil {
		t.Fatal(err)
	}
	r := New(Options{Store: st, Keyring: ring, Dialer: d, Backoff: []time.Duration{time.Millisecond, time.Millisecond}, PublicURL: "https://sluice.example/"})
	c.hall = &hall{r, t, st, st.Workspace("one")}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	c.stop = func() {
		cancel()
		<-done
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		c.stop = func() {}
	}
}

func (c *clocked) state(state string) []store.Delivery {
	c.t.Helper()
	return c.deliveries(store.DeliveryFilter{State: state})
}

func (x *target) last() (body webhookBody, data digestData) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = json.Unmarshal([]byte(x.body[len(x.body)-1]), &body) // what is missing is seen
	_ = json.Unmarshal(body.Data, &data)
	return body, data
}

// TestDigest: what is not critical comes in one message when its time is there, once, also
// when the control plane was started again meanwhile; what is critical comes at once.
func TestDigest(t *testing.T) {
	c := newClocked(t)
	x := newTarget(t, taken)
	c.create(NewChannel{Name: "hook", Kind: Webhook, URL: x.URL, Digest: &Digest{Every: "hourly"}})
	c.add(&Notice{Type: "a", Severity: Info, Title: "A", Data: 7})
	c.add(&Notice{Type: "b", Severity: Warning, AlertID: "alert_1", Title: "B", Remedy: "do it"})
	c.add(&Notice{Type: "b", Severity: Warning, AlertID: "alert_1", Title: "Resolved: B", Over: true})
	c.add(&Notice{Type: "c", Severity: Critical, Title: "C"})
	c.until("the critical one is there", func() bool { return len(c.state(store.DeliveryDelivered)) == 1 })
	for _, d := range c.state(store.DeliveryPending) {
		if !d.Digest || d.NextAt.UTC().Format(time.TimeOnly) != "10:00:00" {
			t.Errorf("%+v waits for no digest", d)
		}
	}
	c.stop()
	c.open(t)
	c.at("2026-03-10T09:59:59Z")
	if waiting := c.state(store.DeliveryPending); len(waiting) != 3 || x.count() != 1 {
		t.Fatalf("%d wait, %d were sent: want 3, 1", len(waiting), x.count())
	}
	c.at("2026-03-10T10:00:00Z")
	c.until("the digest is there", func() bool { return len(c.state(store.DeliveryDelivered)) == 2 })
	body, data := x.last()
	if body.Type != TypeDigest || body.Severity != Warning || body.Title != "3 notices" || data.Workspace != "one" || len(data.Notices) != 3 ||
		data.Notices[0].Title != "A" || string(data.Notices[0].Data) != "7" || data.Notices[2].Title != "Resolved: B" {
		t.Errorf("the digest is %+v %+v", body, data)
	}
	digest := c.state(store.DeliveryDelivered)[0]
	parts := c.state(store.DeliveryDigested)
	if len(parts) != 3 || digest.Type != TypeDigest || parts[0].DigestID != digest.ID || x.id(1) != digest.ID {
		t.Errorf("digest %+v of %+v", digest, parts)
	}
	if shown, err := ShowDelivery(&parts[0]); err != nil || shown.State != "digested" || shown.DigestID != digest.ID || shown.EndedAt.IsZero() {
		t.Errorf("%+v, %v", shown, err)
	}
	c.stop()
	c.open(t)
	// One that is alone comes as itself, and nothing comes twice.
	c.add(&Notice{Type: "d", Severity: Info, Title: "D"})
	c.until("it waits", func() bool { return len(c.state(store.DeliveryPending)) == 1 })
	c.at("2026-03-10T11:00:00Z")
	c.until("it is there", func() bool { return len(c.state(store.DeliveryDelivered)) == 3 })
	if body, _ := x.last(); body.Type != "d" || x.count() != 3 {
		t.Errorf("%+v after %d messages", body, x.count())
	}
}

// TestDigestFails: a digest that the receiver does not take is tried again under its id, and
// is dead after the last attempt.
func TestDigestFails(t *testing.T) {
	c := newClocked(t)
	x := newTarget(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	c.create(NewChannel{Name: "hook", Kind: Webhook, URL: x.URL, Digest: &Digest{Every: "daily", At: "10:00"}})
	c.add(&Notice{Type: "a", Severity: Info, Title: "A"})
	c.add(&Notice{Type: "b", Severity: Info, Title: "B"})
	c.until("they wait", func() bool { return len(c.state(store.DeliveryPending)) == 2 })
	for i := range 4 {
		c.at(fmt.Sprintf("2026-03-10T10:0%d:00Z", i))
		c.until("an attempt", func() bool { return x.count() > min(i, 2) })
	}
	c.until("it is dead", func() bool { return len(c.state(store.DeliveryDead)) == 1 })
	if x.count() != 3 || x.id(0) != x.id(2) || len(c.state(store.DeliveryDigested)) != 2 {
		t.Errorf("%d attempts, %s and %s; %+v", x.count(), x.id(0), x.id(2), c.state(""))
	}
}

// TestDigestOfAnAlertThatBecomesCritical: what waits of it is sent before, by itself.
func TestDigestOfAnAlertThatBecomesCritical(t *testing.T) {
	c := newClocked(t)
	x := newTarget(t, taken)
	c.create(NewChannel{Name: "hook", Kind: Webhook, URL: x.URL, Digest: &Digest{Every: "hourly"}})
	c.add(&Notice{Type: "a", Severity: Warning, AlertID: "alert_1", Title: "A"})
	c.add(&Notice{Type: "b", Severity: Info, Title: "B"})
	c.add(&Notice{Type: "a", Severity: Critical, AlertID: "alert_1", Title: "A is worse"})
	c.until("the alert is told whole", func() bool { return len(c.state(store.DeliveryDelivered)) == 2 })
	if body, _ := x.last(); body.Title != "A is worse" || len(c.state(store.DeliveryPending)) != 1 {
		t.Errorf("%+v; %+v", body, c.state(""))
	}
}

// TestDigestBound: maxDigest notices are one message, and one more is another.
func TestDigestBound(t *testing.T) {
	c := newClocked(t)
	x := newTarget(t, taken)
	c.create(NewChannel{Name: "hook", Kind: Webhook, URL: x.URL, Digest: &Digest{Every: "hourly"}})
	fill := func(n int) {
		t.Helper()
		err := c.ws.Update(t.Context(), func(tx *store.Tx) error {
			for range n {
				if err := Add(t.Context(), tx, &Notice{Type: "a", Severity: Info, Title: "A"}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Wake()
		c.until("all wait", func() bool { return len(c.state(store.DeliveryPending)) == n })
	}
	fill(maxDigest)
	c.at("2026-03-10T10:00:00Z")
	c.until("one digest", func() bool { return len(c.state(store.DeliveryPending)) == 0 && x.count() == 1 })
	if _, data := x.last(); len(data.Notices) != maxDigest {
		t.Errorf("%d notices are in the digest, want %d", len(data.Notices), maxDigest)
	}
	fill(maxDigest + 1)
	c.at("2026-03-10T11:00:00Z")
	c.until("a digest and one alone", func() bool { return len(c.state(store.DeliveryPending)) == 0 && x.count() == 3 })
}

// TestDigestChanged: what waits goes with the next digest of the new settings, and at once
// when there are no digests any more.
func TestDigestChanged(t *testing.T) {
	c := newClocked(t)
	x := newTarget(t, taken)
	ch := c.create(NewChannel{Name: "hook", Kind: Webhook, URL: x.URL, Digest: &Digest{Every: "daily"}})
	if ch.Digest == nil || ch.Digest.Every != daily {
		t.Fatalf("%+v", ch)
	}
	c.add(&Notice{Type: "a", Severity: Info, Title: "A"})
	c.add(&Notice{Type: "b", Severity: Info, Title: "B"})
	c.until("they wait", func() bool { return len(c.state(store.DeliveryPending)) == 2 })
	change := func(in *ChangeChannel) *Channel {
		t.Helper()
		row, err := c.Change(t.Context(), c.ws, "hook", &request.MatchInput{}, in)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := Show(row)
		if err != nil {
			t.Fatal(err)
		}
		return &shown
	}
	change(&ChangeChannel{Digest: &Digest{Every: "hourly"}})
	if waiting := c.state(store.DeliveryPending); len(waiting) != 2 || waiting[0].NextAt.UTC().Format(time.TimeOnly) != "10:00:00" {
		t.Errorf("%+v", waiting)
	}
	if _, err := c.Change(t.Context(), c.ws, "hook", &request.MatchInput{}, &ChangeChannel{Digest: &Digest{Every: "weekly"}}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("weekly: %v", err)
	}
	if shown := change(&ChangeChannel{Digest: &Digest{Every: "off"}}); shown.Digest != nil {
		t.Errorf("%+v", shown.Digest)
	}
	c.until("they came", func() bool { return x.count() == 1 && len(c.state(store.DeliveryDigested)) == 2 })
}

// TestDigestTexts: people get each notice in a line.
func TestDigestTexts(t *testing.T) {
	m := &message{
		ev:  &store.Event{Severity: Warning},
		doc: &document{Title: "2 notices", Lines: []Line{{Name: "2026-03-10 09:20 UTC", Value: "Warning: B. Remedy: do it"}, {Name: "2026-03-10 09:21 UTC", Value: "Resolved: B"}}},
	}
	text, _ := mailText(m, "")
	slack, err := json.Marshal(slackBody(m))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 notices", "Warning: B. Remedy: do it", "Resolved: B"} {
		if !strings.Contains(text, want) || !strings.Contains(string(slack), want) {
			t.Errorf("no %q in %q or in %s", want, text, slack)
		}
	}
}
