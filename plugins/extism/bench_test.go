//go:build !race

package extism

import (
	"bytes"
	"context"
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
