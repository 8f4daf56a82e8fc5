package edge

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

const (
	// longPoll is how long the control plane is asked to hold a question: the
	// poll that is the safety net under it.
	longPoll = 30 * time.Second
	// maxProblemBytes of an error answer.
	maxProblemBytes = 64 << 10
)

// RemoteOptions configure a Remote.
type RemoteOptions struct {
	// ControlPlane is the URL of its admin listener, or those of several control planes of
	// one database, separated by commas. Required; https unless it is loopback.
	ControlPlane string
	Client       *http.Client // follows no redirects; has a transport. Required
	// Artifacts is the registry that artifacts are fetched from; what it has not, or
	// cannot give, comes from the control plane. Default: the control plane's.
	Artifacts *oci.Store
	Dir       string // cache directory of the node, where its identity is kept. Required
	Name      string // of this edge, for people; a slug. Required to enrol
	Version   string // of the program
	// JoinToken is asked for when the node has to enrol. Required then.
	JoinToken func() (secrets.Secret, error)
	Wait      time.Duration     // how long the control plane is asked to hold a question, whole seconds. Default: 30 s
	Now       func() time.Time  // Default: time.Now
	Jitter    retry.Jitter      // as in [Options]; of the credentials
	System    atomicfile.System // Default: the operating system's
	Logger    *slog.Logger      // Default: discard
}

// Remote is a node's side of the edge protocol: it enrols, renews its token, and
// is the Source of a Follower and of a Vault. It may be used by many goroutines.
type Remote struct {
	opts   RemoteOptions
	log    *slog.Logger
	base   string
	store  *oci.Store
	renews sync.Mutex // held while the token is renewed

	mu    sync.Mutex
	id    *identity // guarded by mu; replaced, never changed. nil: not enrolled
	fault error     // guarded by mu; why the identity is not on disk, or not renewed
	// unwritten says that the identity is not on disk. Guarded by mu.
	unwritten bool

	unheard map[string]bool // guarded by mu; paths whose last question had no answer or was refused
}

var _ Source = (*Remote)(nil)

// OpenRemote reads the node's identity. A node whose identity is of another
// control plane is refused with [problem.Conflict].
func OpenRemote(o RemoteOptions) (*Remote, error) {
	planes, err := ParseControlPlanes(o.ControlPlane)
	if err != nil {
		return nil, err
	}
	if o.Client == nil || o.Client.Transport == nil || o.Dir == "" {
		return nil, errors.New("edge: an HTTP client with a transport, and a directory are required")
	}
	if o.Wait <= 0 {
		o.Wait = longPoll
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.System == nil {
		o.System = atomicfile.OS
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Remote{base: planes[0].String(), log: o.Logger.With(slog.String("component", "edge"))}
	if len(planes) > 1 {
		client := *o.Client
		client.Transport = &failover{next: client.Transport, planes: planes, log: r.log}
		o.Client = &client
	}
	r.opts = o
	backend, err := oci.NewRemote(oci.RemoteOptions{URL: r.base, Client: o.Client, Authorize: oci.Basic("edge", r.token)})
	if err != nil {
		return nil, err
	}
	r.store = oci.NewStore(backend)
	if r.id, err = readIdentity(o.Dir); err != nil {
		return nil, err
	}
	if r.id != nil && !slices.ContainsFunc(planes, func(u *url.URL) bool { return u.String() == r.id.ControlPlane }) {
		return nil, problem.New(problem.Conflict, "this edge is enrolled with %s, not with %s", r.id.ControlPlane, o.ControlPlane).
			Fix("name that control plane, or choose another cache directory and enrol again")
	}
	return r, nil
}

func (r *Remote) current() *identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

func (r *Remote) token() secrets.Secret {
	if id := r.current(); id != nil {
		return id.Token.Secret
	}
	return secrets.Secret{}
}

// Enrolled reports whether the node has an identity.
func (r *Remote) Enrolled() bool { return r.current() != nil }

// Edge is the identifier the control plane gave this node; "" before enrolment.
func (r *Remote) Edge() string {
	if id := r.current(); id != nil {
		return id.Edge
	}
	return ""
}

// Group and Trusted are what a Follower starts with. The node must be enrolled.
func (r *Remote) Group() string { return r.current().Group }

// Trusted are the keys the control plane named at the enrolment.
func (r *Remote) Trusted() []registry.TrustedKey { return r.current().Trusted }

// Fault is what is wrong with the identity; nil: nothing.
func (r *Remote) Fault() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault
}

// set makes an identity the node's and writes it. One that could not be written is written
// again with the next request.
func (r *Remote) set(id *identity) error {
	err := atomicfile.MkdirAll(r.opts.System, r.opts.Dir, 0o700)
	if err == nil {
		err = id.write(r.opts.Dir, fileIdentity, r.opts.System)
	}
	if err == nil {
		if err := atomicfile.Remove(r.opts.System, filepath.Join(r.opts.Dir, fileJoining)); err != nil {
			r.log.LogAttrs(context.Background(), slog.LevelWarn, "the keys of the enrolment stay on disk a second time", slog.Any("error", err))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.fault, r.unwritten = id, err, err != nil
	return err
}

// rewrite writes an identity that is not on disk.
func (r *Remote) rewrite(id *identity) {
	r.mu.Lock()
	unwritten := r.unwritten
	r.mu.Unlock()
	if unwritten {
		_ = r.set(id) // its fault is in Fault
	}
}

// Enrol makes the node's keys and shows them to the control plane with the join
// token, unless the node is enrolled already. Its errors are those of one try; the next one
// has the same keys, so that a token which is good once is good for one node.
func (r *Remote) Enrol(ctx context.Context) error {
	if r.Enrolled() {
		return nil
	}
	if r.opts.JoinToken == nil {
		return problem.New(problem.InvalidArgument, "this edge is not enrolled and has no join token").
			Fix("make one on the control plane with: sluice edge token   and give its file with --join-token-file")
	}
	join, err := r.opts.JoinToken()
	if err != nil {
		return err
	}
	// The disk is tried before the token, which is good for one enrolment only.
	if err := atomicfile.MkdirAll(r.opts.System, r.opts.Dir, 0o700); err != nil {
		return err
	}
	id, err := joining(r.opts.Dir, r.base, r.opts.System)
	if err != nil {
		return fmt.Errorf("keep the keys of this edge: %w", err)
	}
	request, err := id.enrolment(r.opts.Name, r.opts.Version, join)
	if err != nil {
		return err
	}
	var answer registry.EdgeIdentity
	// An answer that is lost is not waited for until the system gives the connection up.
	ask, cancel := context.WithTimeout(ctx, enrolTimeout)
	defer cancel()
	if err := r.post(ask, registry.EdgeEnrolPath, false, request, &answer); err != nil {
		return fmt.Errorf("enrol with %s: %w", r.base, err)
	}
	if answer.Edge == "" || answer.Token.IsZero() || !registry.ValidSlug(answer.Group) || len(answer.Trusted) == 0 {
		return problem.New(problem.Unavailable, "the control plane's answer to the enrolment is not complete")
	}
	id.take(&answer, r.opts.Now())
	if err := r.set(id); err != nil {
		return fmt.Errorf("keep the identity of this edge: %w", err)
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "enrolled", slog.String("edge", id.Edge), slog.String("group", id.Group))
	return nil
}

// renew gets a new token when the current one is past half of its life, or at
// once when the control plane refused it. A token that is not renewed is used on:
// the clock of this node may be the one that is wrong.
func (r *Remote) renew(ctx context.Context, refused secrets.Secret) error {
	r.renews.Lock()
	defer r.renews.Unlock()
	id := r.current()
	now := r.opts.Now()
	half := id.Obtained.Add(id.Expires.Sub(id.Obtained) / 2)
	if !refused.IsZero() && !refused.Equal(id.Token.Secret) || refused.IsZero() && now.Before(half) {
		r.rewrite(id)
		return nil
	}
	request := &registry.EdgeRenewal{Edge: id.Edge, Time: now.UTC()}
	request.Signature = ed25519.Sign(ed25519.NewKeyFromSeed(id.SignSeed), request.Signed())
	var answer registry.EdgeIdentity
	err := r.post(ctx, registry.EdgeTokenPath, false, request, &answer)
	if err == nil && answer.Token.IsZero() {
		err = problem.New(problem.Unavailable, "the control plane's answer to the renewal is not complete")
	}
	if err != nil {
		err = fmt.Errorf("renew the token of this edge: %w", err)
		r.mu.Lock()
		r.fault = err
		r.mu.Unlock()
		return err
	}
	next := *id
	next.Token, next.Expires, next.Obtained = answer.Token, answer.Expires, now
	if err := r.set(&next); err != nil {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the renewed token is not on disk, a restart renews it again", slog.Any("error", err))
	}
	return nil
}

// send sends one request, as this edge, and returns the answer; the caller closes
// its body. A token that is refused is renewed once.
func (r *Remote) send(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	_ = r.renew(ctx, secrets.Secret{}) // its fault is in Fault; the token may still be good
	for again := false; ; again = true {
		token := r.token()
		resp, err := r.once(ctx, method, path, query, body, token)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || again {
			return resp, err
		}
		_ = resp.Body.Close() // the answer is asked for again
		if err := r.renew(ctx, token); err != nil {
			return nil, err
		}
	}
}

func (r *Remote) once(ctx context.Context, method, path string, query url.Values, body []byte, token secrets.Secret) (*http.Response, error) {
	target := r.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the control plane: %w", err)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if !token.IsZero() {
		req.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	resp, err := r.opts.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the control plane: %w", err)
	}
	return resp, nil
}

// post sends a message and reads the answer into out, if that is not nil.
func (r *Remote) post(ctx context.Context, path string, asEdge bool, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	var resp *http.Response
	if asEdge {
		resp, err = r.send(ctx, http.MethodPost, path, nil, b)
	} else {
		resp, err = r.once(ctx, http.MethodPost, path, nil, b, secrets.Secret{})
	}
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read as far as it matters
	if resp.StatusCode/100 != 2 {
		return problemIn(resp)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxIdentityBytes)).Decode(out); err != nil {
		return fmt.Errorf("read the control plane's answer: %w", err)
	}
	return nil
}

// problemIn turns an error answer into what it says.
func problemIn(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblemBytes)) // what came is all there is
	var p struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
		Errors []struct {
			Remedy string `json:"remedy"`
		} `json:"errors"`
	}
	if json.Unmarshal(b, &p) != nil || p.Code == "" || p.Detail == "" {
		return problem.New(problem.Unavailable, "the control plane answered %d", resp.StatusCode)
	}
	e := problem.New(problem.Kind(p.Code), "the control plane says: %.500s", p.Detail)
	if len(p.Errors) > 0 && p.Errors[0].Remedy != "" {
		e = e.Fix("%.300s", p.Errors[0].Remedy)
	}
	return e
}

// failed reports whether the last question to a path had no answer, or was refused.
func (r *Remote) failed(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unheard[path]
}

func (r *Remote) note(path string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unheard == nil {
		r.unheard = make(map[string]bool)
	}
	r.unheard[path] = err != nil
}

// get asks a question that may be held; nil bytes with ErrUnchanged for 304.
func (r *Remote) get(ctx context.Context, path, known string, hold bool, limit int64) ([]byte, error) {
	wait := r.opts.Wait
	if !hold || r.failed(path) {
		wait = 0 // whether the control plane is back has to be known now, and is shown
	}
	q := url.Values{"wait": {strconv.Itoa(int(wait / time.Second))}}
	if known != "" {
		q.Set("known", known)
	}
	resp, err := r.send(ctx, http.MethodGet, path, q, nil)
	if !errors.Is(ctx.Err(), context.Canceled) { // one that was given up says nothing of the control plane
		r.note(path, err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read as far as it matters
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return nil, registry.ErrUnchanged
	default:
		err := problemIn(resp)
		r.note(path, err)
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read from the control plane after %d bytes: %w", len(b), err)
	}
	if int64(len(b)) > limit {
		return nil, problem.New(problem.TooLarge, "the control plane sent more than %d bytes", limit)
	}
	return b, nil
}

// Release implements [Source] by a long poll.
func (r *Remote) Release(ctx context.Context, known registry.Digest) ([]byte, error) {
	return r.get(ctx, registry.EdgeReleasePath, string(known), true, oci.MaxEnvelopeBytes)
}

// Artifact implements [Source].
func (r *Remote) Artifact(ctx context.Context, repository string, d registry.Digest, kind oci.Kind) (*oci.Artifact, error) {
	if r.opts.Artifacts != nil {
		a, err := r.opts.Artifacts.Pull(ctx, repository, d, kind)
		if err == nil || ctx.Err() != nil {
			return a, err
		}
		r.log.LogAttrs(ctx, slog.LevelWarn, "registry does not give an artifact, the control plane is asked", slog.String("digest", string(d)), slog.Any("error", err))
	}
	token := r.token()
	a, err := r.store.Pull(ctx, repository, d, kind)
	if problem.Is(err, problem.Unauthenticated) {
		if err := r.renew(ctx, token); err != nil {
			return nil, err
		}
		return r.store.Pull(ctx, repository, d, kind)
	}
	return a, err
}

// Report tells the control plane about this node.
func (r *Remote) Report(ctx context.Context, s registry.EdgeStatus) error {
	s.Time = r.opts.Now().UTC()
	return r.post(ctx, registry.EdgeStatusPath, true, s, nil)
}

// PostUsage gives the control plane a usage report.
func (r *Remote) PostUsage(ctx context.Context, u *registry.UsageReport) (registry.UsageReceipt, error) {
	var receipt registry.UsageReceipt
	if !r.Enrolled() {
		return receipt, problem.New(problem.Unavailable, "this edge is not enrolled yet")
	}
	err := r.post(ctx, registry.EdgeUsagePath, true, u, &receipt)
	return receipt, err
}
