package sim

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/internal/filelock"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// node is an edge: a machine with a disk, on which processes come and go.
type node struct {
	w    *world
	name string
	zone string
	join secrets.Secret
	dir  string
	run  *process // nil: it is down; used by the scheduler

	// whole is when everything between this edge and its control plane was last
	// disturbed; what the scheduler knows of the storms, cuts, crashes and disks.
	whole time.Time
	// diskGood is since when its disk works.
	diskGood time.Time
	saved    position                // the newest release that it said to have on disk
	current  atomic.Pointer[process] // run, for everybody
	complete atomic.Bool             // it had a release and all credentials of it, on a disk that works

	machine  int       // how many stood here before
	made     uint64    // guarded by w.mu; calls of this machine
	revoking bool      // guarded by w.mu; the revocation of this machine was sent
	revoked  time.Time // guarded by w.mu; when it was acknowledged; zero: it was not
}

// position is where a release stands among those of its group.
type position struct{ epoch, revision uint64 }

func (p position) before(q position) bool {
	return p.epoch < q.epoch || p.epoch == q.epoch && p.revision < q.revision
}

func (p position) String() string { return fmt.Sprintf("%d.%d", p.epoch, p.revision) }

// process is one run of an edge, put together as cmd/sluice does.
type process struct {
	n        *node
	link     *link
	disk     *atomicfiletest.Disk
	remote   *edge.Remote
	meter    *metering.Meter
	spool    *metering.Spool
	holder   snapshot.Holder
	unlock   func() error
	cancel   context.CancelFunc
	work     sync.WaitGroup
	bad      atomic.Bool // the disk fails
	began    time.Time
	loaded   atomic.Bool
	vault    atomic.Pointer[edge.Vault]
	follower atomic.Pointer[edge.Follower]
	state    atomic.Pointer[edge.State]

	served position    // the newest release; used by the follower's goroutine
	calls  []time.Time // that were counted and may not be on disk; used by the scheduler
	keys   map[string]int
}

// start starts the edge on what is on its disk.
func (n *node) start() bool {
	p, err := n.open()
	n.w.must(err)
	n.run, n.whole = p, time.Now()
	n.current.Store(p)
	n.w.say(n.name, "starts")
	return true
}

func (n *node) open() (*process, error) {
	unlock, err := filelock.Exclusive(filepath.Join(n.dir, "lock"))
	if err != nil {
		return nil, err
	}
	p := &process{n: n, unlock: unlock, meter: metering.New(), began: time.Now(), keys: map[string]int{}}
	p.link = &link{w: n.w, n: n, gone: make(chan struct{})}
	if p.disk, err = atomicfiletest.Open(n.dir); err != nil {
		return nil, err
	}
	p.disk.Fault = func(string) error {
		if p.bad.Load() {
			return atomicfiletest.ErrInjected
		}
		return nil
	}
	p.remote, err = edge.OpenRemote(edge.RemoteOptions{
		ControlPlane: "https://" + controlHost, Client: &http.Client{Transport: p.link}, Dir: filepath.Join(n.dir, "edge"), Name: n.enrolled(),
		JoinToken: func() (secrets.Secret, error) { return n.join, nil }, System: p.disk, Jitter: n.w.jitter(n.name + " credentials"),
	})
	if err != nil {
		return nil, err
	}
	p.spool, err = metering.NewSpool(metering.SpoolOptions{
		Meter: p.meter, Dir: filepath.Join(n.dir, "usage"), Poster: p.remote, System: p.disk, Jitter: n.w.jitter(n.name + " usage"),
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.work.Go(func() { p.follow(ctx) })
	return p, nil
}

// follow enrols, then follows releases and credentials.
func (p *process) follow(ctx context.Context) {
	for {
		err := p.remote.Enrol(ctx)
		if err == nil {
			break
		}
		if retry.Sleep(ctx, time.Second+p.n.w.jitter(p.n.name+" enrol")(time.Second)) != nil {
			return
		}
	}
	vault := edge.OpenVault(p.remote)
	p.vault.Store(vault)
	f, err := edge.New(edge.Options{
		Source: p.remote, Dir: filepath.Join(p.n.dir, "edge"), Group: p.remote.Group(), Keys: p.remote.Trusted(), System: p.disk,
		Jitter: p.n.w.jitter(p.n.name + " release"), Prepare: vault.Prepare,
		Apply: func(s *edge.State) error {
			if err := p.apply(s); err != nil {
				return err
			}
			vault.Serve(s)
			return nil
		},
	})
	if err != nil {
		p.n.w.violated("an edge starts on what it wrote", "%s: %v", p.n.name, err)
		return
	}
	p.follower.Store(f)
	if err := f.Load(ctx); err != nil {
		p.n.w.say(p.n.name, "load: %v", err != nil)
	}
	p.loaded.Store(true)
	r := &edge.Reporter{Remote: p.remote, Follower: f, Vault: vault, Usage: p.spool.Fault, Version: "sim"}
	p.work.Go(func() { _ = f.Run(ctx) })
	p.work.Go(func() { _ = vault.Run(ctx) })
	p.work.Go(func() { _ = p.spool.Run(ctx) })
	p.work.Go(func() { _ = r.Run(ctx) })
}

// apply makes a verified release the snapshot that calls are served from, and checks
// that it may be.
func (p *process) apply(s *edge.State) error {
	next, err := s.Compile(p.holder.Load(), p.meter, nil, nil)
	if err != nil {
		return err
	}
	w, at := p.n.w, position{s.Release.Epoch, s.Release.Revision}
	select {
	case <-p.link.gone:
		return nil // nobody is served by it any more
	default:
	}
	if at.before(p.served) {
		w.violated("no release older than one served before", "%s serves %s after %s", p.n.name, at, p.served)
	}
	w.mu.Lock()
	saved, fork := p.n.saved, w.model.release(s.Release.Group, at, s.Digest)
	hidden := p.n.mayNotKnow(s.Release.Issued)
	w.mu.Unlock()
	if hidden {
		w.violated("a revoked edge learns nothing", "%s serves %s, made after it was revoked", p.n.name, at)
	}
	if p.served == (position{}) && at.before(saved) {
		w.violated("no release older than one served before", "%s begins with %s and had %s on disk", p.n.name, at, saved)
	}
	p.served = at
	if fork {
		w.violated("one release of a number", "%s serves another %s of group %s than was served before", p.n.name, at, s.Release.Group)
	}
	for _, t := range s.Toolsets {
		if !slices.Contains(w.slugsIn(p.n.zone), t.Slug) {
			w.violated("no toolset of other edges", "%s serves %s", p.n.name, t.Slug)
		}
	}
	p.holder.Store(next)
	p.state.Store(s)
	w.say(p.n.name, "serves %s", at)
	return nil
}

// planeOf is the control plane that the edge's messages go to.
func (n *node) planeOf() *plane {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	if n.w.second != nil && n.name == "edge1" {
		return n.w.second
	}
	return n.w.plane
}

// enrolled is the name that this machine joins with.
func (n *node) enrolled() string { return fmt.Sprintf("%s-%d", n.name, n.machine) }

// isRevoked reports whether the revocation of this machine was acknowledged.
func (n *node) isRevoked() bool {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	return !n.revoked.IsZero()
}

// mayNotKnow reports whether what was made at a time is hidden from this machine, which was
// revoked before. A registry that is slow may still be reading for what was asked before that.
// w.mu is held.
func (n *node) mayNotKnow(made time.Time) bool {
	return !n.revoked.IsZero() && made.Sub(n.revoked) > 5*time.Second
}

// answered looks at an answer of the control plane before it is on its way, to a machine
// that was revoked before it asked, or not.
func (n *node) answered(revoked bool, r *http.Request, resp *http.Response) {
	if revoked && resp.StatusCode/100 == 2 && r.URL.Path != registry.EdgeEnrolPath {
		n.w.violated("a revoked edge learns nothing", "%s %s of %s is answered with %d", r.Method, r.URL.Path, n.enrolled(), resp.StatusCode)
	}
}

// replace puts another machine in the place of this one, whose disk goes with it.
func (n *node) replace() {
	if n.run != nil {
		n.crash(false)
	}
	n.w.mu.Lock()
	n.w.lost += n.made // what it had not posted nobody will
	n.made, n.revoking, n.revoked = 0, false, time.Time{}
	n.saved = position{}
	n.w.mu.Unlock()
	n.complete.Store(false)
	n.dir = n.w.newDir()
	n.machine++
	n.w.say(n.name, "is another machine")
	n.start()
}

// stop ends the process as a signal does: what it counted is on disk, and posted if that
// is quick.
func (n *node) stop() {
	p := n.run
	p.cancel()
	p.work.Wait()
	if err := p.spool.Flush(); err != nil {
		n.loses(p, time.Time{})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	_ = p.spool.Post(ctx) // it is on disk
	cancel()
	close(p.link.gone)
	n.w.must(p.unlock())
	n.run, n.whole = nil, time.Now()
	n.w.say(n.name, "stopped")
}

// crash ends the process as a kill does, or a power cut. What goes on in it happens on a
// disk that nobody sees any more.
func (n *node) crash(power bool) {
	p := n.run
	from := n.dir
	if power {
		crash := atomicfiletest.NamesLost
		if n.w.rng.IntN(2) == 0 {
			crash = atomicfiletest.NamesKept
		}
		n.dir = n.w.newDir()
		n.w.must(p.disk.PowerCut(n.dir, crash))
	} else {
		n.dir = n.w.copyOf(from)
	}
	close(p.link.gone)
	p.cancel()
	n.w.say(n.name, "crashes, power %t", power)
	n.loses(p, p.flushed())
	p.work.Wait()
	n.w.must(p.unlock())
	n.run, n.whole = nil, time.Now()
	_ = os.RemoveAll(from) // room for others
}

// flushed is the time before which all that was counted is on disk.
func (p *process) flushed() time.Time {
	at := time.Now().Truncate(metering.FlushEvery)
	if !p.n.diskGood.Before(at) || !p.began.Before(at) || !p.loaded.Load() {
		return time.Time{}
	}
	return at
}

// loses notes that calls since a time may be counted nowhere.
func (n *node) loses(p *process, since time.Time) {
	lost := uint64(0)
	for _, at := range p.calls {
		if !at.Before(since) {
			lost++
		}
	}
	n.w.mu.Lock()
	n.w.lost += lost
	n.w.mu.Unlock()
}

// call is the call of an agent, from the URL to where the request would be sent: the
// steps of the gateway that depend on what was published.
func (n *node) call(slug, name string, tok *token) {
	p := n.run
	snap := p.holder.Load()
	if snap == nil {
		return
	}
	w := n.w
	ts := snap.Slug(slug)
	if ts == nil {
		if slices.Contains(w.slugsIn(n.zone), slug) {
			w.violated("no acknowledged write lost", "%s does not serve %s", n.name, slug)
		}
		return
	}
	pass, refusal := ts.Access.Admit(context.Background(), []byte("Bearer "+tok.text), 0, "", "")
	outcome := "answered"
	if refusal != nil {
		outcome = "refused"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		w.lines = append(w.lines, fmt.Sprintf("%11.6f %-6s call %s/%s: %s", time.Since(w.began).Seconds(), n.name, slug, name, outcome))
	}()
	broken := func(promise, format string, args ...any) {
		w.broken = append(w.broken, promise+": "+fmt.Sprintf(format, args...))
		outcome += ", BROKEN " + w.broken[len(w.broken)-1]
	}
	if refusal != nil {
		if tok.made && !tok.revoking && n.caughtUp(tok.since) {
			broken("an acknowledged token opens its toolset", "%s refuses a token of %s made %s ago", n.name, slug, time.Since(tok.since))
		}
		return
	}
	defer pass.Leave()
	if tok.revoked && n.caughtUp(tok.since) {
		broken("revoked means refused", "%s admits a token of %s that was revoked %s ago", n.name, slug, time.Since(tok.since))
	}
	tool, err := ts.Tool([]byte(name))
	if err != nil || tool == nil {
		outcome = "no such tool"
		return
	}
	m := w.model.toolset(slug)
	if why := m.offers(ts, name); why != "" {
		broken("no tool that the release does not have", "%s answers %s: %s", n.name, name, why)
	}
	ready, err := tool.Load()
	if err != nil {
		broken("every tool of a release can be called", "%s: %v", n.name, err)
		return
	}
	call := metering.Call{Outcome: metering.OK, Credential: metering.Accepted, Duration: time.Millisecond, Revision: ts.Revision}
	for _, id := range credentialsOf(p.state.Load(), slug) {
		m.credential = id
		c, err := p.vault.Load().Credential(id)
		switch {
		case problem.Is(err, problem.NotFound):
			broken("an edge never loses a credential", "%s has no credential of %s, whose release it serves: %v", n.name, slug, p.vault.Load().Fault())
			call.Outcome, call.Credential = metering.Denied, metering.Missing
		case err != nil:
			broken("an edge never loses a credential", "%s: %v", n.name, err)
		default:
			generation := -1
			if _, err := fmt.Sscanf(strings.TrimPrefix(c.Value.Reveal(), "key-of-"+slug+"-"), "%d", &generation); err != nil || !strings.HasPrefix(c.Value.Reveal(), "key-of-"+slug+"-") {
				broken("no credential of another toolset", "%s sends %q for %s", n.name, c.Value.Reveal(), slug)
			}
			if generation < p.keys[slug] {
				broken("credentials do not go back", "%s sends key %d of %s after %d", n.name, generation, slug, p.keys[slug])
			}
			p.keys[slug] = generation
			if generation == m.tried && n.mayNotKnow(m.sent) {
				broken("a revoked edge learns nothing", "%s sends key %d of %s, which was set %s after it was revoked", n.name, generation, slug, m.sent.Sub(n.revoked))
			}
			if generation > m.tried || generation < m.key && n.caughtUp(m.rotated) {
				broken("a rotated credential is replaced", "%s sends key %d of %s, it has %d since %s", n.name, generation, slug, m.key, time.Since(m.rotated))
			}
		}
	}
	ready.Meter.Call(&call)
	w.called++
	n.made++
	p.calls = append(p.calls, time.Now())
}

// caughtUp reports whether the edge must know what was acknowledged at a time. w.mu is held.
func (n *node) caughtUp(since time.Time) bool {
	whole := n.whole
	for _, t := range []time.Time{n.w.quiet, n.diskGood} {
		if t.After(whole) {
			whole = t
		}
	}
	if whole.IsZero() || n.w.plane == nil || n.revoking {
		return false
	}
	if since.Sub(whole) >= settleTime {
		return time.Since(since) >= promptly
	}
	later := since
	if whole.After(later) {
		later = whole
	}
	return time.Since(later) >= settleTime
}

// credentialsOf lists the credentials of a toolset in a release.
func credentialsOf(s *edge.State, slug string) (ids []string) {
	for _, t := range s.Toolsets {
		if t.Slug != slug {
			continue
		}
		for i := range t.Bundle.Connectors {
			for _, a := range t.Bundle.Connectors[i].Auth.Each() {
				ids = append(ids, a.CredentialID)
			}
		}
	}
	return ids
}
