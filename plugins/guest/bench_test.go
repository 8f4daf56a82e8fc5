package guest

import (
	"bytes"
	"context"
	"testing"

	"github.com/sluicegate/sluice/plugins/extism"
)

// BenchmarkTransform runs the filter of the tests on an answer of 20 KB; the
// baseline is a copy of it.
func BenchmarkTransform(b *testing.B) {
	in := append([]byte{'['}, bytes.Repeat([]byte(`{"name":"Ada Lovelace","mail":"ada@example.com","active":true},`), 320)...)
	in = append(in, "{}]"...)
	b.Run("size=20KB/impl=baseline", func(b *testing.B) {
		var out []byte
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		for b.Loop() {
			out = append(out[:0], in...)
		}
	})
	b.Run("size=20KB/impl=sluice", func(b *testing.B) {
		h, err := extism.New(extism.Options{})
		if err != nil {
			b.Fatal(err)
		}
		p, err := Open(mask(b))
		if err != nil {
			b.Fatal(err)
		}
		g, err := Load(h, p, Options{})
		if err != nil {
			b.Fatal(err)
		}
		c, ctx := &Context{}, context.Background()
		out, err := g.Transform(ctx, nil, in, c)
		if err != nil || !bytes.Contains(out, []byte(`"***@example.com"`)) || bytes.Contains(out, []byte("ada@")) {
			b.Fatalf("%.200s %v", out, err)
		}
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		for b.Loop() {
			out, _ = g.Transform(ctx, out[:0], in, c)
		}
		b.StopTimer()
		g.Close()
		_ = h.Close(ctx)
	})
}
