package module

import (
	"os"
	"testing"
)

// BenchmarkMeter is what loading a module adds to compiling it.
func BenchmarkMeter(b *testing.B) {
	code, err := os.ReadFile("../engine/engine.wasm")
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.SetBytes(int64(len(code)))
	b.ReportAllocs()
	for b.Loop() {
		if out, err = Meter(out[:0], code); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(out))/float64(len(code)), "growth")
}
