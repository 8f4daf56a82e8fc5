package script

import (
	"errors"
	"runtime/metrics"
	"slices"
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
	{"proxy traps of every kind", `const h = new Proxy({}, { get() { return () => { while (true) {} } } }); const p = new Proxy(function () {}, h); p.x`, ErrDeadline},
	{"a proxy of itself", `let p = {}; for (let i = 0; i < 1e6; i++) p = new Proxy(p, {}); p.x`, nil},
	{"to primitive", `const o = { [Symbol.toPrimitive]() { while (true) {} } }; +o`, ErrDeadline},
	{"to primitive that calls itself", `const o = { [Symbol.toPrimitive]() { return o + 1 } }; o + 1`, nil},
	{"bigint square", `2n ** 2n ** 30n`, nil},
	{"bigint in steps", `let a = 1n; for (let i = 0; i < 64; i++) a = (a + 1n) * (a + 3n); a.toString()`, nil},
	{"bigint of a long text", `BigInt("9".repeat(1e6)).toString()`, nil},
	{"reviver", `JSON.parse("[1]", () => { while (true) {} })`, ErrDeadline},
	{"reviver that grows", `JSON.parse("[1,2]", function (k, v) { if (Array.isArray(this)) this.push([1, 2]); return v })`, nil},
	{"order that is never the same", `const a = Array.from({ length: 1e5 }, (_, i) => i); while (true) a.sort(() => Math.random() - 0.5)`, ErrDeadline},
	{"generator that returns itself", `function* g() { yield* g() } [...g()]`, nil},
	{"generator in finally", `function* g() { try { yield 1 } finally { while (true) {} } } for (const x of g()) break`, ErrDeadline},
	{"deep promise chain", `let p = Promise.resolve(); for (let i = 0; i < 1e6; i++) p = p.then(() => p); await p`, nil},
	{"promises that resolve to each other", `let r; const p = new Promise(x => r = x); let q = p; for (let i = 0; i < 2e5; i++) { const o = q; q = new Promise(x => x(o)) } r(1); await q`, nil},
	{"getter of then", `let n = 0; const t = { get then() { return n++ < 1e9 ? r => r(t) : undefined } }; await t`, ErrDeadline},
	{"getter of then that never ends", `await { get then() { while (true) {} } }`, ErrDeadline},
	{"template", "const x = 'x'.repeat(1e6); let s = ''; while (true) s = `${s}${x}${x}`", nil},
	{"raw", `String.raw({ raw: { length: 2 ** 53 - 1, get 0() { return 'x'.repeat(1e6) } } }, ...Array(1e4).fill(1))`, nil},
	{"length of an array", `const a = []; a[2 ** 32 - 2] = 1; a.forEach(x => x); for (const x of a);`, ErrDeadline},
	{"length that moves", `const a = [1]; for (const x of a) a.push(x)`, nil},
	{"species", `class A extends Array { static get [Symbol.species]() { return function (n) { return new Proxy([], { defineProperty() { while (true) {} } }) } } } new A(1, 2, 3).map(x => x)`, ErrDeadline},
	{"async iterator", `for await (const x of { [Symbol.asyncIterator]() { return { next: () => ({ done: false }) } } });`, ErrDeadline},
	{"async iterator of a call", `for await (const x of { [Symbol.asyncIterator]() { return { next: async () => ({ value: await tools.shop.get_order({ id: 1 }), done: false }) } } });`, nil},
	{"stack of a kind", `Error.prepareStackTrace = () => { while (true) {} }; throw new Error("x")`, nil},
	{"stack trace limit", `Error.stackTraceLimit = 2 ** 31; const f = n => n ? f(n - 1) : (() => { throw new Error("x") })(); f(1000)`, nil},
	{"message of an error", `throw Object.defineProperty(new Error("x"), "message", { get() { while (true) {} } })`, ErrDeadline},
	{"name of an error", `throw Object.defineProperty(new Error("x"), "name", { get() { return "n".repeat(1e8) } })`, nil},
	{"tools overwritten", `"use strict"; tools = {}`, nil},
	{"tools frozen", `Object.freeze(tools)`, nil},
	{"tools with a prototype", `Object.setPrototypeOf(tools, { shop: 1 })`, nil},
	{"tools deleted", `"use strict"; delete globalThis.tools`, nil},
	{"prototype of an answer", `Object.defineProperty(Object.prototype, "total", { set() { while (true) {} }, get() { while (true) {} } }); (await tools.shop.get_order({ id: 1 })).id`, nil},
	{"prototype through an answer", `const o = JSON.parse('{"__proto__": {"x": 1}}'); Object.assign({}, o); ({}).x`, nil},
	{"toJSON of every object", `Object.prototype.toJSON = function () { return { a: {}, b: {} } }; ({})`, nil},
	{"callee", `(function () { arguments.callee() })()`, nil},
	{"dynamic import", `await import("fs")`, nil},
	{"dynamic import of data", `await import("data:text/javascript,while(true){}")`, nil},
	{"require", `require("child_process").execSync("id")`, nil},
	{"constructor of a function", `(async () => {}).constructor("while (true) {}")()`, ErrDeadline},
	{"indirect eval", `(0, eval)("var leaked = 1; while (true) {}")`, ErrDeadline},
	{"weak map", `const m = new WeakMap(); while (true) m.set({}, new Array(100).fill({}))`, nil},
	{"weak reference", `const r = []; while (true) r.push(new WeakRef({ a: new Array(100) }))`, nil},
	{"shared memory", `const b = new SharedArrayBuffer(2 ** 30); Atomics.wait(new Int32Array(b), 0, 0)`, nil},
	{"atomics that wait", `const a = new Int32Array(new SharedArrayBuffer(8)); while (true) Atomics.add(a, 0, 1)`, nil},
	{"resizable buffer", `const b = new ArrayBuffer(8, { maxByteLength: 2 ** 30 }); for (let n = 8; ; n *= 2) b.resize(n)`, nil},
	{"back references", `/(.*)\1\1\1\1\1b/.test("a".repeat(2e4))`, ErrDeadline},
	{"look behind", `/(?<=(a+)+)b/.test("a".repeat(40))`, nil},
	{"replace all", `"x".repeat(1e6).replaceAll("x", "$&".repeat(1e3))`, nil},
	{"split and join", `"x".repeat(1e7).split("").join("yyyyyyyyyy")`, nil},
	{"with of a proxy", `with (new Proxy({}, { has() { while (true) {} } })) { x }`, ErrDeadline},
	{"destructuring of a hostile iterator", `const [a] = { [Symbol.iterator]() { return { next() { while (true) {} } } } }`, ErrDeadline},
	{"group by", `Object.groupBy({ [Symbol.iterator]() { return { next: () => ({ done: false, value: 1 }) } } }, x => x)`, nil},
	{"date of a hostile value", `new Date({ valueOf() { while (true) {} } })`, ErrDeadline},
	{"labels", `a: while (true) { b: while (true) continue a }`, ErrDeadline},
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
	// Every name that a script can reach from its globals, with what is behind it.
	const look = `const seen = new Set(), out = []; const walk = (o, at) => { if (o === null || typeof o !== "object" && typeof o !== "function" || o === tools || seen.has(o)) return; seen.add(o);
		out.push(at + Object.isFrozen(o)); for (const k of Reflect.ownKeys(o)) { const d = Object.getOwnPropertyDescriptor(o, k); out.push(at + String(k) + (typeof d.value) + d.writable + d.configurable);
		for (const x of [d.value, d.get, d.set]) walk(x, at + "." + String(k)) } walk(Object.getPrototypeOf(o), at + ".__proto__") };
		walk(globalThis, ""); let h = 0; for (const c of out.join()) h = (h * 31 + c.charCodeAt(0)) | 0; [out.length, h, Object.keys(tools.shop)]`
	looks := func(after string) string {
		t.Helper()
		got, err := e.Run(t.Context(), Script{Code: look, Tools: &shop{}, OwnTime: 10 * time.Second})
		if err != nil {
			t.Fatalf("after %s: %v", after, err)
		}
		return string(got.Value)
	}
	fresh := looks("the start")
	check := func(after string) {
		t.Helper()
		if got := looks(after); got != fresh {
			t.Fatalf("after %s a script finds %s, at first %s", after, got, fresh)
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
		check(tt.name)
	}
	slices.Sort(late)
	if worst := late[len(late)-1]; worst > 100*time.Millisecond { // 10 ms where nothing else runs
		t.Errorf("the last was stopped %s after its time", worst)
	}
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
