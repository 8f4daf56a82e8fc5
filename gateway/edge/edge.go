package edge

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// Defaults of Options.
const (
	// DefaultGroup is the group of edges of a node that was told none.
	DefaultGroup = "default"
	// DefaultMinRetry is the first pause after an error.
	DefaultMinRetry = 200 * time.Millisecond
	// DefaultMaxRetry is the longest pause: the time in which a node notices that
	// the control plane is back.
	DefaultMaxRetry = 30 * time.Second
	// DefaultPollTimeout ends one question for a newer release, so that a
	// connection that hangs without an error is given up.
	DefaultPollTimeout = time.Minute
	// enrolTimeout ends one attempt to enrol.
	enrolTimeout = 30 * time.Second
	// fetchTimeout ends the fetch of one artifact of at most 96 MiB.
	fetchTimeout = 2 * time.Minute
)

// Source brings releases and artifacts from a control plane. Its methods are
// called from many goroutines.
type Source interface {
	// Release returns the signed envelope of the newest release as soon as its
	// digest is not known ("" nothing is known), and may wait for it until ctx
	// ends. It returns registry.ErrUnchanged when there is nothing newer. The
	// caller owns the bytes, which are not verified.
	Release(ctx context.Context, known registry.Digest) (envelope []byte, err error)
	// Artifact fetches a verified artifact by the digest of its OCI manifest.
	Artifact(ctx context.Context, repository string, d registry.Digest, kind oci.Kind) (*oci.Artifact, error)
}

// Options configure a Follower.
type Options struct {
	Source Source                // Required
	Dir    string                // cache directory, this node's own. Required; made with mode 0700
	Group  string                // group of edges. Default: DefaultGroup
	Keys   []registry.TrustedKey // keys trusted at the very first start; later the releases say. Required
	// Prepare gets ready what a newer release needs besides its contents, before it is
	// applied: without that, the release is tried again later and the one before is
	// served on. Not called for a release of the cache. Default: nothing is needed.
	Prepare func(ctx context.Context, s *State) error
	// Apply makes a state live, or fails and changes nothing. It is called by one
	// goroutine and may keep the state. Required.
	Apply       func(*State) error
	Logger      *slog.Logger      // Default: discard
	MinRetry    time.Duration     // Default: DefaultMinRetry
	MaxRetry    time.Duration     // Default: DefaultMaxRetry
	PollTimeout time.Duration     // Default: DefaultPollTimeout
	Now         func() time.Time  // clock that expiry is told by. Default: time.Now
	Jitter      retry.Jitter      // of pauses after an error. Default: [retry.Half]
	System      atomicfile.System // file system the cache is written on. Default: the operating system's
}

func (o *Options) validate() error {
	var errs []error
	if o.Source == nil {
		errs = append(errs, errors.New("edge: no source of releases is given"))
	}
	if o.Dir == "" {
		errs = append(errs, errors.New("edge: no cache directory is given"))
	}
	if o.Apply == nil {
		errs = append(errs, errors.New("edge: Options.Apply is required"))
	}
	if o.Prepare == nil {
		o.Prepare = func(context.Context, *State) error { return nil }
	}
	if o.Group == "" {
		o.Group = DefaultGroup
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MinRetry <= 0 {
		o.MinRetry = DefaultMinRetry
	}
	if o.MaxRetry < o.MinRetry {
		o.MaxRetry = max(DefaultMaxRetry, o.MinRetry)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PollTimeout <= 0 {
		o.PollTimeout = DefaultPollTimeout
	}
	return errors.Join(errs...)
}

// Status says what a node serves and what is wrong. The zero time is "never".
type Status struct {
	Ready    bool            // a verified release is live
	Epoch    uint64          // of the live release
	Revision uint64          // of the live release
	Release  registry.Digest // digest of its envelope
	Issued   time.Time
	Expires  time.Time
	Expired  bool            // past Expires: still serving
	Toolsets int             // live toolsets
	Applied  time.Time       // when it became live here
	Contact  time.Time       // last answer of the source
	Saved    registry.Digest // release on disk, with everything it needs; "" none or unknown
	// Following is what keeps the node from the newest release; Cache is what keeps
	// it from persisting or reading its own files. nil: nothing.
	Following error
	Cache     error
	Fetched   uint64 // artifacts fetched from the source since the start
	Opened    uint64 // modules verified and opened since the start
}

// Follower keeps a node on the newest good release.
type Follower struct {
	opts    Options
	log     *slog.Logger
	cache   *cache
	ratchet *sign.Ratchet
	loader  *loader
	ready   atomic.Bool

	// Used by Load and Run only, which is one goroutine.
	loaded  bool
	live    *sign.Release
	saved   *sign.Release // the release on disk, verified
	unsaved map[registry.Digest]*oci.Artifact
	dirty   bool            // live or the notes are not on disk yet
	notes   bool            // the notes of a former run were read
	refused registry.Digest // last envelope that did not verify

	mu     sync.Mutex
	status Status
}

// New opens the cache directory. It loads nothing yet. A cache directory that
// cannot be written is not an error: the node follows without persisting and
// says so in its status.
func New(opts Options) (*Follower, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	f := &Follower{opts: opts, unsaved: make(map[registry.Digest]*oci.Artifact), log: opts.Logger.With(slog.String("component", "edge"))}
	f.cache = openCache(opts.Dir, opts.System)
	remembered, err := f.cache.remembered(opts.Group)
	f.setCache(err)
	if err != nil && remembered == nil {
		f.log.LogAttrs(context.Background(), slog.LevelWarn, "the cache cannot be used", slog.Any("error", err))
	}
	f.notes = remembered != nil
	var state *sign.State
	if remembered != nil {
		state = &remembered.State
	}
	if f.ratchet, err = sign.NewRatchet(opts.Group, opts.Keys, state); err != nil {
		return nil, err
	}
	f.loader = newLoader(f.cache, opts.Source)
	return f, nil
}

// Ready reports whether a verified release is live.
func (f *Follower) Ready() bool { return f.ready.Load() }

// Status returns what the node serves and what is wrong with it now.
func (f *Follower) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.status
	s.Ready = f.ready.Load()
	s.Expired = s.Ready && f.opts.Now().After(s.Expires)
	s.Fetched, s.Opened = f.loader.fetched.Load(), f.loader.opened.Load()
	return s
}

// setFollowing records what keeps the node from the newest release; nil clears
// it. It reports whether that is news, so that the same fault is logged once.
func (f *Follower) setFollowing(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := (err == nil) != (f.status.Following == nil) || err != nil && err.Error() != f.status.Following.Error()
	f.status.Following = err
	return news
}

func (f *Follower) setCache(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := err != nil && (f.status.Cache == nil || f.status.Cache.Error() != err.Error())
	f.status.Cache = err
	return news
}

func (f *Follower) contact() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Contact = time.Now()
}
