package sim

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/filelock"
)

// step is one event of the scheduler.
func (w *world) step() {
	type choice struct {
		weight int
		when   bool
		do     func()
	}
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	p := w.plan
	all := []choice{
		{6, true, func() { w.calls(n) }},
		{4, true, w.deploy},
		{2, true, w.rotate},
		{1, true, w.makeToken},
		{2, true, w.revokeToken},
		{2, p.storms, w.weather},
		{2, p.storms, func() { w.cut(n) }},
		{2, p.crashes, func() { w.upsetPlane() }},
		{3, p.crashes, func() { w.upsetNode(n) }},
		{2, p.disks, func() { w.disk(n) }},
		{2, p.slow, w.slowRegistry},
		{2, p.backups, w.backup},
		{2, p.outsider, func() { w.outsider(n) }},
		{2, p.revokes, func() { w.revokeEdge(n) }},
	}
	sum := 0
	for _, c := range all {
		if c.when {
			sum += c.weight
		}
	}
	x := w.rng.IntN(sum)
	for _, c := range all {
		if !c.when {
			continue
		}
		if x -= c.weight; x < 0 {
			c.do()
			synctest.Wait()
			w.calls(n)
			w.check()
			return
		}
	}
}

// calls makes calls of agents at an edge.
func (w *world) calls(n *node) {
	if n.run == nil {
		return
	}
	for range 1 + w.rng.IntN(4) {
		m := w.model.toolsets[w.rng.IntN(len(w.model.toolsets))]
		name := append([]string{"absent"}, tools...)[w.rng.IntN(len(tools)+1)]
		n.call(m.slug, name, m.tokens[w.rng.IntN(len(m.tokens))])
	}
}

// change runs an operator's change of the control plane that has the address, which may
// be killed meanwhile. It is acknowledged when the answer arrived.
func (w *world) change(what string, do func(p *plane) (int, error), acknowledged func()) {
	p := w.plane
	if w.second != nil && w.rng.IntN(2) == 0 {
		p = w.second
	}
	w.mu.Lock()
	busy := w.busy
	w.mu.Unlock()
	if p == nil || busy {
		return
	}
	w.setBusy(true)
	p.work.Go(func() {
		defer w.setBusy(false)
		status, err := do(p)
		select {
		case <-p.gone:
			w.say("change", "%s: no answer", what)
			return
		default:
		}
		w.say("change", "%s: %d", what, status)
		if err != nil {
			if status < 500 || !p.bad.Load() {
				w.violated("the control plane takes changes", "%s: %v", what, err)
			}
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		acknowledged()
	})
}

func (w *world) setBusy(b bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = b
}

func (w *world) anyToolset() *toolset { return w.model.toolsets[w.rng.IntN(len(w.model.toolsets))] }

// deploy enables other tools of a toolset and makes them live.
func (w *world) deploy() {
	m := w.anyToolset()
	set := slices.DeleteFunc(slices.Clone(tools), func(string) bool { return w.rng.IntN(2) == 0 })
	if len(set) == 0 {
		set = tools[:1]
	}
	var live view.Toolset
	w.mu.Lock()
	m.tries = append(m.tries, set)
	w.mu.Unlock()
	w.change(fmt.Sprintf("deploy %s %v", m.slug, set), func(p *plane) (int, error) {
		if status, err := p.api("POST", "/v1/toolsets/"+m.id+"/tools/batch-update", map[string]any{"enable": set}, nil); err != nil {
			return status, err
		}
		return p.api("POST", "/v1/toolsets/"+m.id+"/deploy", map[string]any{"reason": "the operator wants it"}, &live)
	}, func() {
		if known, ok := m.sets[live.Revision]; live.Revision < m.revision || ok && !slices.Equal(known, set) {
			w.broken = append(w.broken, fmt.Sprintf("no acknowledged write lost: %s has revision %d after %d", m.slug, live.Revision, m.revision))
		}
		m.revision, m.sets[live.Revision] = live.Revision, set
	})
}

// rotate gives a toolset another key.
func (w *world) rotate() {
	m := w.anyToolset()
	w.mu.Lock()
	next := m.tried + 1
	w.mu.Unlock()
	w.change(fmt.Sprintf("rotate %s %d", m.slug, next), func(p *plane) (int, error) {
		w.mu.Lock()
		m.tried, m.sent = next, time.Now()
		w.mu.Unlock()
		return p.api("PUT", "/v1/toolsets/"+m.id+"/authentication", keyOf(m.slug, next), nil)
	}, func() { m.key, m.rotated = next, time.Now() })
}

func (w *world) makeToken() {
	m := w.anyToolset()
	var made access.CreatedAccessToken
	w.change("token "+m.slug, func(p *plane) (int, error) {
		return p.api("POST", "/v1/toolsets/"+m.id+"/access-tokens", map[string]any{"name": fmt.Sprint("at ", time.Now().UnixNano())}, &made)
	}, func() {
		m.tokens = append(m.tokens, &token{id: made.ID, text: made.Token, made: true, since: time.Now()})
	})
}

func (w *world) revokeToken() {
	m := w.anyToolset()
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.rng.IntN(len(m.tokens))
	t := m.tokens[i]
	if t.revoking {
		return
	}
	w.mu.Unlock()
	w.change(fmt.Sprintf("revoke %s %d", m.slug, i), func(p *plane) (int, error) {
		w.mu.Lock()
		t.revoking = true
		w.mu.Unlock()
		return p.api("DELETE", "/v1/toolsets/"+m.id+"/access-tokens/"+t.id, nil, nil)
	}, func() { t.revoked, t.since = true, time.Now() })
	w.mu.Lock()
}

// revokeEdge revokes an edge, or puts another machine in the place of one that was.
func (w *world) revokeEdge(n *node) {
	w.mu.Lock()
	revoking := n.revoking
	w.mu.Unlock()
	if revoking {
		n.replace()
		return
	}
	if n.run == nil || !n.run.loaded.Load() {
		return
	}
	name := n.enrolled()
	w.change("revoke "+name, func(p *plane) (int, error) {
		w.mu.Lock()
		n.revoking = true
		w.mu.Unlock()
		return p.api("DELETE", "/v1/edges/"+name, nil, nil)
	}, func() {
		if n.enrolled() != name {
			return // another machine came first
		}
		n.revoked = time.Now()
	})
	// Something is new while what it asked before is held.
	w.pause(6 * time.Second)
	w.rotate()
	w.pause(time.Second)
	w.deploy()
	w.pause(time.Second)
	w.calls(n)
}

// weather turns the disturbance of messages on or off.
func (w *world) weather() {
	on := !w.storm()
	w.setStorm(on)
	w.quiet = time.Now()
	if on {
		w.quiet = time.Now().Add(1000 * time.Hour)
	}
	w.say("world", "storm %t", on)
}

func (w *world) cut(n *node) {
	if n.run == nil {
		return
	}
	d := time.Duration(w.rng.Int64N(int64(90 * time.Second)))
	n.run.link.cutFor(d)
	n.whole = time.Now().Add(d)
	w.say(n.name, "cut off for %s", d)
}

func (w *world) upsetNode(n *node) {
	switch x := w.rng.IntN(4); {
	case n.run == nil:
		n.start()
	case x == 0:
		n.stop()
	default:
		n.crash(w.plan.power && x < 3)
		if w.rng.IntN(2) == 0 {
			n.start()
		}
	}
}

// startPlane starts the control plane on a directory and looks whether it has what was
// acknowledged.
func (w *world) startPlane(dir string) bool {
	p, err := openPlane(w, dir)
	if err != nil {
		w.violated("a control plane starts on what it wrote", "%v", err)
		return false
	}
	p.token = w.model.operator
	w.setPlane(p)
	w.planes = append(w.planes, p)
	w.say("plane", "starts")
	w.kept(p)
	return true
}

func (w *world) setPlane(p *plane) {
	w.mu.Lock()
	w.plane = p
	w.mu.Unlock()
	for _, n := range w.nodes {
		n.whole = later(n.whole, time.Now())
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// upsetPlane stops, kills or starts the control plane.
func (w *world) upsetPlane() {
	p := w.plane
	if p == nil {
		w.startPlane(w.nextDir)
		return
	}
	x := w.rng.IntN(4)
	power := w.plan.power && x > 1
	w.nextDir = p.dir
	if x > 0 {
		w.nextDir = p.left(power)
	}
	w.say("plane", "ends: stop %t, power %t", x == 0, power)
	w.setPlane(nil)
	p.end()
	if x == 0 {
		p.close()
	}
	if w.rng.IntN(2) == 0 {
		w.startPlane(w.nextDir)
	}
}

// disk makes a disk fail, or work again.
func (w *world) disk(n *node) {
	if w.rng.IntN(3) == 0 {
		if p := w.plane; p != nil {
			w.planeDisk(p, !p.bad.Load())
		}
		return
	}
	if n.run != nil {
		n.setDisk(!n.run.bad.Load())
	}
}

func (w *world) planeDisk(p *plane, bad bool) {
	p.bad.Store(bad)
	w.say("plane", "disk fails %t", bad)
	for _, n := range w.nodes {
		n.whole = later(n.whole, time.Now())
		if bad {
			n.whole = time.Now().Add(1000 * time.Hour)
		}
	}
}

func (n *node) setDisk(bad bool) {
	n.run.bad.Store(bad)
	n.w.say(n.name, "disk fails %t", bad)
	n.diskGood = time.Now()
	n.complete.Store(false)
	if bad {
		n.diskGood = time.Now().Add(1000 * time.Hour)
	}
}

func (w *world) slowRegistry() {
	most := time.Duration(0)
	if w.slow.Load() == 0 {
		most = time.Duration(1+w.rng.IntN(4000)) * time.Millisecond
	}
	w.slow.Store(int64(most))
	w.say("plane", "registry takes up to %s", most)
	for _, n := range w.nodes {
		n.whole = later(n.whole, time.Now())
		if most > 0 {
			n.whole = time.Now().Add(1000 * time.Hour)
		}
	}
}

// backup takes a backup of the control plane as it runs, and restores it on trial.
func (w *world) backup() {
	p := w.plane
	if p == nil || w.backups > 1 {
		return
	}
	w.backups++
	id, err := age.GenerateX25519Identity()
	w.must(err)
	p.work.Go(func() {
		var file bytes.Buffer
		bad := p.bad.Load()
		_, err := backup.Write(p.life, &file, backup.Options{
			Store: p.st, Dir: p.dir, Recipients: []age.Recipient{id.Recipient()}, Registry: p.backend, Program: "sim", Now: time.Now(),
		})
		w.say("backup", "%t", err == nil)
		if err != nil {
			if p.life.Err() == nil && !bad && !p.bad.Load() {
				w.violated("a control plane that runs can be backed up", "%v", err)
			}
			return
		}
		sum, err := backup.Verify(p.life, &file, backup.VerifyOptions{Temp: w.root, Identities: []age.Identity{id}})
		switch {
		case p.life.Err() != nil:
		case err != nil:
			w.violated("a backup restores", "%v", err)
		case sum.Absent > 0:
			w.violated("a backup has what it names", "%d contents are missing", sum.Absent)
		}
	})
	// Something is published while it reads a registry that takes a moment.
	before := w.slow.Swap(int64(300 * time.Millisecond))
	for range 5 {
		w.deploy()
		w.pause(time.Second)
	}
	w.slow.Store(before)
	for _, n := range w.nodes {
		n.whole = later(n.whole, time.Now())
	}
}

// outsider starts a second process on a directory that is in use, which must be refused.
func (w *world) outsider(n *node) {
	if w.rng.IntN(2) == 0 && n.run != nil {
		p, err := n.open()
		if errors.Is(err, filelock.ErrLocked) {
			w.say(n.name, "second process refused")
			return
		}
		w.must(err)
		w.say(n.name, "a second process runs")
		w.strays = append(w.strays, p)
		return
	}
	if w.plane == nil || w.second != nil {
		return
	}
	p, err := openPlane(w, w.plane.dir)
	if errors.Is(err, filelock.ErrLocked) {
		w.say("plane", "second process refused")
		return
	}
	w.must(err)
	p.token = w.model.operator
	w.planes = append(w.planes, p)
	w.say("plane", "a second process runs")
	w.mu.Lock()
	w.second = p
	w.mu.Unlock()
}
