package server_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// While many publishers push artifacts, some of them again and again, a collector
// that may take everything older than a moment never takes what a push that
// returned within that moment promised.
func TestCollectUnderConcurrentPublishing(t *testing.T) {
	back, err := server.Open(server.Options{Dir: t.TempDir(), System: atomicfiletest.Fast()})
	if err != nil {
		t.Fatal(err)
	}
	st := oci.NewStore(back)
	// Long enough for the slowest push of a loaded machine between its first and its
	// last file.
	const grace = 2 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				text := fmt.Sprintf("artifact %d", i%3) // the same ones, by all publishers
				if p == 0 {
					text = fmt.Sprintf("artifact of its own %d", i)
				}
				a, err := oci.New(oci.KindPlugin, []byte(text), nil)
				if err != nil {
					t.Error(err)
					return
				}
				started := time.Now()
				err = st.Push(context.WithoutCancel(ctx), "acme/plugins/x", "", a)
				if err == nil {
					_, err = st.Pull(context.WithoutCancel(ctx), "acme/plugins/x", a.Digest(), oci.KindPlugin)
				}
				if err != nil && time.Since(started) < grace {
					t.Errorf("pushed and gone: %v", err)
					return
				}
			}
		})
	}
	collected := 0
	for ctx.Err() == nil {
		c, err := back.Collect(context.WithoutCancel(ctx), server.CollectOptions{Before: time.Now().Add(-grace), Releases: 1})
		if err != nil {
			t.Fatal(err)
		}
		collected += c.Manifests
	}
	wg.Wait()
	if collected == 0 {
		t.Fatal("nothing was collected: the test proves nothing")
	}
	// What is needed stays however old, and all else goes.
	keep, err := oci.New(oci.KindPlugin, []byte("artifact 1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	needed := map[registry.Digest]bool{keep.Digest(): true}
	if err := st.Push(t.Context(), "acme/plugins/x", "", keep); err != nil {
		t.Fatal(err)
	}
	c, err := back.Collect(t.Context(), server.CollectOptions{Needed: needed, Before: time.Now().Add(time.Hour), Releases: 1})
	if err != nil || c.Kept != 3 {
		t.Fatalf("kept %+v, %v; want manifest, layer and configuration", c, err)
	}
	if _, err := st.Pull(t.Context(), "acme/plugins/x", keep.Digest(), oci.KindPlugin); err != nil {
		t.Fatal(err)
	}
}
