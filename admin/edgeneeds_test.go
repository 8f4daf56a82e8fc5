package admin_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// keyed makes a live toolset with a key.
func (w *world) keyed(name string) change.CreatedToolset {
	w.t.Helper()
	ts := w.create(name, "locked.yaml")
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey})
	want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/deploy", `{"reason":"a test"}`), 200)
	return ts
}

// restart stops the control plane and starts it again on its directory.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.open()
}

// An edge whose question is the first after a restart gets every credential of its
// release: "not read yet" is never "none".
func TestEdgeAsksFirstAfterRestart(t *testing.T) {
	for _, join := range []string{`{"labels":{"region":"eu"}}`, `{}`, `{"allWorkspaces":true}`} {
		w := newWorld(t)
		w.keyed("Europe")
		e := w.enrolEdge(join)
		before, status := e.credentials("")
		if status != 200 || len(before.Credentials) != 1 || before.Release == nil {
			t.Fatalf("%s: before: %d, %d credentials of %v", join, status, len(before.Credentials), before.Release)
		}
		w.restart()
		after, status := e.credentials("")
		if status != 200 || len(after.Credentials) != 1 || *after.Release != *before.Release || after.ETag != before.ETag {
			t.Errorf("%s: the first answer after a restart: %d, %d credentials of release %v", join, status, len(after.Credentials), after.Release)
		}
		w.restart()
		if a := e.get(registry.EdgeCredentialsPath + "?known=" + before.ETag); a.StatusCode != http.StatusNotModified {
			t.Errorf("%s: what did not change: %d", join, a.StatusCode)
		} else if got := a.Header.Get(registry.EdgeReleaseHeader); got != before.Release.String()+" "+string(before.Release.Digest) {
			t.Errorf("%s: the answer belongs to release %q", join, got)
		}
	}
}

// While the release or a part of it cannot be read, an edge is told to ask again, and
// neither "none" nor "forbidden".
func TestEdgeIsToldToAskAgain(t *testing.T) {
	w := newWorld(t)
	ts := w.keyed("Europe")
	e := w.enrolEdge(`{"labels":{"region":"eu"}}`)
	if _, status := e.credentials(""); status != 200 {
		t.Fatalf("credentials: %d", status)
	}
	toolset := w.get(ts.ID)
	unavailable := func(when string) {
		t.Helper()
		a := e.get(registry.EdgeCredentialsPath)
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: credentials %d, Retry-After %q: %s", when, a.StatusCode, a.Header.Get("Retry-After"), a.body)
		}
		if got := e.pull("/v2/default/toolsets/europe/manifests/" + toolset.LiveDigest); got != http.StatusServiceUnavailable {
			t.Errorf("%s: a content of its release is answered with %d", when, got)
		}
		a = e.w.do("POST", registry.EdgeUserPath, registry.EdgeUserRequest{Credential: "cred_x"}, "Authorization", "Bearer "+e.id.Token.Reveal())
		if a.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: the token of a caller is answered with %d", when, a.StatusCode)
		}
	}
	w.restart()
	down := errors.New("the registry does not answer")
	w.faults.setReads(func(string) error { return down })
	unavailable("the registry is down")
	w.faults.setReads(func(repository string) error {
		if strings.HasPrefix(repository, "default/") {
			return down
		}
		return nil
	})
	unavailable("the registry has the release only")
	w.faults.setReads(nil)
	if doc, status := e.credentials(""); status != 200 || len(doc.Credentials) != 1 {
		t.Errorf("when it is back: %d, %d credentials", status, len(doc.Credentials))
	}

	// One flipped byte in the bundle.
	w.restart()
	path := filepath.Join(w.dir, "registry", "blobs", "sha256", strings.TrimPrefix(toolset.LiveDigest, "sha256:"))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(b)
	b[len(b)/2] ^= 1
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	unavailable("a byte of the bundle is flipped")
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	if doc, status := e.credentials(""); status != 200 || len(doc.Credentials) != 1 {
		t.Errorf("when it is whole again: %d, %d credentials", status, len(doc.Credentials))
	}
}

// An edge that joins while the registry is down has used its join token and knows who it is: it
// gets its release when the registry is back.
func TestEdgeJoinsWhileRegistryIsDown(t *testing.T) {
	w := newWorld(t)
	w.keyed("Europe")
	w.restart()
	down := errors.New("the registry does not answer")
	w.faults.setReads(func(string) error { return down })
	e := w.enrolEdge(`{"labels":{"region":"eu"}}`)
	if a := e.get(registry.EdgeReleasePath); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("its release meanwhile: %d %s", a.StatusCode, a.body)
	}
	w.faults.setReads(nil)
	if a := e.get(registry.EdgeReleasePath); a.StatusCode != http.StatusOK {
		t.Errorf("its release: %d %s", a.StatusCode, a.body)
	}
	if doc, status := e.credentials(""); status != 200 || len(doc.Credentials) != 1 {
		t.Errorf("its credentials: %d, %d", status, len(doc.Credentials))
	}
}

// What an edge is not sent, a signed notice names with the reason.
func TestAbsentCredentialIsSigned(t *testing.T) {
	w, as, login := oauthWorld(t)
	key := w.keyed("Europe")
	want[credential.Authentication](w, w.do("PUT", "/v1/toolsets/"+login.ID+"/authentication", service(as)), 200)
	want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+login.ID+"/deploy", `{"reason":"a test"}`), 200)
	e := w.enrolEdge(`{}`)
	doc, status := e.credentials("")
	if status != 200 || len(doc.Credentials) != 2 || doc.Absent != nil {
		t.Fatalf("%d, %d credentials, notice %q", status, len(doc.Credentials), doc.Absent)
	}
	ids := map[string]string{}
	for _, c := range doc.Credentials {
		ids[c.Value.Reveal()] = c.ID
	}
	if a := w.do("DELETE", "/v1/toolsets/"+key.ID+"/authentication", nil, "If-Match", w.do("GET", "/v1/toolsets/"+key.ID, nil).Header.Get("ETag")); a.StatusCode != http.StatusNoContent {
		t.Fatalf("delete: %d %s", a.StatusCode, a.body)
	}
	as.Close()
	w.restart()
	w.later.Add(int64(5 * time.Minute)) // the server's tokens live five minutes
	doc, status = e.credentials(doc.ETag)
	if status != 200 || len(doc.Credentials) != 0 || doc.Absent == nil {
		t.Fatalf("%d, %d credentials, notice %q", status, len(doc.Credentials), doc.Absent)
	}
	trust, err := sign.NewTrust(w.pub.Trusted(), registry.UseRelease)
	if err != nil {
		t.Fatal(err)
	}
	n, err := sign.VerifyAbsence(doc.Absent, trust)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, a := range n.Absent {
		reasons[a.Credential] = a.Reason
	}
	if n.Edge != e.id.Edge || n.Release != *doc.Release || len(reasons) != 2 || reasons[ids[upstreamKey]] != registry.AbsentDeleted {
		t.Errorf("%+v, want %s deleted and the other unavailable", n, ids[upstreamKey])
	}
}

// TestRevokedMeanwhile: an edge that is revoked while its release is read or made does not get it:
// it may be newer than the revocation.
func TestRevokedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.keyed("Europe")
	e := w.enrolEdge(`{"labels":{"region":"eu"}}`)
	w.restart()
	asked, revoked := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.faults.setReads(func(string) error {
		once.Do(func() { close(asked) })
		<-revoked
		return nil
	})
	answered := make(chan answer, 1)
	go func() { answered <- e.get(registry.EdgeReleasePath) }()
	<-asked
	if a := w.do("DELETE", "/v1/edges/"+e.id.Edge, nil); a.StatusCode != http.StatusNoContent {
		t.Errorf("revoke: %d %s", a.StatusCode, a.body)
	}
	close(revoked)
	if a := <-answered; a.StatusCode != http.StatusForbidden || a.Header.Get(registry.EdgeReleaseHeader) != "" {
		t.Errorf("its release: %d %s", a.StatusCode, a.body)
	}
}
