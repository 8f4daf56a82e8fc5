package extism

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/plugins/turns"
)

// The modules that plugins import from.
const (
	envModule  = "extism:host/env"
	userModule = "extism:host/user"
	wasiModule = "wasi_snapshot_preview1"
)

// Grants is what a plugin may do beyond turning input into output.
type Grants struct {
	Clock  bool // the real time; otherwise a clock that starts in 2022 and steps
	Random bool // real randomness; otherwise the same bytes each time
	// NoClock and NoRandom stop a call that reads the time, or randomness, instead of giving
	// it what is not real: the plugin asked for them, and they were not granted.
	NoClock, NoRandom bool
	// Hosts that http_request may call; "*.example.com" stands for all names below. A port is
	// named when it is not that of the scheme.
	Hosts []string
	// Functions of Options that it may import.
	Functions []string
}

// Spec describes a plugin.
type Spec struct {
	Name string // for logs and errors
	// Share is whose calls wait for each other's turns: other shares get theirs as often.
	// A toolset is one. Plugins without one have one together. Within a share the owners of
	// calls get theirs as often, see [Call].
	Share  string
	Code   []byte // the module; not kept after it was compiled
	Grants Grants
	Limits Limits
	// Config is what config_get answers, besides what a call adds. It is not copied.
	Config map[string]string
	// LogLevel is the lowest level that is logged: 0 trace, 1 debug, 2 info, 3 warn, 4
	// error. Default: 0.
	LogLevel int
	// Log takes log lines instead of the host's logger. Default: none.
	Log func(level int, message string)
	// HTTP sends its requests instead of the host's. Default: the host's.
	HTTP Doer
	// Now is the real time of a plugin that was granted the clock. Default: time.Now.
	Now func() time.Time
}

// Plugin is a loaded plugin with its idle instances.
type Plugin struct {
	h       *Host
	spec    Spec
	limits  Limits
	digest  [sha256.Size]byte
	exports map[string]signature
	memory  bool // it has a memory
	share   *turns.Share
	places  *turns.Places
	idle    idle

	gone chan struct{} // closed when the plugin is

	mu     sync.Mutex
	closed bool         // guarded by mu
	engine *engine      // guarded by mu; nil until compiled
	code   *code        // guarded by mu
	build  *compilation // guarded by mu; while it is compiled
	calls  sync.WaitGroup

	stats [5]atomic.Uint64
}

// signature says how an exported function can be called.
type signature struct {
	callable bool // no parameters, and no result or an i32 or i64
	result   bool
}

// Load checks a plugin and returns it without compiling it: the first call does, or
// [Plugin.Compile]. It fails with a [problem.InvalidPlugin] that says what the
// plugin imports without a grant or asks for beyond the limits.
func (h *Host) Load(s Spec) (*Plugin, error) {
	p := &Plugin{h: h, spec: s, limits: s.Limits.withDefaults(), digest: sha256.Sum256(s.Code)}
	p.limits.Deadline += h.o.Grace
	m, err := module.Parse(s.Code)
	if err != nil {
		fault, remedy := module.Explain(err)
		return nil, p.refuse(remedy, "%s", fault)
	}
	if err := p.check(m); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	h.live.Add(1)
	p.places = turns.NewPlaces(p.limits.Concurrent, p.limits.Concurrent, turns.Part(p.limits.Concurrent))
	p.share = h.queue.Join(s.Share)
	p.idle.room, p.gone = p.limits.Idle, make(chan struct{})
	return p, nil
}

func (p *Plugin) refuse(remedy, format string, args ...any) error {
	return problem.New(problem.InvalidPlugin, "plugin %s: %s", p.spec.Name, fmt.Sprintf(format, args...)).Fix("%s", remedy)
}

// check refuses what would fail later, or what must not be tried.
func (p *Plugin) check(m *module.Module) error {
	class, ok := p.limits.class()
	if !ok {
		return p.refuse("ask for less", "it asks for %d bytes of memory, more than %d", p.limits.Memory, classes[len(classes)-1])
	}
	for _, mem := range m.Memories {
		if int64(mem.Min)<<16 > int64(classes[class]) {
			return p.refuse("raise memoryBytes in its manifest", "it begins with %d bytes of memory, and its class has %d", int64(mem.Min)<<16, classes[class])
		}
	}
	for _, i := range m.Imports {
		if i.Kind != module.Func {
			return p.refuse("a plugin has its own memory and tables", "it imports %s %s, which is not a function", shown(i.Module), shown(i.Name))
		}
		if err := p.checkImport(m, i); err != nil {
			return err
		}
	}
	p.memory = len(m.Memories) > 0
	p.exports = make(map[string]signature, len(m.Exports))
	for _, e := range m.Exports {
		if e.Kind != module.Func {
			continue
		}
		t, ok := m.FuncType(e.Index)
		if !ok {
			return p.refuse("build the plugin again", "export %s has no type", shown(e.Name))
		}
		p.exports[e.Name] = signature{
			callable: len(t.Params) == 0 && len(t.Results) <= 1 && (len(t.Results) == 0 || t.Results[0] == module.I32 || t.Results[0] == module.I64),
			result:   len(t.Results) == 1,
		}
	}
	return nil
}

func (p *Plugin) checkImport(m *module.Module, i module.Import) error {
	switch i.Module {
	case envModule:
		want, ok := envTypes[i.Name]
		if !ok {
			return p.refuse("use a PDK for the Extism kernel 1.x", "it imports %s %s, which the kernel does not have", shown(i.Module), shown(i.Name))
		}
		if got, ok := m.FuncTypeOf(i); !ok || string(got.Params) != want.params || string(got.Results) != want.results {
			return p.refuse("use a PDK for the Extism kernel 1.x", "it imports %s %s with another signature than the kernel's", shown(i.Module), shown(i.Name))
		}
		return nil
	case wasiModule: // nothing of it reaches the system
		want, ok := wasiTypes()[i.Name]
		if !ok {
			return p.refuse("build it for WASI preview 1 (wasm32-wasip1), without what later versions and other hosts add", "it imports %s %s, which WASI preview 1 does not have", shown(i.Module), shown(i.Name))
		}
		if got, ok := m.FuncTypeOf(i); !ok || string(got.Params) != want.params || string(got.Results) != want.results {
			return p.refuse("build it for WASI preview 1 (wasm32-wasip1)", "it imports %s %s with another signature than that of WASI preview 1", shown(i.Module), shown(i.Name))
		}
		return nil
	}
	for _, f := range p.h.o.Functions {
		if f.namespace() != i.Module || f.Name != i.Name {
			continue
		}
		if slices.Contains(p.spec.Grants.Functions, f.Name) {
			return nil
		}
		return p.refuse("name it in the manifest's capabilities, and have the operator grant it", "it imports %s %s, which it was not granted", shown(i.Module), shown(i.Name))
	}
	return p.refuse("remove the import", "it imports %s %s, which does not exist here", shown(i.Module), shown(i.Name))
}

// Exports reports whether the plugin has a function that [Plugin.Call] can call.
func (p *Plugin) Exports(name string) bool { return p.exports[name].callable }

// Call is one call of a plugin.
type Call struct {
	Export string
	Input  []byte // not kept
	// Owner is on whose behalf the plugin is called. What an instance remembers is the
	// owner's: it serves no other. Calls without one share instances.
	Owner string
	// Used is told the processor time that the call used. May be nil.
	Used *time.Duration
	// Config answers config_get before the plugin's own configuration does. May be nil.
	Config func(key string) (string, bool)
	// Data is handed to host functions, see [Caller.Data].
	Data any
	// Requests takes the HTTP requests that were sent for the plugin. May be nil.
	Requests *[]Request
}

// Call runs an exported function on an idle instance, or a new one, and appends
// its output to dst. It fails with ErrBusy, ErrDeadline, ErrTooLarge, ErrNoExport,
// a *PluginError, a *TrapError or an *ExitError; dst is then as it was. Nothing is
// kept between calls but what the plugin has in its own memory, and that only for
// calls of the same owner.
func (p *Plugin) Call(ctx context.Context, dst []byte, c Call) ([]byte, error) {
	if err := p.begin(ctx); err != nil {
		return dst, err
	}
	defer p.calls.Done()
	if err := p.enter(ctx, c.Owner); err != nil {
		return dst, err
	}
	defer p.places.Give("", c.Owner)
	i, err := p.take(ctx, c.Owner)
	if err != nil {
		p.count(err)
		return dst, err
	}
	out, code, err := i.call(ctx, dst, c)
	if c.Used != nil {
		*c.Used = i.clock.Used()
	}
	if err == nil && code != 0 {
		err = &PluginError{Code: code}
	}
	p.put(ctx, i)
	p.count(err)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// enter takes a place, or waits for one.
func (p *Plugin) enter(ctx context.Context, owner string) error {
	switch err := p.places.Take(ctx, p.limits.Deadline+patience, "", owner); {
	case err == nil:
		return nil
	case errors.Is(err, turns.ErrBusy):
		return ErrBusy
	}
	return ErrDeadline
}

// take returns an idle instance of the owner's, or a new one, which is from now on the
// owner's.
func (p *Plugin) take(ctx context.Context, owner string) (*Instance, error) {
	if i := p.idle.take(owner); i != nil {
		return i, nil
	}
	i, err := p.instantiate(ctx)
	if err == nil {
		i.owner = owner
	}
	return i, err
}

// put keeps an instance for its owner's next call, unless it broke or grew. The one
// that waited longest makes room.
func (p *Plugin) put(ctx context.Context, i *Instance) {
	if !i.broken && !i.grown() {
		clear(i.vars)
		i.varBytes = 0
		i = p.idle.put(i)
	}
	if i != nil {
		i.close(ctx)
	}
}

// Rest frees the instances that wait for calls: the next one makes an instance again,
// from compiled code that stays. It may be called at any time.
func (p *Plugin) Rest() {
	for _, i := range p.idle.takeAll() {
		i.close(context.Background())
	}
}

// Close waits for running calls and frees the instances. Calls that wait for the plugin
// to be compiled, and later ones, fail with ErrClosed.
func (p *Plugin) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	close(p.gone)
	p.mu.Unlock()
	p.calls.Wait()
	p.Rest()
	p.mu.Lock()
	if p.code != nil {
		p.engine.drop(context.Background(), p.digest)
	}
	p.mu.Unlock()
	p.h.queue.Part(p.share)
	p.h.live.Done()
}

// Stats counts the calls of a plugin by how they ended.
type Stats struct{ Calls, Errors, Traps, Deadlines, Instances uint64 }

const (
	statCalls = iota
	statErrors
	statTraps
	statDeadlines
	statInstances
)

// Stats returns the counts since the plugin was loaded.
func (p *Plugin) Stats() Stats {
	return Stats{
		Calls: p.stats[statCalls].Load(), Errors: p.stats[statErrors].Load(), Traps: p.stats[statTraps].Load(),
		Deadlines: p.stats[statDeadlines].Load(), Instances: p.stats[statInstances].Load(),
	}
}

func (p *Plugin) count(err error) {
	p.stats[statCalls].Add(1)
	if err == nil {
		return
	}
	var trap *TrapError
	switch {
	case errors.Is(err, ErrDeadline):
		p.stats[statDeadlines].Add(1)
	case errors.As(err, &trap):
		p.stats[statTraps].Add(1)
	default:
		p.stats[statErrors].Add(1)
	}
}

// envType is the signature of a kernel function; its bytes are value types.
type envType struct{ params, results string }

const (
	i32 = "\x7f"
	i64 = "\x7e"
)

// envTypes are the functions of the ABI that a plugin may import.
var envTypes = map[string]envType{
	"alloc": {i64, i64}, "free": {i64, ""}, "length": {i64, i64}, "length_unsafe": {i64, i64},
	"load_u8": {i64, i32}, "load_u64": {i64, i64}, "store_u8": {i64 + i32, ""}, "store_u64": {i64 + i64, ""},
	"input_set": {i64 + i64, ""}, "input_length": {"", i64}, "input_offset": {"", i64},
	"input_load_u8": {i64, i32}, "input_load_u64": {i64, i64},
	"output_set": {i64 + i64, ""}, "output_length": {"", i64}, "output_offset": {"", i64},
	"error_set": {i64, ""}, "error_get": {"", i64}, "reset": {"", ""}, "memory_bytes": {"", i64},
	"config_get": {i64, i64}, "var_get": {i64, i64}, "var_set": {i64 + i64, ""},
	"http_request": {i64 + i64, i64}, "http_status_code": {"", i32}, "http_headers": {"", i64},
	"get_log_level": {"", i32}, "log_trace": {i64, ""}, "log_debug": {i64, ""}, "log_info": {i64, ""},
	"log_warn": {i64, ""}, "log_error": {i64, ""},
}
