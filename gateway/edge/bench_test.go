package edge_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

type nowhere struct{}

func (nowhere) Release(context.Context, registry.Digest) ([]byte, error) {
	return nil, errors.New("no control plane")
}

func (nowhere) Artifact(context.Context, string, registry.Digest, oci.Kind) (*oci.Artifact, error) {
	return nil, errors.New("no control plane")
}

// filled makes a cache directory with a release of n toolsets of 10 tools, each
// with a connector of its own.
func filled(tb testing.TB, n int) (*world, *node) {
	tb.Helper()
	w := newWorld(tb)
	for i := range n {
		w.put("t"+strconv.Itoa(i), strconv.Itoa(i))
	}
	r := w.release()
	nd := w.start(tb.TempDir(), nil)
	nd.persisted(r)
	nd.stop()
	return w, nd
}

// BenchmarkStart is what a node does between the start of its process and being
// ready: read, verify and open the persisted release.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run("toolsets="+strconv.Itoa(n), func(b *testing.B) {
			w, nd := filled(b, n)
			b.ReportAllocs()
			for b.Loop() {
				f, err := edge.New(edge.Options{Source: nowhere{}, Dir: nd.dir, Keys: w.pub.Trusted(), Apply: func(s *edge.State) error {
					if len(s.Toolsets) != n {
						b.Fatalf("%d toolsets", len(s.Toolsets))
					}
					return nil
				}})
				if err != nil {
					b.Fatal(err)
				}
				if err := f.Load(b.Context()); err != nil || !f.Ready() {
					b.Fatal(err)
				}
			}
		})
	}
}
