package call

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

// Bounds of the store behind fetch_result.
const (
	// ResultTTL is how long an answer that was cut can be fetched from: an agent
	// comes back within the same task or not at all.
	ResultTTL = 10 * time.Minute
	// DefaultResultBytes is the memory for such answers of all toolsets.
	DefaultResultBytes = 64 << 20
	// maxResultShare of that memory may one answer take.
	maxResultShare = 2
	// maxResultsPrincipal is how many one principal may hold: the oldest goes first,
	// so that no caller pushes the others' out.
	maxResultsPrincipal = 64
	// resultBytes is what a result costs beside its bytes.
	resultBytes = 512
)

// held is an answer whose rest can be fetched. It is immutable.
type held struct {
	owner   owner
	doc     []byte // minified JSON, or text
	text    bool
	hidden  bool // hidden characters stay
	format  compress.Form
	budget  int
	tool    string
	made    registry.Digest // of the toolset whose settings and plugins made it
	expires time.Time
}

// owner is who may fetch: one principal at one toolset.
type owner struct{ toolset, principal string }

// results keeps answers for a time. It is safe for concurrent use.
type results struct {
	node string // 8 hexadecimal digits, in every handle
	most int
	now  func() time.Time
	pool Pool // nil: other nodes' results are not known

	mu    sync.Mutex
	byID  map[string]*held // guarded by mu
	order []string         // guarded by mu: by age, oldest first
	bytes int              // guarded by mu
	count map[owner]int    // guarded by mu
}

func newResults(size int, pool Pool) *results {
	if size == 0 {
		size = DefaultResultBytes
	}
	return &results{node: randomHex(4), most: max(size, 0), now: time.Now, pool: pool, byID: map[string]*held{}, count: map[owner]int{}}
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b)
}

// put keeps h and returns its handle; "" when it is too large to be kept.
func (r *results) put(ctx context.Context, h *held) string {
	id := r.keep(h)
	if id != "" && r.pool != nil {
		// Where that fails this node knows the result alone: then others say so.
		_ = r.pool.Put(ctx, h.owner.String(), id, h.appendShared(nil), ResultTTL)
	}
	return id
}

func (r *results) keep(h *held) string {
	cost := len(h.doc) + resultBytes
	if cost > r.most/maxResultShare {
		return ""
	}
	h.expires = r.now().Add(ResultTTL)
	id := r.node + "-" + randomHex(12)
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.order) > 0 && (r.bytes+cost > r.most || !r.now().Before(r.byID[r.order[0]].expires)) {
		r.dropLocked(0)
	}
	if r.count[h.owner] >= maxResultsPrincipal {
		for i, old := range r.order {
			if r.byID[old].owner == h.owner {
				r.dropLocked(i)
				break
			}
		}
	}
	r.byID[id] = h
	r.order = append(r.order, id)
	r.bytes += cost
	r.count[h.owner]++
	return id
}

func (r *results) dropLocked(i int) {
	id := r.order[i]
	h := r.byID[id]
	r.order = append(r.order[:i], r.order[i+1:]...)
	delete(r.byID, id)
	r.bytes -= len(h.doc) + resultBytes
	if r.count[h.owner]--; r.count[h.owner] <= 0 {
		delete(r.count, h.owner)
	}
}

// get finds what a handle names, for its owner only. It fails with
// [problem.NotFound], and does not tell another's handle from one that is gone.
func (r *results) get(ctx context.Context, id string, who owner) (*held, error) {
	node, _, ok := strings.Cut(id, "-")
	if !ok || len(id) > 64 {
		return nil, problem.New(problem.InvalidArguments, "%.80q is not a handle", id).At("", 0, 0, "/handle").
			Fix("copy it from the last line of an answer that was cut")
	}
	r.mu.Lock()
	h := r.byID[id]
	r.mu.Unlock()
	if h != nil && h.owner == who && r.now().Before(h.expires) {
		return h, nil
	}
	if node != r.node && r.pool != nil {
		return r.ofPool(ctx, id, who)
	}
	if node != r.node {
		return nil, problem.New(problem.NotFound, "this result is held by another node of the gateway, or has expired").Fix("call the tool again")
	}
	return nil, problem.New(problem.NotFound, "this result has expired: results are held for %d minutes, while there is room", int(ResultTTL.Minutes())).
		Fix("call the tool again")
}
