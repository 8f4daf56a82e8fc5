package ratelimit

import (
	"fmt"
	"testing"
	"time"
)

// The limiter keeps a bounded number of keys: those beyond it share one count, and those
// that are full again are forgotten.
func TestLimiterIsBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := New(2, time.Second, func() time.Time { return now })
	for i := range maxKeys {
		if _, ok := l.Take(fmt.Sprint(i)); !ok {
			t.Fatal(i)
		}
	}
	for i, fails := range []bool{false, false, true} {
		if _, ok := l.Take(fmt.Sprintf("beyond %d", i)); ok == fails {
			t.Errorf("key %d beyond the bound: %v", i, ok)
		}
	}
	if _, ok := l.Take("0"); !ok || len(l.buckets) != maxKeys+1 {
		t.Errorf("%v, %d buckets", ok, len(l.buckets))
	}
	now = now.Add(time.Minute)
	if _, ok := l.Take("later"); !ok || len(l.buckets) != 1 {
		t.Errorf("%v, %d buckets", ok, len(l.buckets))
	}
}

func TestAddressKey(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "2001:db8:1:2::5": "2001:db8:1:2::/64",
		"fe80::1%eth0": "fe80::/64", "::1": "::/64", "": "", "pipe": "pipe",
	} {
		if got := AddressKey(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
