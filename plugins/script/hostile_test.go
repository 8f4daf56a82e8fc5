package script

import (
	"errors"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostile are scripts that try to stay, to take memory, or to break out. Each ends with
// one of the named ends.
var hostile = []struct {
	name, code string
	end        error // nil: an Error of the script, or a value
}{
	{"loop", `while (true) {}`, ErrDeadline},
	{"loop that catches", `while (true) { try { while (true) {} } catch {} }`, ErrDeadline},
	{"loop in finally", `try { while (true) {} } finally { while (true) {} }`, ErrDeadline},
	{"for of a generator", `function* g() { while (true) yield 1 } for (const x of g()) {}`, ErrDeadline},
	{"async loop", `async () => { while (true) await null }`, ErrDeadline},
	{"promise chain", `const f = () => Promise.resolve().then(f); await f()`, ErrDeadline},
	{"promise flood", `const f = () => { Promise.resolve().then(f); Promise.resolve().then(f) }; f(); await new Promise(() => {})`, nil},
	{"thenable that calls itself", `const t = { then(r) { r(t) } }; await t`, ErrDeadline},
	{"microtasks", `const f = () => queueMicrotask(f); f(); await new Promise(() => {})`, ErrDeadline},
	{"array fill", `Array.prototype.fill.call({length: 2 ** 53 - 1}, 1)`, nil},
	{"array indexOf", `Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`, ErrDeadline},
	{"array reverse", `Array.prototype.reverse.call({length: 2 ** 53 - 1})`, ErrDeadline},
	{"array join", `Array.prototype.join.call({length: 2 ** 53 - 1})`, nil},
	{"array sort", `const a = []; a.length = 2 ** 32 - 1; a.sort()`, ErrDeadline},
	{"array concat", `const a = []; a.length = 2 ** 32 - 1; a.concat(a, a)`, nil},
	{"array of 4e9", `new Array(4e9).fill(0)`, nil},
	{"array from", `Array.from({length: 2 ** 53 - 1})`, nil},
	{"typed array", `new Float64Array(2 ** 30)`, nil},
	{"typed arrays", `const a = []; while (true) a.push(new Uint8Array(1 << 20))`, nil},
	{"string repeat", `"x".repeat(2 ** 30 - 25)`, nil},
	{"string doubling", `let s = "x"; while (true) s += s`, nil},
	{"string padding", `"".padEnd(2 ** 30, "ab")`, nil},
	{"objects", `const a = []; while (true) a.push({a: {b: {c: []}}})`, nil},
	{"map", `const m = new Map(); let i = 0; while (true) m.set(i++, "x".repeat(100))`, nil},
	{"closures", `let f = () => 0; while (true) { const g = f; f = () => g }`, nil},
	{"recursion", `const f = () => f() + 1; f()`, nil},
	{"recursion of a getter", `const o = { get a() { return this.a } }; o.a`, nil},
	{"recursion of a proxy", `const p = new Proxy({}, { get(t, k, r) { return r[k] } }); p.a`, nil},
	{"recursion of toString", `const o = { toString() { return "" + this } }; "" + o`, nil},
	{"recursion of JSON", `const o = { toJSON() { return { o: { toJSON: this.toJSON } } } }; JSON.stringify(o)`, nil},
	{"deep JSON", `JSON.parse("[".repeat(1e6))`, nil},
	{"deep value", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a`, nil},
	{"error with a hostile toString", `throw { toString() { while (true) {} } }`, ErrDeadline},
	{"error with a hostile stack", `const e = new Error("x"); Object.defineProperty(e, "stack", { get() { while (true) {} } }); throw e`, ErrDeadline},
	{"getter in the value", `({ get a() { while (true) {} } })`, ErrDeadline},
	{"toJSON in the value", `({ toJSON() { while (true) {} } })`, ErrDeadline},
	{"proxy as the value", `new Proxy({}, { ownKeys() { while (true) {} } })`, ErrDeadline},
	{"regular expression", `/(a+)+b/.test("a".repeat(40))`, ErrDeadline},
	{"regular expression of another kind", `/^(([a-z])+.)+[A-Z]([a-z])+$/.test("a".repeat(60))`, ErrDeadline},
	{"large regular expression", `new RegExp("(".repeat(1e5) + ")".repeat(1e5))`, nil},
	{"bigint", `let b = 3n; while (true) b *= b`, nil},
	{"bigint power", `3n ** (2n ** 40n)`, nil},
	{"eval", `const f = () => eval("f()"); f()`, nil},
	{"function constructor", `new Function("while (true) {}")()`, ErrDeadline},
	{"generated code", `eval("a=" + "(".repeat(1e6))`, nil},
	{"large expression", `eval("1" + "+1".repeat(1e6))`, nil},
	{"symbols", `while (true) Symbol.for(Math.random() + "")`, nil},
	{"weak references", `const r = new FinalizationRegistry(() => {}); while (true) r.register({}, 1)`, nil},
	{"async generator", `async function* g() { while (true) yield 1 } for await (const x of g()) {}`, ErrDeadline},
	{"iterator that never ends", `[...{ [Symbol.iterator]() { return { next: () => ({ done: false }) } } }]`, nil},
	{"object assign of getters", `Object.assign({}, { get a() { return Object.assign({}, this) } })`, nil},
	{"structured prototype", `Object.setPrototypeOf(Object.prototype, new Proxy({}, { get() { while (true) {} } })); ({}).x`, nil},
	{"poisoned promise", `Promise.prototype.then = function () { while (true) {} }; await tools.shop.get_order({ id: 1 })`, nil},
	{"poisoned then of an answer", `Object.prototype.then = function (r) { while (true) {} }; await tools.shop.get_order({ id: 1 })`, ErrDeadline},
	{"log", `while (true) console.log("x".repeat(1000))`, ErrDeadline},
	{"log with a hostile value", `console.log({ toJSON() { while (true) {} } })`, ErrDeadline},
	{"calls", `while (true) tools.shop.get_order({ id: 1 })`, nil},
	{"a call with a hostile argument", `await tools.shop.get_order({ toJSON() { while (true) {} } })`, ErrDeadline},
	{"a name that is long", `await tools["x".repeat(1e6)].y({})`, nil},
	{"timers", `const f = () => setTimeout(f, 0); f(); while (true) await sleep(0)`, ErrDeadline},
	{"date", `while (true) new Date().toLocaleString()`, ErrDeadline},
	{"sort with a hostile order", `[3, 2, 1].sort(() => { while (true) {} })`, ErrDeadline},
	{"replace with a function", `"aaa".replace(/a/g, () => { while (true) {} })`, ErrDeadline},
	{"uri", `decodeURIComponent("%41".repeat(1e7))`, nil},
	{"normalize", `"\u0344".repeat(1e7).normalize("NFKD")`, nil},
	{"atomics", `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`, nil},
}

// TestHostile: every hostile script ends with its error soon after its time is over, and
// the engine is as good as before.
func TestHostile(t *testing.T) {
	if len(hostile) < 40 {
		t.Fatalf("%d scripts", len(hostile))
	}
	const own = 50 * time.Millisecond
	e := New(Options{OwnTime: own})
	defer func() { _ = e.Close(t.Context()) }()
	check := func(after string) {
		t.Helper()
		if got, err := e.Run(t.Context(), Script{Code: `[1, 2].map(x => x * 2).length`, Tools: &shop{}}); err != nil || string(got.Value) != "2" {
			t.Fatalf("after %s: %s %v", after, got.Value, err)
		}
	}
	var late []time.Duration
	for _, tt := range hostile {
		got, err := e.Run(t.Context(), Script{Code: tt.code, Tools: &shop{}})
		var failed *Error
		switch {
		case tt.end != nil && !errors.Is(err, tt.end):
			t.Errorf("%s: %v, want %v", tt.name, err, tt.end)
		case err != nil && !errors.As(err, &failed) && !errors.Is(err, ErrDeadline) && !errors.Is(err, ErrMemory):
			t.Errorf("%s: %v", tt.name, err)
		}
		if errors.Is(err, ErrDeadline) {
			late = append(late, got.Used-own)
		}
		if strings.HasPrefix(tt.name, "poisoned") || err != nil {
			check(tt.name)
		}
	}
	slices.Sort(late)
	t.Logf("%d of %d scripts were stopped at their deadline; by their own time the last %v after it", len(late), len(hostile), late[len(late)-1])
}

// TestGarbageCollection reports how long collections stop the others while hostile scripts
// run on every turn.
func TestGarbageCollection(t *testing.T) {
	done := make(chan struct{})
	for range 2 {
		go func() {
			defer func() { done <- struct{}{} }()
			_, _ = shared().Run(t.Context(), Script{Code: `Array.prototype.fill.call({length: 2 ** 53 - 1}, 1)`, Tools: &shop{}})
		}()
	}
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(sample)
	before := slices.Clone(sample[0].Value.Float64Histogram().Counts)
	garbage := make([][]byte, 0, 1024)
	for n := 0; n < 2; {
		select {
		case <-done:
			n++
		default:
			if garbage = append(garbage, make([]byte, 64<<10)); len(garbage) == cap(garbage) {
				garbage = garbage[:0]
			}
		}
	}
	metrics.Read(sample)
	h := sample[0].Value.Float64Histogram()
	var all, seen uint64
	for n := range h.Counts {
		all += h.Counts[n] - before[n]
	}
	if all == 0 {
		t.Fatal("nothing was collected")
	}
	for n := range h.Counts {
		if seen += h.Counts[n] - before[n]; seen*100 >= all*95 {
			t.Logf("%d pauses, 95 %% of them up to %.2f ms", all, h.Buckets[n+1]*1000)
			break
		}
	}
}
