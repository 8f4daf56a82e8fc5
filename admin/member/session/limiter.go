package session

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sluicegate/sluice/admin/member/ratelimit"
	"github.com/sluicegate/sluice/internal/problem"
)

// How many logins may fail. A login that succeeds costs nothing.
const (
	// An address may be that of a proxy with many people behind it: 30 at once, then one in
	// two seconds.
	addressBurst = 30
	addressEvery = 2 * time.Second
	// An account is one person's: 10 at once, then one in 30 seconds, which is 2,900 guesses
	// a day from all addresses together. More strictness would let a stranger lock them out.
	accountBurst = 10
	accountEvery = 30 * time.Second
	// A challenge of a passkey is asked for before every login, also by who then presses
	// Cancel: 60 at once, then one in a second.
	challengeBurst = 60
	challengeEvery = time.Second
)

// limiter counts failed attempts.
type limiter struct{ *ratelimit.Limiter }

// take spends an attempt of key before it is made. It fails with [problem.RateLimited], as a
// [limitedError].
func (l limiter) take(key string) error {
	if wait, ok := l.Take(key); !ok {
		return limited(wait)
	}
	return nil
}

// limitedError refuses an attempt for now. Its answer says for how long.
type limitedError struct {
	error
	wait time.Duration
}

func limited(wait time.Duration) error {
	seconds := int(max(wait, time.Second)+time.Second-1) / int(time.Second)
	return &limitedError{
		error: problem.New(problem.RateLimited, "too many logins failed").Fix("try again in %s", fmt.Sprintf("%d seconds", seconds)),
		wait:  time.Duration(seconds) * time.Second,
	}
}

// Unwrap returns the problem.
func (e *limitedError) Unwrap() error { return e.error }

// GetHeaders returns the headers of the answer.
func (e *limitedError) GetHeaders() http.Header {
	return http.Header{"Retry-After": {strconv.Itoa(int(e.wait / time.Second))}}
}
