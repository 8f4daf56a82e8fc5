package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/plugins/turns"
)

// hostModule is what glue.c imports from.
const hostModule = "sluice:script"

type runKey struct{}

// with gives host functions the run that they belong to; nil while the module starts.
func with(ctx context.Context, r *run) context.Context { return context.WithValue(ctx, runKey{}, r) }

func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// provide makes the host functions of a runtime. Parameters of 32 bits have nothing
// defined above them.
func provide(ctx context.Context, r wazero.Runtime) error {
	const i32, i64, f64 = api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF64
	type types = []api.ValueType
	b := r.NewHostModuleBuilder(hostModule)
	export := func(name string, params, results types, f func(r *run, m api.Memory, stack []uint64)) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
			f(runOf(ctx), m.Memory(), stack)
		}), params, results).Export(name)
	}
	export("submit", types{i32, i32, i32, i32}, types{i32}, func(r *run, m api.Memory, s []uint64) {
		s[0] = uint64(uint32(r.submit(text(m, s[0], s[1]), text(m, s[2], s[3]))))
	})
	export("sleep", types{f64}, types{i32}, func(r *run, _ api.Memory, s []uint64) {
		s[0] = uint64(uint32(r.sleep(api.DecodeF64(s[0]))))
	})
	export("wait", nil, types{i64}, func(r *run, _ api.Memory, s []uint64) { s[0] = r.wait() })
	export("names", types{i32, i32}, types{i32}, func(r *run, m api.Memory, s []uint64) {
		r.taken, _ = json.Marshal(r.tools.Names(string(text(m, s[0], s[1]))))
		s[0] = uint64(len(r.taken))
	})
	export("take", types{i32}, nil, func(r *run, m api.Memory, s []uint64) {
		if !m.Write(uint32(s[0]), r.taken) {
			panic(errBroken)
		}
		r.taken = nil
	})
	export("log", types{i32, i32, i32}, nil, func(r *run, m api.Memory, s []uint64) { r.log(int32(uint32(s[0])), text(m, s[1], s[2])) })
	export("done", types{i32, i32}, nil, func(r *run, m api.Memory, s []uint64) { r.done(text(m, s[0], s[1])) })
	export("fail", types{i32, i32, i32, i32, i32}, nil, func(r *run, m api.Memory, s []uint64) {
		r.fail(text(m, s[0], s[1]), text(m, s[2], s[3]), int(uint32(s[4])))
	})
	export("now", nil, types{f64}, func(_ *run, _ api.Memory, s []uint64) { s[0] = api.EncodeF64(float64(time.Now().UnixMicro())) })
	export("stop", nil, types{i32}, func(r *run, _ api.Memory, s []uint64) {
		if s[0] = 0; r != nil && r.spent(0) {
			s[0] = 1
		}
	})
	if _, err := b.Instantiate(ctx); err != nil {
		return err
	}
	meter := r.NewHostModuleBuilder(module.MeterModule)
	meter.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, s []uint64) {
		if r := runOf(ctx); r != nil && r.spent(grace) {
			panic(ErrDeadline)
		}
		s[0] = quantum
	}), nil, types{i32}).Export(module.MeterName)
	_, err := meter.Instantiate(ctx)
	return err
}

// errBroken means that the engine's module passed what it cannot have: its memory was
// overwritten.
var errBroken = errors.New("the script engine is broken")

// text is a view of a text in the module's memory.
func text(m api.Memory, at, n uint64) []byte {
	b, ok := m.Read(uint32(at), uint32(n))
	if !ok {
		panic(errBroken)
	}
	return b
}

// spent ends a stretch of the run, lets others have their turn, and reports whether the
// run used more than its own time and some more. It panics when the run cannot go on.
func (r *run) spent(more time.Duration) bool {
	// A look at the thread's own time is two system calls, and the interpreter asks every
	// 10,000 steps beside the meter: by the wall clock, which never counts less, most of them
	// come too early to decide anything.
	if d := r.clock.Stretch(); d < leastStretch && r.clock.Used()+d < r.own {
		return false
	}
	r.clock.End()
	if r.clock.Used() > r.own+more {
		r.stopped = true
		r.clock.Begin(true)
		return true
	}
	if err := r.ctx.Err(); err != nil {
		panic(err)
	}
	if r.quanta++; r.quanta > freeQuanta || !r.turn.Untaxed() {
		r.takeTurn()
	}
	runtime.Gosched() // as package extism: each step of a garbage collection would wait for it
	r.clock.Begin(true)
	return false
}

func (r *run) takeTurn() {
	err := r.turn.Take(r.ctx, time.Now().Add(patience))
	if errors.Is(err, turns.ErrBusy) {
		err = ErrBusy
	}
	if err != nil {
		panic(err)
	}
}

// Numbers that submit and sleep return instead of a place.
const (
	tooMany     = -1
	tooManyOpen = -2
)

// place returns a free place for what is open.
func (r *run) place() int32 {
	for n := range r.open {
		if !r.open[n] {
			r.open[n] = true
			return int32(n)
		}
	}
	return tooManyOpen
}

// submit begins a call of a tool.
func (r *run) submit(name, args []byte) int32 {
	if r.calls >= r.maxCalls {
		return tooMany
	}
	n := r.place()
	if n < 0 {
		return n
	}
	r.calls++
	tool, args := string(name), bytes.Clone(args)
	r.work.Go(func() {
		select {
		case r.atOnce <- struct{}{}:
		case <-r.ctx.Done():
			return
		}
		defer func() { <-r.atOnce }()
		if r.ctx.Err() != nil { // both were ready
			return
		}
		answer, err := r.tools.Call(r.ctx, tool, args)
		if err == nil && len(answer) > maxAnswer {
			err = &ToolError{Tool: tool, Message: "the answer is too large for a script: ask for less, such as a page or some fields"}
		}
		e := event{place: n, failed: err != nil, answer: answer}
		if errors.Is(err, context.DeadlineExceeded) {
			e.late = true // what calls knows the deadline, whose timer may be a little late here
		} else if err != nil {
			e.answer = appendToolError(tool, err)
		}
		r.ended <- e
	})
	return n
}

// appendToolError is the JSON object that the prelude makes an error of.
func appendToolError(tool string, err error) []byte {
	failed := &ToolError{Tool: tool, Message: err.Error()}
	errors.As(err, &failed)
	b, _ := json.Marshal(struct {
		Tool    string `json:"tool"`
		Status  int    `json:"status,omitempty"`
		Message string `json:"message"`
	}{failed.Tool, failed.Status, failed.Message})
	return b
}

// sleep begins to wait for some milliseconds.
func (r *run) sleep(ms float64) int32 {
	if len(r.asleep) >= maxSleeps {
		return tooManyOpen
	}
	n := r.place()
	if n < 0 {
		return n
	}
	// They are in order: where a node is so busy that several end late, the first is the first.
	due := time.Now().Add(sleepTime(ms))
	at, _ := slices.BinarySearchFunc(r.asleep, due, func(s sleeper, due time.Time) int {
		if s.due.After(due) {
			return 1
		}
		return -1 // behind those of the same time
	})
	r.asleep = slices.Insert(r.asleep, at, sleeper{n, due})
	return n
}

// sleepTime is how long a timer of some milliseconds runs.
func sleepTime(ms float64) time.Duration {
	switch {
	case !(ms > 0): // also not a number
		return 0
	case ms >= float64(maxSleep.Milliseconds()):
		return maxSleep
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// next is the call or timer that ends next; none when ctx ends before.
func (r *run) next() (e event) {
	var due <-chan time.Time
	if len(r.asleep) > 0 {
		t := time.NewTimer(time.Until(r.asleep[0].due))
		defer t.Stop()
		due = t.C
	}
	select {
	case e = <-r.ended:
	case <-due:
		e = event{place: r.asleep[0].place, answer: []byte("null")}
		r.asleep = slices.Delete(r.asleep, 0, 1)
	case <-r.ctx.Done():
	}
	return e
}

// wait waits for what ends next. Its time is not the script's own.
func (r *run) wait() uint64 {
	r.clock.End()
	r.turn.Give()
	begin := time.Now()
	e := r.next()
	// Also when a call ended: it may have failed because the caller gave up, which is no
	// error for the script to catch.
	if err := r.ctx.Err(); err != nil {
		panic(err)
	}
	if e.late {
		panic(context.DeadlineExceeded)
	}
	r.waited += time.Since(begin)
	r.open[e.place] = false
	r.taken = e.answer
	result := uint64(e.place)<<33 | uint64(uint32(len(e.answer)))
	if e.failed {
		result |= 1 << 32
	}
	if r.turn.Enter(r.e.queue, r.share, r.caller); r.quanta > freeQuanta || !r.turn.Untaxed() {
		r.takeTurn()
	}
	r.clock.Begin(false)
	return result
}

// log adds to a line, or ends it.
func (r *run) log(level int32, text []byte) {
	if level < 0 {
		if left := maxLogLine - r.line.Len(); left > 0 {
			r.line.Write(text[:min(len(text), left)])
		}
		return
	}
	if len(r.result.Logs) < maxLogLines {
		r.result.Logs = append(r.result.Logs, clip(r.line.String(), maxLogLine))
	} else {
		r.result.LogsDropped++
	}
	r.line.Reset()
}

func (r *run) done(value []byte) {
	if len(value) > maxValue {
		r.err = &Error{Message: "RangeError: the value of the script is too large: return less"}
		return
	}
	if len(value) > 0 {
		r.result.Value = bytes.Clone(value)
	}
}

func (r *run) fail(message, stack []byte, before int) {
	if r.stopped {
		r.err = ErrDeadline
		return
	}
	r.err = newError(string(message), string(stack), before+r.before, r.lines)
}
