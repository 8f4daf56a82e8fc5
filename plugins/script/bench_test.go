package script

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRun is a script on an engine that is ready: nothing, a small one, many calls at
// once, and work of its own.
func BenchmarkRun(b *testing.B) {
	for _, bb := range []struct{ name, code string }{
		{"nop", `1`},
		{"small", `const o = await tools.shop.get_order({id: 3}); ({total: o.total})`},
		{"parallel20", `(await Promise.all(Array.from({length: 20}, (_, i) => tools.shop.get_order({id: i})))).length`},
		{"fib25", `const f = n => n < 2 ? n : f(n - 1) + f(n - 2); f(25)`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			if err := shared().Prepare(b.Context()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := shared().Run(b.Context(), Script{Code: bb.code, Tools: &shop{}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWaits is 20 calls of 50 ms, 8 at once: at best 150 ms.
func BenchmarkWaits(b *testing.B) {
	code := fmt.Sprintf(`(await Promise.all(Array.from({length: %d}, (_, i) => tools.shop.get_order({id: i})))).length`, 20)
	for b.Loop() {
		if _, err := shared().Run(b.Context(), Script{Code: code, Tools: &shop{delay: 50 * time.Millisecond}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWarmStart is an engine whose module was compiled before.
func BenchmarkWarmStart(b *testing.B) {
	dir := b.TempDir()
	cold := New(Options{CacheDir: dir})
	if err := cold.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	_ = cold.Close(b.Context())
	for b.Loop() {
		e := New(Options{CacheDir: dir})
		if err := e.Prepare(b.Context()); err != nil {
			b.Fatal(err)
		}
		_ = e.Close(b.Context())
	}
}

// BenchmarkMetering is a script that computes, with and without metering.
func BenchmarkMetering(b *testing.B) {
	const code = `const f = n => n < 2 ? n : f(n - 1) + f(n - 2); let s = JSON.stringify(Array.from({length: 500}, (_, i) => ({i, name: "item " + i}))); for (let i = 0; i < 5; i++) s = JSON.stringify(JSON.parse(s)); f(18) + s.length`
	for _, bb := range []struct {
		name  string
		plain bool
	}{{"metered", false}, {"plain", true}} {
		b.Run(bb.name, func(b *testing.B) {
			e := New(Options{})
			e.plain = bb.plain
			if err := e.Prepare(b.Context()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := e.Run(b.Context(), Script{Code: code, Tools: &shop{}}); err != nil {
					b.Fatal(err)
				}
			}
			_ = e.Close(b.Context())
		})
	}
}
