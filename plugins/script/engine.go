package script

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sluicegate/sluice/plugins/codecache"
	"github.com/sluicegate/sluice/plugins/linear"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/plugins/turns"
)

// code is the engine's module; see module/build.sh.
//
//go:embed module/quickjs.wasm
var code []byte

// interpreter is the exported loop of the interpreter, which is not metered.
const interpreter = "interpreter"

// Options configures an [Engine]. The zero value is usable.
type Options struct {
	// CacheDir is where the compiled module is kept between starts; it is made when missing
	// (0700). Default: none, and the first script waits a second longer.
	CacheDir string
	// Turns are shared with plugins. Default: its own.
	Turns *turns.Queue
	// OwnTime is the processor time that a script may use itself. Default: [OwnTime].
	OwnTime time.Duration
	// Logger receives faults of the engine. Default: discard.
	Logger *slog.Logger
}

// Engine runs scripts.
type Engine struct {
	plain  bool // without metering: for benchmarks only
	o      Options
	log    *slog.Logger
	queue  *turns.Queue
	places *turns.Places
	idle   chan *instance
	seed   atomic.Uint64 // of the next run

	mu       sync.Mutex
	closed   bool           // guarded by mu
	runtime  wazero.Runtime // guarded by mu; nil until compiled
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	fresh    *snapshot
	running  sync.WaitGroup
}

// New makes an engine. Its module is compiled when the first script runs, or by
// [Engine.Prepare]. Close it when done.
func New(o Options) *Engine {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Turns == nil {
		o.Turns = turns.NewQueue()
	}
	if o.OwnTime <= 0 {
		o.OwnTime = OwnTime
	}
	e := &Engine{o: o, log: o.Logger.With(slog.String("component", "script")), queue: o.Turns}
	e.places, e.idle = turns.NewPlaces(maxRunning, turns.Part(maxRunning), turns.Part(turns.Part(maxRunning))), make(chan *instance, maxIdle)
	return e
}

// Prepare compiles the module, once: 1.3 s, or 0.05 with a warm cache. It fails with
// [ErrClosed] and with faults of the engine.
func (e *Engine) Prepare(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	if e.runtime != nil {
		return nil
	}
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(maxPages)
	var files *codecache.Cache
	cache := wazero.NewCompilationCache()
	if e.o.CacheDir != "" {
		var err error
		if files, err = codecache.Open(e.o.CacheDir); err != nil {
			return err
		}
		cache = files.CompilationCache
	}
	r := wazero.NewRuntimeWithConfig(ctx, config.WithCompilationCache(cache))
	fail := func(err error) error {
		_ = r.Close(ctx)
		_ = cache.Close(ctx)
		return fmt.Errorf("preparing the script engine: %w", err)
	}
	if err := provide(ctx, r); err != nil {
		return fail(err)
	}
	metered, err := module.MeterInterpreter(nil, code, interpreter)
	if err != nil {
		return fail(err)
	}
	if e.plain {
		metered = code
	}
	compiled, err := files.Compile(ctx, r, metered)
	if err != nil {
		return fail(err)
	}
	fresh, err := initialise(ctx, r, compiled)
	if err != nil {
		return fail(err)
	}
	e.runtime, e.cache, e.compiled, e.fresh = r, cache, compiled, fresh
	return nil
}

// begin counts a run.
func (e *Engine) begin(ctx context.Context) error {
	if err := e.Prepare(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	e.running.Add(1)
	return nil
}

// Close waits for the scripts that run and frees everything. Later runs fail with
// [ErrClosed].
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return ErrClosed
	}
	e.closed = true
	r, cache := e.runtime, e.cache
	e.mu.Unlock()
	e.running.Wait()
	if r == nil {
		return nil
	}
	return errors.Join(r.Close(ctx), cache.Close(ctx)) // with its instances
}

// initialise makes the snapshot that every run begins with.
func initialise(ctx context.Context, r wazero.Runtime, compiled wazero.CompiledModule) (*snapshot, error) {
	m, err := instantiate(ctx, r, compiled)
	if err != nil {
		return nil, err
	}
	defer func() { _ = m.Close(ctx) }()
	result, err := m.ExportedFunction("init").Call(with(ctx, nil), maxHeap, stackSize)
	if err != nil {
		return nil, err
	}
	if result[0] != 0 {
		return nil, fmt.Errorf("step %d of its start failed", uint32(result[0]))
	}
	return take(m.Memory()), nil
}

func instantiate(ctx context.Context, r wazero.Runtime, compiled wazero.CompiledModule) (api.Module, error) {
	ctx = experimental.WithMemoryAllocator(with(ctx, nil), linear.Allocator{})
	return r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
}

// instance is a copy of the engine's module: one run at a time.
type instance struct {
	module     api.Module
	input, run api.Function
}

// get returns an instance with the memory that every run begins with.
func (e *Engine) get(ctx context.Context) (*instance, error) {
	select {
	case i := <-e.idle:
		return i, nil
	default:
	}
	m, err := instantiate(ctx, e.runtime, e.compiled)
	if err != nil {
		return nil, fmt.Errorf("making an instance of the script engine: %w", err)
	}
	i := &instance{module: m, input: m.ExportedFunction("input"), run: m.ExportedFunction("run")}
	if !e.fresh.restore(m.Memory()) {
		_ = m.Close(ctx)
		return nil, ErrMemory
	}
	return i, nil
}

// put keeps an instance for the next run, unless its memory grew.
func (e *Engine) put(ctx context.Context, i *instance) {
	if i.module.Memory().Size() <= e.fresh.size && e.fresh.restore(i.module.Memory()) {
		select {
		case e.idle <- i:
			return
		default:
		}
	}
	_ = i.module.Close(ctx)
}
