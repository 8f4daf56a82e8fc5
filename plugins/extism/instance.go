package extism

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/sluicegate/sluice/plugins/turns"
)

// Instance is a plugin with its kernel: one call at a time. Variables live as long
// as it does.
type Instance struct {
	p             *Plugin
	owner         string // whose calls it serves; see [Call]
	kernel, guest api.Module
	heap, memory  api.Memory // the kernel's, the plugin's own (may be nil)
	begin, alloc  api.Function
	free          api.Function
	functions     map[string]function
	running       function // what runs, or ran last
	stateAt       uint32
	baseMemory    uint32 // of the plugin, when it was new
	stack         [1]uint64
	hostStack     [1]uint64 // for calls into the kernel while the plugin runs

	started  bool // its language's runtime was started
	broken   bool // it trapped, exited or was stopped
	vars     map[string][]byte
	varBytes int

	// Of the running call:
	ctx      *callContext
	own      callContext     // what ctx is when the plugin is metered
	outer    context.Context // the caller's
	timer    *time.Timer     // stops an interrupted plugin; nil when it is metered
	cancel   context.CancelFunc
	deadline time.Time     // the end of its patience
	budget   time.Duration // of processor time
	clock    turns.Clock   // of what is used of it
	config   func(string) (string, bool)
	data     any
	quanta   int // used, see [Instance.takeTurn]
	turn     turns.Turn
	lines    int
	requests int
	waited   time.Duration // for answers to them
	sent     *[]Request    // the caller's; may be nil
	calling  bool          // the export runs, not what starts the language
	status   uint32
	headers  []byte
}

type instanceKey struct{}

// callContext carries the instance to host functions without allocating.
type callContext struct {
	context.Context
	i *Instance
}

func (c *callContext) Value(key any) any {
	if key == (instanceKey{}) {
		return c.i
	}
	return c.Context.Value(key)
}

func running(ctx context.Context) *Instance {
	i, ok := ctx.Value(instanceKey{}).(*Instance)
	if !ok {
		panic("BUG: a host function runs outside of a call")
	}
	return i
}

// refill is what a metered plugin calls when its quantum is used up.
func refill(ctx context.Context, stack []uint64) {
	i := running(ctx)
	i.checkStack()
	i.look()
	stack[0] = quantum
}

// look ends a stretch that was long enough, stops the plugin when it has to, and gives others
// their turn. Host functions do it as well: what they take is the plugin's.
func (i *Instance) look() {
	if i.clock.Stretch() < shortestStretch {
		return
	}
	i.clock.End()
	i.checkDeadline()
	if i.quanta++; i.quanta > freeQuanta || !i.turn.Untaxed() {
		if err := i.takeTurn(i.turn.Take); err != nil {
			panic(err)
		}
	}
	// Other goroutines get their turn: the scheduler takes a processor away after 10 ms
	// only, and each step of a garbage collection would wait as long.
	runtime.Gosched()
	i.clock.Begin(true)
}

// checkDeadline stops the plugin when it used up its time, waited too long, or its
// caller gave up.
func (i *Instance) checkDeadline() {
	switch {
	case i.clock.Used() > i.budget:
		panic(ErrDeadline)
	case time.Now().After(i.deadline):
		panic(ErrBusy)
	}
	select {
	case <-i.ctx.Done():
		panic(ErrDeadline)
	default:
	}
}

// Instance makes an instance for the caller's own use, outside of the idle ones.
// Close it when done.
func (p *Plugin) Instance(ctx context.Context) (*Instance, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	i, err := p.instantiate(ctx)
	if err != nil {
		p.calls.Done()
	}
	return i, err
}

// Call runs an exported function and appends its output to dst. It returns the
// function's result, 0 when it has none, also with some errors. Errors are those of
// [Plugin.Call].
func (i *Instance) Call(ctx context.Context, dst []byte, c Call) ([]byte, uint32, error) {
	return i.call(ctx, dst, c)
}

// Close frees the instance. It must not run.
func (i *Instance) Close(ctx context.Context) {
	i.close(ctx)
	i.p.calls.Done()
}

func (i *Instance) close(ctx context.Context) {
	if i.guest != nil {
		_ = i.guest.Close(ctx)
	}
	_ = i.kernel.Close(ctx)
}

// instantiate makes an instance; a start function of the module runs.
func (p *Plugin) instantiate(ctx context.Context) (*Instance, error) {
	p.stats[statInstances].Add(1)
	ctx = experimental.WithMemoryAllocator(ctx, p.engine.memory)
	anonymous := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	k, err := p.engine.runtime.InstantiateModule(ctx, p.engine.kernel, anonymous)
	if err != nil {
		return nil, fmt.Errorf("making a kernel: %w", err)
	}
	i := &Instance{
		p: p, kernel: k, heap: k.Memory(), begin: k.ExportedFunction("begin"),
		functions: make(map[string]function, 1), vars: map[string][]byte{},
	}
	if err := k.ExportedFunction("finish").CallWithStack(ctx, i.stack[:]); err != nil {
		_ = k.Close(ctx)
		return nil, fmt.Errorf("asking a kernel for its state: %w", err)
	}
	i.stateAt = uint32(i.stack[0])
	if err := i.startCall(0); err != nil {
		i.close(ctx)
		return nil, err
	}
	cfg := i.senses(anonymous)
	resolve := experimental.WithImportResolver(ctx, func(name string) api.Module {
		if name == envModule {
			return k
		}
		return nil
	})
	within := max(startTime+p.h.o.Grace, p.limits.Deadline)
	if err := i.arm(resolve, within); err != nil {
		i.close(ctx)
		return nil, err
	}
	defer i.disarm()
	if i.guest, err = p.engine.runtime.InstantiateModule(i.ctx, p.code.compiled, cfg); err != nil {
		i.guest = nil
		i.close(ctx)
		return nil, beforeCall(i.failure(err), within)
	}
	if p.memory {
		i.memory = i.guest.Memory()
		i.baseMemory = i.memory.Size()
	}
	return i, nil
}

// senses gives an instance the clock and the randomness that its plugin was granted. One
// that asked for them in vain is stopped where a call reads them; what starts its language
// gets what is not real.
func (i *Instance) senses(cfg wazero.ModuleConfig) wazero.ModuleConfig {
	g := &i.p.spec.Grants
	switch {
	case g.Clock && i.p.spec.Now != nil:
		cfg = cfg.WithWalltime(i.wallTime, sys.ClockResolution(time.Microsecond)).WithSysNanotime()
	case g.Clock:
		cfg = cfg.WithSysWalltime().WithSysNanotime()
	case g.NoClock:
		cfg = cfg.WithWalltime(i.noTime, sys.ClockResolution(time.Microsecond))
	}
	switch {
	case g.Random:
		cfg = cfg.WithRandSource(inParts{i, rand.Reader})
	case g.NoRandom:
		cfg = cfg.WithRandSource(inParts{i, notRandom{i}})
	default:
		cfg = cfg.WithRandSource(inParts{i, &sameRandom{}})
	}
	return cfg
}

func (i *Instance) wallTime() (sec int64, nsec int32) {
	t := i.p.spec.Now()
	return t.Unix(), int32(t.Nanosecond())
}

func (i *Instance) noTime() (sec int64, nsec int32) {
	if i.calling {
		withhold("it reads the clock, which it asks for in its manifest and which is not granted to it")
	}
	return startOfClock, 0
}

// startOfClock is where wazero's own clock of a sandbox begins: 2022-01-01.
const startOfClock = 1640995200

// notRandom is the randomness of a plugin that was not granted any.
type notRandom struct{ i *Instance }

func (r notRandom) Read(b []byte) (int, error) {
	if r.i.calling {
		withhold("it reads random numbers, which it asks for in its manifest and which are not granted to it")
	}
	clear(b)
	return len(b), nil
}

// arm sets the processor time of what runs next, and waits for its turn when others of
// its share run. With wazero's interruption it is also the deadline of the context. Call
// disarm when it ended, unless arm fails.
func (i *Instance) arm(ctx context.Context, budget time.Duration) error {
	i.deadline, i.budget, i.outer, i.quanta = time.Now().Add(budget+patience), budget, ctx, 0
	i.clock.Reset()
	free := i.turn.Enter(i.p.h.queue, i.p.share, i.owner)
	i.ctx = &i.own
	i.own = callContext{ctx, i}
	if !free {
		if err := i.takeTurn(i.turn.Begin); err != nil {
			return err
		}
	}
	i.clock.Begin(false)
	if i.p.engine.interrupt { // wazero watches it from a goroutine that may outlive the call
		ctx, i.cancel = context.WithCancel(ctx)
		i.timer = time.AfterFunc(budget, i.cancel)
		i.ctx = &callContext{ctx, i}
	}
	return nil
}

func (i *Instance) disarm() {
	i.clock.End()
	i.turn.Give()
	if i.timer != nil {
		i.timer.Stop()
		i.cancel()
		i.timer, i.cancel = nil, nil
	}
}

// await runs what waits for something outside of the plugin. Its time is not the
// plugin's: the deadline moves.
func (i *Instance) await(f func(ctx context.Context)) {
	if i.timer != nil {
		i.timer.Stop()
	}
	i.clock.End()
	i.turn.Give()
	begin := time.Now()
	f(i.outer)
	i.deadline = i.deadline.Add(time.Since(begin))
	if i.timer != nil {
		i.timer.Reset(max(i.budget-i.clock.Used(), 0))
	}
	i.clock.Begin(true)
	i.checkDeadline()
}

func (i *Instance) failure(err error) error {
	return failure(err, i.p.engine.interrupt && i.ctx.Err() != nil)
}

// startCall makes room for the input and wipes what the last call left.
func (i *Instance) startCall(n int) error {
	i.stack[0] = uint64(n)
	if err := i.begin.CallWithStack(context.Background(), i.stack[:]); err != nil {
		return fmt.Errorf("starting a call: %w", err)
	}
	return nil
}

func (i *Instance) call(ctx context.Context, dst []byte, c Call) ([]byte, uint32, error) {
	if i.broken {
		return dst, 0, ErrClosed
	}
	sig, ok := i.p.exports[c.Export]
	if !ok || !sig.callable {
		return dst, 1, fmt.Errorf("%w: %s", ErrNoExport, clip(c.Export, 64))
	}
	defer i.forget()
	i.resetCall()
	if !i.started && c.Export != "_start" && c.Export != "_initialize" {
		// The language's runtime starts before the plugin can see anything of the call.
		if err := i.start(ctx); err != nil {
			i.broken = true
			return dst, 1, err
		}
		i.started = true
		clear(i.vars)
		i.varBytes = 0
		i.resetCall()
	}
	i.config, i.data, i.sent = c.Config, c.Data, c.Requests
	if err := i.startCall(len(c.Input)); err != nil {
		i.broken = true
		return dst, 1, err
	}
	if len(c.Input) > 0 && (i.stack[0] == 0 || !i.heap.Write(uint32(i.stack[0]), c.Input)) {
		return dst, 1, fmt.Errorf("%w: %d bytes of input do not fit its memory", ErrTooLarge, len(c.Input))
	}
	f, ok := i.functions[c.Export]
	if !ok {
		f = newFunction(i.guest.ExportedFunction(c.Export))
		i.functions[c.Export] = f
	}
	i.running = f
	if err := i.arm(ctx, i.p.limits.Deadline); err != nil {
		return dst, 1, err
	}
	defer i.disarm()
	i.stack[0] = 0
	i.calling = true
	err := f.CallWithStack(i.ctx, i.stack[:])
	i.calling = false
	if err != nil {
		i.broken = true
		err = i.failure(err)
		exit, ok := err.(*ExitError) //nolint:errorlint // failure does not wrap
		if !ok {
			if !errors.Is(err, ErrBusy) { // that it had to wait is not its fault
				i.clock.End()
				i.turn.Stopped(i.clock.Used())
			}
			return dst, 1, err
		}
		if exit.Code != 0 {
			return dst, exit.Code, err
		}
		i.stack[0] = 0
	}
	code := uint32(0)
	if sig.result {
		code = uint32(i.stack[0])
	}
	return i.finish(dst, code)
}

// resetCall sets what is counted of one call to nothing.
func (i *Instance) resetCall() {
	i.lines, i.requests, i.waited, i.status, i.headers = 0, 0, 0, 0, nil
}

// forget lets go of what a call brought.
func (i *Instance) forget() {
	i.config, i.data, i.sent, i.own.Context, i.outer = nil, nil, nil, nil, nil
}

// finish reads the kernel's state: output and error.
func (i *Instance) finish(dst []byte, code uint32) ([]byte, uint32, error) {
	state, ok := i.heap.Read(i.stateAt, 24)
	if !ok {
		panic("BUG: the kernel's state is outside its memory")
	}
	le := binary.LittleEndian
	at, n, errAt := le.Uint64(state), le.Uint64(state[8:]), le.Uint64(state[16:])
	if errAt != 0 {
		message, ok := i.block(errAt)
		if !ok {
			return dst, code, &PluginError{Code: code, Message: "an error without a message"}
		}
		if len(message) > 0 {
			return dst, code, &PluginError{Code: code, Message: clip(string(message[:min(len(message), maxError)]), maxError)}
		}
	}
	if n > uint64(i.p.limits.Output) {
		return dst, code, fmt.Errorf("%w: %d bytes of output, more than %d", ErrTooLarge, n, i.p.limits.Output)
	}
	if n == 0 {
		return dst, code, nil
	}
	if at >= 1<<32 {
		return dst, code, &TrapError{Reason: "its output is outside its memory", Rule: true}
	}
	out, ok := i.heap.Read(uint32(at), uint32(n))
	if !ok {
		return dst, code, &TrapError{Reason: "its output is outside its memory", Rule: true}
	}
	return append(dst, out...), code, nil
}

// block returns a view of a block of the kernel's heap; it is valid until the
// plugin runs again. See kernel.c for the header.
func (i *Instance) block(at uint64) ([]byte, bool) {
	const header, active = 16, 0x6c756963
	if at < header || at >= 1<<32 {
		return nil, false
	}
	h, ok := i.heap.Read(uint32(at)-header, header)
	if !ok || binary.LittleEndian.Uint32(h[8:]) != active {
		return nil, false
	}
	return i.heap.Read(uint32(at), binary.LittleEndian.Uint32(h[4:]))
}

// start runs what languages need before the first call: Haskell's hs_init, WASI
// reactors' _initialize, or constructors.
func (i *Instance) start(ctx context.Context) error {
	within := max(startTime+i.p.h.o.Grace, i.p.limits.Deadline)
	if err := i.arm(ctx, within); err != nil {
		return err
	}
	defer i.disarm()
	run := func(name string, args ...uint64) error {
		f := i.guest.ExportedFunction(name)
		if f == nil || len(f.Definition().ParamTypes()) != len(args) {
			return nil
		}
		i.running = newFunction(f)
		if _, err := f.Call(i.ctx, args...); err != nil {
			return beforeCall(i.failure(err), within)
		}
		return nil
	}
	switch {
	case i.guest.ExportedFunction("hs_init") != nil:
		if err := run("_initialize"); err != nil {
			return err
		}
		return run("hs_init", 0, 0)
	case i.p.exports["_initialize"].callable:
		return run("_initialize")
	default:
		return run("__wasm_call_ctors")
	}
}

// grown reports whether the instance holds much more memory than a new one.
// Linear memory never shrinks.
func (i *Instance) grown() bool {
	if i.heap.Size() > retainKernel || i.running.stackBytes() > retainStack {
		return true
	}
	return i.memory != nil && i.memory.Size() > max(4*i.baseMemory, retainKernel)
}
