package enginepool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sluicegate/sluice/plugins/codecache"
	"github.com/sluicegate/sluice/plugins/engine"
)

const (
	// MaxWasmInput is the longest input that runs in WebAssembly; longer ones run
	// on the Go reference. With wasmFuel it bounds how long one call can delay a
	// garbage collection, because WebAssembly code cannot be preempted: about 2 ms
	// for a projection of an ordinary answer of this size.
	MaxWasmInput = 4 << 20

	// wasmFuel is the fuel of a run in WebAssembly. An ordinary answer of
	// MaxWasmInput needs 160,000 units; what needs more (millions of tiny values,
	// many predicates) starts again on the Go reference, which has all the fuel
	// that was asked for. A unit takes 10 to 60 ns.
	wasmFuel = 1 << 18

	// retainMemory is the linear memory an idle instance may keep; one that grew
	// further is closed after the call, because linear memory never shrinks. It
	// holds inputs of up to about 2 MB.
	retainMemory = 4<<20 + 256<<10

	// pages of the runtime's memory limit: table, input and twice the input of
	// output (a stream of documents), with room for the engine itself.
	maxPages = (3*MaxWasmInput+engine.MaxTable)>>16 + 16

	controlBytes = 112 // the control block of engine.c
	inputPad     = 64  // zero bytes that the engine writes behind the input
	outputSlack  = 128
)

// Options configures a [Pool]. The zero value is usable.
type Options struct {
	// Instances is how many instances stay ready. More are made when more calls
	// run at once, and closed afterwards. Default: GOMAXPROCS.
	Instances int
	// Limits bounds each call, see engine.Limits. Default: its defaults.
	Limits engine.Limits
	// CacheDir is where compiled code is kept between starts; it is made when
	// missing (0700). Default: none, the engine is compiled at start (about 20 ms).
	CacheDir string
	// ReferenceOnly runs everything on the Go reference. Default: false; it is
	// implied where wazero cannot compile: other processors than amd64 and arm64, or
	// a system that forbids executable memory.
	ReferenceOnly bool
	// Memory makes the linear memories of instances, for who looks into them. Default:
	// wazero's own.
	Memory experimental.MemoryAllocator
	// Logger is told which implementation runs. Default: discard.
	Logger *slog.Logger
}

// Pool runs response programs.
type Pool struct {
	log     *slog.Logger
	limits  engine.Limits
	memory  experimental.MemoryAllocator
	runtime wazero.Runtime
	cache   *codecache.Cache
	code    wazero.CompiledModule
	free    chan *instance // idle instances
	closing atomic.Bool
	users   atomic.Int64  // running calls, and one until Close
	idle    chan struct{} // closed when users is 0

	wasm, reference, retired atomic.Uint64
}

// Counters tells how calls ran since the start.
type Counters struct {
	Wasm      uint64 // calls that ran in WebAssembly
	Reference uint64 // calls that ran on the Go reference
	Retired   uint64 // instances closed because their memory grew
}

// ErrClosed is returned by calls after [Pool.Close].
var ErrClosed = errors.New("enginepool: closed")

// New compiles the engine and makes a Pool. Close it when done.
func New(ctx context.Context, o Options) (*Pool, error) {
	if o.Instances <= 0 {
		o.Instances = runtime.GOMAXPROCS(0)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Pool{
		log: o.Logger.With(slog.String("component", "engine")), limits: o.Limits, memory: o.Memory,
		free: make(chan *instance, o.Instances), idle: make(chan struct{}),
	}
	p.users.Store(1)
	if o.ReferenceOnly || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		p.log.LogAttrs(ctx, slog.LevelInfo, "response programs run on the Go reference", slog.Bool("asked_for", o.ReferenceOnly))
		return p, nil
	}
	if err := p.openCache(o.CacheDir); err != nil {
		return nil, err
	}
	if err := p.compile(ctx); err != nil {
		// Slower by a little, and the same in every other respect: no reason not to serve.
		p.log.LogAttrs(ctx, slog.LevelWarn, "engine cannot be compiled here, response programs run on the Go reference", slog.Any("error", err))
		if p.runtime != nil {
			_ = p.runtime.Close(ctx)
			p.runtime = nil
		}
	}
	return p, nil
}

func (p *Pool) openCache(dir string) error {
	if dir == "" {
		return nil
	}
	var err error
	p.cache, err = codecache.Open(dir)
	return err
}

// compile makes the runtime and the first instance: an engine that cannot run
// here is found at start.
func (p *Pool) compile(ctx context.Context) (err error) {
	defer func() { // wazero panics where executable memory is refused
		if r := recover(); r != nil {
			err = fmt.Errorf("compiling engine: %v", r)
		}
	}()
	// Not WithCloseOnContextDone: it makes loops 5 to 23 times slower. First-party
	// code is bounded by its input and by fuel instead.
	cfg := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(maxPages)
	if p.cache != nil {
		cfg = cfg.WithCompilationCache(p.cache.CompilationCache)
	}
	p.runtime = wazero.NewRuntimeWithConfig(ctx, cfg)
	code, _ := engine.Code(engine.Version)
	if p.code, err = p.cache.Compile(ctx, p.runtime, code); err != nil {
		return fmt.Errorf("compiling engine version %d: %w", engine.Version, err)
	}
	i, err := p.instantiate(ctx)
	if err != nil {
		return err
	}
	p.release(ctx, i)
	return nil
}

// Transform runs a program on in, appends the result to dst and returns it. It
// keeps none of its arguments. The program must have passed engine.Check, as
// those of engine.Compile and engine.Open have. Its results, statistics and
// errors are those of [engine.Reference], byte for byte; inputs above
// [MaxWasmInput], and those that need much work, run there. After warm-up it does not allocate, but for growing
// dst. It cannot be cancelled; it takes about half a millisecond a megabyte.
func (p *Pool) Transform(dst, program, in []byte) ([]byte, engine.Stats, error) {
	if !p.enter() {
		return dst, engine.Stats{}, ErrClosed
	}
	defer p.leave()
	if p.runtime == nil || len(in) > MaxWasmInput {
		p.reference.Add(1)
		return engine.Reference(dst, program, in, p.limits)
	}
	lim := p.limits.WithDefaults(len(in))
	if len(in) > lim.MaxInput {
		return dst, engine.Stats{In: uint64(len(in))}, engine.ErrTooLarge
	}
	ctx := context.Background() // with it, calls do not allocate
	i, err := p.acquire(ctx)
	if err != nil {
		return dst, engine.Stats{}, err
	}
	fuel := lim.Fuel
	lim.Fuel = min(fuel, wasmFuel)
	out, st, err := i.transform(ctx, dst, program, in, lim)
	if fuel > wasmFuel && errors.Is(err, engine.ErrFuel) {
		p.release(ctx, i)
		p.reference.Add(1)
		return engine.Reference(dst, program, in, p.limits)
	}
	if err != nil && !isRunError(err) { // a trap: never seen, and state is unknown
		_ = i.module.Close(ctx)
		p.log.LogAttrs(ctx, slog.LevelError, "engine failed, the answer runs on the Go reference", slog.Any("error", err))
		p.reference.Add(1)
		return engine.Reference(dst, program, in, p.limits)
	}
	p.wasm.Add(1)
	p.release(ctx, i)
	return out, st, err
}

func isRunError(err error) bool {
	return errors.Is(err, engine.ErrNotJSON) || errors.Is(err, engine.ErrDepth) || errors.Is(err, engine.ErrFuel)
}

// Counters returns how calls ran so far.
func (p *Pool) Counters() Counters {
	return Counters{Wasm: p.wasm.Load(), Reference: p.reference.Load(), Retired: p.retired.Load()}
}

// enter registers a call; false after Close.
func (p *Pool) enter() bool {
	for {
		n := p.users.Load()
		if n == 0 || p.closing.Load() {
			return false
		}
		if p.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (p *Pool) leave() {
	if p.users.Add(-1) == 0 {
		close(p.idle)
	}
}

// Close waits for running calls and frees everything. Later calls, also of
// Close, do nothing but return ErrClosed.
func (p *Pool) Close(ctx context.Context) error {
	if p.closing.Swap(true) {
		return ErrClosed
	}
	p.leave()
	select {
	case <-p.idle:
	case <-ctx.Done():
		return fmt.Errorf("waiting for running programs: %w", ctx.Err())
	}
	var errs []error
	if p.runtime != nil {
		errs = append(errs, p.runtime.Close(ctx))
	}
	if p.cache != nil {
		errs = append(errs, p.cache.Close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing engine: %w", err)
	}
	return nil
}

func (p *Pool) acquire(ctx context.Context) (*instance, error) {
	select {
	case i := <-p.free:
		return i, nil
	default:
		return p.instantiate(ctx)
	}
}

// release puts an instance back, or closes it when the pool is full or it grew.
func (p *Pool) release(ctx context.Context, i *instance) {
	if i.memory.Size() > retainMemory {
		p.retired.Add(1)
	} else {
		select {
		case p.free <- i:
			return
		default:
		}
	}
	_ = i.module.Close(ctx)
}

func (p *Pool) instantiate(ctx context.Context) (*instance, error) {
	ctx = experimental.WithMemoryAllocator(ctx, p.memory)
	// Anonymous, so that there can be many.
	m, err := p.runtime.InstantiateModule(ctx, p.code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, fmt.Errorf("instantiating engine: %w", err)
	}
	i := &instance{module: m, memory: m.Memory(), run: m.ExportedFunction("run"), reserve: m.ExportedFunction("reserve")}
	if i.memory == nil || i.run == nil || i.reserve == nil {
		_ = m.Close(ctx)
		return nil, errors.New("instantiating engine: an export is missing")
	}
	return i, nil
}

// instance is one engine; one call at a time.
type instance struct {
	module       api.Module
	memory       api.Memory
	run, reserve api.Function
	stack        [1]uint64
	control      [controlBytes]byte
}
