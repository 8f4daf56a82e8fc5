package sim

import (
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/admin/toolset/access"
)

// check looks at every edge, after each event.
func (w *world) check() {
	for _, n := range w.nodes {
		p := n.run
		if p == nil || !p.loaded.Load() {
			continue
		}
		s, v := p.follower.Load().Status(), p.vault.Load()
		missing := v.Missing()
		if s.Saved != "" && s.Saved == s.Release {
			w.mu.Lock()
			n.saved = position{s.Epoch, s.Revision}
			w.mu.Unlock()
		}
		switch {
		case s.Ready && missing == nil && n.diskGood.Before(time.Now()) && s.Saved == s.Release:
			n.complete.Store(true)
		case n.complete.Load() && !s.Ready:
			w.violated("an edge serves the last good release", "%s has none: %v", n.name, s.Cache)
		case missing != nil:
			n.lacks(missing)
		}
		for _, m := range w.model.toolsets {
			if m.zone == "" || m.zone == n.zone || m.credential == "" {
				continue
			}
			if _, err := v.Credential(m.credential); err == nil {
				w.violated("no credential of another toolset", "%s has that of %s", n.name, m.slug)
			}
		}
	}
}

// lacks looks whether an edge may lack a credential that its release uses.
func (n *node) lacks(err error) {
	if n.complete.Load() {
		n.w.violated("an edge never loses a credential", "%s: %v", n.name, err)
	}
}

// kept compares what a control plane has with what was acknowledged, and takes over what
// became of changes whose answer did not arrive.
func (w *world) kept(p *plane) {
	for _, m := range w.model.toolsets {
		var have view.Toolset
		if _, err := p.api("GET", "/v1/toolsets/"+m.id, nil, &have); err != nil {
			w.violated("no acknowledged write lost", "%s: %v", m.slug, err)
			return
		}
		var list admin.List[access.AccessToken]
		if _, err := p.api("GET", "/v1/toolsets/"+m.id+"/access-tokens", nil, &list); err != nil {
			w.violated("no acknowledged write lost", "tokens of %s: %v", m.slug, err)
			return
		}
		if have.Revision < m.revision {
			w.violated("no acknowledged write lost", "%s is at revision %d, %d was acknowledged", m.slug, have.Revision, m.revision)
		}
		for _, t := range m.tokens {
			i := slices.IndexFunc(list.Items, func(a access.AccessToken) bool { return a.ID == t.id })
			switch {
			case i < 0:
				w.violated("no acknowledged write lost", "a token of %s is gone", m.slug)
			case t.revoked && list.Items[i].Status == "valid":
				w.violated("no acknowledged write lost", "a token of %s is valid again", m.slug)
			case t.revoking && !t.revoked && list.Items[i].Status != "valid":
				t.revoked, t.since = true, time.Now()
			}
		}
	}
	for _, n := range w.nodes {
		if !n.isRevoked() {
			continue
		}
		var have fleet.Edge
		if _, err := p.api("GET", "/v1/edges/"+n.enrolled(), nil, &have); err != nil || have.State != "revoked" {
			w.violated("no acknowledged write lost", "%s was revoked, and is %s: %v", n.enrolled(), have.State, err)
		}
	}
}

// calmDown ends every disturbance.
func (w *world) calmDown() {
	w.say("world", "calms down")
	w.setStorm(false)
	w.quiet = time.Now()
	w.slow.Store(0)
	if w.plane != nil {
		w.planeDisk(w.plane, false)
	} else if w.nextDir != "" && !w.startPlane(w.nextDir) {
		return
	}
	for _, n := range w.nodes {
		w.mu.Lock()
		revoking := n.revoking
		w.mu.Unlock()
		switch {
		case revoking:
			n.replace()
		case n.run == nil:
			n.start()
		}
		n.setDisk(false)
		n.run.link.cutFor(0)
		n.whole = time.Now()
	}
	for range 3 {
		w.pause(settleTime / 3)
	}
}

// settled looks whether everything is as it should when nothing was disturbed for a while.
func (w *world) settled() {
	if w.isBusy() {
		w.violated("every change is answered", "one is not")
		return
	}
	w.kept(w.plane)
	for _, n := range w.nodes {
		p := n.run
		if !p.loaded.Load() {
			w.violated("every edge converges", "%s is not enrolled", n.name)
			return
		}
		s, v := p.follower.Load().Status(), p.vault.Load()
		newest := w.plane.pub.Newest(p.remote.Group())
		switch {
		case newest == nil || s.Release != newest.Digest():
			w.violated("every edge converges", "%s serves %d.%d, the newest is %v: %v", n.name, s.Epoch, s.Revision, newest.Release().Revision, s.Following)
		case s.Saved != s.Release || s.Following != nil || s.Cache != nil:
			w.violated("every edge converges", "%s: saved %t, following %v, cache %v", n.name, s.Saved == s.Release, s.Following, s.Cache)
		case v.Missing() != nil || v.Fault() != nil || p.remote.Fault() != nil || p.spool.Fault() != nil:
			w.violated("every edge converges", "%s: %v, %v, %v, %v", n.name, v.Missing(), v.Fault(), p.remote.Fault(), p.spool.Fault())
		}
		for _, t := range p.state.Load().Toolsets {
			m := w.model.toolset(t.Slug)
			if t.Revision < m.revision {
				w.violated("no acknowledged write lost", "%s serves revision %d of %s, %d was acknowledged", n.name, t.Revision, m.slug, m.revision)
			}
		}
		for _, m := range w.model.toolsets { // everything that an agent may try
			for _, name := range append([]string{"absent"}, tools...) {
				for _, t := range m.tokens {
					n.call(m.slug, name, t)
				}
			}
		}
	}
	w.check()
	for _, n := range w.nodes {
		n.stop()
	}
	w.counted()
}

func (w *world) isBusy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy
}

// counted compares the usage that the control plane has with the calls that were made.
func (w *world) counted() {
	var report usage.UsageReportOutput
	if _, err := w.plane.api("GET", "/v1/usage?range=24h", nil, &report); err != nil {
		w.violated("usage is exact", "%v", err)
		return
	}
	w.mu.Lock()
	called, lost := w.called, w.lost
	w.mu.Unlock()
	w.say("world", "%d calls, %d may be lost, %d counted", called, lost, report.Totals.Calls)
	if got := report.Totals.Calls; got > called || got+lost < called {
		w.violated("usage is exact", "%d calls are counted of %d, of which crashes may have lost %d", got, called, lost)
	}
}

// end ends every process.
func (w *world) end() {
	for _, n := range w.nodes {
		if n.run != nil {
			n.crash(false)
		}
	}
	for _, p := range w.strays {
		close(p.link.gone)
		p.cancel()
		p.work.Wait()
	}
	for _, p := range w.planes {
		select {
		case <-p.gone:
		default:
			p.end()
		}
		p.close()
	}
}
