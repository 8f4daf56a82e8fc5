package held

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Bounds of what is held.
const (
	// TTL is how long an answer that was cut can be fetched from: an agent
	// comes back within the same task or not at all.
	TTL = 10 * time.Minute
	// DefaultBytes is the memory for such answers of all toolsets.
	DefaultBytes = 64 << 20
	// maxShare of that memory may one answer take.
	maxShare = 2
	// maxPrincipal is how many one principal may hold: the oldest goes first,
	// so that no caller pushes the others' out.
	maxPrincipal = 64
	// maxUnshared results are remembered that other nodes did not get: the newest, which are
	// the likeliest to be asked for.
	maxUnshared = 256
	// answerBytes is what an answer costs beside its bytes.
	answerBytes = 512
)

// Answer is an answer whose rest can be fetched. What [Store.Get] returns is immutable.
type Answer struct {
	Owner  Owner
	Doc    []byte // minified JSON, or text
	Text   bool
	Hidden bool // hidden characters stay
	Format compress.Form
	Budget int
	Tool   string
	Made   registry.Digest // of the toolset whose settings and plugins made it

	expires time.Time
}

// entry is an answer in the store.
type entry struct {
	Answer
	cost int  // in Store.bytes
	got  bool // somebody may read it
}

// Owner is who may fetch: one principal at one toolset.
type Owner struct{ Toolset, Principal string }

// Store keeps answers for a time. It is safe for concurrent use.
type Store struct {
	node string // 8 hexadecimal digits, in every handle
	most int
	now  func() time.Time
	pool Pool // nil: other nodes' results are not known

	mu    sync.Mutex
	byID  map[string]*entry // guarded by mu
	order []string          // guarded by mu: by age, oldest first
	bytes int               // guarded by mu
	count map[Owner]int     // guarded by mu

	unshared []unshared // guarded by mu: oldest first
}

// New makes a store of that many bytes; 0: [DefaultBytes]. pool is nil where no other node has a
// part in it.
func New(size int, pool Pool) *Store {
	if size == 0 {
		size = DefaultBytes
	}
	return &Store{node: randomHex(4), most: max(size, 0), now: time.Now, pool: pool, byID: map[string]*entry{}, count: map[Owner]int{}}
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b)
}

// Put keeps a copy of h and returns its handle; "" when it is too large to be kept.
func (r *Store) Put(ctx context.Context, h *Answer) string {
	id := r.keep(h)
	if id != "" && r.pool != nil {
		r.share(ctx, id, h)
	}
	return id
}

func (r *Store) keep(h *Answer) string {
	if len(h.Doc)+answerBytes > r.most/maxShare {
		return ""
	}
	h.expires = r.now().Add(TTL)
	id := r.node + "-" + randomHex(12)
	e := &entry{Answer: *h}
	e.Doc = nil // until it is copied nobody knows the handle
	r.mu.Lock()
	spare := r.insertLocked(id, e, len(h.Doc))
	r.mu.Unlock()
	doc := append(spare, h.Doc...)
	r.mu.Lock()
	e.Doc = doc
	r.mu.Unlock()
	return id
}

// insertLocked makes room for an answer of n bytes, inserts it, and returns the memory for its
// document: that of one which goes and which nobody got, or new memory. Agents seldom fetch
// the rest, so that answers over the budget would be most of what the collector has to do.
func (r *Store) insertLocked(id string, h *entry, n int) (spare []byte) {
	h.cost = n + answerBytes
	drop := func(i int) {
		if doc := r.dropLocked(i); spare == nil && cap(doc) >= n && cap(doc) <= n+n/8 {
			spare, h.cost = doc[:0], cap(doc)+answerBytes
		}
	}
	if r.count[h.Owner] >= maxPrincipal {
		for i, old := range r.order {
			if r.byID[old].Owner == h.Owner {
				drop(i)
				break
			}
		}
	}
	for len(r.order) > 0 && (r.bytes+h.cost > r.most || !r.now().Before(r.byID[r.order[0]].expires)) {
		drop(0)
	}
	if spare == nil {
		spare = make([]byte, 0, n)
	}
	r.byID[id] = h
	r.order = append(r.order, id)
	r.bytes += h.cost
	r.count[h.Owner]++
	return spare
}

// dropLocked drops an answer and returns its document where nobody reads it.
func (r *Store) dropLocked(i int) (unread []byte) {
	id := r.order[i]
	h := r.byID[id]
	r.order = append(r.order[:i], r.order[i+1:]...)
	delete(r.byID, id)
	r.bytes -= h.cost
	if r.count[h.Owner]--; r.count[h.Owner] <= 0 {
		delete(r.count, h.Owner)
	}
	if h.got {
		return nil
	}
	return h.Doc
}

// Get finds what a handle names, for its owner only. It fails with
// [problem.NotFound], and does not tell another's handle from one that is gone.
func (r *Store) Get(ctx context.Context, id string, who Owner) (*Answer, error) {
	node, _, ok := strings.Cut(id, "-")
	if !ok || len(id) > 64 {
		return nil, problem.New(problem.InvalidArguments, "%.80q is not a handle", id).At("", 0, 0, "/handle").
			Fix("copy it from the last line of an answer that was cut")
	}
	if h := r.own(id, who); h != nil {
		return h, nil
	}
	if node != r.node && r.pool != nil {
		return r.ofPool(ctx, id, who)
	}
	if node != r.node {
		return nil, problem.New(problem.NotFound, "this result is held by another node of the gateway, or has expired").Fix("call the tool again")
	}
	return nil, problem.New(problem.NotFound, "this result has expired: results are held for %d minutes, while there is room", int(TTL.Minutes())).
		Fix("call the tool again")
}

// own returns what this node holds for an owner, whose document is not used for another
// answer from now on; nil: nothing.
func (r *Store) own(id string, who Owner) *Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.byID[id]
	if h == nil || h.Owner != who || !r.now().Before(h.expires) {
		return nil
	}
	h.got = true
	return &h.Answer
}
