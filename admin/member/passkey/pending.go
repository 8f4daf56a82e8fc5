package passkey

import (
	"sync"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
)

// maxPending is how many challenges wait for their answers, 4 MB at the most. Whoever asks
// for more makes the oldest ones worthless, so strangers fill no memory; package session
// bounds how fast they ask.
const maxPending = 10_000

// pending keeps challenges until they are answered, by who may answer them. One control plane
// leads and serves all logins, so memory is enough: what waits when it ends is begun again.
type pending struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]waiting // guarded by mu
}

type waiting struct {
	data  webauthn.SessionData
	until time.Time
}

// put keeps a challenge for who may answer it; an earlier one of the same is worth nothing.
func (p *pending) put(who string, data *webauthn.SessionData) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if _, again := p.all[who]; !again && len(p.all) >= maxPending {
		p.makeRoomLocked(now)
	}
	p.all[who] = waiting{data: *data, until: now.Add(Life)}
}

// makeRoomLocked removes what has expired or, when that is nothing, the oldest.
func (p *pending) makeRoomLocked(now time.Time) {
	oldest, at := "", now.Add(2*Life)
	for who, w := range p.all {
		if !now.Before(w.until) {
			delete(p.all, who)
		} else if w.until.Before(at) {
			oldest, at = who, w.until
		}
	}
	if len(p.all) >= maxPending {
		delete(p.all, oldest)
	}
}

// take returns the challenge of who answers, once.
func (p *pending) take(who string) (*webauthn.SessionData, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.all[who]
	delete(p.all, who)
	return &w.data, ok && p.now().Before(w.until)
}
