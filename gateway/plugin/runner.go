package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/turns"
	"github.com/sluicegate/sluice/registry"
)

const (
	// Window is how many calls of a plugin are judged together.
	Window = 20
	// DefaultErrorPercent of a window may fail; with more the plugin is left out.
	DefaultErrorPercent = 50
	// Unbound is how long a plugin is left out of calls at first; each time that it
	// misbehaves again it is twice as long, up to longestUnbound. A window without a
	// reason to leave it out starts anew.
	Unbound        = 5 * time.Minute
	longestUnbound = time.Hour
	// idle is how long a plugin that no call needs stays loaded.
	idle = 15 * time.Minute
	// rest is how long it keeps instances that wait for calls: they have a megabyte or
	// more, its compiled code half of one.
	rest = time.Minute
)

// ErrUnbound means that the plugin misbehaved and is left out of calls.
var ErrUnbound = errors.New("the plugin misbehaved and is left out for now")

// Options configures a Runner. Host is required.
type Options struct {
	Host   *extism.Host
	Policy guest.Policy // what plugins may be granted. Default: nothing beyond the smallest limits
	// Unbound is told when a plugin is taken out of calls, on the call's goroutine: it
	// must not block. Default: no one is told.
	Unbound func(registry.PluginUnbound)
	Meter   *metering.Meter // default: nothing is counted
	Logger  *slog.Logger    // default: discard
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Runner keeps plugins loaded. Close it when no call runs any more.
type Runner struct {
	o   Options
	log *slog.Logger

	mu     sync.Mutex
	loaded map[string]*entry                             // guarded by mu; by snapshot.Plugin.Key
	swept  time.Time                                     // guarded by mu
	left   map[registry.PluginKey]*registry.PluginCounts // guarded by mu; of entries that were let go

	measure func(func() error) (time.Duration, error) // turns.Measure
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
	if o.Unbound == nil {
		o.Unbound = func(registry.PluginUnbound) {}
	}
	return &Runner{
		o: o, log: o.Logger.With(slog.String("component", "plugin")), loaded: map[string]*entry{}, left: map[registry.PluginKey]*registry.PluginCounts{}, swept: o.Now(), measure: turns.Measure,
	}, nil
}

// Transform appends what a plugin makes of in to dst. The first call of a plugin loads
// and compiles it. Errors are those of [guest.Load] and [guest.Plugin.Transform], and
// ErrUnbound; dst is then as it was.
func (r *Runner) Transform(ctx context.Context, dst, in []byte, p *snapshot.Plugin, c *guest.Context) ([]byte, error) {
	now := r.o.Now()
	e := r.entry(p, now)
	rec := e.records.of(c.Caller, now)
	if now.UnixNano() < max(rec.unbound.Load(), e.records.all.unbound.Load()) {
		return dst, ErrUnbound
	}
	if err := r.load(ctx, e, p); err != nil {
		return dst, err
	}
	begin := r.o.Now()
	out, err := e.plugin.Transform(ctx, dst, in, c)
	e.metrics.requested(c.Requests)
	if ctx.Err() == nil && c.Calls.Ended() == nil { // a caller that gave up says nothing about the plugin
		r.judge(e, rec, p, err, begin, r.o.Now().Sub(begin)-c.Waited(), c.Used, len(in), len(out)-len(dst))
	}
	return out, err
}

// Check runs what finds out whether the output of a call of a caller that ended well can be used,
// such as a comparison with the schema that the plugin brought. The processor time of that is
// the plugin's, as is a failure: it is returned.
func (r *Runner) Check(p *snapshot.Plugin, caller string, check func() error) error {
	used, err := r.measure(check)
	now := r.o.Now()
	e := r.entry(p, now)
	rec := e.records.of(caller, now)
	rec.micros.Add(used.Microseconds())
	e.micros.Add(uint64(used.Microseconds()))
	if err != nil {
		e.errors.Add(1)
		e.metrics.failed("output")
		r.blame(e, rec, p, err, now)
	}
	return err
}

// load makes the plugin of an entry ready. Who gave up waiting says nothing about it:
// it is compiled for the calls that follow.
func (r *Runner) load(ctx context.Context, e *entry, p *snapshot.Plugin) error {
	e.once.Do(func() {
		e.plugin, e.err = guest.Load(r.o.Host, p.Package, guest.Options{Policy: r.o.Policy, Config: p.Ref.Config, Grants: p.Ref.Grants, Toolset: p.Workspace + "/" + p.Toolset})
		if e.err == nil {
			e.ready.Store(e.plugin)
		}
	})
	err := e.err
	switch refused := e.refused.Load(); {
	case err != nil:
	case refused != nil:
		err = *refused
	case !e.compiled.Load():
		if err = e.plugin.Compile(ctx); err == nil {
			e.compiled.Store(true)
		} else if problem.Is(err, problem.InvalidPlugin) {
			e.refused.Store(&err)
		}
	}
	if err != nil {
		e.metrics.failed("load")
	}
	return err
}

// entry finds or makes the entry of a plugin, and now and then lets those go that
// no call needs.
func (r *Runner) entry(p *snapshot.Plugin, now time.Time) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) > rest/2 {
		r.swept = now
		for key, e := range r.loaded {
			unused := time.Duration(now.UnixNano() - e.used.Load())
			switch {
			case key == p.Key:
			case unused > idle:
				delete(r.loaded, key)
				e.take(r.left)
				go e.close() // waits for calls, which end by their deadlines
			case unused > rest && !e.resting.Swap(true):
				go e.rest()
			}
		}
	}
	e := r.loaded[p.Key]
	if e == nil {
		e = newEntry(p, r.o.Meter, r.o.Host.Grace())
		r.loaded[p.Key] = e
	}
	e.used.Store(now.UnixNano())
	e.resting.Store(false)
	return e
}

// judge counts a call of a caller and takes a plugin out that misbehaves.
func (r *Runner) judge(e *entry, rec *record, p *snapshot.Plugin, err error, now time.Time, took, used time.Duration, in, out int) {
	e.calls.Add(1)
	e.micros.Add(uint64(took.Microseconds()))
	e.bytesIn.Add(uint64(in))
	e.bytesOut.Add(uint64(max(out, 0)))
	e.metrics.called(took)
	if err != nil {
		e.metrics.failed(e.cause(err))
		if errors.Is(err, extism.ErrBusy) || errors.Is(err, extism.ErrClosed) {
			return // it waited for others: that says nothing about it
		}
		if _, said := errors.AsType[*extism.PluginError](err); !said || p.Package.Manifest.Kind != manifest.Workflow {
			r.blame(e, rec, p, err, now) // what a workflow says is for the agent: that an order does not exist
		}
	}
	total := rec.micros.Add(used.Microseconds())
	if n := rec.calls.Add(1); n >= Window {
		if mean := time.Duration(total/n) * time.Microsecond; mean > e.meanLimit {
			r.unbind(e, rec, p, now, fmt.Sprintf("%d calls used %s of a processor on average, more than %s", n, mean.Round(10*time.Microsecond), e.meanLimit))
			return
		}
		rec.restart()
		if err == nil {
			rec.times.Store(0)
		}
	}
}

// blame counts a failed call.
func (r *Runner) blame(e *entry, rec *record, p *snapshot.Plugin, err error, now time.Time) {
	if n := rec.failed.Add(1); e.errorPercent < 100 && n*100 > int64(e.errorPercent)*Window {
		r.unbind(e, rec, p, now, fmt.Sprintf("%d of %d calls failed, the last: %.200s", n, max(rec.calls.Load()+1, n), err))
	}
}

// unbind takes a plugin out of the calls of one caller, and out of all when it is for most.
func (r *Runner) unbind(e *entry, rec *record, p *snapshot.Plugin, now time.Time, reason string) {
	pause := min(Unbound<<min(rec.times.Load(), 8), longestUnbound)
	until := now.Add(pause)
	if !rec.out(now, until) {
		return
	}
	switch all := &e.records.all; {
	case rec == all:
	case e.records.outForMost(now) && all.out(now, until):
		reason = "in the calls of most callers; of one: " + reason
	default:
		reason = "in the calls of one caller only: " + reason
	}
	e.unbindings.Add(1)
	e.metrics.unbound()
	r.log.LogAttrs(context.Background(), slog.LevelWarn, "plugin misbehaved and is left out of calls",
		slog.String("plugin", p.Ref.Name), slog.String("version", p.Ref.Version), slog.String("toolset", p.Slug), slog.Duration("for", pause), slog.String("reason", reason))
	r.o.Unbound(registry.PluginUnbound{PluginKey: e.key, Toolset: p.Slug, Reason: reason, Until: until.Unix()})
}

// Usage returns what was counted since it was asked last, of each version that was
// called.
func (r *Runner) Usage() []registry.PluginCalls {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.loaded {
		e.take(r.left)
	}
	out := make([]registry.PluginCalls, 0, len(r.left))
	for key, n := range r.left {
		out = append(out, registry.PluginCalls{PluginKey: key, PluginCounts: *n})
	}
	clear(r.left)
	return out
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

// entry is a plugin with its record.
type entry struct {
	once   sync.Once
	plugin *guest.Plugin
	err    error

	key          registry.PluginKey
	errorPercent int
	meanLimit    time.Duration
	metrics      *series

	compiled atomic.Bool
	refused  atomic.Pointer[error] // why it cannot be compiled

	used    atomic.Int64 // unix nanoseconds of the last call
	resting atomic.Bool  // its instances were freed since
	ready   atomic.Pointer[guest.Plugin]
	records records

	calls, errors, traps, deadlines, unbindings, micros, bytesIn, bytesOut atomic.Uint64
}

func newEntry(p *snapshot.Plugin, m *metering.Meter, grace time.Duration) *entry {
	e := &entry{
		key: registry.PluginKey{Workspace: p.Workspace, Name: p.Ref.Name, Version: p.Ref.Version}, errorPercent: DefaultErrorPercent,
		meanLimit: (guest.LimitsWith(p.Package.Manifest, p.Ref.Grants).Deadline + grace) / 2, metrics: newSeries(m, p),
	}
	if u := p.Ref.Unbind; u != nil {
		if u.ErrorPercent > 0 {
			e.errorPercent = u.ErrorPercent
		}
		if u.MeanMilliseconds > 0 {
			e.meanLimit = time.Duration(u.MeanMilliseconds) * time.Millisecond
		}
	}
	return e
}

func (e *entry) close() {
	e.once.Do(func() { e.err = extism.ErrClosed })
	if e.plugin != nil {
		e.plugin.Close()
	}
}

// rest frees the instances of the plugin, if it was loaded.
func (e *entry) rest() {
	if p := e.ready.Load(); p != nil {
		p.Rest()
	}
}

// cause counts how a call failed and names it for the metrics.
func (e *entry) cause(err error) string {
	var trap *extism.TrapError
	switch {
	case errors.Is(err, extism.ErrDeadline):
		e.deadlines.Add(1)
		return "deadline"
	case errors.As(err, &trap):
		e.traps.Add(1)
		return "trap"
	case errors.Is(err, extism.ErrTooLarge):
		e.errors.Add(1)
		return "output"
	}
	e.errors.Add(1)
	return "error"
}

// take moves what was counted into a map.
func (e *entry) take(to map[registry.PluginKey]*registry.PluginCounts) {
	n := registry.PluginCounts{
		Calls: e.calls.Swap(0), Errors: e.errors.Swap(0), Traps: e.traps.Swap(0), Deadlines: e.deadlines.Swap(0),
		Unbound: e.unbindings.Swap(0), Micros: e.micros.Swap(0), BytesIn: e.bytesIn.Swap(0), BytesOut: e.bytesOut.Swap(0),
	}
	if n == (registry.PluginCounts{}) {
		return
	}
	if have := to[e.key]; have != nil {
		have.Add(&n)
		return
	}
	to[e.key] = &n
}
