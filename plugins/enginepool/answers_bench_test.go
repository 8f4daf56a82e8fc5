package enginepool

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/plugins/engine"
)

// BenchmarkAnswers is what the gateway does to an answer of 247 KB: one program,
// an operator's and a connector's merged into one, and the table text of what the
// program left.
func BenchmarkAnswers(b *testing.B) {
	h := newPool(b, Options{})
	in := listIssues(30, 1950)
	compile := func(p *engine.Program) []byte {
		t, err := engine.Compile(p)
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	single := issueProgram()
	where, err := engine.ParseWhere("number >= 0 and not state == 'x'")
	if err != nil {
		b.Fatal(err)
	}
	// The operator's program keeps every row and leaves out a member that is left
	// out anyway, so that both write the same.
	merged, err := engine.Merge(&engine.Program{Root: &engine.Node{Fields: []engine.Field{{Name: "node_id", Drop: true}}, Where: where, Limit: 1 << 20}}, single)
	if err != nil {
		b.Fatal(err)
	}
	small, _, err := h.Transform(nil, compile(single), in)
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range []struct {
		work  string
		table []byte
	}{{"single", compile(single)}, {"merged", compile(merged)}} {
		b.Run("work="+w.work, func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, _, err = h.Transform(dst[:0], w.table, in); err != nil || len(dst) != len(small) {
					b.Fatal(len(dst), err)
				}
			}
		})
	}
	b.Run("work=table", func(b *testing.B) {
		var dst []byte
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		for b.Loop() {
			var err error
			if dst, _, err = compress.AppendTable(dst[:0], small); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStall collects garbage while all processors run 4 MB answers one after
// the other, and reports how long the collections stopped the world.
func BenchmarkStall(b *testing.B) {
	h := newPool(b, Options{})
	in := listIssues(MaxWasmInput/8300, 1950)
	if len(in) > MaxWasmInput {
		b.Fatalf("%d bytes run on the reference", len(in))
	}
	table, err := engine.Compile(issueProgram())
	if err != nil {
		b.Fatal(err)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var dst []byte
			for !stop.Load() {
				dst, _, _ = h.Transform(dst[:0], table, in)
			}
		})
	}
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(sample)
	before := append([]uint64(nil), sample[0].Value.Float64Histogram().Counts...)
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
			b.ReportMetric(1000*after.Buckets[i+1], "p99-ms")
			return
		}
	}
}
