package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// fileCredentials holds the credentials, sealed to the node: without the node's key
// nothing can be read in it.
const fileCredentials = "credentials.json"

const (
	// maxNamed is how many credentials a message names: more do not help to find the
	// cause.
	maxNamed = 5
	// prepareTimeout is how long a release waits for its credentials before it is tried
	// again: the time of two questions to a slow control plane.
	prepareTimeout = 20 * time.Second
	// unusedGrace is how long a credential is kept after the last release that uses it:
	// calls that began before the swap finish with it.
	unusedGrace = time.Minute
)

// Vault keeps the credentials of the toolsets this node serves: sealed to the
// node on the way and on disk, open in memory only. What it has is used until
// something newer comes, also over a restart without the control plane; and it
// drops nothing that the live release uses, unless the control plane says with a
// signature that it was deleted. Its methods may be called by many goroutines; Run
// is one.
type Vault struct {
	remote *Remote
	log    *slog.Logger

	users  userTokens
	values atomic.Pointer[map[string]registry.EdgeCredential]
	pool   atomic.Pointer[[]byte] // see PoolKey; nil: not known

	saving sync.Mutex // held from reading the state to writing it, so that files are written in order

	mu      sync.Mutex
	etag    string                // guarded by mu; of the last answer
	release *registry.ReleaseName // guarded by mu; that the last answer belongs to. nil: none yet, or it does not say
	silent  bool                  // guarded by mu; the last answer does not say which release it belongs to
	sent    map[string]bool       // guarded by mu; credentials of the last answer. nil: not known, of a former run
	absent  map[string]string     // guarded by mu; reason by credential that the control plane has no value of
	unused  map[string]time.Time  // guarded by mu; since when, by credential that is kept and used no more
	live    *needs                // guarded by mu; of the live release. nil: none is live yet
	next    []*needs              // guarded by mu; of releases that are being prepared
	fault   error                 // guarded by mu; of following
	lacking error                 // guarded by mu; what the last answer did not account for
	urgent  bool                  // guarded by mu; the next question is not held
	asked   chan struct{}         // guarded by mu; closed and replaced after each question
	again   context.CancelFunc    // guarded by mu; ends the question or the pause of Run. nil: Run has not begun
}

// needs are the credentials that a release uses, without those of single callers.
type needs struct {
	release  registry.ReleaseName
	trusted  []registry.TrustedKey
	toolsets map[string]string // slug of a toolset by credential
}

func needsOf(s *State) *needs {
	n := &needs{
		release:  registry.ReleaseName{Epoch: s.Release.Epoch, Revision: s.Release.Revision, Digest: s.Digest},
		trusted:  s.Release.Trusted,
		toolsets: make(map[string]string),
	}
	for _, t := range s.Toolsets {
		n.add(t)
		if t.Candidate != nil {
			n.add(t.Candidate)
		}
	}
	return n
}

func (n *needs) add(t *Toolset) {
	for i := range t.Bundle.Connectors {
		for _, a := range t.Bundle.Connectors[i].Auth.Each() {
			if a.CredentialID != "" && !a.User {
				n.toolsets[a.CredentialID] = t.Slug
			}
		}
	}
}

// stored is the plain form of fileCredentials: what the node keeps, in the form it
// was sent, and what the control plane has said of the rest.
type stored struct {
	registry.EdgeCredentials

	Reasons map[string]string `json:"reasons,omitempty"` // of absent credentials
}

// OpenVault opens what is on disk. A file that does not open is not an error: the
// credentials are asked for again, and Fault says so until they came.
func OpenVault(r *Remote) *Vault {
	v := &Vault{remote: r, log: r.log, asked: make(chan struct{})}
	v.values.Store(&map[string]registry.EdgeCredential{})
	b, err := readFile(filepath.Join(r.opts.Dir, fileCredentials), registry.MaxSealedBytes*2)
	if err == nil {
		err = v.restore(b)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.set(fmt.Errorf("the stored credentials cannot be used: %w", err))
		v.log.LogAttrs(context.Background(), slog.LevelWarn, "stored credentials are not usable, asking for them again", slog.Any("error", err))
	}
	return v
}

// PoolKey is the key of what the nodes of the control plane share; nil: not known yet.
func (v *Vault) PoolKey() []byte {
	if k := v.pool.Load(); k != nil {
		return *k
	}
	return nil
}

// restore takes what a former run has written.
func (v *Vault) restore(b []byte) error {
	var in stored
	if err := v.unseal(b, &in); err != nil {
		return err
	}
	values := make(map[string]registry.EdgeCredential, len(in.Credentials))
	for _, c := range in.Credentials {
		values[c.ID] = c
	}
	v.values.Store(&values)
	v.users.follow(in.Users)
	v.pool.Store(&in.Pool)
	v.etag, v.release, v.silent, v.absent = in.ETag, in.Release, in.Release == nil, in.Reasons
	return nil
}

// unseal opens what was sealed to this node.
func (v *Vault) unseal(b []byte, to *stored) error {
	id := v.remote.current()
	if id == nil {
		return errors.New("the node is not enrolled")
	}
	var doc registry.SealedCredentials
	if err := json.Unmarshal(b, &doc); err != nil {
		return fmt.Errorf("read sealed credentials: %w", err)
	}
	key, err := id.sealKey()
	if err != nil {
		return err
	}
	plain, err := key.Open(registry.SealInfo(id.Edge), doc.Sealed)
	if err != nil {
		return err
	}
	defer clear(plain)
	if err := json.Unmarshal(plain, to); err != nil {
		return errors.New("the credentials are not in a form this version reads") // never the text
	}
	if to.Edge != id.Edge {
		return problem.New(problem.Conflict, "the credentials are for another edge")
	}
	return nil
}

// take makes what the control plane sent the current credentials, and keeps of the
// former ones what the live release uses and the answer does not account for.
func (v *Vault) take(b []byte) error {
	var in stored
	if err := v.unseal(b, &in); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.newestLocked(); in.Release != nil && known != nil && in.Release.Before(*known) {
		return problem.New(problem.Conflict, "the control plane sends the credentials of release %s, this edge has seen %s", in.Release, known).
			Fix("look whether the control plane was set back to an older state")
	}
	absent, err := v.absencesLocked(&in.EdgeCredentials)
	if err != nil {
		return err
	}
	values := maps.Clone(*v.values.Load())
	v.sent = make(map[string]bool, len(in.Credentials))
	for _, c := range in.Credentials {
		values[c.ID], v.sent[c.ID] = c, true
	}
	maps.DeleteFunc(values, func(id string, _ registry.EdgeCredential) bool { return absent[id] == registry.AbsentDeleted })
	v.values.Store(&values)
	v.users.follow(in.Users)
	v.pool.Store(&in.Pool)
	v.etag, v.release, v.silent, v.absent = in.ETag, in.Release, in.Release == nil, absent
	v.lacking = v.incompleteLocked(in.Release)
	return nil
}

// newestLocked is the newest release that this node has seen: of the last answer or
// live. nil: none.
func (v *Vault) newestLocked() *registry.ReleaseName {
	if v.live != nil && (v.release == nil || v.release.Before(v.live.release)) {
		return &v.live.release
	}
	return v.release
}

// absencesLocked verifies what an answer says of absent credentials.
func (v *Vault) absencesLocked(in *registry.EdgeCredentials) (map[string]string, error) {
	if in.Absent == nil {
		return nil, nil //nolint:nilnil // none is absent
	}
	var keys []registry.TrustedKey
	for _, n := range append(slices.Clone(v.next), v.live) {
		if n != nil {
			keys = append(keys, n.trusted...)
		}
	}
	if keys == nil {
		keys = v.remote.Trusted()
	}
	trust, err := sign.NewTrust(keys, registry.UseRelease)
	if err != nil {
		return nil, err
	}
	n, err := sign.VerifyAbsence(in.Absent, trust)
	if err != nil {
		return nil, fmt.Errorf("the notice of absent credentials: %w", err)
	}
	if n.Edge != in.Edge || in.Release == nil || n.Release != *in.Release {
		return nil, problem.New(problem.InvalidRelease, "the notice of absent credentials is for another edge or release")
	}
	out := make(map[string]string, len(n.Absent))
	for _, a := range n.Absent {
		out[a.Credential] = a.Reason
	}
	return out, nil
}

// incompleteLocked is what the last answer, for a release, does not account for
// although the live release uses it. An answer for a newer release need not: the
// older one is still served.
func (v *Vault) incompleteLocked(answered *registry.ReleaseName) error {
	if v.live == nil || answered != nil && v.live.release.Before(*answered) {
		return nil
	}
	missing := v.live.without(func(id string) bool { return v.sent[id] || v.absent[id] != "" })
	if missing == "" {
		return nil
	}
	return problem.New(problem.Unavailable, "the control plane's answer lacks credentials that release %s uses; those of before are kept: %s", v.live.release, missing)
}

// prune drops the credentials that neither the live release nor the last answer has
// used for a while, and reports whether there were any.
func (v *Vault) prune(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.live == nil || v.sent == nil {
		return false
	}
	old, dropped := *v.values.Load(), []string(nil)
	for id := range old {
		used := v.sent[id] || v.live.toolsets[id] != "" || slices.ContainsFunc(v.next, func(n *needs) bool { return n.toolsets[id] != "" })
		since, known := v.unused[id]
		switch {
		case used:
			delete(v.unused, id)
		case !known:
			if v.unused == nil {
				v.unused = make(map[string]time.Time)
			}
			v.unused[id] = now
		case now.Sub(since) >= unusedGrace:
			dropped = append(dropped, id)
			delete(v.unused, id)
		}
	}
	if dropped == nil {
		return false
	}
	values := maps.Clone(old)
	for _, id := range dropped {
		delete(values, id)
	}
	v.values.Store(&values)
	return true
}

// without names the credentials that are not there; "" when all are.
func (n *needs) without(have func(id string) bool) string {
	var list []string
	for id, slug := range n.toolsets {
		if !have(id) {
			list = append(list, id+" of toolset "+slug)
		}
	}
	slices.Sort(list)
	if more := len(list) - maxNamed; more > 0 {
		list = append(list[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// missingLocked names the credentials of n that the vault neither has nor knows to
// be absent. A control plane of a version before absence notices does not say which
// are absent: then none is reported.
func (v *Vault) missingLocked(n *needs) string {
	if v.silent {
		return ""
	}
	values := *v.values.Load()
	return n.without(func(id string) bool {
		_, ok := values[id]
		return ok || v.absent[id] != ""
	})
}

// Missing is an error that names the credentials that the live release uses and the
// node does not have; nil when it has all.
func (v *Vault) Missing() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.live == nil {
		return nil
	}
	if missing := v.missingLocked(v.live); missing != "" {
		return problem.New(problem.Unavailable, "release %s uses credentials that have not come from the control plane: %s", v.live.release, missing)
	}
	return nil
}

// Prepare waits until the vault has what a state uses, before it becomes live: at
// most for two questions to the control plane, which Run asks. It fails with
// [problem.Unavailable], naming what is missing.
func (v *Vault) Prepare(ctx context.Context, s *State) error {
	n := needsOf(s)
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	v.mu.Lock()
	v.next = append(v.next, n)
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.next = slices.DeleteFunc(v.next, func(o *needs) bool { return o == n })
	}()
	// The answer to a question that was under way may be of the release before.
	for range 2 {
		v.mu.Lock()
		missing, asked := v.missingLocked(n), v.asked
		if missing != "" {
			v.urgent = true
			if v.again != nil {
				v.again()
			}
		}
		v.mu.Unlock()
		if missing == "" {
			return nil
		}
		select {
		case <-asked:
		case <-ctx.Done():
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if missing := v.missingLocked(n); missing != "" {
		return problem.New(problem.Unavailable, "release %s uses credentials that have not come from the control plane: %s", n.release, missing).Because(v.fault)
	}
	return nil
}

// Serve notes that a state is live.
func (v *Vault) Serve(s *State) {
	n := needsOf(s)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.live = n
}

// Credential returns a credential, from memory; [problem.NotFound] when this node
// has none of that id.
func (v *Vault) Credential(id string) (registry.EdgeCredential, error) {
	c, ok := (*v.values.Load())[id]
	if !ok {
		return c, problem.New(problem.NotFound, "this edge has no credential %.80q", id).
			Fix("look at the edge's state: it gets credentials from the control plane")
	}
	return c, nil
}

// Fault is what keeps the node from its newest credentials; nil: nothing.
func (v *Vault) Fault() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fault == nil {
		return v.lacking
	}
	return v.fault
}

func (v *Vault) set(err error) (news bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	news = (err == nil) != (v.fault == nil)
	v.fault = err
	return news
}

// Follow gets newer credentials once, waiting for them as long as the control
// plane holds the question. It returns registry.ErrUnchanged when there are none.
func (v *Vault) Follow(ctx context.Context) error {
	v.mu.Lock()
	known, hold := v.etag, !v.urgent
	v.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, DefaultPollTimeout)
	defer cancel()
	b, err := v.remote.get(ctx, registry.EdgeCredentialsPath, known, hold, registry.MaxSealedBytes*2)
	if err != nil {
		return err
	}
	if err := v.take(b); err != nil {
		return fmt.Errorf("open the credentials: %w", err)
	}
	return v.save()
}

// save writes what the node has, sealed to itself.
func (v *Vault) save() error {
	id := v.remote.current()
	if id == nil {
		return errors.New("the node is not enrolled")
	}
	v.saving.Lock()
	defer v.saving.Unlock()
	v.mu.Lock()
	doc := stored{EdgeCredentials: registry.EdgeCredentials{Edge: id.Edge, ETag: v.etag, Release: v.release, Users: v.users.now(), Pool: v.PoolKey()}, Reasons: v.absent}
	values := *v.values.Load()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		doc.Credentials = append(doc.Credentials, values[name])
	}
	v.mu.Unlock()
	b, err := seal(id, &doc)
	if err == nil {
		err = atomicfile.WriteOn(v.remote.opts.System, filepath.Join(v.remote.opts.Dir, fileCredentials), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the credentials are used and cannot be kept: %w", err)
	}
	return nil
}

func seal(id *identity, doc *stored) ([]byte, error) {
	key, err := id.sealKey()
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(doc)
	if err != nil {
		return nil, errors.New("the credentials cannot be encoded") // never the text
	}
	defer clear(plain)
	sealed, err := secrets.SealTo(key.Public(), registry.SealInfo(id.Edge), plain)
	if err != nil {
		return nil, err
	}
	return json.Marshal(registry.SealedCredentials{ETag: doc.ETag, Sealed: sealed})
}

// Run follows the credentials until ctx ends; it returns ctx's error.
func (v *Vault) Run(ctx context.Context) error {
	pause := retry.Backoff{First: DefaultMinRetry, Longest: DefaultMaxRetry, Jitter: v.remote.opts.Jitter}
	for ctx.Err() == nil {
		asked := time.Now()
		poll, cancel := context.WithCancel(ctx)
		v.mu.Lock()
		v.again = cancel
		v.mu.Unlock()
		err := v.Follow(poll)
		ended := poll.Err() != nil
		cancel()
		if ended && err != nil { // with ctx, or by Prepare, which wants an answer that is not held
			continue
		}
		quick := errors.Is(err, registry.ErrUnchanged) && time.Since(asked) < quickAnswer
		if errors.Is(err, registry.ErrUnchanged) {
			err = nil
		}
		if v.set(err) {
			v.log.LogAttrs(ctx, slog.LevelInfo, "credentials followed", slog.Any("error", err))
		}
		v.done()
		if v.prune(v.remote.opts.Now()) {
			if err := v.save(); err != nil {
				v.set(err)
			}
		}
		switch {
		case err != nil:
		case quick:
			pause.Reset()
		default:
			pause.Reset()
			continue
		}
		v.wait(ctx, pause.Next())
	}
	return ctx.Err()
}

// done tells those who wait that a question was answered.
func (v *Vault) done() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.urgent = false
	close(v.asked)
	v.asked = make(chan struct{})
}

// wait pauses, unless somebody needs an answer now.
func (v *Vault) wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	v.mu.Lock()
	v.again = cancel
	urgent := v.urgent
	v.mu.Unlock()
	if !urgent {
		<-ctx.Done()
	}
}
