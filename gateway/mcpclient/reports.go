package mcpclient

import (
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// reports are the calls of a session that want to know how far they are. Some SDKs send
// progress on the stream of the session instead of that of the call, or on either; the token
// says to which call it belongs.
type reports struct {
	mu    sync.Mutex
	calls map[uint64]*reported // guarded by mu; by token, which is the id of the request
}

// reported is one of them. Its fields are guarded by the mutex of all.
type reported struct {
	notify   func(method string, params jsonscan.Value)
	target   *Target
	deadline time.Time // that was reached by reports; zero: there were none
	flood    flood
}

// begin lets a call hear of its progress until end, which returns when it ends at the latest
// because of what it heard; the zero time: it heard nothing. also is another token for it; 0: none.
func (r *reports) begin(id, also uint64, notify func(string, jsonscan.Value), t *Target) (end func() time.Time) {
	one := &reported{notify: notify, target: t}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[uint64]*reported{}
	}
	r.calls[id] = one
	if also != 0 {
		r.calls[also] = one
	}
	return func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, id)
		if r.calls[also] == one {
			delete(r.calls, also)
		}
		return one.deadline
	}
}

// tell hands a notification of the session's stream to the call that it is about, under the
// lock: the call must not end meanwhile. It reports whether there is one.
func (r *reports) tell(method string, params jsonscan.Value) bool {
	if method != notificationProgress {
		return false
	}
	id, ok := params.Get("progressToken").Whole()
	if !ok {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.calls[id]
	if one == nil {
		return false
	}
	if one.flood.over(len(params.Raw())) {
		return true // more than anybody reads
	}
	if t := one.target; t.Idle > 0 {
		one.deadline = t.moved(time.Now())
		t.Cancel.Extend(one.deadline)
	}
	one.notify(method, params)
	return true
}
