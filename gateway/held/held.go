package held

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
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
	// principalShare of that memory may all answers of one principal take, for the same
	// reason; the newest one is kept however large it is.
	principalShare = 8
	// leastShared is the length from which an answer that equals one of the caller's has no
	// memory of its own.
	leastShared = 16 << 10
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
	id   string
	kept *document // of Answer.Doc
}

// document is the memory of one answer, or of several of one caller that are the same: agents
// ask again for what they know, and the store would be full of copies.
type document struct {
	owner Owner
	bytes []byte // nil until it is copied
	cost  int    // in Store.bytes and used.bytes
	uses  int    // entries, and who compares it with another answer
	got   bool   // somebody may read it
}

// used is what a caller takes: its answers, and the bytes of their documents.
type used struct{ answers, bytes int }

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
	order []*entry          // guarded by mu: by age, oldest first
	bytes int               // guarded by mu: of documents, and of answers beside them
	count map[Owner]used    // guarded by mu

	unshared []unshared // guarded by mu: oldest first
}

// New makes a store of that many bytes; 0: [DefaultBytes]. pool is nil where no other node has a
// part in it.
func New(size int, pool Pool) *Store {
	if size == 0 {
		size = DefaultBytes
	}
	r := &Store{node: randomHex(4), most: max(size, 0), now: time.Now, pool: pool, byID: map[string]*entry{}, count: map[Owner]used{}}
	if pool != nil {
		pool.OnReturn(r.shareAgain)
	}
	return r
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
	e := &entry{Answer: *h, id: r.node + "-" + randomHex(12)}
	e.Doc = nil // until it is copied nobody knows the handle
	same := r.sameAs(h)
	if same != nil {
		e.Doc = same.bytes
	}
	r.mu.Lock()
	spare := r.insertLocked(e, same, len(h.Doc))
	r.mu.Unlock()
	if same != nil {
		return e.id // with its document
	}
	doc := append(spare, h.Doc...)
	r.mu.Lock()
	e.Doc, e.kept.bytes = doc, doc
	r.mu.Unlock()
	return e.id
}

// sameAs finds the document of the caller's latest answer of the tool, if it is that of h, and
// takes a use of it; nil: it is another one. It is compared outside of the lock.
func (r *Store) sameAs(h *Answer) *document {
	if len(h.Doc) < leastShared {
		return nil
	}
	var d *document
	r.mu.Lock()
	for i := len(r.order) - 1; i >= max(0, len(r.order)-maxPrincipal); i-- {
		if e := r.order[i]; e.Owner == h.Owner && e.Tool == h.Tool {
			if len(e.kept.bytes) == len(h.Doc) {
				d = e.kept
				d.uses++
			}
			break
		}
	}
	r.mu.Unlock()
	if d == nil || bytes.Equal(d.bytes, h.Doc) {
		return d
	}
	r.mu.Lock()
	r.leaveLocked(d)
	r.mu.Unlock()
	return nil
}

// insertLocked makes room for an answer of n bytes and inserts it. It has the document same, of which it takes over a
// use, or a new one, whose memory is returned: that of a document which goes and which nobody got, or new memory. Agents seldom fetch
// the rest, so that answers over the budget would be most of what the collector has to do.
func (r *Store) insertLocked(h *entry, same *document, n int) (spare []byte) {
	if h.kept = same; same == nil {
		h.kept = &document{owner: h.Owner, uses: 1, cost: n}
	} else {
		n = 0
	}
	drop := func(i int) {
		if doc := r.dropLocked(i); same == nil && spare == nil && cap(doc) >= n && cap(doc) <= n+n/8 {
			spare, n, h.kept.cost = doc[:0], cap(doc), cap(doc)
		}
	}
	for i := 0; i < len(r.order) && r.crowdedLocked(h.Owner, n); {
		if r.order[i].Owner == h.Owner {
			drop(i)
		} else {
			i++
		}
	}
	for len(r.order) > 0 && (r.bytes+n+answerBytes > r.most || !r.now().Before(r.order[0].expires)) {
		drop(0)
	}
	if same == nil && spare == nil {
		spare = make([]byte, 0, n)
	}
	r.byID[h.id] = h
	r.order = append(r.order, h)
	r.countLocked(h.Owner, 1, n)
	return spare
}

// crowdedLocked says that a caller has no room for another answer of n bytes.
func (r *Store) crowdedLocked(who Owner, n int) bool {
	u := r.count[who]
	return u.answers >= maxPrincipal || u.answers > 0 && u.bytes+n > r.most/principalShare
}

// dropLocked drops an answer and returns its document where nobody reads it.
func (r *Store) dropLocked(i int) (unread []byte) {
	h := r.order[i]
	r.order = slices.Delete(r.order, i, i+1)
	delete(r.byID, h.id)
	r.countLocked(h.Owner, -1, 0)
	return r.leaveLocked(h.kept)
}

// countLocked adds answers of a caller, and bytes of documents, to what is counted.
func (r *Store) countLocked(who Owner, answers, bytes int) {
	r.bytes += answers*answerBytes + bytes
	u := r.count[who]
	if u = (used{u.answers + answers, u.bytes + bytes}); u == (used{}) {
		delete(r.count, who)
		return
	}
	r.count[who] = u
}

// leaveLocked ends a use of d. It returns the bytes of a document that goes and that nobody
// got.
func (r *Store) leaveLocked(d *document) (unread []byte) {
	if d.uses--; d.uses > 0 {
		return nil
	}
	r.countLocked(d.owner, 0, -d.cost)
	if d.got {
		return nil
	}
	return d.bytes
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
	h.kept.got = true
	return &h.Answer
}
