package script

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/turns"
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

// BenchmarkMetering is a script that computes, with and without metering by turns. The unit
// "ratio" is the median of its processor time metered over that without: by the wall clock, one
// after the other, other work on the machine made 0.8 to 1.3 of it.
func BenchmarkMetering(b *testing.B) {
	const code = `const f = n => n < 2 ? n : f(n - 1) + f(n - 2); let s = JSON.stringify(Array.from({length: 500}, (_, i) => ({i, name: "item " + i}))); for (let i = 0; i < 5; i++) s = JSON.stringify(JSON.parse(s)); f(18) + s.length`
	const metered, plain = 0, 1
	var engines [2]*Engine
	for i := range engines {
		engines[i] = New(Options{})
		engines[i].plain = i == plain
		if err := engines[i].Prepare(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	var took [2][]time.Duration
	for b.Loop() {
		for i, e := range engines {
			d, err := turns.Measure(func() error {
				_, err := e.Run(b.Context(), Script{Code: code, Tools: &shop{}})
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], d)
		}
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return float64(took[i][len(took[i])/2])
	}
	b.ReportMetric(median(metered), "cpu-ns/metered")
	b.ReportMetric(median(plain), "cpu-ns/plain")
	b.ReportMetric(median(metered)/median(plain), "ratio")
	for _, e := range engines {
		_ = e.Close(b.Context())
	}
}
