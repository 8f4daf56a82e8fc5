package plugin

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
)

const (
	// window is how many calls of a plugin are judged together, and most how many of
	// them may fail: more than half of 20.
	window = 20
	most   = window / 2
	// Unbound is how long a plugin that failed too often is left out of calls.
	Unbound = 5 * time.Minute
	// idle is how long a plugin that no call needs stays loaded.
	idle = 15 * time.Minute
)

// ErrUnbound means that the plugin failed too often and is left out of calls.
var ErrUnbound = errors.New("the plugin failed too often and is left out for now")

// Options configures a Runner. Host is required.
type Options struct {
	Host   *extism.Host
	Policy guest.Policy // what plugins may be granted. Default: nothing beyond the smallest limits
	Logger *slog.Logger // default: discard
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Runner keeps plugins loaded. Close it when no call runs any more.
type Runner struct {
	o   Options
	log *slog.Logger

	mu     sync.Mutex
	loaded map[string]*entry // guarded by mu; by snapshot.Plugin.Key
	swept  time.Time         // guarded by mu
}

// entry is a plugin with its record.
type entry struct {
	once   sync.Once
	plugin *guest.Plugin
	err    error

	used    atomic.Int64 // unix nanoseconds of the last call
	calls   atomic.Int64 // of the window
	failed  atomic.Int64 // of the window
	unbound atomic.Int64 // unix nanoseconds until which it is left out
}

// New makes a Runner.
func New(o Options) (*Runner, error) {
	if o.Host == nil {
		return nil, problem.New(problem.InvalidArgument, "a runner of plugins needs a host")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Runner{o: o, log: o.Logger.With(slog.String("component", "plugin")), loaded: map[string]*entry{}, swept: o.Now()}, nil
}

// Transform appends what a plugin makes of in to dst. The first call of a plugin loads
// and compiles it. Errors are those of [guest.Load] and [guest.Plugin.Transform], and
// ErrUnbound; dst is then as it was.
func (r *Runner) Transform(ctx context.Context, dst, in []byte, p *snapshot.Plugin, c *guest.Context) ([]byte, error) {
	now := r.o.Now()
	e := r.entry(p, now)
	if now.UnixNano() < e.unbound.Load() {
		return dst, ErrUnbound
	}
	e.once.Do(func() {
		e.plugin, e.err = guest.Load(r.o.Host, p.Package, guest.Options{Policy: r.o.Policy, Config: p.Ref.Config})
		if e.err == nil {
			e.err = e.plugin.Compile(ctx)
		}
	})
	if e.err != nil {
		return dst, e.err
	}
	out, err := e.plugin.Transform(ctx, dst, in, c)
	if ctx.Err() == nil { // a caller that gave up says nothing about the plugin
		r.judge(e, p, err, now)
	}
	return out, err
}

// entry finds or makes the entry of a plugin, and now and then lets those go that
// no call needs.
func (r *Runner) entry(p *snapshot.Plugin, now time.Time) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) > idle/2 {
		r.swept = now
		for key, e := range r.loaded {
			if now.UnixNano()-e.used.Load() > int64(idle) && key != p.Key {
				delete(r.loaded, key)
				go e.close() // waits for calls, which end by their deadlines
			}
		}
	}
	e := r.loaded[p.Key]
	if e == nil {
		e = &entry{}
		r.loaded[p.Key] = e
	}
	e.used.Store(now.UnixNano())
	return e
}

func (e *entry) close() {
	e.once.Do(func() { e.err = extism.ErrClosed })
	if e.plugin != nil {
		e.plugin.Close()
	}
}

// judge counts a call and takes a plugin out whose calls failed too often.
func (r *Runner) judge(e *entry, p *snapshot.Plugin, err error, now time.Time) {
	if err != nil {
		if e.failed.Add(1) > most {
			e.calls.Store(0)
			e.failed.Store(0)
			e.unbound.Store(now.Add(Unbound).UnixNano())
			r.log.LogAttrs(context.Background(), slog.LevelWarn, "plugin failed too often and is left out of calls",
				slog.String("plugin", p.Ref.Name), slog.String("version", p.Ref.Version), slog.Duration("for", Unbound), slog.Any("error", err))
			return
		}
	}
	if e.calls.Add(1) >= window {
		e.calls.Store(0)
		e.failed.Store(0)
	}
}

// Close frees the plugins. No call may run or follow.
func (r *Runner) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.loaded {
		e.close()
	}
	clear(r.loaded)
}
