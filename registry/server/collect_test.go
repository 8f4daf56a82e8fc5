package server_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// Publishing beside a collector is in package contenttest.
func TestCollectKeepsWhatIsNeeded(t *testing.T) {
	back, err := server.Open(server.Options{Dir: t.TempDir(), System: atomicfiletest.Fast()})
	if err != nil {
		t.Fatal(err)
	}
	st := oci.NewStore(back)
	for i := range 3 {
		a, err := oci.New(oci.KindPlugin, fmt.Appendf(nil, "artifact %d", i), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Push(t.Context(), "acme/plugins/x", "", a); err != nil {
			t.Fatal(err)
		}
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

// TestHold: what is held is not collected, by whatever process holds it.
func TestHold(t *testing.T) {
	dir := t.TempDir()
	s, err := server.Open(server.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	content := []byte("nobody names it")
	d := registry.DigestOf(content)
	if err := s.PutBlob(t.Context(), "one/x", d, content); err != nil {
		t.Fatal(err)
	}
	release, err := server.Hold(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	o := server.CollectOptions{Before: time.Now().Add(time.Hour), Releases: 1}
	if _, err := s.Collect(t.Context(), o); !problem.Is(err, problem.Unavailable) {
		t.Errorf("collected while it is held: %v", err)
	}
	if _, err := s.Content().Size(t.Context(), d); err != nil {
		t.Error(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Collect(t.Context(), o); err != nil || c.Blobs != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Releases whose place newer ones took go however young they are; one that has no tag yet is
// being published, and stays.
func TestCollectTakesSupersededReleases(t *testing.T) {
	back, err := server.Open(server.Options{Dir: t.TempDir(), System: atomicfiletest.Fast()})
	if err != nil {
		t.Fatal(err)
	}
	st, repository := oci.NewStore(back), oci.ReleaseRepository("default")
	var all []*oci.Artifact
	for i := range 6 {
		a, err := oci.New(oci.KindRelease, fmt.Appendf(nil, "release %d", i), nil)
		if err != nil {
			t.Fatal(err)
		}
		tag := fmt.Sprintf("1.%d", i)
		if i == 5 {
			tag = ""
		}
		if err := st.Push(t.Context(), repository, tag, a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	if err := st.Tag(t.Context(), repository, oci.TagLatest, all[4]); err != nil {
		t.Fatal(err)
	}
	c, err := back.Collect(t.Context(), server.CollectOptions{Before: time.Now().Add(-time.Hour), Releases: 2})
	if err != nil || c.Manifests != 3 || c.Blobs != 6 {
		t.Fatalf("collected %+v, %v; want three releases, each with its layer", c, err)
	}
	for i, a := range all {
		_, err := st.Pull(t.Context(), repository, a.Digest(), oci.KindRelease)
		if gone := errors.Is(err, registry.ErrNotFound); gone != (i < 3) {
			t.Errorf("release %d: %v", i, err)
		}
		if _, err := back.FetchBlob(t.Context(), repository, a.LayerDigest(), 1000); errors.Is(err, registry.ErrNotFound) != (i < 3) {
			t.Errorf("layer of release %d: %v", i, err)
		}
	}
}
