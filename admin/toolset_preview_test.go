package admin_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// A preview is a signed release of the draft that changes nothing of what is live.
func TestDraftPreview(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID + "/preview"
	want[front.Problem](w, w.do("GET", at, nil), http.StatusNotFound)
	if a := w.do("PATCH", "/v1/toolsets/"+ts.ID, `{"description":"changed"}`, "If-Match", "*"); a.StatusCode != http.StatusOK {
		t.Fatalf("patch: %d %s", a.StatusCode, a.body)
	}
	draft := w.get(ts.ID)
	if a := w.do("POST", at, `{}`, "If-Match", `"v1"`); a.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("a preview of a draft that nobody looked at: %d %s", a.StatusCode, a.body)
	}
	release := w.pub.Current().Digest()
	p := want[rollout.DraftPreview](w, w.do("POST", at, `{"ttlSeconds":600}`, "Idempotency-Key", "k", "If-Match", w.do("GET", "/v1/toolsets/"+ts.ID, nil).Header.Get("ETag")), http.StatusCreated)
	id, ok := strings.CutPrefix(p.URL, previewBase)
	if !ok || len(id) != 26 || !strings.HasPrefix(p.Token, "slt_") || p.Digest != draft.Digest || !p.Current || p.Live || p.ExpiresAt.Sub(w.now()) > 10*time.Minute {
		t.Fatalf("%+v", p)
	}
	if w.pub.Current().Digest() != release || w.get(ts.ID).LiveDigest != ts.LiveDigest {
		t.Error("a preview changed what is live")
	}
	envelope, err := w.srv.PreviewRelease(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := sign.NewTrust(w.pub.Trusted(), registry.UseRelease)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sign.VerifyRelease(envelope, trust)
	if err != nil || string(r.Release().Toolsets[0].Bundle) != draft.Digest || r.Release().Group != "preview-"+id || !r.Release().Expires.Equal(p.ExpiresAt) {
		t.Fatalf("%+v, %v", r.Release(), err)
	}
	// The token is in that answer only, and no list names the preview.
	for _, path := range []string{at, "/v1/toolsets/" + ts.ID, "/v1/toolsets", "/v1/audit", "/v1/toolsets/" + ts.ID + "/access-tokens"} {
		if a := w.do("GET", path, nil); strings.Contains(a.body, p.Token) || path != at && strings.Contains(a.body, id) {
			t.Errorf("%s reports the preview: %s", path, a.body)
		}
	}
	if again := want[rollout.DraftPreview](w, w.do("GET", at, nil), http.StatusOK); again.URL != p.URL || again.Token != "" {
		t.Errorf("%+v", again)
	}
	w.renameTool(ts.ID, "list_pets", "all_pets")
	if again := want[rollout.DraftPreview](w, w.do("GET", at, nil), http.StatusOK); again.Current || again.Digest != p.Digest {
		t.Errorf("%+v", again)
	}
	gone := func(what string) {
		t.Helper()
		if _, err := w.srv.PreviewRelease(t.Context(), id); !problem.Is(err, problem.NotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	next := want[rollout.DraftPreview](w, w.do("POST", at, nil), http.StatusCreated)
	gone("replaced")
	id = strings.TrimPrefix(next.URL, previewBase)
	w.later.Store(int64(rollout.DefaultPreviewLife + time.Second))
	gone("expired")
	want[front.Problem](w, w.do("GET", at, nil), http.StatusNotFound)
	id = strings.TrimPrefix(want[rollout.DraftPreview](w, w.do("POST", at, `{"ttlSeconds":86400}`), http.StatusCreated).URL, previewBase)
	want[front.Problem](w, w.do("POST", at, `{"ttlSeconds":86401}`), http.StatusUnprocessableEntity)
	want[front.Problem](w, w.do("POST", at, `{"ttlSeconds":59}`), http.StatusUnprocessableEntity)
	if a := w.do("DELETE", at, nil); a.StatusCode != http.StatusNoContent {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	gone("ended")
	if got := w.audits(); !slices.Equal(got[len(got)-2:], []string{"toolset.preview", "toolset.preview_end"}) {
		t.Errorf("audit %v", got)
	}
	w.noPreviews = true
	w.stop()
	w.open()
	want[front.Problem](w, w.do("POST", at, nil), http.StatusUnprocessableEntity)
}
