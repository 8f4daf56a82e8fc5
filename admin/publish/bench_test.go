package publish_test

import (
	"fmt"
	"testing"
)

// BenchmarkRelease measures the release of 2,000 toolsets of which one changed.
func BenchmarkRelease(b *testing.B) {
	const toolsets = 2000
	store, rec := openStore(b, b.TempDir()), &records{}
	p := newPublisher(b, store, newKey(b), rec, nil)
	c := connector(b, store, "things", "text")
	for i := range toolsets {
		rec.live = append(rec.live, bundle(b, p, toolset(fmt.Sprint("t", i), "Toolset", c)))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		rec.live[i%toolsets].Revision++
		if r, err := p.Release(b.Context()); err != nil || len(r.Release().Toolsets) != toolsets {
			b.Fatal(err)
		}
	}
}
