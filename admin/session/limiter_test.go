package session

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestLimiter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := newLimiter(3, 10*time.Second, func() time.Time { return now })
	for i := range 3 {
		if err := l.take("a"); err != nil {
			t.Fatalf("attempt %d: %v", i, err)
		}
		now = now.Add(time.Second)
	}
	err := l.take("a")
	limit := &limitedError{}
	if !problem.Is(err, problem.RateLimited) || !errors.As(err, &limit) || limit.GetHeaders().Get("Retry-After") != "7" {
		t.Errorf("%v %v", err, limit.GetHeaders())
	}
	if err := l.take("b"); err != nil {
		t.Errorf("another key: %v", err)
	}
	now = now.Add(7 * time.Second)
	if err := l.take("a"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	if err := l.take("a"); err == nil {
		t.Error("one more")
	}
	l.giveBack("a")
	if err := l.take("a"); err != nil {
		t.Errorf("given back: %v", err)
	}
	now = now.Add(time.Hour)
	l.giveBack("a") // no more than were there
	for range 3 {
		if err := l.take("a"); err != nil {
			t.Error(err)
		}
	}
	if err := l.take("a"); err == nil {
		t.Error("more than the burst")
	}
}

// The limiter keeps a bounded number of keys: those beyond it share one count, and those
// that are full again are forgotten.
func TestLimiterIsBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := newLimiter(2, time.Second, func() time.Time { return now })
	for i := range maxLimited {
		if err := l.take(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, fails := range []bool{false, false, true} {
		if err := l.take(fmt.Sprintf("beyond %d", i)); (err != nil) != fails {
			t.Errorf("key %d beyond the bound: %v", i, err)
		}
	}
	if err := l.take("0"); err != nil || len(l.buckets) != maxLimited+1 {
		t.Errorf("%v, %d buckets", err, len(l.buckets))
	}
	now = now.Add(time.Minute)
	if err := l.take("later"); err != nil || len(l.buckets) != 1 {
		t.Errorf("%v, %d buckets", err, len(l.buckets))
	}
}

func TestAddressKey(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "2001:db8:1:2::5": "2001:db8:1:2::/64",
		"fe80::1%eth0": "fe80::/64", "::1": "::/64", "": "", "pipe": "pipe",
	} {
		if got := addressKey(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
