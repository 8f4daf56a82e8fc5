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

// BenchmarkPublish is what becomes live at a node for one changed toolset among
// 1,000, from the signed release to the swap, against loading all of them. What did
// not change is neither fetched nor opened again: that is counted.
func BenchmarkPublish(b *testing.B) {
	const toolsets = 1000
	w, nd := filled(b, toolsets)
	b.Run("impl=baseline", func(b *testing.B) { // a node with nothing: fetch, verify and open all of it
		for b.Loop() {
			n := w.start(b.TempDir(), nil)
			n.live(w.pub.Current())
			n.stop()
		}
	})
	b.Run("impl=sluice", func(b *testing.B) {
		n := w.start(nd.dir, nil)
		defer n.stop()
		n.live(w.pub.Current())
		n.live(w.deploy("t0", "first")) // after a start the first change opens what no call had opened
		opened := n.Status().Opened
		made := uint64(0)
		envelopes := make(chan []byte)
		n.wire.set(func(ctx context.Context, _ registry.Digest) ([]byte, error) {
			select {
			case e := <-envelopes:
				return e, nil
			case <-ctx.Done():
				return nil, registry.ErrUnchanged
			}
		})
		w.source.Wake() // the question that is held is asked anew
		for b.Loop() {
			b.StopTimer()
			made++
			n.persisted(w.pub.Current()) // the one before
			r := w.deploy("t0", "changed "+strconv.FormatUint(made, 10))
			b.StartTimer()
			envelopes <- r.Envelope()
			n.live(r)
		}
		if got := n.Status().Opened - opened; got > 2*made {
			b.Fatalf("%d modules were opened for %d changes of one toolset", got, made)
		}
		b.ReportMetric(float64(n.Status().Opened-opened)/float64(made), "opened/op")
	})
}
