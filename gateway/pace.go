package gateway

import (
	"slices"
	"sync"
	"time"
)

const (
	// paceEvery is how often a client is notified of changes of resources: a server may say
	// many times a second that one changed, and reading it once is enough.
	paceEvery = 200 * time.Millisecond
	// maxPaced bounds the resources that wait to be reported; of further ones the client
	// is told when they change again.
	maxPaced = 256
)

// pace reports each resource once in a while, however often it changes. Its zero value
// with send set is ready. It is safe for concurrent use.
type pace struct {
	send func(uri string)

	mu    sync.Mutex
	dirty []string    // guarded by mu; in the order of their changes
	last  time.Time   // guarded by mu
	timer *time.Timer // guarded by mu; nil: nothing waits
	ended bool        // guarded by mu
}

// tell says that a resource changed: now, or with the others that wait.
func (p *pace) tell(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || len(p.dirty) >= maxPaced || slices.Contains(p.dirty, uri) {
		return
	}
	p.dirty = append(p.dirty, uri)
	if p.timer == nil {
		p.timer = time.AfterFunc(time.Until(p.last.Add(paceEvery)), p.flush) // also what is due now: a client may read slowly
	}
}

func (p *pace) flush() {
	p.mu.Lock()
	dirty, ended := p.dirty, p.ended
	p.dirty, p.timer, p.last = nil, nil, time.Now()
	p.mu.Unlock()
	for _, uri := range dirty {
		if !ended {
			p.send(uri)
		}
	}
}

func (p *pace) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended = true; p.timer != nil {
		p.timer.Stop()
	}
}
