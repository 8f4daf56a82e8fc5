package cache

import (
	"testing"
	"time"
)

type fields map[string]string

func (f fields) Header(name string) []byte { return []byte(f[name]) }

func TestFreshness(t *testing.T) {
	f := func(h fields, want time.Duration) {
		t.Helper()
		if got := Freshness(h, time.Minute); got != want && (want > 0 || got > 0) {
			t.Fatalf("Freshness(%v) = %v, want %v", h, got, want)
		}
	}
	f(fields{}, time.Minute)
	f(fields{"Cache-Control": "private, max-age=30"}, 30*time.Second)
	f(fields{"Cache-Control": "max-age=3600"}, time.Minute)
	f(fields{"Cache-Control": `MAX-AGE="10"`}, 10*time.Second)
	f(fields{"Cache-Control": "max-age=30", "Age": "20"}, 10*time.Second)
	f(fields{"Cache-Control": "max-age=30", "Age": "30"}, 0)
	f(fields{"Cache-Control": "max-age=0"}, 0)
	f(fields{"Cache-Control": "max-age=soon"}, 0)
	f(fields{"Cache-Control": "max-age=99999999999999999999"}, 0)
	f(fields{"Cache-Control": "no-store"}, 0)
	f(fields{"Cache-Control": "public, No-Cache"}, 0)
	f(fields{"Vary": "Accept, *"}, 0)
	f(fields{"Vary": "Accept"}, time.Minute)
	f(fields{"Set-Cookie": "a=b"}, 0)
	f(fields{"Expires": "0"}, 0)
	f(fields{"Expires": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:07 GMT"}, 30*time.Second)
	f(fields{"Expires": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0)
	f(fields{"Expires": "0", "Cache-Control": "max-age=30"}, 30*time.Second)
}
