package admin_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// liveAccess is the access document of the newest release, as an edge reads it;
// nil: there is none.
func (w *world) liveAccess(id string) *registry.AccessDocument {
	w.t.Helper()
	for _, t := range w.pub.Current().Release().Toolsets {
		if t.ID != id || t.Access == "" {
			continue
		}
		back, err := server.Open(server.Options{Dir: w.dir + "/registry"})
		if err != nil {
			w.t.Fatal(err)
		}
		a, err := oci.NewStore(back).Pull(w.t.Context(), t.Repository, t.Access, oci.KindAccess)
		if err != nil {
			w.t.Fatal(err)
		}
		trust, err := sign.NewTrust(w.pub.Trusted(), registry.UseRelease)
		if err != nil {
			w.t.Fatal(err)
		}
		d, err := sign.VerifyAccess(a.Layer(), trust)
		if err != nil {
			w.t.Fatal(err)
		}
		return d
	}
	return nil
}

// TestAccess: a token is shown once, is in the signed document as long as it is
// valid, and a change needs no new revision.
func TestAccess(t *testing.T) {
	w := newWorld(t)
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody("Pets", "pets.yaml")), 201)
	path := "/v1/toolsets/" + ts.ID
	if a := want[access.ToolsetAccess](w, w.do("GET", path+"/access", nil), 200); a.Mode != "none" || w.liveAccess(ts.ID) != nil {
		t.Fatalf("at first: %+v", a)
	}
	made := want[access.CreatedAccessToken](w, w.do("POST", path+"/access-tokens", map[string]any{
		"name": "ci", "tools": []string{"list_*"}, "limits": map[string]any{"requestsPerMinute": 60}, "expiresAt": time.Now().Add(time.Hour),
	}), 201)
	if !strings.HasPrefix(made.Token, "slt_") || len(made.Token) != 40 || made.Mode != "none" || made.Status != "valid" || !strings.HasSuffix(made.Token, made.Last4) {
		t.Fatalf("created %+v", made)
	}
	if d := w.liveAccess(ts.ID); d == nil || d.Mode != "none" || len(d.Tokens) != 0 {
		t.Fatalf("a document of mode none: %+v", d)
	}
	want[struct{}](w, w.do("POST", path+"/access-tokens", map[string]any{"name": "ci"}), 409)
	for _, bad := range []any{
		map[string]any{"name": ""},
		map[string]any{"name": "x", "tools": []string{"["}},
		map[string]any{"name": "x", "expiresAt": time.Now().Add(-time.Hour)},
		map[string]any{"name": "x", "limits": map[string]any{"burst": 1}},
	} {
		if a := w.do("POST", path+"/access-tokens", bad); a.StatusCode < 400 || a.StatusCode > 422 {
			t.Errorf("%v: %d %s", bad, a.StatusCode, a.body)
		}
	}
	a := w.do("PUT", path+"/access", map[string]any{"mode": "token", "limits": map[string]any{"concurrent": 5}})
	if got := want[access.ToolsetAccess](w, a, 200); got.Mode != "token" || got.Tokens != 1 {
		t.Fatalf("set: %+v", got)
	}
	d := w.liveAccess(ts.ID)
	if d.Mode != "token" || len(d.Tokens) != 1 || d.Tokens[0].ID != made.ID || d.Tokens[0].Limits.RequestsPerMinute != 60 || d.Limits.Concurrent != 5 || d.Tokens[0].Expires == nil {
		t.Fatalf("document %+v", d)
	}
	if got := want[view.Toolset](w, w.do("GET", path, nil), 200); got.Access.Mode != "token" || got.Revision != ts.Revision || got.Changed {
		t.Fatalf("the toolset changed: %+v", got)
	}
	want[struct{}](w, w.do("PUT", path+"/access", map[string]any{"mode": "none"}, "If-Match", `"99"`), 412)
	want[struct{}](w, w.do("PUT", path+"/access", map[string]any{"mode": "jwt"}), 400)
	want[struct{}](w, w.do("PUT", path+"/access", map[string]any{"mode": "jwt", "jwt": map[string]any{"issuer": "http://id.example"}}), 400)

	// A revocation is a new document, also over a restart.
	if a := w.do("DELETE", path+"/access-tokens/"+made.ID, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("revoke: %d %s", a.StatusCode, a.body)
	}
	if d := w.liveAccess(ts.ID); len(d.Tokens) != 0 {
		t.Fatalf("a revoked token is live: %+v", d)
	}
	want[struct{}](w, w.do("DELETE", path+"/access-tokens/"+made.ID, nil), 404)
	w.stop()
	w.open()
	if list := want[admin.List[access.AccessToken]](w, w.do("GET", path+"/access-tokens", nil), 200); len(list.Items) != 1 || list.Items[0].Status != "revoked" {
		t.Fatalf("tokens %+v", list.Items)
	}
	// What cannot be released is stored all the same and says so.
	two := want[access.CreatedAccessToken](w, w.do("POST", path+"/access-tokens", map[string]any{"name": "two"}), 201)
	w.faults.set(func(_, repository string) error {
		if strings.HasPrefix(repository, "releases/") {
			return errors.New("disk full")
		}
		return nil
	})
	if a := w.do("DELETE", path+"/access-tokens/"+two.ID, nil); a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "does not take effect") {
		t.Fatalf("without a registry: %d %s", a.StatusCode, a.body)
	}
	w.faults.set(nil)
	if _, err := w.pub.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := w.liveAccess(ts.ID); len(d.Tokens) != 0 {
		t.Fatal("the next release does not have the revocation")
	}
	jwt := map[string]any{"mode": "jwt", "jwt": map[string]any{"issuer": "https://id.example", "scopes": []any{map[string]any{"scope": "read", "tools": []string{"*"}}}}}
	if got := want[access.ToolsetAccess](w, w.do("PUT", path+"/access", jwt), 200); got.MetadataURL != "http://127.0.0.1:7300/.well-known/oauth-protected-resource/t/pets" {
		t.Fatalf("jwt: %+v", got)
	}
	if d := w.liveAccess(ts.ID); d.Mode != "jwt" || d.JWT == nil || d.JWT.Issuer != "https://id.example" {
		t.Fatalf("document %+v", d)
	}
	if log := w.do("GET", "/v1/audit", nil).body; !strings.Contains(log, "access_token.create") || !strings.Contains(log, "access_token.revoke") || !strings.Contains(log, "access.set") {
		t.Errorf("audit: %s", log)
	}
	// The token's text is in nothing but the one answer.
	for _, secret := range []string{made.Token, two.Token} {
		if strings.Count(w.seen.String(), secret) != 1 || strings.Contains(w.log.String(), secret) {
			t.Error("a token is shown more than once")
		}
	}
	if a := w.do("DELETE", path, nil, "If-Match", "*"); a.StatusCode != http.StatusNoContent {
		t.Fatalf("delete: %d %s", a.StatusCode, a.body)
	}
}
