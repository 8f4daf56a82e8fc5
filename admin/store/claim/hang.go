package claim

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Sessions are the sessions of a process with one server, which end when it hangs: one that is
// stopped, or whose machine is out of memory, confirms what is sent, so that neither the network
// nor the kernel finds anything, and a statement would wait for ever. No statement is bounded for
// that: how long one takes says nothing of a server that answers others. The zero value is ready,
// and goroutines may share it.
type Sessions struct {
	mu   sync.Mutex
	hung bool                  // guarded by mu
	open map[*session]struct{} // guarded by mu
}

// Keep makes the sessions of config end with the others.
func (s *Sessions) Keep(config *pgx.ConnConfig) {
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if s.hangs() {
			return nil, errSilent
		}
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return s.add(c), nil
	}
}

// Hang ends the sessions when the server hangs, and refuses new ones until it does not.
func (s *Sessions) Hang(hangs bool) {
	s.mu.Lock()
	s.hung = hangs
	var end []*session
	for c := range s.open {
		end = append(end, c)
	}
	s.mu.Unlock()
	if !hangs {
		return
	}
	for _, c := range end {
		c.cut.Store(true)
		_ = c.Close() // nobody waits for what it has to say
	}
}

func (s *Sessions) hangs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hung
}

func (s *Sessions) add(conn net.Conn) *session {
	c := &session{Conn: conn, of: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*session]struct{}{}
	}
	s.open[c] = struct{}{}
	return c
}

// session is a connection that says errSilent when it was ended.
type session struct {
	net.Conn

	of  *Sessions
	cut atomic.Bool
}

// Read implements [net.Conn].
func (c *session) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.ended(err)
}

// Write implements [net.Conn].
func (c *session) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.ended(err)
}

// Close implements [net.Conn].
func (c *session) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func (c *session) ended(err error) error {
	if err != nil && c.cut.Load() {
		return errSilent
	}
	return err
}
