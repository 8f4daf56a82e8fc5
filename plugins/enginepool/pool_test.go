package enginepool

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

func issueTable(t testing.TB) []byte {
	t.Helper()
	table, err := engine.Compile(issueProgram())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestInputCap: inputs run in WebAssembly up to the cap, on the reference past it.
func TestInputCap(t *testing.T) {
	h := newPool(t, Options{})
	table := issueTable(t)
	pad := func(n int) []byte {
		in := append([]byte(`{"title":"x","pad":"`), bytes.Repeat([]byte("y"), n-22)...)
		return append(in, `"}`...)
	}
	for _, c := range []struct {
		n         int
		wasm, ref uint64
	}{{MaxWasmInput, 1, 0}, {MaxWasmInput + 1, 1, 1}} {
		out, _, err := h.Transform(nil, table, pad(c.n))
		if err != nil || string(out) != `{"title":"x"}` {
			t.Fatalf("%d bytes: %s %v", c.n, out, err)
		}
		if got := h.Counters(); got.Wasm != c.wasm || got.Reference != c.ref {
			t.Fatalf("%d bytes: %+v", c.n, got)
		}
	}
	small := newPool(t, Options{Limits: engine.Limits{MaxInput: 100}})
	if _, _, err := small.Transform(nil, table, pad(100)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := small.Transform(nil, table, pad(101)); err != engine.ErrTooLarge {
		t.Fatalf("got %v, want ErrTooLarge", err)
	}
}

// TestWasmFuel: work runs in WebAssembly up to its fuel, on the reference past
// it, and a limit that was asked for holds in both.
func TestWasmFuel(t *testing.T) {
	table, err := engine.Compile(&engine.Program{})
	if err != nil {
		t.Fatal(err)
	}
	zeros := func(n int) []byte { return append(append([]byte("["), bytes.Repeat([]byte("0,"), n-1)...), "0]"...) }
	f := func(n int, limit uint64, wantErr error, want Counters) {
		t.Helper()
		h := newPool(t, Options{Limits: engine.Limits{Fuel: limit}})
		out, st, err := h.Transform(nil, table, zeros(n))
		ref, refStats, _ := engine.Reference(nil, table, zeros(n), engine.Limits{Fuel: limit})
		if !errors.Is(err, wantErr) || h.Counters() != want || !bytes.Equal(out, ref) || st != refStats {
			t.Fatalf("%d values, fuel %d: %v %+v, %+v, reference %+v", n, limit, err, h.Counters(), st, refStats)
		}
	}
	f(wasmFuel-1, 0, nil, Counters{Wasm: 1}) // the array itself costs one
	f(wasmFuel, 0, nil, Counters{Reference: 1})
	f(wasmFuel, wasmFuel, engine.ErrFuel, Counters{Wasm: 1})
	f(wasmFuel, wasmFuel+1, nil, Counters{Reference: 1})
	f(2*wasmFuel, wasmFuel+1, engine.ErrFuel, Counters{Reference: 1})
}

// TestLargestStream: the most memory a call can ask for is there.
func TestLargestStream(t *testing.T) {
	h := newPool(t, Options{})
	n := &engine.Node{}
	n.Rest = n
	for i := range 600 {
		n.Fields = append(n.Fields, engine.Field{Name: strings.Repeat("n", 480) + string(rune('a'+i%26)) + string(rune('a'+i/26))})
	}
	table, err := engine.Compile(&engine.Program{Root: n, Documents: engine.DocumentStream})
	if err != nil {
		t.Fatal(err)
	}
	in := bytes.Repeat([]byte("{}"), 100_000)
	in = append(in, bytes.Repeat([]byte(" "), MaxWasmInput-len(in))...)
	out, _, err := h.Transform(nil, table, in)
	if err != nil || len(out) != 300_001 || h.Counters().Wasm != 1 {
		t.Fatalf("%d bytes, %v, %+v", len(out), err, h.Counters())
	}
}

// TestRetire: an instance whose memory grew is closed, one that did not is kept.
func TestRetire(t *testing.T) {
	h := newPool(t, Options{Instances: 1})
	table := issueTable(t)
	for range 3 {
		if _, _, err := h.Transform(nil, table, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.Counters().Retired; n != 0 || len(h.free) != 1 {
		t.Fatalf("%d retired after small calls, %d idle", n, len(h.free))
	}
	big := append(bytes.Repeat([]byte(" "), MaxWasmInput-2), "{}"...)
	for i := range 3 {
		if _, _, err := h.Transform(nil, table, big); err != nil {
			t.Fatal(err)
		}
		if n := h.Counters().Retired; n != uint64(i+1) {
			t.Fatalf("%d retired after %d large calls", n, i+1)
		}
	}
}

// TestConcurrent: more goroutines than instances, each with its own program.
func TestConcurrent(t *testing.T) {
	h := newPool(t, Options{Instances: 2})
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			for i := range uint64(200) {
				table, err := engine.Compile(randomProgram(g))
				if err != nil {
					t.Error(err)
					return
				}
				in := randomJSON(g<<32 + i)
				want, _, werr := engine.Reference(nil, table, in, engine.Limits{})
				got, _, err := h.Transform(nil, table, in)
				if err != werr || !bytes.Equal(got, want) {
					t.Errorf("input %q: got %q %v, want %q %v", in, got, err, want, werr)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestClose: running calls end, later ones are refused.
func TestClose(t *testing.T) {
	h, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := issueTable(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if out, _, err := h.Transform(nil, table, []byte(`{"title":1}`)); err == ErrClosed {
					return
				} else if err != nil || string(out) != `{"title":1}` {
					t.Errorf("%s %v", out, err)
					return
				}
			}
		})
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := h.Close(t.Context()); err != ErrClosed {
		t.Fatalf("second Close: %v", err)
	}
}

func TestReferenceOnly(t *testing.T) {
	var log strings.Builder
	h := newPool(t, Options{ReferenceOnly: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	out, _, err := h.Transform(nil, issueTable(t), []byte(`[{"title":1,"x":2}]`))
	if err != nil || string(out) != `[{"title":1}]` || h.Counters() != (Counters{Reference: 1}) {
		t.Fatalf("%s %v %+v", out, err, h.Counters())
	}
	if !strings.Contains(log.String(), "Go reference") {
		t.Errorf("the log does not say so: %q", log.String())
	}
}

// TestCacheDir: the second start finds compiled code; a damaged cache does no harm.
func TestCacheDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	start := func() {
		t.Helper()
		h, err := New(t.Context(), Options{CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := h.Transform(nil, issueTable(t), []byte(`[{"title":1,"x":2}]`))
		if err != nil || string(out) != `[{"title":1}]` {
			t.Fatalf("%s %v", out, err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	files := func() (list []string) {
		_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, p)
			}
			return nil
		})
		return list
	}
	start()
	if len(files()) == 0 {
		t.Fatal("nothing was cached")
	}
	start()
	for _, p := range files() {
		if err := os.Truncate(p, 10); err != nil {
			t.Fatal(err)
		}
	}
	start()
	if _, err := New(t.Context(), Options{CacheDir: filepath.Join(files()[0], "x")}); err == nil {
		t.Fatal("a cache below a file is accepted")
	}
}

// TestTrapFallsBack: an engine that traps costs its instance, not the answer.
func TestTrapFallsBack(t *testing.T) {
	h := newPool(t, Options{Instances: 1})
	// A module whose run and reserve are "unreachable".
	trap := []byte("\x00asm\x01\x00\x00\x00" +
		"\x01\x06\x01\x60\x01\x7f\x01\x7f" + // type: (i32) -> i32
		"\x03\x03\x02\x00\x00" +
		"\x05\x03\x01\x00\x02" +
		"\x07\x1a\x03\x06memory\x02\x00\x03run\x00\x00\x07reserve\x00\x01" +
		"\x0a\x09\x02\x03\x00\x00\x0b\x03\x00\x00\x0b")
	code, err := h.runtime.CompileModule(t.Context(), trap)
	if err != nil {
		t.Fatal(err)
	}
	good := h.code
	_ = (<-h.free).module.Close(t.Context())
	h.code = code
	out, _, err := h.Transform(nil, issueTable(t), []byte(`[{"title":1,"x":2}]`))
	if err != nil || string(out) != `[{"title":1}]` || h.Counters().Reference != 1 {
		t.Fatalf("%s %v %+v", out, err, h.Counters())
	}
	if len(h.free) != 0 {
		t.Fatal("the instance that trapped is used again")
	}
	h.code = good
	if _, _, err := h.Transform(nil, issueTable(t), []byte(`{}`)); err != nil || h.Counters().Wasm != 1 {
		t.Fatalf("%v %+v", err, h.Counters())
	}
}

// TestUnfitEngine: a module that lacks an export is not used.
func TestUnfitEngine(t *testing.T) {
	h := newPool(t, Options{})
	code, err := h.runtime.CompileModule(t.Context(), []byte("\x00asm\x01\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	h.code = code
	for len(h.free) > 0 {
		<-h.free
	}
	if _, err := h.instantiate(t.Context()); err == nil || errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
}
