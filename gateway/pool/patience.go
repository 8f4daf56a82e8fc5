package pool

import (
	"context"
	"errors"
	"time"
)

const (
	// DefaultPatience is how long what only other nodes know is waited for while the server is
	// away, from when it went: sentinels and clusters need some seconds to put another one in
	// its place, and without it the answer is an error for certain.
	DefaultPatience = 10 * time.Second
	// maxPatience is what a URL may ask for: clients of MCP give up a minute after their request.
	maxPatience = time.Minute
	// settling is the part of DefaultPatience for which nodes may still be sharing what the server lacks when
	// it is back: each finds within awayTime that it is.
	settling = 3
	askAgain = 100 * time.Millisecond
	// maxPatient is how many requests of a node wait at once: more are answered without.
	maxPatient = 1000
)

// Await runs ask, and again as long as it fails with [ErrAway] because the server went away a
// moment ago, or with [ErrNone] because that one is only just back. It is for what another node
// has: who can do without does not wait.
func (s *Store) Await(ctx context.Context, ask func() error) error {
	err := ask()
	start := time.Now()
	if !s.hopes(err, start, start) {
		return err
	}
	defer s.patient.Add(-1)
	if s.patient.Add(1) > maxPatient {
		return err
	}
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	for s.hopes(err, start, time.Now()) {
		select {
		case <-ctx.Done():
			return err
		case <-s.done:
			return err
		case <-tick.C:
		}
		if s.away.Load() == 0 { // else a probe asks
			err = ask()
		}
	}
	return err
}

// hopes reports whether asking again, since start, may end another way than with err.
func (s *Store) hopes(err error, start, now time.Time) bool {
	switch {
	case now.Sub(start) >= s.patience:
		return false
	case errors.Is(err, ErrAway):
		return now.Sub(time.Unix(0, s.went.Load())) < s.patience
	case errors.Is(err, ErrNone):
		return now.Sub(time.Unix(0, s.came.Load())) < min(s.patience, DefaultPatience)/settling
	}
	return false
}

// OnReturn has f called each time that the server is back, which may have lost what it was given.
func (s *Store) OnReturn(f func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onReturn = append(s.onReturn, f)
}

// returned lets those of OnReturn be called once after each time that the server was away.
func (s *Store) returned() {
	if s.away.Load() != 0 || s.told.Load() == s.came.Load() {
		return
	}
	now := s.came.Load()
	if s.Later(0, func(ctx context.Context) {
		s.mu.Lock()
		all := s.onReturn
		s.mu.Unlock()
		for _, f := range all {
			f(ctx)
		}
	}) {
		s.told.Store(now)
	}
}
