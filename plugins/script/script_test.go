package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/turns"
)

// shared is one engine for the tests that need nothing of their own: its module takes a
// second to compile.
var shared = sync.OnceValue(func() *Engine { return New(Options{}) })

// shop is a toolset with a few tools.
type shop struct {
	calls  atomic.Int64
	most   atomic.Int64 // at once
	now    atomic.Int64
	orders int
	delay  time.Duration
}

func (s *shop) Names(path string) []string {
	switch path {
	case "":
		return []string{"shop"}
	case "shop":
		return []string{"list_orders", "get_order", "fails", "big", "never", "ids", "echo"}
	}
	return nil
}

func (s *shop) Call(ctx context.Context, path string, arguments []byte) ([]byte, error) {
	s.calls.Add(1)
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if path == "shop.echo" {
		return arguments, nil
	}
	var in struct{ ID, Bytes int }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, &ToolError{Tool: path, Message: "arguments must be an object"}
	}
	switch path {
	case "shop.list_orders":
		var ids []int
		for id := range s.orders {
			ids = append(ids, id+1)
		}
		return json.Marshal(map[string]any{"items": ids})
	case "shop.get_order":
		return fmt.Appendf(nil, `{"id":%d,"total":%d}`, in.ID, in.ID*10), nil
	case "shop.fails":
		return nil, &ToolError{Tool: "fails", Status: 404, Message: "there is no such order"}
	case "shop.big":
		return []byte(`"` + strings.Repeat("x", in.Bytes) + `"`), nil
	case "shop.ids":
		return []byte(`{"id":12345678901234567890,"below":-9007199254740993,"safe":9007199254740991,"fraction":12345678901234567890.5,"list":[1e300,18446744073709551616]}`), nil
	case "shop.never":
		<-ctx.Done()
		return nil, ctx.Err()
	case "shop.late":
		return nil, fmt.Errorf("the call ended: %w", context.DeadlineExceeded)
	}
	return nil, errors.New("there is no tool " + path)
}

func TestRun(t *testing.T) {
	for _, tt := range []struct{ name, code, want string }{
		{"an expression", `1 + 2`, `3`},
		{"an object", `{a: [1, "zwei", null, true], b: undefined}`, `{"a":[1,"zwei",null,true]}`},
		{"the last value", "const a = 2\nconst b = await Promise.resolve(3)\na * b", `6`},
		{"the body of a function", "if (1 < 2) { return 'yes' }\nreturn 'no'", `"yes"`},
		{"a function", `async () => { const o = await tools.shop.get_order({id: 4}); return o.total }`, `40`},
		{"a function that is not async", `() => 7`, `7`},
		{"a promise as the last value", "async function main() { return (await tools.shop.get_order({id: 4})).total }\nmain();", `40`},
		{"a function that a promise gives", "let a = 1; Promise.resolve(async () => 8);", `8`},
		{"a promise of nothing", "(async () => { console.log(1) })();", ``},
		{
			"texts in the order of a dictionary", `["item 10", "Zoë", "äpfel", "Apfel", "apfel", "b", "item 9", "Zoe", "ape"].sort((a, b) => a.localeCompare(b))`,
			`["ape","apfel","Apfel","äpfel","b","item 10","item 9","Zoe","Zoë"]`,
		},
		{
			"options of an order", `[["item 10", "item 9", {numeric: true}], ["a", "Á", {sensitivity: "base"}], ["a", "A", {sensitivity: "accent"}], ["a", "á", {sensitivity: "accent"}], ["a", "á", {sensitivity: "case"}], ["A", "a", {sensitivity: "case"}]].map(([a, b, o]) => a.localeCompare(b, "en", o))`,
			`[1,0,0,-1,0,1]`,
		},
		{
			"an order of what is no text", `[String.prototype.localeCompare.call(1, 2), "a".localeCompare(), String.prototype.localeCompare.length, (() => { try { String.prototype.localeCompare.call(null, "a") } catch (e) { return e.name } })()]`,
			`[-1,-1,1,"TypeError"]`,
		},
		{"nothing", `let x = 1; undefined`, ``},
		{"no code", ``, ``},
		{"calls at once", `const {items} = await tools.shop.list_orders({}); (await Promise.all(items.map(id => tools.shop.get_order({id})))).map(o => o.total)`, `[10,20,30]`},
		{"calls in turn", `let sum = 0; for (const id of (await tools.shop.list_orders()).items) sum += (await tools.shop.get_order({id})).total; sum`, `60`},
		{
			"an error that is caught", `try { await tools.shop.fails({}) } catch (e) { return [e.name, e instanceof ToolError, e.tool, e.status, e.message] }`,
			`["ToolError",true,"fails",404,"there is no such order"]`,
		},
		{"errors of some", `(await Promise.allSettled([tools.shop.get_order({id: 1}), tools.shop.fails({})])).map(r => r.status)`, `["fulfilled","rejected"]`},
		{"names", `[Object.keys(tools), Object.keys(tools.shop).length, "get_order" in tools.shop, "x" in tools.shop]`, `[["shop"],7,true,false]`},
		{"tools is read-only", `try { tools.shop = 1 } catch (e) { return e.message }`, `"tools is read-only"`},
		{"a tool is not a promise", `(await tools.shop) === undefined`, `false`},
		{"timers", `const a = []; setTimeout(() => a.push("b"), 2); const c = setTimeout(() => a.push("x"), 1); clearTimeout(c); await sleep(20); a.push("c"); a`, `["b","c"]`},
		{"numbers beyond 2^53", `({big: 12345678901234567890n})`, `{"big":12345678901234567890}`},
		{"of answers", `tools.shop.ids()`, `{"id":12345678901234567890,"below":-9007199254740993,"safe":9007199254740991,"fraction":12345678901234567000,"list":[1e+300,18446744073709551616]}`},
		{"to tools", `const {id, list} = await tools.shop.ids(); tools.shop.echo({id, list, text: JSON.stringify({id}), "s": ` + "`${id}`" + `})`, `{"id":12345678901234567890,"list":[1e+300,18446744073709551616],"text":"{\"id\":12345678901234567890}","s":"12345678901234567890"}`},
		{"compared", `const a = await tools.shop.ids(), b = await tools.shop.ids(); [a.id === b.id, a.id > a.safe, new Map([[a.id, 1]]).get(b.id), typeof a.id, typeof a.safe]`, `[true,true,1,"bigint","number"]`},
		{"written in a script", `[9007199254740993, -12345678901234567890, 9007199254740991, 1e21, 0x1FFFFFFFFFFFFFFFF, 1_000, 12345678901234567890n, 12345678901234567890.5].map(v => typeof v)`, `["bigint","bigint","number","number","number","number","bigint","number"]`},
		{"written to a tool", `tools.shop.echo({id: 9007199254740993, 12345678901234567890: [1152921504606846976]})`, `{"id":9007199254740993,"12345678901234567890":[1152921504606846976]}`},
		{"of so many digits", "[" + strings.Repeat("9", 100) + "," + strings.Repeat("9", 101) + "].map(v => typeof v)", `["bigint","number"]`},
		{"of what a script parses", `JSON.parse("12345678901234567890")`, `12345678901234567000`},
		{"a set", `new Set([1, "b", [2]])`, `[1,"b",[2]]`},
		{"a map by names", `({by: new Map([["a", 1], [2, {c: new Set()}]])})`, `{"by":{"2":{"c":[]},"a":1}}`},
		{"a map by objects", `new Map([[{id: 1}, "x"], [null, 2]])`, `[[{"id":1},"x"],[null,2]]`},
		{"a map with a member __proto__", `new Map([["__proto__", 1]])`, `{"__proto__":1}`},
		{"an empty map", `new Map()`, `{}`},
		{"members of sets and maps are as ever", `[Object.keys(Set.prototype), Object.keys(Map.prototype)]`, `[[],[]]`},
		{"dates", `new Date(0).toISOString()`, `"1970-01-01T00:00:00.000Z"`},
		{"unicode", `"häß \u{1F600}".toUpperCase()`, `"HÄSS 😀"`},
		{"regular expressions", `"a1b22".match(/\d+/g)`, `["1","22"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := shared().Run(t.Context(), Script{Code: tt.code, Tools: &shop{orders: 3}})
			if err != nil || string(got.Value) != tt.want {
				t.Errorf("%s\n got %s %v\nwant %s", tt.code, got.Value, err, tt.want)
			}
		})
	}
}

// TestErrors: an error names its place in the script as it was given.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name, code   string
		message      string
		line, column int
	}{
		{"thrown", "const a = 1\nthrow new Error('no ' + a)", "Error: no 1", 2, 25},
		{"in an expression", `null.x`, "TypeError: cannot read property 'x' of null", 1, 1},
		{"in a function", "async () => {\n  const x = 1;\n  return missing + x }", "ReferenceError: missing is not defined", 3, 10},
		{"a tool", "const o = 1;\n  await tools.shop.fails({});", "ToolError: there is no such order", 2, 20},
		{"an unknown tool", "await tools.shop.nothing()", "ToolError: there is no tool shop.nothing", 1, 18},
		{"syntax", "const a = 1;\nconst b = ;", "SyntaxError: unexpected token in expression: ';'", 2, 11},
		{"a circle", "const a = {}; a.a = a; a", "TypeError: circular reference", 0, 0},
		{"not an error", "throw 'text'", "text", 0, 0},
		{"a BigInt and a number", "const {id} = await tools.shop.ids()\nid + 1", "TypeError: cannot convert BigInt to number" + bigInts, 2, 6},
		{"an object", "throw {a: 1, b: ['x']}", `{"a":1,"b":["x"]}`, 0, 0},
		{"an object without JSON", "const o = {}; o.o = o; throw o", "[object Object]", 0, 0},
		{"an object with a text", "throw {toString: () => 'mine'}", "mine", 0, 0},
		{"no text", "throw Object.create(null)", "Error: the script threw a value that cannot be written as text: throw an Error", 0, 0},
		{"a symbol", "throw Symbol('x')", "Error: the script threw a value that cannot be written as text: throw an Error", 0, 0},
		{"a text that fails with another", "throw {toString() { throw {toString() { throw 1 }} }}", "Error: the script threw a value that cannot be written as text: throw an Error", 0, 0},
		{"a text without memory for it", "throw {toString() { return 'x'.repeat(1e8).repeat(10) }}", "InternalError: out of memory", 0, 0},
		{"all of them rejected", "await Promise.any([tools.shop.fails({}), Promise.reject(2)])", "AggregateError: ToolError: there is no such order; 2", 1, 50},
		{"a cause", "try { await tools.shop.fails({}) } catch (e) { throw new Error('lookup failed', {cause: e}) }", "Error: lookup failed; cause: ToolError: there is no such order", 1, 89},
		{"causes", "let e = 0; for (let i = 1; i < 6; i++) e = new Error('e' + i, {cause: e}); throw e", "Error: e5; cause: Error: e4; cause: Error: e3; cause: Error: e2", 1, 71},
		{"a cause of itself", "const e = new Error('x'); e.cause = e; throw e", "Error: x; cause: Error: x; cause: Error: x; cause: Error: x", 1, 15},
		{"a cause without a text", "throw new Error('x', {cause: Object.create(null)})", "Error: x", 1, 43},
		{"a cause that throws", "throw Object.defineProperty(new Error('x'), 'cause', {get() { throw 1 }})", "Error: x", 1, 33},
		{"many rejected", "throw new AggregateError(Array.from({length: 20}, (_, i) => i), 'all')", "AggregateError: all: 0; 1; 2; 3; 4; 5; 6; 7; 12 more", 1, 31},
		{"none rejected", "throw new AggregateError([], 'none')", "AggregateError: none", 1, 11},
		{"reasons without a text", "throw new AggregateError([Symbol('a'), Object.create(null)])", "AggregateError: ?; ?", 1, 53},
		{"reasons that are no list", "const e = new AggregateError([1], 'x'); e.errors = {length: 1e9}; throw e", "AggregateError: x", 1, 15},
		{"reasons that throw", "const e = new AggregateError([1], 'x'); Object.defineProperty(e, 'errors', {get() { throw 1 }}); throw e", "AggregateError: x", 1, 15},
		{"null", "throw null", "InternalError: out of memory, or the script threw null", 0, 0},
		{"nothing settles it", "await new Promise(() => {})", "Error: the script awaits a promise that nothing settles", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := shared().Run(t.Context(), Script{Code: tt.code, Tools: &shop{}})
			var e *Error
			if !errors.As(err, &e) || e.Message != tt.message || e.Line != tt.line || e.Column != tt.column {
				t.Errorf("%q: %v, want %s (line %d, column %d)", tt.code, err, tt.message, tt.line, tt.column)
			}
		})
	}
}

// TestCalls: how many calls a script may make, and how many at once.
func TestCalls(t *testing.T) {
	s := &shop{delay: time.Millisecond}
	got, err := shared().Run(t.Context(), Script{Code: `(await Promise.all(Array.from({length: 64}, (_, i) => tools.shop.get_order({id: i})))).length`, Tools: s})
	if err != nil || string(got.Value) != "64" || got.Calls != DefaultCalls || got.Waited == 0 {
		t.Errorf("as many calls as a script may make: %s, %d calls, %v", got.Value, got.Calls, err)
	}
	if n := s.most.Load(); n != DefaultAtOnce {
		t.Errorf("%d calls at once, want %d", n, DefaultAtOnce)
	}
	got, err = shared().Run(t.Context(), Script{Code: `await Promise.all(Array.from({length: 65}, (_, i) => tools.shop.get_order({id: i})))`, Tools: &shop{}})
	if err == nil || !strings.HasPrefix(err.Error(), "RangeError: the script makes too many calls") || got.Calls != DefaultCalls {
		t.Errorf("one call more: %v, %d calls", err, got.Calls)
	}
	const all = `(await Promise.all(Array.from({length: %d}, (_, i) => tools.shop.get_order({id: i})))).length`
	if got, err = shared().Run(t.Context(), Script{Code: fmt.Sprintf(all, MaxCalls), Tools: &shop{}, Calls: 10_000, AtOnce: 10_000}); err != nil || string(got.Value) != "256" {
		t.Errorf("the most that a caller can allow: %s %v", got.Value, err)
	}
	if _, err = shared().Run(t.Context(), Script{Code: fmt.Sprintf(all, MaxCalls+1), Tools: &shop{}, Calls: 10_000}); err == nil {
		t.Error("one call more than a caller can allow")
	}
	sleeps := `await Promise.all(Array.from({length: %d}, () => sleep(1)))`
	if _, err = shared().Run(t.Context(), Script{Code: fmt.Sprintf(sleeps, maxSleeps), Tools: &shop{}}); err != nil {
		t.Errorf("as many timers as may be open: %v", err)
	}
	if _, err = shared().Run(t.Context(), Script{Code: fmt.Sprintf(sleeps, maxSleeps+1), Tools: &shop{}}); err == nil || !strings.Contains(err.Error(), "open at once") {
		t.Errorf("one timer more: %v", err)
	}
}

// TestTimers: how many calls and timers may be open at once, and how long a timer runs.
func TestTimers(t *testing.T) {
	const all = `(await Promise.all([...Array.from({length: %d}, () => sleep(5)), ...Array.from({length: %d}, (_, i) => tools.shop.get_order({id: i}))])).length`
	got, err := shared().Run(t.Context(), Script{Code: fmt.Sprintf(all, maxSleeps, MaxCalls), Tools: &shop{}, Calls: MaxCalls})
	if want := fmt.Sprint(maxOpen); err != nil || string(got.Value) != want {
		t.Errorf("everything open at once: %s %v, want %s", got.Value, err, want)
	}
	for _, tt := range []struct {
		ms   float64
		want time.Duration
	}{
		{-1, 0}, {0, 0}, {math.NaN(), 0}, {1.5, 1500 * time.Microsecond}, {59_999, maxSleep - time.Millisecond}, {60_000, maxSleep}, {60_001, maxSleep}, {math.Inf(1), maxSleep},
	} {
		if got := sleepTime(tt.ms); got != tt.want {
			t.Errorf("a timer of %v ms runs %v, want %v", tt.ms, got, tt.want)
		}
	}
}

// TestSizes: each bound of a text holds at its limit and one past it.
func TestSizes(t *testing.T) {
	pad := func(code string, n int) string { return code + strings.Repeat(" ", n-len(code)) }
	for _, tt := range []struct {
		name, code, fault string
	}{
		{"code", pad("1", MaxCode), ""},
		{"longer code", pad("1", MaxCode+1), "RangeError: the script has 65537 bytes, more than 65536"},
		{"an answer", fmt.Sprintf(`(await tools.shop.big({Bytes: %d})).length > 0`, maxAnswer-2), ""},
		{"a larger answer", fmt.Sprintf(`await tools.shop.big({Bytes: %d})`, maxAnswer-1), "too large for a script"},
		{"a value", fmt.Sprintf(`"x".repeat(%d)`, maxValue-2), ""},
		{"a larger value", fmt.Sprintf(`"x".repeat(%d)`, maxValue-1), "the value of the script is too large"},
		{"a heap", fmt.Sprintf(`const a = []; for (let i = 0; i < %d; i++) a.push(new Uint8Array(1 << 20)); a.length`, maxHeap>>20-2), ""},
		{"a larger heap", fmt.Sprintf(`const a = []; for (let i = 0; i < %d; i++) a.push(new Uint8Array(1 << 20)); a.length`, maxHeap>>20), "out of memory"},
		{"a stack", `let n = 0; const f = () => { if (++n < 1000) f() }; f(); n`, ""},
		{"a deeper stack", `let n = 0; const f = () => { n++; f() }; f(); n`, "Maximum call stack size exceeded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := shared().Run(t.Context(), Script{Code: tt.code, Tools: &shop{}})
			if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("%v, want %q", err, tt.fault)
			}
		})
	}
	got, err := shared().Run(t.Context(), Script{Code: fmt.Sprintf(`for (let i = 0; i < %d; i++) console.log("x".repeat(%d)); console.error("end")`, maxLogLines+3, maxLogLine+100), Tools: &shop{}})
	if err != nil || len(got.Logs) != maxLogLines || got.LogsDropped != 4 || len(got.Logs[0]) != maxLogLine {
		t.Errorf("%d lines, %d dropped, the first of %d bytes, %v", len(got.Logs), got.LogsDropped, len(got.Logs[0]), err)
	}
	_, err = shared().Run(t.Context(), Script{Code: fmt.Sprintf(`throw new Error("x".repeat(%d))`, maxMessage+100), Tools: &shop{}})
	var e *Error
	if !errors.As(err, &e) || len(e.Message) != maxMessage {
		t.Errorf("a message of %d bytes", len(e.Message))
	}
	deep := `const f = n => { if (n === 0) throw new Error("deep"); f(n - 1) }; f(900)`
	if _, err = shared().Run(t.Context(), Script{Code: deep, Tools: &shop{}}); !errors.As(err, &e) || len(e.Stack) == 0 || len(e.Stack) > maxStack {
		t.Errorf("a stack of %d bytes", len(e.Stack))
	}
	if got, err = shared().Run(t.Context(), Script{Code: `console.log("a", {b: [1]}, null, undefined); console.warn(new Error("c").message)`, Tools: &shop{}}); err != nil || !slices.Equal(got.Logs, []string{`a {"b":[1]} null undefined`, "c"}) {
		t.Errorf("%q %v", got.Logs, err)
	}
}

// TestNothingIsLeft: what a script leaves in its engine no other finds.
func TestNothingIsLeft(t *testing.T) {
	e := New(Options{})
	defer func() { _ = e.Close(context.Background()) }()
	secret := "correct horse battery staple"
	for _, code := range []string{
		`globalThis.x = 1; Object.prototype.y = 2; Array.prototype.map = () => "poisoned"; JSON.stringify = () => "poisoned"; Promise.prototype.then = null; 1`,
		fmt.Sprintf(`globalThis.kept = %q.repeat(100); kept.length`, secret),
		`delete globalThis.tools; console.log = null; Object.freeze(Object.prototype); 1`,
		`setTimeout(() => { globalThis.late = 1 }, 5); 1`,
	} {
		_, _ = e.Run(t.Context(), Script{Code: code, Tools: &shop{}})
		got, err := e.Run(t.Context(), Script{Code: `[typeof x, typeof kept, typeof late, ({}).y, [1].map(a => a + 1), typeof tools.shop, Object.isFrozen(Object.prototype)]`, Tools: &shop{}})
		if want := `["undefined","undefined","undefined",null,[2],"function",false]`; err != nil || string(got.Value) != want {
			t.Errorf("after %s\n got %s %v\nwant %s", code, got.Value, err, want)
		}
	}
	i := <-e.idle
	b, _ := i.module.Memory().Read(0, i.module.Memory().Size())
	if bytes.Contains(b, []byte(secret)) {
		t.Error("the memory holds a text of a run that ended")
	}
	if again := take(i.module.Memory()); again.size != e.fresh.size || !slices.EqualFunc(again.parts, e.fresh.parts, func(a, b part) bool { return a.at == b.at && bytes.Equal(a.data, b.data) }) {
		t.Error("the memory is not what it was at first")
	}
}

// TestEnds: a run whose caller gives up ends, with the calls that it made; and so does one
// whose engine is closed meanwhile.
func TestEnds(t *testing.T) {
	for range 20 { // the call's own end and its caller's come at once, in either order
		ctx, cancel := context.WithCancel(t.Context())
		s := &shop{}
		go func() {
			for s.now.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		if _, err := shared().Run(ctx, Script{Code: `await tools.shop.never({})`, Tools: s}); !errors.Is(err, context.Canceled) || s.now.Load() != 0 {
			t.Errorf("%v, and %d calls run", err, s.now.Load())
		}
	}
	// What calls may know of the deadline before the context does.
	if got, err := shared().Run(t.Context(), Script{Code: `try { await tools.shop.late({}) } catch { "caught" }`, Tools: &shop{}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s %v, want the deadline", got.Value, err)
	}
	e := New(Options{})
	if _, err := e.Run(t.Context(), Script{Code: `1`, Tools: &shop{}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := e.Run(t.Context(), Script{Code: `1`, Tools: &shop{}}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestEndedMakesNoCall: calls that wait for others are not made when the run has ended.
func TestEndedMakesNoCall(t *testing.T) {
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		s := &shop{}
		go func() {
			for s.now.Load() < 1 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		_, err := shared().Run(ctx, Script{Code: `await Promise.all(Array.from({length: 20}, () => tools.shop.never({})))`, Tools: s, AtOnce: 1})
		if n := s.calls.Load(); !errors.Is(err, context.Canceled) || n != 1 {
			t.Fatalf("%v, and %d calls were made", err, n)
		}
	}
}

// TestManyAtOnce: scripts that run at once see only their own.
func TestManyAtOnce(t *testing.T) {
	e := New(Options{})
	defer func() { _ = e.Close(context.Background()) }()
	var all sync.WaitGroup
	for n := range 4 * maxRunning {
		all.Go(func() {
			code := fmt.Sprintf(`globalThis.mine = (globalThis.mine ?? 0) + %d; const o = await tools.shop.get_order({id: %d}); [mine, o.total]`, n, n)
			got, err := e.Run(t.Context(), Script{Code: code, Tools: &shop{delay: time.Millisecond}, Share: fmt.Sprint(n % 3)})
			if want := fmt.Sprintf("[%d,%d]", n, n*10); err != nil || string(got.Value) != want {
				t.Errorf("%s %v, want %s", got.Value, err, want)
			}
		})
	}
	all.Wait()
	if n := len(e.idle); n < 1 || n > maxIdle {
		t.Errorf("%d instances wait for the next run, want 1 to %d", n, maxIdle)
	}
}

// TestToolsetsHavePlaces: scripts of one toolset that wait for long leave places for those of
// another toolset, and those of one caller for another.
func TestToolsetsHavePlaces(t *testing.T) {
	e := New(Options{})
	defer func() { _ = e.Close(context.Background()) }()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	greedy := func(caller string) {
		for range maxRunning {
			all.Go(func() {
				_, _ = e.Run(ctx, Script{Code: `await tools.shop.get_order({id: 1})`, Tools: &shop{delay: time.Minute}, Share: "greedy", Caller: caller})
			})
		}
	}
	modest := func(share, caller string) {
		t.Helper()
		start := time.Now()
		got, err := e.Run(t.Context(), Script{Code: `6 * 7`, Tools: &shop{}, Share: share, Caller: caller})
		if err != nil || string(got.Value) != "42" || time.Since(start) > patience {
			t.Errorf("%s of %s, after %v: %s %v", caller, share, time.Since(start), got.Value, err)
		}
	}
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	greedy("mallory")
	for e.places.Taken() < turns.Part(turns.Part(maxRunning)) {
		time.Sleep(time.Millisecond)
	}
	modest("greedy", "ada")
	greedy("eve")
	for e.places.Taken() < turns.Part(maxRunning) {
		time.Sleep(time.Millisecond)
	}
	modest("modest", "bob")
}

// TestCache: a module that was compiled before is not compiled again.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		e := New(Options{CacheDir: dir})
		if got, err := e.Run(t.Context(), Script{Code: `6 * 7`, Tools: &shop{}}); err != nil || string(got.Value) != "42" {
			t.Errorf("%s %v", got.Value, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestArguments: a script has its arguments as args, and its errors name its own lines.
func TestArguments(t *testing.T) {
	run := func(code, arguments string) (string, error) {
		r, err := shared().Run(t.Context(), Script{Code: code, Tools: &shop{}, Arguments: []byte(arguments)})
		return string(r.Value), err
	}
	for _, tt := range []struct{ code, arguments, want string }{
		{`args.id + 1`, `{"id":4}`, "5"},
		{"const o = await tools.shop.get_order({id: args.id});\nreturn o.id", `{"id":4}`, "4"},
		{`async () => args.text`, "{\"text\":\"a\u2028'\\\"`${1}\"}", "\"a\u2028'\\\"`${1}\""},
		{`async ({id}) => id + 1`, `{"id":4}`, "5"},
		{`async (given) => typeof given`, ``, `"undefined"`},
		{`return [Object.keys(args), ({}).polluted ?? null]`, `{"__proto__":{"polluted":1}}`, `[["__proto__"],null]`},
		{`return [args, args.id + 1n]`, `{"id":9007199254740993,"list":[-12345678901234567890],"x":9007199254740993.5,"s":"9007199254740993"}`, `[{"id":9007199254740993,"list":[-12345678901234567890],"x":9007199254740994,"s":"9007199254740993"},9007199254740994]`},
		{`typeof args`, ``, `"undefined"`},
	} {
		got, err := run(tt.code, tt.arguments)
		if tt.arguments == "" {
			r, e := shared().Run(t.Context(), Script{Code: tt.code, Tools: &shop{}})
			got, err = string(r.Value), e
		}
		if err != nil || got != tt.want {
			t.Errorf("%s with %s: %s %v, want %s", tt.code, tt.arguments, got, err, tt.want)
		}
	}
	_, err := run("let a = 1;\nnope", `{"id":4}`)
	var e *Error
	if !errors.As(err, &e) || e.Line != 2 {
		t.Errorf("%v", err)
	}
	wide := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	if got, err := run(`args.a.length`, wide(MaxArguments)); err != nil || got != fmt.Sprint(MaxArguments-8) {
		t.Errorf("the longest arguments: %.80s %v", got, err)
	}
	if _, err := run(`1`, wide(MaxArguments+1)); err == nil || !strings.Contains(err.Error(), "more than 262144") {
		t.Errorf("longer arguments: %v", err)
	}
}

// TestLimitsOfTheCaller: what a caller allows counts up to the bound.
func TestLimitsOfTheCaller(t *testing.T) {
	for n, want := range map[int]int{0: DefaultAtOnce, 3: 3, MaxAtOnce: MaxAtOnce, MaxAtOnce + 1: MaxAtOnce} {
		s := &shop{delay: 5 * time.Millisecond}
		code := fmt.Sprintf(`(await Promise.all(Array.from({length: %d}, (_, i) => tools.shop.get_order({id: i})))).length`, MaxAtOnce+8)
		if _, err := shared().Run(t.Context(), Script{Code: code, Tools: s, Calls: MaxCalls, AtOnce: n}); err != nil {
			t.Fatal(err)
		}
		if most := int(s.most.Load()); most > want {
			t.Errorf("%d allowed at once: %d ran", n, most)
		}
	}
	for given, want := range map[time.Duration]time.Duration{0: OwnTime, time.Second: time.Second, MaxOwnTime: MaxOwnTime, MaxOwnTime + 1: MaxOwnTime} {
		if got := ownTime(given, OwnTime); got != want {
			t.Errorf("%s of its own: %s, want %s", given, got, want)
		}
	}
	begin := time.Now()
	if _, err := shared().Run(t.Context(), Script{Code: `for (;;);`, Tools: &shop{}, OwnTime: 50 * time.Millisecond}); !errors.Is(err, ErrDeadline) {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
}
