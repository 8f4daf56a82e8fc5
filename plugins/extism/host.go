package extism

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sluicegate/sluice/plugins/codecache"
	"github.com/sluicegate/sluice/plugins/linear"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/plugins/turns"
)

//go:embed kernel.wasm
var kernelCode []byte

// A Doer sends HTTP requests, as http.Client does. It must refuse addresses that a
// plugin has no business with, and obey the request's context.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Function is a host function that plugins may be granted.
type Function struct {
	Module  string // Default: "extism:host/user", where PDKs look
	Name    string
	Params  int // all i64: offsets of blocks, or numbers
	Results int // 0 or 1, i64
	// Call runs on the plugin's goroutine. Its arguments are in stack; the result
	// goes to stack[0]. A panic with an error stops the plugin.
	Call func(c *Caller, stack []uint64)
}

// Options configures a [Host]. The zero value is usable.
type Options struct {
	// CacheDir is where compiled code is kept between starts; it is made when missing
	// (0700). Default: none, each start compiles again: 0.4 s a megabyte.
	CacheDir string
	// Functions that plugins may be granted by name. Default: none.
	Functions []Function
	// HTTP sends the requests of plugins that were granted hosts. Default: none are sent.
	HTTP Doer
	// Memory makes the linear memories of plugins and of their kernels, for who looks
	// into them. Default: those of package linear.
	Memory experimental.MemoryAllocator
	// Logger takes what plugins log, with their name. Default: discard.
	Logger *slog.Logger
	// Grace is added to the processor time of every call and to that which an instance has
	// to start, for machines that are slow. Default: none.
	Grace time.Duration
	// Turns are shared with other hosts of this process. Default: its own.
	Turns *turns.Queue
	// Interrupt runs all plugins with wazero's interruption instead of metering, to
	// compare the two. Default: false.
	Interrupt bool
}

// Grace is that of the host's options.
func (h *Host) Grace() time.Duration { return h.o.Grace }

// Host runs plugins.
type Host struct {
	o     Options
	log   *slog.Logger
	cache *codecache.Cache

	mu      sync.Mutex
	closed  bool             // guarded by mu
	engines map[mode]*engine // guarded by mu
	// underway is how many modules are compiled, or wait for it. Guarded by mu.
	underway int
	live     sync.WaitGroup // open plugins

	queue *turns.Queue

	small, large chan struct{} // full while a module is compiled, see [Host.building]
}

// mode tells runtimes apart.
type mode struct {
	class     int
	interrupt bool
}

// engine is a runtime with what all its plugins share.
type engine struct {
	runtime   wazero.Runtime
	kernel    wazero.CompiledModule
	memory    experimental.MemoryAllocator
	interrupt bool // by wazero; otherwise plugins are metered

	mu   sync.Mutex
	code map[[sha256.Size]byte]*code // guarded by mu
}

// code is a compiled plugin and how many plugins use it.
type code struct {
	done     chan struct{} // closed when it was compiled
	compiled wazero.CompiledModule
	err      error
	users    int // guarded by engine.mu
}

// New makes a Host. Close it when done. It fails when the cache directory cannot
// be used.
func New(o Options) (*Host, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Memory == nil {
		o.Memory = linear.Allocator{}
	}
	h := &Host{o: o, log: o.Logger.With(slog.String("component", "plugins")), engines: map[mode]*engine{}}
	if h.queue = o.Turns; h.queue == nil {
		h.queue = turns.NewQueue()
	}
	h.small, h.large = make(chan struct{}, 1), make(chan struct{}, 1)
	if o.CacheDir != "" {
		c, err := codecache.Open(o.CacheDir)
		if err != nil {
			return nil, err
		}
		h.cache = c
	}
	return h, nil
}

// Close frees everything. Close the plugins first: it waits for them, or for ctx. A
// module that is compiled meanwhile cannot be stopped and is not waited for: what it
// uses stays until the process ends.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return ErrClosed
	}
	h.closed = true
	h.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		h.live.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		return fmt.Errorf("waiting for plugins: %w", ctx.Err())
	}
	h.mu.Lock()
	building := h.underway > 0
	h.mu.Unlock()
	if building {
		return nil
	}
	var errs []error
	for _, e := range h.engines {
		errs = append(errs, e.runtime.Close(ctx))
	}
	if h.cache != nil {
		errs = append(errs, h.cache.Close(ctx))
	}
	return errors.Join(errs...)
}

// engine returns the runtime of a mode and makes it at first.
func (h *Host) engine(ctx context.Context, m mode) (*engine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if e := h.engines[m]; e != nil {
		return e, nil
	}
	cfg := wazero.NewRuntimeConfig().
		WithMemoryLimitPages(uint32(classes[m.class] >> 16)).
		WithCloseOnContextDone(m.interrupt)
	if h.cache != nil {
		cfg = cfg.WithCompilationCache(h.cache.CompilationCache)
	}
	e := &engine{interrupt: m.interrupt, memory: h.o.Memory, runtime: wazero.NewRuntimeWithConfig(ctx, cfg), code: map[[sha256.Size]byte]*code{}}
	if err := h.furnish(ctx, e); err != nil {
		_ = e.runtime.Close(ctx)
		return nil, err
	}
	h.engines[m] = e
	return e, nil
}

// furnish gives a runtime the modules that plugins and the kernel import.
func (h *Host) furnish(ctx context.Context, e *engine) (err error) {
	if err = instantiateWASI(ctx, e.runtime); err != nil {
		return err
	}
	meter := e.runtime.NewHostModuleBuilder(module.MeterModule)
	meter.NewFunctionBuilder().WithGoFunction(api.GoFunc(refill), nil, []api.ValueType{api.ValueTypeI32}).Export(module.MeterName)
	if _, err = meter.Instantiate(ctx); err != nil {
		return fmt.Errorf("making the meter: %w", err)
	}
	if err = instantiateEnv(ctx, e.runtime); err != nil {
		return err
	}
	builders := map[string]wazero.HostModuleBuilder{}
	for _, f := range h.o.Functions {
		name := f.namespace()
		if builders[name] == nil {
			builders[name] = e.runtime.NewHostModuleBuilder(name)
		}
		builders[name].NewFunctionBuilder().WithGoFunction(f.bind(), i64s(f.Params), i64s(f.Results)).Export(f.Name)
	}
	for name, b := range builders {
		if _, err = b.Instantiate(ctx); err != nil {
			return fmt.Errorf("making host functions %s: %w", name, err)
		}
	}
	if e.kernel, err = h.cache.Compile(ctx, e.runtime, kernelCode); err != nil {
		return fmt.Errorf("compiling the kernel: %w", err)
	}
	return nil
}

func (f *Function) namespace() string {
	if f.Module == "" {
		return userModule
	}
	return f.Module
}

func (f *Function) bind() api.GoFunc {
	call := f.Call
	return func(ctx context.Context, stack []uint64) {
		i := running(ctx)
		i.look()
		call(&Caller{i}, stack)
	}
}

func i64s(n int) []api.ValueType {
	t := make([]api.ValueType, n)
	for i := range t {
		t[i] = api.ValueTypeI64
	}
	return t
}

// smallBuild is what compiling a module may take at worst to go before those that may
// take longer.
const smallBuild = 5 * time.Second

// compile returns the code for a module, compiling it when no plugin of the runtime
// uses it yet. It cannot be stopped; package module has bounded how long it takes. One
// module that takes long and one that does not are compiled at once.
func (h *Host) compile(e *engine, digest [sha256.Size]byte, wasm []byte, work time.Duration) (*code, error) {
	e.mu.Lock()
	c := e.code[digest]
	first := c == nil
	if first {
		c = &code{done: make(chan struct{})}
		e.code[digest] = c
	}
	c.users++
	e.mu.Unlock()
	if first {
		slot := h.small
		if work > smallBuild {
			slot = h.large
		}
		slot <- struct{}{}
		c.compiled, c.err = h.cache.Compile(context.Background(), e.runtime, wasm)
		<-slot
		close(c.done)
	}
	<-c.done
	if c.err != nil {
		e.drop(context.Background(), digest)
		return nil, c.err
	}
	return c, nil
}

func (e *engine) drop(ctx context.Context, digest [sha256.Size]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.code[digest]
	if c.users--; c.users == 0 {
		if c.compiled != nil {
			_ = c.compiled.Close(ctx)
		}
		delete(e.code, digest)
	}
}
