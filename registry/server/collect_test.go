package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// An index keeps the manifests that it names, and those of the indexes that it names: nothing
// else does, since they have no tags. Without it they go.
func TestCollectKeepsWhatAnIndexNames(t *testing.T) {
	x := serve(t)
	index := func(reference string, names ...string) string {
		t.Helper()
		var list []string
		for _, m := range names {
			list = append(list, fmt.Sprintf(`{"mediaType":"m","digest":%q,"size":%d}`, digest(m), len(m)))
		}
		text := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"manifests":[%s]}`, indexType, strings.Join(list, ","))
		if reference == "" {
			reference = digest(text)
		}
		x.want(x.do("PUT", "/v2/a/b/manifests/"+reference, text, "Content-Type: "+indexType), 201, "")
		return text
	}
	one := x.manifest("a/b", "", "")
	two := x.manifest("a/b", "", `,"annotations":{"of":"two"}`)
	alone := x.manifest("a/b", "", `,"annotations":{"of":"nobody"}`)
	outer := index("v1", one, index("", two))
	x.manifest("c/d", "", "") // the same manifest, which nothing names there

	collect := func(needed ...string) {
		t.Helper()
		o := server.CollectOptions{Needed: map[registry.Digest]bool{}, Before: time.Now().Add(time.Hour), Releases: 1}
		for _, m := range needed {
			o.Needed[registry.DigestOf([]byte(m))] = true
		}
		if _, err := x.store.Collect(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	has := func(repository, m string, want int) {
		t.Helper()
		if a := x.do("GET", "/v2/"+repository+"/manifests/"+digest(m), ""); a.StatusCode != want {
			t.Errorf("%s in %s: %s %s; want %d", m, repository, a.Status, a.body, want)
		}
	}
	collect()
	has("a/b", one, 200)
	has("a/b", two, 200)
	has("a/b", alone, 404)
	has("c/d", one, 404)
	x.want(x.do("DELETE", "/v2/a/b/manifests/v1", ""), 202, "")
	collect(outer)
	has("a/b", two, 200)
	collect()
	has("a/b", one, 404)
	has("a/b", two, 404)
	has("a/b", outer, 404)
}

// What is about a manifest, such as its signature, stays as long as it does and goes with it,
// out of the list of referrers too.
func TestCollectKeepsReferrersWithTheirSubject(t *testing.T) {
	x := serve(t)
	subject := x.manifest("a/b", "v1", "")
	about := func(of string) string {
		return fmt.Sprintf(`,"subject":{"mediaType":"m","digest":%q,"size":1}`, digest(of))
	}
	signature := x.manifest("a/b", "", about(subject))
	second := x.manifest("a/b", "", about(signature))
	lost := x.manifest("a/b", "", about("never pushed"))
	collect := func(before time.Time) {
		t.Helper()
		if _, err := x.store.Collect(t.Context(), server.CollectOptions{Before: before, Releases: 1}); err != nil {
			t.Fatal(err)
		}
	}
	referrers := func(of string, want int) {
		t.Helper()
		if a := x.want(x.do("GET", "/v2/a/b/referrers/"+digest(of), ""), 200, ""); strings.Count(string(a.body), manifestType) != want {
			t.Errorf("referrers %s; want %d", a.body, want)
		}
	}
	collect(time.Now().Add(-time.Hour)) // all are young
	referrers("never pushed", 1)
	collect(time.Now().Add(time.Hour))
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(signature), ""), 200, "")
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(second), ""), 200, "")
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(lost), ""), 404, "MANIFEST_UNKNOWN")
	referrers(subject, 1)
	referrers("never pushed", 0)
	x.want(x.do("DELETE", "/v2/a/b/manifests/v1", ""), 202, "")
	collect(time.Now().Add(time.Hour))
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(signature), ""), 404, "MANIFEST_UNKNOWN")
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(second), ""), 404, "MANIFEST_UNKNOWN")
	referrers(subject, 0)
	referrers(signature, 0)
}

// A manifest that an index has just named is young, whoever pushed the manifest when.
func TestIndexMakesManifestsYoung(t *testing.T) {
	x := serve(t)
	m := x.manifest("a/b", "", "")
	long := time.Now().Add(-48 * time.Hour)
	path := filepath.Join(x.dir, "blobs", "sha256", registry.DigestOf([]byte(m)).Hex())
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":%q,"digest":%q,"size":%d}]}`, manifestType, digest(m), len(m))
	x.want(x.do("PUT", "/v2/a/b/manifests/v1", text, "Content-Type: "+indexType), 201, "")
	if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Fatalf("%v, %v", info.ModTime(), err)
	}
	// One whose content is lost is not there to be named.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	x.want(x.do("PUT", "/v2/a/b/manifests/v2", text, "Content-Type: "+indexType), 400, "MANIFEST_BLOB_UNKNOWN")
}
