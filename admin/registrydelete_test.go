package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/fleet"
)

// erase deletes a content of the registry as the administrator.
func (w *world) erase(path string) (int, string) {
	r := httptest.NewRequest(http.MethodDelete, path, nil)
	r.SetBasicAuth("anyone", w.token.Reveal())
	rec := httptest.NewRecorder()
	w.srv.Handler().ServeHTTP(rec, r)
	return rec.Code, rec.Body.String()
}

// What a live release needs cannot be deleted from the registry: the refusal names
// the release and is audited. What no release needs can, and a tag.
func TestRegistryDeleteOfLiveContent(t *testing.T) {
	w := newWorld(t)
	ts := w.keyed("Europe")
	e := w.enrolEdge(`{"labels":{"region":"eu"}}`)
	if a := w.do("PATCH", "/v1/toolsets/"+ts.ID, `{"description":"a draft that nobody deployed"}`, "If-Match", "*"); a.StatusCode != http.StatusOK {
		t.Fatalf("patch: %d %s", a.StatusCode, a.body)
	}
	live, draft := w.get(ts.ID).LiveDigest, w.get(ts.ID).Digest
	if live == draft {
		t.Fatal("the draft is live")
	}
	manifest := ts.Connector
	w.restart() // the release of the edge's group is not read yet
	refused := func(path string) {
		t.Helper()
		before := len(w.audits())
		code, body := w.erase(path)
		if code != http.StatusConflict || !strings.Contains(body, "release 1.") || !strings.Contains(body, `\"default\"`) {
			t.Errorf("delete of %s: %d %s", path, code, body)
		}
		if actions := w.audits(); len(actions) != before+1 || actions[before] != "registry.delete:failed" {
			t.Errorf("delete of %s is audited as %v", path, actions)
		}
	}
	refused("/v2/default/toolsets/europe/manifests/" + live)
	refused("/v2/" + manifest.Repository + "/manifests/" + manifest.Manifest)
	refused("/v2/" + manifest.Repository + "/blobs/" + manifest.Digest)
	if code, body := w.erase("/v2/default/toolsets/europe/manifests/" + draft); code != http.StatusAccepted {
		t.Errorf("delete of a bundle that no release needs: %d %s", code, body)
	}
	if code, body := w.erase("/v2/" + manifest.Repository + "/manifests/" + manifest.Tag); code != http.StatusAccepted {
		t.Errorf("delete of a tag: %d %s", code, body)
	}
	if got := e.pull("/v2/" + manifest.Repository + "/manifests/" + manifest.Manifest); got != http.StatusOK {
		t.Errorf("the edge pulls its connector: %d", got)
	}

	// A toolset for other edges only: the release of their group is named.
	other := w.keyed("Labelled")
	w.enrolEdge(`{"labels":{"region":"us"}}`)
	want[fleet.LabelsBody](w, w.do("PUT", "/v1/toolsets/"+other.ID+"/labels", `{"labels":{"region":"us"}}`), 200)
	only := w.get(other.ID).LiveDigest
	w.describe(ts.ID, "one more draft")
	want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/deploy", `{"reason":"one more release"}`), 200)
	if code, body := w.erase("/v2/default/toolsets/labelled/manifests/" + only); code != http.StatusConflict || strings.Contains(body, `\"default\"`) {
		t.Errorf("delete of what only one group needs: %d %s", code, body)
	}

	// While what a release needs is not known, nothing is deleted.
	w.restart()
	w.faults.setReads(func(string) error { return http.ErrServerClosed })
	if code, _ := w.erase("/v2/default/toolsets/europe/manifests/" + live); code != http.StatusServiceUnavailable {
		t.Errorf("delete while the registry cannot be read: %d", code)
	}
}
