package extism

import (
	"strconv"
	"testing"
)

// BenchmarkOwners is a call of an owner whose instance is there, and of one who needs a
// new one.
func BenchmarkOwners(b *testing.B) {
	for _, c := range []struct{ name, file, export string }{
		{"c", "../../../testdata/plugins/mask/mask.wasm", "transform_response"},
		{"rust", "../../../testdata/plugins/prune/prune.wasm", "transform_response"},
	} {
		code := ourPlugin(b, c.file)
		p := load(b, newHost(b, Options{}), Spec{Name: c.name, Code: code})
		for _, owners := range []int{1, 100} {
			b.Run(c.name+"/"+strconv.Itoa(owners), func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					n++
					if _, err := p.Call(b.Context(), nil, Call{Export: c.export, Input: []byte(`{"a":1}`), Owner: strconv.Itoa(n % owners)}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
