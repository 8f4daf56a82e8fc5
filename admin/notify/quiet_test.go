package notify

import (
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

func TestQuietHours(t *testing.T) {
	f := func(from, to, zone, now, want string) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		q := &Quiet{From: from, To: to, Zone: zone}
		got := ""
		if until := q.until(at); !until.IsZero() {
			got = until.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s to %s %s at %s: until %q, want %q", from, to, zone, now, got, want)
		}
	}
	f("22:00", "07:00", "", "2026-03-10T21:59:59Z", "")
	f("22:00", "07:00", "", "2026-03-10T22:00:00Z", "2026-03-11T07:00:00Z")
	f("22:00", "07:00", "", "2026-03-11T06:59:59Z", "2026-03-11T07:00:00Z")
	f("22:00", "07:00", "", "2026-03-11T07:00:00Z", "")
	f("12:00", "13:00", "", "2026-03-11T12:30:00Z", "2026-03-11T13:00:00Z")
	f("12:00", "13:00", "", "2026-03-11T13:30:00Z", "")
	f("22:00", "07:00", "Europe/Berlin", "2026-03-10T21:30:00Z", "2026-03-11T06:00:00Z")
	f("22:00", "07:00", "Europe/Berlin", "2026-03-28T23:30:00Z", "2026-03-29T05:00:00Z") // the clock goes forward
	f("22:00", "07:00", "Nowhere/Zone", "2026-03-10T23:00:00Z", "")
	for _, q := range []Quiet{{From: "22", To: "07:00"}, {From: "22:00", To: "25:00"}, {From: "22:00", To: "22:00"}, {From: "22:00", To: "07:00", Zone: "Nowhere/Zone"}, {From: "22:00", To: "07:00", Zone: "Local"}} {
		if err := q.check(); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestQuietChannel: in quiet hours what is not critical waits, and what waits of an alert is
// sent when it becomes critical.
func TestQuietChannel(t *testing.T) {
	h := newHall(t, time.Hour)
	x := newTarget(t, taken)
	now := h.st.Now().UTC()
	quiet := &Quiet{From: now.Add(-2 * time.Hour).Format("15:04"), To: now.Add(2 * time.Hour).Format("15:04")}
	h.create(NewChannel{Name: "hook", Kind: Webhook, URL: x.URL, Quiet: quiet})
	h.run()
	h.add(&Notice{Type: "a", Severity: Warning, AlertID: "alert_1", Title: "A"})
	h.add(&Notice{Type: "a", Severity: Info, Title: "B"})
	h.add(&Notice{Type: "a", Severity: Critical, Title: "C"})
	delivered := func() int { return len(h.deliveries(store.DeliveryFilter{State: store.DeliveryDelivered})) }
	h.until("the critical one is there", func() bool { return delivered() == 1 })
	waiting := h.deliveries(store.DeliveryFilter{State: store.DeliveryPending})
	if len(waiting) != 2 || waiting[0].NextAt.Sub(now) < time.Hour || waiting[1].NextAt.Sub(now) < time.Hour {
		t.Fatalf("%+v", waiting)
	}
	h.add(&Notice{Type: "b", Severity: Critical, AlertID: "alert_1", Title: "D"})
	h.until("its alert is told whole", func() bool { return delivered() == 3 })
	if waiting := h.deliveries(store.DeliveryFilter{State: store.DeliveryPending}); len(waiting) != 1 || waiting[0].AlertID != "" {
		t.Errorf("%+v", waiting)
	}
}
