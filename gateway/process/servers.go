package process

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// maxSessions of all commands of a node, and so the processes: each takes the memory
	// of a runtime, not of a connection.
	maxSessions = 64
	// maxCommandSessions of them may one command have, so that none pushes out others.
	maxCommandSessions = 32
	// sessionIdle is how long a process is kept that nobody calls.
	sessionIdle = 15 * time.Minute
	// sweepEvery is how often idle processes are looked for.
	sweepEvery = time.Minute
	// firstPause and maxPause are how long a command that ended before it answered is
	// not started again; it doubles each time.
	firstPause = time.Second
	// probeTimeout is how long server/discover may be without an answer: servers of older
	// revisions that were written by hand answer nothing that they do not know.
	probeTimeout = 10 * time.Second
	maxPause     = 5 * time.Minute
	// installTimeout bounds the installation of a command: a package and what it needs.
	installTimeout = 5 * time.Minute
	// stopTimeout is how long the node waits for its commands when it stops: a little
	// more than they are given to end.
	stopTimeout = 10 * time.Second
)

// Options configures Servers. Lookup is required.
type Options struct {
	// Lookup finds a command by its ID. It fails with [problem.NotFound].
	Lookup func(ctx context.Context, id string) (*Spec, error)
	// Environ is the environment of the node, of which commands get what they name.
	Environ []string
	// Keeper is the command of a program that calls [Keep] first. Default: this program.
	Keeper []string
	Logger *slog.Logger // default: discard
}

// Servers runs commands. It is safe for concurrent use. Close it when done.
type Servers struct {
	o    Options
	http *http.Server
	in   *listener

	patience time.Duration // probeTimeout; less in tests

	work sync.WaitGroup // goroutines of sessions

	mu       sync.Mutex
	closed   bool                // guarded by mu
	sessions map[string]*session // guarded by mu
	commands map[string]*command // guarded by mu
	sweeper  *time.Timer         // guarded by mu; nil: there is nothing to look for
}

// command is what is known of a command between its sessions.
type command struct {
	journal  record
	sessions int           // guarded by Servers.mu
	failed   int           // guarded by Servers.mu; starts in a row
	pause    time.Duration // guarded by Servers.mu
	until    time.Time     // guarded by Servers.mu; it is not started before
	spare    *session      // guarded by Servers.mu; started for whoever comes next; nil: there is none
	noSpare  bool          // guarded by Servers.mu; it does not wait to be spoken to
	why      string        // guarded by Servers.mu; of the last failure
}

// New makes Servers.
func New(o Options) (*Servers, error) {
	if o.Lookup == nil {
		return nil, problem.New(problem.InvalidArgument, "commands need something to look them up in")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Keeper == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
		o.Keeper = []string{self, keeperArg}
	}
	s := &Servers{o: o, in: newListener(), patience: probeTimeout, sessions: map[string]*session{}, commands: map[string]*command{}}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
		MaxHeaderBytes: maxHeader, ReadHeaderTimeout: time.Minute, // its only client is this node
	}
	s.work.Go(func() { _ = s.http.Serve(s.in) }) // it ends with Close
	return s, nil
}

// Dial connects to the front; addr is not looked at, the Host of a request names the
// command. It fits upstream.Options.
func (s *Servers) Dial(string, time.Duration) (net.Conn, error) {
	conn, err := s.in.dial()
	if err != nil {
		return nil, problem.New(problem.Unavailable, "this gateway is stopping").Fix("try again")
	}
	return conn, nil
}

// Close ends all commands and waits until none of their processes is left, for ten
// seconds at most; then the keepers go on by themselves.
func (s *Servers) Close() {
	s.mu.Lock()
	s.closed = true
	if s.sweeper != nil {
		s.sweeper.Stop()
	}
	all := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for _, one := range all {
		if one.running() { // else launch ends it
			one.child.end()
		}
	}
	_ = s.http.Close() // nothing is listened to
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.work.Wait()
	}()
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		s.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "commands have not ended in time; what keeps them goes on to end them")
	}
}

// Journal is what a command wrote for people lately, the oldest line first, and how many
// older lines are gone.
func (s *Servers) Journal(id string) ([]Line, uint64) {
	s.mu.Lock()
	c := s.commands[id]
	s.mu.Unlock()
	if c == nil {
		return nil, 0
	}
	return c.journal.read()
}

func (s *Servers) command(id string) *command {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.commands[id]
	if c == nil {
		c = &command{}
		s.commands[id] = c
	}
	return c
}

// begin starts a command for a new session. It fails with [problem.NotFound] when
// there is none of that ID, and with [problem.Unavailable].
func (s *Servers) begin(ctx context.Context, id string, credentials map[string]string) (*session, error) {
	spec, err := s.o.Lookup(ctx, id)
	if err != nil {
		return nil, err
	}
	o := s.order(spec, credentials)
	if ready := s.takeSpare(s.command(id), o); ready != nil {
		return ready, nil
	}
	one := newSession(id)
	evicted, err := s.reserve(one, s.command(id))
	if err != nil {
		return nil, err
	}
	if evicted != nil {
		evicted.child.end()
	}
	if err := s.launch(one, spec, credentials, o); err != nil {
		return nil, err
	}
	return one, nil
}

// launch starts the command of a session that has its place.
func (s *Servers) launch(one *session, spec *Spec, credentials map[string]string, o *order) error {
	secret := maps.Clone(credentials)
	if secret == nil {
		secret = map[string]string{}
	}
	for _, pair := range s.o.Environ { // what is named may be as secret
		name, value, _ := strings.Cut(pair, "=")
		if _, set := secret[name]; !set && slices.Contains(spec.Env, name) {
			secret[name] = value
		}
	}
	var err error
	j := newJournal(&one.command.journal, one.id[:6], secret)
	one.child, err = launch(s.o.Keeper, o, j, one.take)
	if err != nil {
		s.forget(one, "")
		return err
	}
	s.mu.Lock()
	closed := s.closed
	close(one.started)
	s.mu.Unlock()
	if closed {
		one.child.end()
	}
	j.add("", []byte("started"))
	s.work.Go(func() {
		<-one.child.done
		one.close()
		s.forget(one, one.child.reason)
		j.add("", []byte("ended: "+one.child.reason))
		s.o.Logger.LogAttrs(context.Background(), slog.LevelDebug, "the process of an MCP server ended", slog.String("command", one.commandID), slog.String("reason", one.child.reason))
	})
	return nil
}

// order is what a keeper learns of a command.
func (s *Servers) order(spec *Spec, credentials map[string]string) *order {
	o := &order{
		Argv: spec.Argv, Env: spec.Environ(s.o.Environ, credentials), Dir: spec.Dir,
		NetworkOff: spec.NetworkOff, Memory: spec.Memory, Processes: spec.Processes,
	}
	if o.Dir == "" {
		o.Dir = "/"
		for _, pair := range o.Env {
			if home, ok := strings.CutPrefix(pair, "HOME="); ok && filepath.IsAbs(home) {
				o.Dir = home
			}
		}
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Processes == 0 {
		o.Processes = DefaultProcesses
	}
	return o
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// reserve gives a session its place, and takes that of another which it returns.
func (s *Servers) reserve(one *session, c *command) (evicted *session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, problem.New(problem.Unavailable, "this gateway is stopping").Fix("try again")
	}
	if wait := time.Until(c.until); wait > 0 {
		return nil, problem.New(problem.Unavailable, "the command ended %s before it answered (%s) and is not started now", times(c.failed), c.why).
			Fix("look at what it wrote; it is started again after %d seconds", int(wait.Seconds())+1)
	}
	if own := c.sessions >= maxCommandSessions; own || len(s.sessions) >= maxSessions {
		if evicted = s.idlestLocked(one.commandID, own); evicted == nil {
			return nil, problem.New(problem.Unavailable, "too many processes of MCP servers are in use").Fix("try again in a few seconds, or let callers share one with --stateless")
		}
		s.removeLocked(evicted)
	}
	one.command = c
	c.sessions++
	s.sessions[one.id] = one
	s.watchLocked()
	return evicted, nil
}

// watchLocked lets idle processes be looked for.
func (s *Servers) watchLocked() {
	if s.sweeper == nil && !s.closed {
		s.sweeper = time.AfterFunc(sweepEvery, func() { s.sweep(time.Now()) })
	}
}

// idlestLocked is the session that was idle longest, of this command only when own.
func (s *Servers) idlestLocked(id string, own bool) *session {
	var out *session
	var since time.Time
	for _, one := range s.sessions {
		if own && one.commandID != id || !one.running() {
			continue
		}
		if at, idle := one.idle(); idle && (out == nil || at.Before(since)) {
			out, since = one, at
		}
	}
	return out
}

func (s *Servers) removeLocked(one *session) {
	if s.sessions[one.id] == one {
		delete(s.sessions, one.id)
		one.command.sessions--
		if one.command.spare == one {
			one.command.spare = nil
		}
	}
}

// forget removes a session whose command has ended, and lets the next start wait when
// that was before it answered.
func (s *Servers) forget(one *session, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.sessions[one.id]
	c := one.command
	waited := c.spare == one
	spoke, probed := one.answered()
	s.removeLocked(one)
	switch {
	case waited: // it ended by itself: whoever comes next starts it
		c.noSpare = true
	case spoke:
		c.failed, c.pause = 0, 0
	case known && !probed && !s.closed: // nobody ended it
		c.failed++
		c.pause = min(max(2*c.pause, firstPause), maxPause)
		c.until, c.why = time.Now().Add(c.pause), reason
	}
}

// drop ends a session.
func (s *Servers) drop(one *session) {
	s.mu.Lock()
	s.removeLocked(one)
	s.mu.Unlock()
	one.child.end()
}

func (s *Servers) find(id, command string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sessions[id]; one != nil && one.commandID == command {
		return one
	}
	return nil
}

// sweep ends the sessions that nobody called for too long.
func (s *Servers) sweep(now time.Time) {
	s.mu.Lock()
	var gone []*session
	for _, one := range s.sessions {
		limit := sessionIdle
		if one.command.spare == one {
			limit = spareIdle
		}
		if at, idle := one.idle(); idle && one.running() && now.Sub(at) >= limit {
			gone = append(gone, one)
			s.removeLocked(one)
		}
	}
	if s.sweeper = nil; len(s.sessions) > 0 {
		s.watchLocked()
	}
	s.mu.Unlock()
	for _, one := range gone {
		one.child.end()
	}
}

// listener accepts connections of this process.
type listener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *listener) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "stdio", Net: "unix"} }

// sessionID is unguessable: it is what separates callers.
func sessionID() string { return rand.Text() }
