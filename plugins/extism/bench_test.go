//go:build !race

package extism

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	reference "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

// BenchmarkHost compares calls on extism/go-sdk (the baseline) with this host, for
// a plugin that does nothing, one that loads its input and one that echoes it.
func BenchmarkHost(b *testing.B) {
	for _, c := range []struct {
		name, export string
		size         int
	}{{"nop", "nop", 0}, {"load256k", "load", 256 << 10}, {"echo256k", "echo", 256 << 10}, {"loop1m", "loop", 0}} {
		in := bytes.Repeat([]byte("0123456789abcdef"), c.size/16)
		check := func(b *testing.B, out []byte, code uint32, err error) {
			b.Helper()
			if err != nil || code != 0 || c.export == "echo" && !bytes.Equal(out, in) {
				b.Fatalf("%d bytes, code %d, %v", len(out), code, err)
			}
		}
		b.Run(c.name+"/impl=baseline", func(b *testing.B) {
			p, err := reference.NewPlugin(b.Context(), reference.Manifest{
				Wasm: []reference.Wasm{reference.WasmData{Data: ourPlugin(b, "speed.wasm")}},
			}, reference.PluginConfig{RuntimeConfig: wazero.NewRuntimeConfigCompiler()}, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close(context.Background())
			code, out, err := p.Call(c.export, in)
			check(b, out, code, err)
			b.SetBytes(int64(c.size))
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = p.Call(c.export, in)
			}
		})
		for _, mode := range []string{"sluice", "interrupted"} {
			b.Run(c.name+"/impl="+mode, func(b *testing.B) {
				h := newHost(b, Options{Interrupt: mode == "interrupted"})
				p := load(b, h, Spec{Name: "speed", Code: ourPlugin(b, "speed.wasm"), Limits: Limits{Deadline: time.Second}})
				out, err := p.Call(b.Context(), nil, Call{Export: c.export, Input: in})
				check(b, out, 0, err)
				ctx := context.Background()
				b.SetBytes(int64(c.size))
				b.ReportAllocs()
				for b.Loop() {
					out, _ = p.Call(ctx, out[:0], Call{Export: c.export, Input: in})
				}
			})
		}
	}
}

// BenchmarkRustFilter runs a filter in Rust (serde) on an answer of 20 KB. Its native
// side is the program beside it (testdata/plugins/prune), which the harness runs.
func BenchmarkRustFilter(b *testing.B) {
	const dir = "../../testdata/plugins/prune/"
	code, err := os.ReadFile(dir + "prune.wasm")
	if err != nil {
		b.Fatal(err)
	}
	in, err := os.ReadFile(dir + "body.json")
	if err != nil {
		b.Fatal(err)
	}
	p := load(b, newHost(b, Options{}), Spec{Name: "prune", Code: code, Limits: Limits{Deadline: time.Second}})
	call := Call{Export: "transform_response", Input: in}
	out, err := p.Call(b.Context(), nil, call)
	if err != nil || bytes.Contains(out, []byte("null")) || len(out) < len(in)/2 {
		b.Fatalf("%d bytes, %v", len(out), err)
	}
	ctx := context.Background()
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		out, _ = p.Call(ctx, out[:0], call)
	}
}

// BenchmarkHostile collects garbage and calls a plugin that behaves while two others
// spin until they are stopped. It reports the 99th percentile of how long collections
// stopped the world (p99-stall-ms), how much more than their processor time
// the spinning ones had (p99-late-ms), and how long the other calls took (p99-other-ms).
func BenchmarkHostile(b *testing.B) {
	h := newHost(b, Options{})
	const deadline = 50 * time.Millisecond
	bad := load(b, h, Spec{Name: "spin", Share: "bad", Code: ourPlugin(b, "hostile.wasm"), Limits: Limits{Deadline: deadline}})
	good := load(b, h, Spec{Name: "echo", Share: "good", Code: ourPlugin(b, "speed.wasm"), Limits: Limits{Deadline: time.Second}})
	for _, p := range []*Plugin{bad, good} {
		if err := p.Compile(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	var late, other []float64
	var mu sync.Mutex
	note := func(to *[]float64, d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		*to = append(*to, float64(d)/float64(time.Millisecond))
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				var used time.Duration
				_, _ = bad.Call(b.Context(), nil, Call{Export: "spin", Used: &used})
				note(&late, used-deadline)
			}
		})
	}
	wg.Go(func() {
		in := make([]byte, 20<<10)
		var out []byte
		for !stop.Load() {
			start := time.Now()
			var err error
			if out, err = good.Call(b.Context(), out[:0], Call{Export: "echo", Input: in}); err != nil || len(out) != len(in) {
				b.Errorf("%d bytes, %v", len(out), err)
			}
			note(&other, time.Since(start))
			time.Sleep(time.Millisecond) // calls come in, they do not queue
		}
	})
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(sample)
	before := slices.Clone(sample[0].Value.Float64Histogram().Counts)
	for b.Loop() {
		runtime.GC()
	}
	metrics.Read(sample)
	stop.Store(true)
	wg.Wait()
	after := sample[0].Value.Float64Histogram()
	var total, seen uint64
	for i, n := range after.Counts {
		total += n - before[i]
	}
	for i, n := range after.Counts {
		if seen += n - before[i]; 100*seen >= 99*total {
			b.ReportMetric(1000*after.Buckets[i+1], "p99-stall-ms")
			break
		}
	}
	p99 := func(v []float64) float64 {
		slices.Sort(v)
		return v[len(v)*99/100]
	}
	b.ReportMetric(p99(late), "p99-late-ms")
	b.ReportMetric(p99(other), "p99-other-ms")
}
