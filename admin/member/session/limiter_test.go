package session

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/member/ratelimit"
	"github.com/sluicegate/sluice/internal/problem"
)

func TestLimiter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := limiter{ratelimit.New(3, 10*time.Second, func() time.Time { return now })}
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
	l.GiveBack("a")
	if err := l.take("a"); err != nil {
		t.Errorf("given back: %v", err)
	}
	now = now.Add(time.Hour)
	l.GiveBack("a") // no more than were there
	for range 3 {
		if err := l.take("a"); err != nil {
			t.Error(err)
		}
	}
	if err := l.take("a"); err == nil {
		t.Error("more than the burst")
	}
}
