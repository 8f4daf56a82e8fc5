package admin_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// copyDatabase copies the records of a control plane that is stopped.
func copyDatabase(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(from + suffix)
		switch {
		case errors.Is(err, os.ErrNotExist):
			err = os.Remove(to + suffix)
			if errors.Is(err, os.ErrNotExist) {
				err = nil
			}
		case err == nil:
			err = os.WriteFile(to+suffix, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Records that are set back while the control plane runs, as by a fail-over of the database to a
// replica that lacks the newest writes, are found before anything is published over the release.
func TestRecordsSetBackMeanwhile(t *testing.T) {
	for _, compared := range []bool{true, false} { // when the lock is regained, or only when something is published
		w := newWorld(t)
		ts := w.keyed("Europe")
		before := w.pub.Newest("default").Release()
		w.describe(ts.ID, "acknowledged, and not on the replica")
		newest := w.pub.Newest("default")
		storetest.Exec(t, filepath.Join(w.dir, "sluice.db"),
			fmt.Sprintf("UPDATE release_marks SET revision = %d WHERE group_name = 'default'", before.Revision),
			"UPDATE toolsets SET live_revision = 1")
		if compared {
			if err := w.pub.Compare(t.Context()); err != nil {
				t.Fatal(err)
			}
			if a := w.do("GET", "/readyz?verbose", nil); !strings.Contains(a.body, "[!]publishing publishing is stopped: the records of this control plane are older") {
				t.Errorf("readyz: %s", a.body)
			}
		}
		if _, err := w.pub.Release(t.Context()); !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), "sluice release resume") {
			t.Errorf("a release over the newest: %v", err)
		}
		if got := w.pub.Newest("default"); got.Digest() != newest.Digest() {
			t.Errorf("release %d.%d was published", got.Release().Epoch, got.Release().Revision)
		}
		if _, err := w.pub.NewEpoch(t.Context()); err != nil {
			t.Errorf("after the decision: %v", err)
		}
		if _, err := w.pub.Release(t.Context()); err != nil {
			t.Errorf("after that: %v", err)
		}
	}
}

// A control plane whose records were set back publishes nothing over its newest
// release and sends edges no credentials, until the operator decides.
func TestRecordsOlderThanTheirRelease(t *testing.T) {
	w := newWorld(t)
	ts := w.keyed("Europe")
	e := w.enrolEdge(`{"labels":{"region":"eu"}}`)
	if _, status := e.credentials(""); status != 200 {
		t.Fatalf("credentials: %d", status)
	}
	database, old := filepath.Join(w.dir, "sluice.db"), filepath.Join(w.dir, "old.db")
	w.stop()
	copyDatabase(t, database, old)
	w.open()
	w.describe(ts.ID, "published after the copy")
	w.stop()
	copyDatabase(t, old, database)
	w.open()

	newest := w.pub.Newest("default")
	live := w.get(ts.ID)
	if live.Revision != 1 || newest.Release().Toolsets[0].Revision != 2 {
		t.Fatalf("the records were not set back: revision %d, released %d", live.Revision, newest.Release().Toolsets[0].Revision)
	}
	deploy := func() answer {
		if a := w.do("PATCH", "/v1/toolsets/"+ts.ID, `{"description":"published over it"}`, "If-Match", "*"); a.StatusCode != http.StatusOK {
			t.Fatalf("patch: %d %s", a.StatusCode, a.body)
		}
		return w.do("POST", "/v1/toolsets/"+ts.ID+"/deploy", `{"reason":"a test"}`)
	}
	refused := want[front.Problem](w, deploy(), http.StatusConflict)
	if !strings.Contains(refused.Detail, "publishing is stopped") || !strings.Contains(refused.Remedy, "sluice release resume") {
		t.Errorf("deploy: %+v", refused)
	}
	if got := w.pub.Newest("default"); got.Digest() != newest.Digest() {
		t.Errorf("release %d.%d was published", got.Release().Epoch, got.Release().Revision)
	}
	if a := e.get(registry.EdgeCredentialsPath); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("an edge is answered with credentials of records that lost some: %d", a.StatusCode)
	}
	if a := e.get(registry.EdgeReleasePath); a.StatusCode != http.StatusOK {
		t.Errorf("an edge does not get the newest release: %d", a.StatusCode)
	}
	if a := w.do("GET", "/readyz?verbose", nil); a.StatusCode != http.StatusOK || !strings.Contains(a.body, "[!]publishing publishing is stopped") {
		t.Errorf("readyz: %d %s", a.StatusCode, a.body)
	}
	list := want[admin.List[fleet.Release]](w, w.do("GET", "/v1/releases", nil), 200)
	if len(list.Items) != 2 || list.Items[0].Stopped == "" || list.Items[1].Stopped == "" {
		t.Errorf("releases: %+v", list.Items)
	}
	// A restart does not forget it.
	w.restart()
	want[front.Problem](w, deploy(), http.StatusConflict)

	want[front.Problem](w, w.do("POST", "/v1/releases/resume", `{"reason":""}`), http.StatusUnprocessableEntity)
	list = want[admin.List[fleet.Release]](w, w.do("POST", "/v1/releases/resume", `{"reason":"the copy is what is left"}`), 200)
	for _, r := range list.Items {
		if r.Stopped != "" || r.Epoch <= newest.Release().Epoch {
			t.Errorf("after the decision: %+v", r)
		}
	}
	if actions := w.audits(); actions[len(actions)-1] != "release.resume" {
		t.Errorf("audited as %v", actions)
	}
	want[front.Problem](w, w.do("POST", "/v1/releases/resume", `{"reason":"again"}`), http.StatusConflict)
	want[view.Toolset](w, deploy(), 200)
	if doc, status := e.credentials(""); status != 200 || len(doc.Credentials) != 1 || doc.Release.Epoch <= newest.Release().Epoch {
		t.Errorf("credentials after the decision: %d, %+v", status, doc.Release)
	}
}

// Records that are empty beside a registry that is not publish nothing either, and
// records of a version before marks are compared by revisions.
func TestOtherRecordsBesideARegistry(t *testing.T) {
	w := newWorld(t)
	w.keyed("Europe")
	w.raw(`DELETE FROM release_marks`)
	w.restart()
	if err := w.pub.Stopped(""); err != nil {
		t.Errorf("records of a version before marks: %v", err)
	}
	w.stop()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(w.dir, "sluice.db") + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	w.open()
	if err := w.pub.Stopped(""); err == nil || !strings.Contains(err.Error(), "it lists 1 toolsets") || strings.Contains(err.Error(), "europe") {
		t.Errorf("empty records: %v", err)
	}
	if a := w.do("GET", "/readyz?verbose", nil); !strings.Contains(a.body, "[!]publishing publishing is stopped") || strings.Contains(a.body, "europe") {
		t.Errorf("readyz: %s", a.body)
	}
	if _, err := w.pub.Release(t.Context()); err == nil {
		t.Error("an empty release was published over a full one")
	}
}
