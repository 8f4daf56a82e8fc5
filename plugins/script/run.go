package script

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/sluicegate/sluice/plugins/turns"
)

// Tools is what a script can call. Its methods are called from any goroutine, Call from
// several at once.
type Tools interface {
	// Call calls a tool by its path, the names behind "tools." in the script joined by dots,
	// with a JSON value. It returns the answer as JSON, which belongs to the script then. A
	// [ToolError] is what the script catches; [context.DeadlineExceeded] ends the run; of
	// another error the script gets the text. ctx ends with the run.
	Call(ctx context.Context, path string, arguments []byte) (answer []byte, err error)
	// Names lists what is below a path, "" for the first names.
	Names(path string) []string
}

// Script is one run.
type Script struct {
	// Code is an expression, statements of which the last value counts, or the body of a
	// function. Where the value is a function it is called. At most [MaxCode] bytes.
	Code string
	// Share is whose scripts and plugins wait for each other's turns: a toolset. Caller is
	// on whose behalf the script runs: those of a share get theirs as often. May be "".
	Share, Caller string
	Tools         Tools
	// Arguments is a JSON object that the script finds as args; nil: there is no args. At most
	// [MaxArguments] bytes.
	Arguments []byte
	// Calls is how many calls the script may make. Default: [DefaultCalls]; at most
	// [MaxCalls].
	Calls int
	// AtOnce is how many of them run at once. Default: [DefaultAtOnce]; at most [MaxAtOnce].
	AtOnce int
	// OwnTime is the processor time that it may use itself. Default: that of the engine; at
	// most [MaxOwnTime].
	OwnTime time.Duration

	form form // of a check
}

// Result is what a run left, also one that failed.
type Result struct {
	Value       []byte // JSON; nil: undefined
	Logs        []string
	LogsDropped int
	Calls       int           // that were begun
	Open        int           // of these, had not ended when the script did: it did not await them
	Used        time.Duration // processor time of its own
	Waited      time.Duration // for calls and timers
}

// run is a script that runs.
type run struct {
	e        *Engine
	ctx      context.Context
	tools    Tools
	share    *turns.Share
	caller   string
	lines    int // of the script
	before   int // lines that stand before it
	own      time.Duration
	maxCalls int
	atOnce   chan struct{}
	ended    chan event
	work     sync.WaitGroup // calls

	clock   turns.Clock
	turn    turns.Turn
	quanta  int
	open    [maxOpen]bool
	asleep  []sleeper // in the order in which they end
	calls   int
	taken   []byte // what the module copies next
	line    bytes.Buffer
	stopped bool
	waited  time.Duration
	result  Result
	err     error
}

// event is a call or timer that ended.
type event struct {
	place  int32
	failed bool
	late   bool // it failed because the run is over its deadline
	answer []byte
}

// sleeper is a timer that has not ended.
type sleeper struct {
	place int32
	due   time.Time
}

// Run runs a script. It fails with an [Error] of the script, with [ErrDeadline],
// [ErrMemory], [ErrBusy], [ErrClosed], with ctx's error, and with faults of the engine. When
// it returns no call runs any more.
func (e *Engine) Run(ctx context.Context, s Script) (Result, error) {
	if len(s.Code) > MaxCode {
		return Result{}, &Error{Message: fmt.Sprintf("RangeError: the script has %d bytes, more than %d", len(s.Code), MaxCode)}
	}
	if len(s.Arguments) > MaxArguments {
		return Result{}, &Error{Message: fmt.Sprintf("RangeError: the arguments have %d bytes, more than %d", len(s.Arguments), MaxArguments)}
	}
	if err := e.begin(ctx); err != nil {
		return Result{}, err
	}
	defer e.running.Done()
	if err := e.enter(ctx, &s); err != nil {
		return Result{}, err
	}
	defer e.places.Give(s.Share, s.Caller)
	ctx, cancel := context.WithCancel(ctx)
	r := &run{
		e: e, ctx: ctx, tools: s.Tools, share: e.queue.Join(s.Share), caller: s.Caller, lines: 1 + strings.Count(strings.TrimRight(s.Code, "\n"), "\n"),
		maxCalls: limit(s.Calls, DefaultCalls, MaxCalls), atOnce: make(chan struct{}, limit(s.AtOnce, DefaultAtOnce, MaxAtOnce)), ended: make(chan event, maxOpen),
		own: ownTime(s.OwnTime, e.o.OwnTime),
	}
	code := s.Code
	if s.Arguments != nil {
		code, r.before = argumentsLine(s.Arguments)+code, 1
	}
	if s.form.before != "" {
		code, r.before = s.form.before+code+s.form.after, 1
	}
	defer func() {
		cancel()
		r.work.Wait()
		e.queue.Part(r.share)
	}()
	i, err := e.get(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := r.execute(i, code); err != nil {
		_ = i.module.Close(context.WithoutCancel(ctx))
		return r.finished(), err
	}
	e.put(context.WithoutCancel(ctx), i)
	return r.finished(), r.err
}

func (r *run) finished() Result {
	r.result.Calls, r.result.Used, r.result.Waited = r.calls, r.clock.Used(), r.waited
	r.result.Open = -len(r.asleep)
	for _, open := range r.open {
		if open {
			r.result.Open++
		}
	}
	return r.result
}

// ownTime is the time of its own that a script has.
func ownTime(given, otherwise time.Duration) time.Duration {
	return min(cmp.Or(given, otherwise), MaxOwnTime)
}

// argumentsLine is the line before a script that has arguments. They are parsed, not written
// as JavaScript, in which {"__proto__": 1} is something else. Whole numbers that a number does
// not hold are BigInts, as in answers.
func argumentsLine(arguments []byte) string {
	text, _ := json.Marshal(string(arguments)) // a string: never fails
	exact := ""
	if long.Match(arguments) {
		exact = `,(k,v,c)=>typeof v==="number"&&!Number.isSafeInteger(v)&&/^-?\d{16,100}$/.test(c.source)?BigInt(c.source):v`
	}
	return "const args=JSON.parse(" + string(text) + exact + ");\n"
}

var long = regexp.MustCompile(`[0-9]{16}`)

// limit is a bound that the caller may lower or raise.
func limit(n, otherwise, most int) int {
	if n <= 0 {
		return otherwise
	}
	return min(n, most)
}

// enter waits until less than maxRunning scripts run, and not too many of this share and of
// this caller.
func (e *Engine) enter(ctx context.Context, s *Script) error {
	err := e.places.Take(ctx, patience, s.Share, s.Caller)
	if errors.Is(err, turns.ErrBusy) {
		return ErrBusy
	}
	return err
}

// execute runs the script on an instance. After an error the instance cannot be used again.
func (r *run) execute(i *instance, code string) error {
	ctx := with(r.ctx, r)
	defer r.turn.Give()
	if free := r.turn.Enter(r.e.queue, r.share, r.caller); !free {
		if err := r.turn.Begin(r.ctx, time.Now().Add(patience)); err != nil {
			return r.failure(err)
		}
	}
	r.clock.Begin(false)
	defer r.clock.End()
	at, err := i.input.Call(ctx, uint64(len(code)))
	if err == nil && (at[0] == 0 || !i.module.Memory().Write(uint32(at[0]), []byte(code))) {
		err = errBroken
	}
	if err == nil {
		_, err = i.run.Call(ctx, r.e.seed.Add(0x9E3779B97F4A7C15)) // splitmix64's step: no seed comes twice
	}
	if err == nil {
		return nil
	}
	if err = r.failure(err); !errors.Is(err, ErrBusy) { // that it had to wait is not its fault
		r.clock.End()
		r.turn.Stopped(r.clock.Used())
	}
	return err
}

// failure is why a run was cut off.
func (r *run) failure(err error) error {
	var exit *sys.ExitError
	switch {
	case errors.Is(err, ErrDeadline):
		return ErrDeadline
	case errors.Is(err, ErrBusy), errors.Is(err, turns.ErrBusy):
		return ErrBusy
	case r.ctx.Err() != nil && errors.Is(err, r.ctx.Err()):
		return r.ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case errors.As(err, &exit):
		return ErrClosed
	}
	r.e.log.Error("a script was cut off", slog.Any("cause", err))
	return ErrMemory
}
