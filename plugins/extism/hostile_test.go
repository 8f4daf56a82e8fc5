package extism

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/module"
)

func ourPlugin(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHostile runs every trick of testdata/hostile.c, metered and interruptible.
// Each ends as it should, and the plugin's next call is served.
func TestHostile(t *testing.T) {
	deadline, trap, tooLarge := "deadline", "trap", "too large"
	cases := map[string]string{
		"spin": deadline, "recurse_calls": trap, "storm": deadline, "drip": deadline, "fill": deadline,
		"grow": "", "alloc_all": "", "alloc_tiny": "", "alloc_free": "", "alloc_huge": "",
		"output_huge": tooLarge, "output_outside": trap, "output_past": "any", "output_low": "",
		"error_outside": "error", "store_low": trap, "store_high": trap, "store_wrap": trap, "load_low": trap, "load_wrap": trap,
		"forge": "any", "forge_list": "any", "forge_length": "any", "trap": trap, "own_memory": trap,
		"log_flood": "", "log_big": "", "log_bad": trap, "config_probe": "", "vars": trap,
		"fetch": trap, "fail": "error", "two_params": "no export", "recurse": "any", "remember": "",
	}
	for _, interrupt := range []bool{false, true} {
		var lines atomic.Int64
		h := newHost(t, Options{Interrupt: interrupt})
		p := load(t, h, Spec{
			Name: "hostile", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Deadline: 60 * time.Millisecond},
			Log: func(_ int, m string) {
				lines.Add(1)
				if len(m) > maxLogLine {
					t.Errorf("a log line of %d bytes", len(m))
				}
			},
		})
		for export, want := range cases {
			lines.Store(0)
			out, err := p.Call(t.Context(), nil, Call{Export: export, Input: []byte("in")})
			var trapped *TrapError
			var said *PluginError
			got := "?"
			switch {
			case err == nil:
				got = ""
			case errors.Is(err, ErrDeadline):
				got = deadline
			case errors.Is(err, ErrTooLarge):
				got = tooLarge
			case errors.Is(err, ErrNoExport):
				got = "no export"
			case errors.As(err, &trapped):
				got = trap
			case errors.As(err, &said):
				got = "error"
			}
			if slow := export == "alloc_tiny" || export == "alloc_all" || export == "alloc_free" || export == "grow" || export == "log_flood" || export == "vars" || export == "recurse_calls"; got != want && want != "any" && (!slow || got != deadline) {
				t.Errorf("interrupt %v: %s ended with %q (%v, %d bytes), want %q", interrupt, export, got, err, len(out), want)
			}
			// Where an earlier call made the plugin's memory larger, what is past a block is
			// memory too, but holds nothing of that call.
			if export == "output_past" && got != trap && (err != nil || bytes.Contains(out, []byte("still"))) {
				t.Errorf("interrupt %v: output_past ended with %q (%v) and holds what another call left: %t", interrupt, got, err, err == nil)
			}
			if n := lines.Load(); n > maxLogLines {
				t.Errorf("%s wrote %d log lines", export, n)
			}
			if out, err := p.Call(t.Context(), nil, Call{Export: "echo", Input: []byte("still here")}); err != nil || string(out) != "still here" {
				t.Fatalf("after %s: %q %v", export, out, err)
			}
		}
	}
}

// TestGrowingCostsOthersNothing: a memory that a plugin grows is none of Go's heap, which
// would have to be collected for everybody.
func TestGrowingCostsOthersNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its memories are Go's, see package linear")
	}
	h := newHost(t, Options{})
	p := load(t, h, Spec{Name: "grow", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Memory: classes[2], Deadline: time.Minute}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := p.Call(t.Context(), nil, Call{Export: "grow"}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > uint64(classes[0]) {
		t.Errorf("a plugin that grew its memory to %d MB took %d MB of the heap", classes[2]>>20, made>>20)
	}
}

// TestMemoryIsBounded: a plugin gets its class of memory and no more.
func TestMemoryIsBounded(t *testing.T) {
	h := newHost(t, Options{})
	for class, limit := range classes {
		p := load(t, h, Spec{Name: "grow", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Memory: limit, Deadline: time.Minute}})
		out, err := p.Call(t.Context(), nil, Call{Export: "grow"})
		if err != nil || len(out) != 8 {
			t.Fatalf("class %d: %d bytes, %v", class, len(out), err)
		}
		if grown := int(binary.LittleEndian.Uint64(out)) << 16; grown > limit || grown < limit-(1<<20) {
			t.Errorf("class %d: memory grew by %d, limit %d", class, grown, limit)
		}
		if len(p.idle.list) != 0 {
			t.Errorf("class %d: an instance that grew was kept", class)
		}
	}
	if _, err := h.Load(Spec{Name: "big", Code: ourPlugin(t, "speed.wasm"), Limits: Limits{Memory: classes[2] + 1}}); err == nil {
		t.Error("more than the largest class was granted")
	}
}

// TestNothingIsLeft: a call finds nothing of the one before in the exchange, and
// no variables.
func TestNothingIsLeft(t *testing.T) {
	h := newHost(t, Options{})
	p := load(t, h, Spec{Name: "hostile", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Idle: 1}})
	secret := bytes.Repeat([]byte("secret"), 5000)
	for range 3 {
		if _, err := p.Call(t.Context(), nil, Call{Export: "echo", Input: secret}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Call(t.Context(), nil, Call{Export: "scavenge"}); err != nil {
			t.Fatalf("scavenge: %v", err)
		}
		if _, err := p.Call(t.Context(), nil, Call{Export: "remember"}); err != nil {
			t.Fatalf("a variable outlived its call: %v", err)
		}
	}
	if n := p.Stats().Instances; n != 1 {
		t.Fatalf("%d instances, want 1: the test reused none", n)
	}
}

// TestFreedIsWiped: what the host put into blocks that were given back is gone at the
// next call as well.
func TestFreedIsWiped(t *testing.T) {
	h := newHost(t, Options{})
	p := load(t, h, Spec{Name: "hostile", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Idle: 1}})
	for range 3 {
		for _, export := range []string{"remember", "scavenge"} { // remember sets a variable: its blocks are freed
			if _, err := p.Call(t.Context(), nil, Call{Export: export}); err != nil {
				t.Fatalf("%s: %v", export, err)
			}
		}
	}
	if n := p.Stats().Instances; n != 1 {
		t.Fatalf("%d instances, want 1: the test reused none", n)
	}
}

// TestWorkspaces: of one module loaded twice, as two workspaces have it, neither finds
// what the other left in its memory, its exchange or its variables, also with a
// compilation cache in common.
func TestWorkspaces(t *testing.T) {
	h := newHost(t, Options{CacheDir: t.TempDir()})
	code := ourPlugin(t, "hostile.wasm")
	a := load(t, h, Spec{Name: "a", Code: code, Limits: Limits{Idle: 1}})
	b := load(t, h, Spec{Name: "b", Code: code, Limits: Limits{Idle: 1}})
	secret := bytes.Repeat([]byte("secret of a"), 3000)
	for range 3 {
		if _, err := a.Call(t.Context(), nil, Call{Export: "echo", Input: secret}); err != nil {
			t.Fatal(err)
		}
		for _, export := range []string{"scavenge", "remember"} {
			if _, err := b.Call(t.Context(), nil, Call{Export: export}); err != nil {
				t.Fatalf("%s: %v", export, err)
			}
		}
		i, j := a.idle.take(""), b.idle.take("")
		if i == j || i.kernel == j.kernel || i.guest == j.guest {
			t.Fatal("two plugins share an instance")
		}
		mine, _ := i.memory.Read(0, i.memory.Size())
		theirs, _ := j.memory.Read(0, j.memory.Size())
		heap, _ := j.heap.Read(0, j.heap.Size())
		if bytes.Contains(theirs, []byte("secret of a")) || bytes.Contains(heap, []byte("secret of a")) || len(mine) == 0 {
			t.Fatal("what one workspace sent is in the memory of another")
		}
		a.idle.put(i)
		b.idle.put(j)
	}
}

// TestStopIsInTime: while two plugins spin, others are served, garbage collections
// end and the spinning ones are stopped. The delays are logged; only gross ones fail.
func TestStopIsInTime(t *testing.T) {
	h := newHost(t, Options{})
	const deadline = 50 * time.Millisecond
	p := load(t, h, Spec{Name: "hostile", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Deadline: deadline}})
	if err := p.Compile(t.Context()); err != nil { // what it takes is no delay of a stop
		t.Fatal(err)
	}
	var worst, collection atomic.Int64
	raise := func(v *atomic.Int64, d time.Duration) {
		for old := v.Load(); int64(d) > old && !v.CompareAndSwap(old, int64(d)); old = v.Load() {
		}
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 5 {
				start := time.Now()
				if _, err := p.Call(t.Context(), nil, Call{Export: "spin"}); !errors.Is(err, ErrDeadline) {
					t.Errorf("spin: %v", err)
				}
				raise(&worst, time.Since(start)-deadline)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for n := 0; ; n++ {
		start := time.Now()
		runtime.GC()
		raise(&collection, time.Since(start))
		select {
		case <-done:
			t.Logf("%d collections, the longest %v; stopped at most %v late", n, time.Duration(collection.Load()), time.Duration(worst.Load()))
			if worst.Load() > int64(2*time.Second) || collection.Load() > int64(2*time.Second) {
				t.Error("a spinning plugin held up the process")
			}
			return
		default:
		}
	}
}

// TestCancel: a plugin stops when its caller gives up, also one that waits its turn.
func TestCancel(t *testing.T) {
	h := newHost(t, Options{})
	p := load(t, h, Spec{Name: "hostile", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Deadline: time.Minute, Concurrent: 1}})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := p.Call(ctx, nil, Call{Export: "spin"})
			errs <- err
		}()
	}
	for p.Stats().Instances == 0 {
		runtime.Gosched()
	}
	cancel()
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrDeadline) {
			t.Errorf("got %v, want ErrDeadline", err)
		}
	}
	p.Close()
	if _, err := p.Call(t.Context(), nil, Call{Export: "echo"}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestBusy: a call past the concurrency limit waits for the deadline and no longer.
func TestBusy(t *testing.T) {
	h := newHost(t, Options{})
	p := load(t, h, Spec{Name: "hostile", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Deadline: 30 * time.Millisecond, Concurrent: 1}})
	if err := p.places.Take(t.Context(), 0, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(t.Context(), nil, Call{Export: "echo"}); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	p.places.Give("", "")
	if _, err := p.Call(t.Context(), nil, Call{Export: "echo"}); err != nil {
		t.Error(err)
	}
}

// TestOutputCap: at the limit and one past it.
func TestOutputCap(t *testing.T) {
	h := newHost(t, Options{})
	p := load(t, h, Spec{Name: "hostile", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Output: 1000, Deadline: time.Second}})
	for n, want := range map[int]error{1000: nil, 1001: ErrTooLarge} {
		if _, err := p.Call(t.Context(), nil, Call{Export: "echo", Input: make([]byte, n)}); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", n, err, want)
		}
	}
	if _, err := p.Call(t.Context(), nil, Call{Export: "echo", Input: make([]byte, classes[0])}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an input as large as the memory: %v", err)
	}
}

// wasm builds a module of raw sections.
func wasm(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

func sec(id byte, payload string) string {
	b := append([]byte{id}, binary.AppendUvarint(nil, uint64(len(payload)))...)
	return string(b) + payload
}

func imported(mod, name string) string {
	return sec(1, "\x01\x60\x00\x00") + sec(2, "\x01"+string(rune(len(mod)))+mod+string(rune(len(name)))+name+"\x00\x00")
}

// TestRefused: what may not even be compiled.
func TestRefused(t *testing.T) {
	h := newHost(t, Options{Functions: []Function{{Name: "call_tool", Params: 1, Results: 1, Call: func(*Caller, []uint64) {}}}})
	f := func(what, want string, code []byte) {
		t.Helper()
		_, err := h.Load(Spec{Name: "x", Code: code})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	f("empty", "it is empty", nil)
	f("text", "WebAssembly in its text form", []byte("(module)"))
	f("100 MB", "more than", make([]byte, 100<<20))
	f("cut", "cut off", wasm("\x01\xff\x01"))
	f("the meter", "does not exist", wasm(imported(module.MeterModule, module.MeterName)))
	f("the kernel's host", "does not exist", wasm(imported(kernelModule, "log")))
	f("a function of the kernel that plugins have no use for", "the kernel does not have", wasm(imported(envModule, "begin")))
	f("another signature", "another signature", wasm(imported(envModule, "alloc")))
	f("no grant", "not granted", wasm(imported(userModule, "call_tool")))
	f("an unknown function", "does not exist", wasm(imported("env", "x")))
	f("names with line breaks", `imports ../etc "pass\nwd\x1b[2J", which`, wasm(imported("../etc", "pass\nwd\x1b[2J")))
	f("names that turn the line around", `imports "\u202eevil" x, which`, wasm(imported("\u202eevil", "x")))
	f("no names", `imports "" "", which`, wasm(imported("", "")))
	f("a long name", strings.Repeat("x", nameShown)+" y, which", wasm(imported(strings.Repeat("x", nameShown), "y")))
	f("a name that is longer", strings.Repeat("x", nameShown)+" y, which", wasm(imported(strings.Repeat("x", nameShown+1), "y")))
	f("a memory of others", "not a function", wasm(sec(2, "\x01\x01a\x01b\x02\x00\x01")))
	f("memory beyond its class", "its class has", wasm(sec(5, "\x01\x00\x81\x01")))
	f("a table bomb", "elements", wasm(sec(4, "\x01\x70\x00\xa1\x8d\x06")))
	f("a call of a function whose type does not exist", "there are 1 types", wasm(callOfNoType))
	f("a local bomb", "locals", wasm(sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00"), sec(10, "\x01\x08\x01\xff\xff\xff\xff\x0f\x7f\x0b")))
}

// callOfNoType has a function that calls one whose type is past the last.
var callOfNoType = sec(1, "\x01\x60\x00\x00") + sec(3, "\x02\x00\x44") + sec(10, "\x02\x04\x00\x10\x01\x0b\x02\x00\x0b")

// TestCompilerPanics: a module on which the compiler panics is an error for everybody who
// waits for it, and the next module is compiled.
func TestCompilerPanics(t *testing.T) {
	h := newHost(t, Options{})
	e, err := h.engine(t.Context(), mode{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := h.compile(e, [32]byte{1}, wasm(callOfNoType), 0); err == nil || !strings.Contains(err.Error(), "cannot be compiled") {
			t.Errorf("%v", err)
		}
	}
	if _, err := h.compile(e, [32]byte{2}, wasm(), 0); err != nil {
		t.Error(err)
	}
}

// TestStartFunction: a start function that loops is stopped, when it used up the processor
// time that it has or, on a machine with less to give, when it waited as long as it may; one
// that ends is fine.
func TestStartFunction(t *testing.T) {
	module := func(body string) []byte {
		return wasm(sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00"), sec(7, "\x01\x01f\x00\x00"), sec(8, "\x00"), sec(10, "\x01"+string(rune(len(body)+1))+"\x00"+body))
	}
	for _, interrupt := range []bool{false, true} {
		h := newHost(t, Options{Interrupt: interrupt})
		loops := load(t, h, Spec{Name: "loops", Code: module("\x03\x40\x0c\x00\x0b\x0b")})
		if _, err := loops.Call(t.Context(), nil, Call{Export: "f"}); !errors.Is(err, ErrDeadline) && !errors.Is(err, ErrBusy) {
			t.Errorf("interrupt %v: %v, want ErrDeadline, or ErrBusy", interrupt, err)
		}
		ends := load(t, h, Spec{Name: "ends", Code: module("\x0b")})
		if _, err := ends.Call(t.Context(), nil, Call{Export: "f"}); err != nil {
			t.Errorf("interrupt %v: %v", interrupt, err)
		}
		none := load(t, h, Spec{Name: "invalid", Code: module("\x6a\x0b")}) // i32.add of nothing
		if _, err := none.Call(t.Context(), nil, Call{Export: "f"}); err == nil || !strings.Contains(err.Error(), "invalid") {
			t.Errorf("interrupt %v: an invalid module: %v", interrupt, err)
		}
	}
}

// TestTableGrowth: a table grows to its bound and no further.
func TestTableGrowth(t *testing.T) {
	// (func (export "f") (result i32) ref.null func, i32.const 1<<28, table.grow 0, i32.const -1, i32.ne)
	code := wasm(sec(1, "\x01\x60\x00\x01\x7f"), sec(3, "\x01\x00"), sec(4, "\x01\x70\x00\x01"), sec(7, "\x01\x01f\x00\x00"),
		sec(10, "\x01\x10\x00\xd0\x70\x41\x80\x80\x80\x80\x01\xfc\x0f\x00\x41\x7f\x47\x0b"))
	h := newHost(t, Options{})
	if _, err := load(t, h, Spec{Name: "table", Code: code}).Call(t.Context(), nil, Call{Export: "f"}); err != nil {
		t.Fatal(err)
	}
}

// TestHostsAllowed: names match whole or below a star, in any case, and ports are the
// scheme's or named.
func TestHostsAllowed(t *testing.T) {
	f := func(pattern, address string, want bool) {
		t.Helper()
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := hostAllowed([]string{pattern}, u); got != want {
			t.Errorf("hostAllowed(%q, %q) = %v", pattern, address, got)
		}
	}
	f("api.example.com", "https://API.example.com./", true)
	f("api.example.com", "https://api.example.com:443/", true)
	f("api.example.com", "http://api.example.com:80/", true)
	f("api.example.com", "https://api.example.com:8443/", false)
	f("api.example.com", "http://api.example.com:443/", false)
	f("api.example.com:8443", "https://api.example.com:8443/", true)
	f("api.example.com:8443", "https://api.example.com/", false)
	f("api.example.com:443", "https://api.example.com/", true)
	f("api.example.com:443", "https://api.example.com:443/", true)
	f("api.example.com:443", "http://api.example.com/", false)
	f("api.example.com:80", "http://api.example.com/", true)
	f("*.example.com:443", "https://a.example.com/", true)
	f("api.example.com", "https://api.example.com:0443/", false)
	f("xn--bcher-kva.example", "https://xn--bcher-kva.example/", true)
	f("api.example.com", "https://\uff41pi.example.com/", false)
	f("api.example.com", "https://api\u3002example.com/", false)
	f("api.example.com", "https://api.example.com../", false)
	f("api.example.com", "https://xapi.example.com/", false)
	f("*.example.com", "https://a.b.example.com/", true)
	f("*.example.com:81", "https://a.b.example.com:81/", true)
	f("*.example.com", "https://example.com/", false)
	f("*.example.com", "https://.example.com/", false)
	f("*", "https://example.com/", false)
	f("", "https:///", false)
}
