package connector

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// BenchmarkOpen opens connectors of ten tools. The baseline reads the same manifest
// with encoding/json, without looking at the code.
func BenchmarkOpen(b *testing.B) {
	module := build(b, 10).Module
	linked, err := engine.Open(module, manifest.Section)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("impl=baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var m map[string]any
			if err := json.Unmarshal(linked.Manifest, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("impl=sluice", func(b *testing.B) {
		b.SetBytes(int64(len(module)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Open(module); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("impl=sluice-firstuse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c, err := Open(module)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Tool(0); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkThousand holds 1,000 open connectors of ten tools and reports the heap
// of each, without the module and with all tools loaded.
func BenchmarkThousand(b *testing.B) {
	const n = 1000
	module := build(b, 10).Module
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		all := make([]*Connector, n)
		for i := range all {
			c, err := Open(module)
			if err != nil {
				b.Fatal(err)
			}
			all[i] = c
		}
		opened := heap()
		for _, c := range all {
			for i := range c.Len() {
				if _, err := c.Tool(i); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(opened-before)/n, "heapB/connector")
		b.ReportMetric(float64(heap()-opened)/n/10, "heapB/loadedtool")
		b.ReportMetric(float64(len(module)), "moduleB")
		runtime.KeepAlive(all)
	}
}
