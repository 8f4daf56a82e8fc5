package held

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Pool keeps results for all nodes of a pool. See [pool.Store].
type Pool interface {
	Put(ctx context.Context, owner, id string, value []byte, ttl time.Duration) error
	Get(ctx context.Context, owner, id string) ([]byte, error)
	OnReturn(f func(context.Context))
}

// sharedHead is what stands before the document of a result that is shared, with a line
// feed behind it.
type sharedHead struct {
	Text    bool            `json:"text,omitempty"`
	Hidden  bool            `json:"hidden,omitempty"`
	Format  compress.Form   `json:"format"`
	Budget  int             `json:"budget"`
	Tool    string          `json:"tool"`
	Made    registry.Digest `json:"made"`
	Expires int64           `json:"expires"` // Unix time
}

// String is the owner as a name.
func (o Owner) String() string { return o.Toolset + "\x00" + o.Principal }

func (h *Answer) shared() []byte {
	head, _ := json.Marshal(sharedHead{h.Text, h.Hidden, h.Format, h.Budget, h.Tool, h.Made, h.expires.Unix()}) // cannot fail
	return append(append(head, '\n'), h.Doc...)
}

// readShared is nil for what no node of this version wrote.
func readShared(b []byte, who Owner) *Answer {
	head, doc, ok := bytes.Cut(b, []byte{'\n'})
	var in sharedHead
	if !ok || json.Unmarshal(head, &in) != nil {
		return nil
	}
	return &Answer{
		Owner: who, Doc: doc, Text: in.Text, Hidden: in.Hidden, Format: in.Format, Budget: in.Budget, Tool: in.Tool, Made: in.Made, expires: time.Unix(in.Expires, 0),
	}
}

// unshared is a result that this node knows alone.
type unshared struct {
	id    string
	owner Owner
}

// share gives a result to the other nodes, and behind it one that they did not get before: when
// what they share was away, or slow, each call that succeeds makes good for one.
func (r *Store) share(ctx context.Context, id string, h *Answer) {
	if r.pool.Put(ctx, h.Owner.String(), id, h.shared(), TTL) != nil {
		r.later(unshared{id, h.Owner})
		return
	}
	r.mu.Lock()
	var old unshared
	if n := len(r.unshared); n > 0 {
		old, r.unshared = r.unshared[n-1], r.unshared[:n-1]
	}
	r.mu.Unlock()
	if old.id == "" {
		return
	}
	if h := r.own(old.id, old.owner); h != nil && r.pool.Put(ctx, old.owner.String(), old.id, h.shared(), h.expires.Sub(r.now())) != nil {
		r.later(old)
	}
}

// shareAgain shares the newest results that this node holds: the server that was away may have lost
// those that it had, and lacks those of the meantime. The oldest of them goes first, as they were made.
func (r *Store) shareAgain(ctx context.Context) {
	var all []unshared
	r.mu.Lock()
	r.unshared = r.unshared[:0]
	for _, h := range r.order[max(0, len(r.order)-maxUnshared):] {
		all = append(all, unshared{h.id, h.Owner})
	}
	r.mu.Unlock()
	for i, u := range all {
		h := r.own(u.id, u.owner)
		if h == nil {
			continue
		}
		if r.pool.Put(ctx, u.owner.String(), u.id, h.shared(), h.expires.Sub(r.now())) != nil {
			for _, u := range all[i:] {
				r.later(u)
			}
			return
		}
	}
}

// later remembers what could not be shared.
func (r *Store) later(u unshared) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unshared) == maxUnshared {
		r.unshared = append(r.unshared[:0], r.unshared[1:]...)
	}
	r.unshared = append(r.unshared, u)
}

// ofPool finds what another node holds. See [Store.Get].
func (r *Store) ofPool(ctx context.Context, id string, who Owner) (*Answer, error) {
	b, err := r.pool.Get(ctx, who.String(), id)
	if err == nil {
		if h := readShared(b, who); h != nil && r.now().Before(h.expires) {
			return h, nil
		}
	}
	if errors.Is(err, pool.ErrAway) {
		return nil, problem.New(problem.Unavailable, "another node of the gateway holds this result, and what the nodes share cannot be reached now").
			Fix("ask again in some seconds, or call the tool again")
	}
	return nil, problem.New(problem.NotFound, "this result has expired, or the node that holds it could not share it: results are held for %d minutes, while there is room", int(TTL.Minutes())).
		Fix("call the tool again")
}
