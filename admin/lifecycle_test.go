package admin_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/fleet/artifact"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

func (w *world) describe(id, text string) {
	w.t.Helper()
	a := w.do("PATCH", "/v1/toolsets/"+id, map[string]any{"description": text}, "If-Match", "*")
	if a.StatusCode != http.StatusOK {
		w.t.Fatalf("patch: %d %s", a.StatusCode, a.body)
	}
	want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+id+"/deploy", `{"reason":"a test"}`), http.StatusOK)
}

func (w *world) revisions(id string) []view.Revision {
	w.t.Helper()
	return want[admin.List[view.Revision]](w, w.do("GET", "/v1/toolsets/"+id+"/revisions", nil), http.StatusOK).Items
}

func states(rows []view.Revision) (out []string) {
	for _, r := range rows {
		out = append(out, r.State)
	}
	return out
}

// A rollback is one call: the old digest is a new revision, and the draft becomes it.
func TestRollback(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID + "/rollback"
	if p := want[front.Problem](w, w.do("POST", path, nil), 404); p.Code != "not_found" {
		t.Fatalf("nothing before the first: %+v", p)
	}
	first := w.get(ts.ID).LiveDigest
	w.describe(ts.ID, "second")
	second := w.get(ts.ID).LiveDigest
	w.describe(ts.ID, "third")
	back := want[view.Toolset](w, w.do("POST", path, `{"reason":"third is broken"}`), 200)
	if back.LiveDigest != second || back.Revision != 4 || back.Digest != second || back.Changed {
		t.Fatalf("rolled back to %s at %d, draft %s", back.LiveDigest, back.Revision, back.Digest)
	}
	rows := w.revisions(ts.ID)
	if got := states(rows); !slices.Equal(got, []string{"published", "rolled_back", "superseded", "superseded"}) || rows[0].Restores != 2 {
		t.Fatalf("states %v", got)
	}
	if got := w.pub.Current().Release().Toolsets[0]; string(got.Bundle) != second || got.Revision != 4 {
		t.Fatalf("the release lists %+v", got)
	}
	to1 := want[view.Toolset](w, w.do("POST", path, `{"revision":1}`), 200)
	if to1.LiveDigest != first || to1.Revision != 5 {
		t.Fatalf("rolled back to %s at %d", to1.LiveDigest, to1.Revision)
	}
	want[front.Problem](w, w.do("POST", path, `{"revision":5}`), 409)
	want[front.Problem](w, w.do("POST", path, `{"revision":1}`), 409)
	want[front.Problem](w, w.do("POST", path, `{"revision":77}`), 404)
	if got := w.audits(); !slices.Contains(got, "toolset.rollback") {
		t.Fatalf("audit %v", got)
	}
	// A rollback whose release cannot be made leaves everything as it was.
	w.faults.set(func(what, repository string) error {
		if repository == "releases/default" {
			return errors.New("disk full")
		}
		return nil
	})
	if a := w.do("POST", path, `{"revision":2}`); a.StatusCode < 500 {
		t.Fatalf("answered %d", a.StatusCode)
	}
	w.faults.set(nil)
	if got := w.get(ts.ID); got.LiveDigest != first || got.Revision != 5 || len(w.revisions(ts.ID)) != 5 || w.revisions(ts.ID)[0].State != "published" {
		t.Fatalf("after a failure: %+v", got.Toolset)
	}
}

// Every transition is reported, by the states of the lifecycle.
func TestLifecycleEvents(t *testing.T) {
	w := newWorld(t)
	f := func(what string, expect ...string) {
		t.Helper()
		var got []string
		for _, e := range w.takeEvents() {
			got = append(got, fmt.Sprintf("%s %d %s %s", e.Type, e.Revision, e.From, e.To))
			if e.Digest == "" || e.Workspace != "default" || e.Time.IsZero() {
				t.Errorf("%s: %+v", what, e)
			}
		}
		if !slices.Equal(got, expect) {
			t.Errorf("%s: events %q, want %q", what, got, expect)
		}
	}
	ts := w.create("Pets", "pets.yaml")
	f("created", "toolset.tested 0 draft tested", "toolset.deployed 1 tested published")
	want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/test", `{}`), http.StatusOK)
	f("tested again")
	w.describe(ts.ID, "second")
	f("deployed untested", "toolset.replaced 1 published superseded", "toolset.deployed 2 draft published")
	want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/rollback", `{}`), http.StatusOK)
	f("rolled back", "toolset.replaced 2 published rolled_back", "toolset.rolled_back 3 superseded published")
}

// A collection that its limit ends says so, and goes on by itself.
func TestCollectGoesOn(t *testing.T) {
	w := newWorld(t)
	w.retention = artifact.Retention{Revisions: 1, Age: time.Nanosecond, Releases: 1, Grace: time.Nanosecond, Limit: time.Nanosecond, Pause: time.Millisecond}
	w.stop()
	w.open()
	ts := w.create("Pets", "pets.yaml")
	for _, text := range []string{"b", "c"} {
		w.describe(ts.ID, text)
	}
	before := w.revisions(ts.ID)
	time.Sleep(10 * time.Millisecond) // file times of the kernel move in ticks
	got := want[artifact.Collected](w, w.do("POST", "/v1/registry/collect", nil), 200)
	if got.Archived != 2 || got.Manifests == 0 || !got.More {
		t.Fatalf("collected %+v", got)
	}
	st := oci.NewStore(w.faults.Backend)
	left := func() (tags, revisions int) {
		all, err := w.faults.Backend.(*server.Store).Index().Tags(t.Context(), oci.ReleaseRepository("default"), "", -1)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range before {
			if _, err := st.Pull(t.Context(), "default/toolsets/pets", registry.Digest(r.Digest), oci.KindToolset); err == nil {
				revisions++
			}
		}
		return len(all), revisions
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		tags, revisions := left()
		if tags == 2 && revisions == 1 { // the newest release and latest, and what is live
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d tags of releases and %d revisions are left", tags, revisions)
		}
	}
	if _, err := st.Pull(t.Context(), "default/toolsets/pets", registry.Digest(before[0].Digest), oci.KindToolset); err != nil {
		t.Errorf("what is live: %v", err)
	}
}

// What retention lets go is archived, leaves the registry, and cannot be brought
// back; what is live, retained or a draft stays.
func TestCollect(t *testing.T) {
	w := newWorld(t)
	w.retention = artifact.Retention{Revisions: 2, Age: time.Nanosecond, Releases: 2, Grace: time.Nanosecond}
	w.stop()
	w.open()
	ts := w.create("Pets", "pets.yaml")
	for _, text := range []string{"b", "c", "d", "e"} {
		w.describe(ts.ID, text)
	}
	before := w.revisions(ts.ID)
	time.Sleep(10 * time.Millisecond) // file times of the kernel move in ticks
	got := want[artifact.Collected](w, w.do("POST", "/v1/registry/collect", nil), 200)
	if got.Archived != 3 || got.Manifests == 0 || got.Blobs == 0 || got.Kept == 0 {
		t.Fatalf("collected %+v", got)
	}
	rows := w.revisions(ts.ID)
	if s := states(rows); !slices.Equal(s, []string{"published", "superseded", "archived", "archived", "archived"}) {
		t.Fatalf("states %v", s)
	}
	st := oci.NewStore(w.faults.Backend)
	for i, r := range before {
		_, err := st.Pull(t.Context(), "default/toolsets/pets", registry.Digest(r.Digest), oci.KindToolset)
		if stays := i < 2; (err == nil) != stays {
			t.Errorf("revision %d: %v", r.N, err)
		}
	}
	want[front.Problem](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/rollback", `{"revision":1}`), 409)
	want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/rollback", nil), 200)
	if again := want[artifact.Collected](w, w.do("POST", "/v1/registry/collect", nil), 200); again.Archived != 1 {
		t.Fatalf("revision 4 must go now, its content is live as 6: %+v", again)
	}
	w.stop()
	w.open() // the newest release and everything in it are still there
	if w.pub.Current().Release().Revision < 6 {
		t.Fatal("the newest release is another")
	}
}
