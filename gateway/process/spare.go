package process

import (
	"context"
	"reflect"
	"time"
)

const (
	// spareBrief is how short a session is that was there for one call of a caller whom
	// nobody knows: another such call is likely.
	spareBrief = 30 * time.Second
	// spareIdle is how long a process that nobody has spoken to waits for the next of them.
	spareIdle = time.Minute
)

// keepSpare starts the command of a brief session that ended, with the same environment, so
// that the next caller does not wait for that. What a session has is a process that nobody
// spoke to before in any case. Nothing makes room for it.
func (s *Servers) keepSpare(ctx context.Context, ended *session, credentials map[string]string) {
	if spoke, _ := ended.answered(); !spoke || time.Since(ended.began) > spareBrief {
		return
	}
	spec, err := s.o.Lookup(ctx, ended.commandID)
	if err != nil {
		return // it is gone
	}
	o := s.order(spec, credentials)
	one := newSession(ended.commandID)
	one.given = o
	if s.reserveSpare(one, ended.command) {
		_ = s.launch(one, spec, credentials, o) // the next caller starts it, and is told
	}
}

func (s *Servers) reserveSpare(one *session, c *command) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || c.spare != nil || c.noSpare || time.Now().Before(c.until) || c.sessions >= maxCommandSessions || len(s.sessions) >= maxSessions {
		return false
	}
	one.command, c.spare = c, one
	c.sessions++
	s.sessions[one.id] = one
	s.watchLocked()
	return true
}

// takeSpare is the process that waits for who would be given the order; nil: there is none.
// One that was given another is ended.
func (s *Servers) takeSpare(c *command, o *order) *session {
	s.mu.Lock()
	one := c.spare
	if one == nil || !one.running() || one.child.ended() {
		s.mu.Unlock()
		return nil
	}
	same := reflect.DeepEqual(one.given, o)
	if same {
		c.spare, one.given, one.began = nil, nil, time.Now()
	} else {
		s.removeLocked(one)
	}
	s.mu.Unlock()
	if !same {
		one.child.end()
		return nil
	}
	one.mu.Lock()
	one.lastUsed = one.began
	one.mu.Unlock()
	return one
}
