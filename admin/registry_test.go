package admin_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// withRole makes an API token.
func (w *world) withRole(workspace, role string) secrets.Secret {
	w.t.Helper()
	token := access.NewToken()
	if err := w.st.EnsureWorkspace(w.t.Context(), workspace, workspace); err != nil {
		w.t.Fatal(err)
	}
	err := w.st.Workspace(workspace).Update(w.t.Context(), func(tx *store.Tx) error {
		return tx.AddToken(w.t.Context(), &store.Token{Name: role, Role: role, Hash: access.HashToken(token)})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// serve puts the whole admin listener on a port.
func (w *world) serve() *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Host = "localhost"
		w.srv.Handler().ServeHTTP(rw, r)
	}))
	w.t.Cleanup(srv.Close)
	return srv
}

// go-containerregistry pulls what Sluice pushed, and pushes what it pulls again.
func TestRegistryRoundTrip(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	srv := w.serve()
	host := strings.TrimPrefix(srv.URL, "http://")
	auth := remote.WithAuth(&authn.Basic{Username: "anyone", Password: w.token.Reveal()})

	ref, err := name.ParseReference(host+"/"+ts.Connector.Repository+":"+ts.Connector.Tag, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref, auth)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := img.Digest(); err != nil || d.String() != ts.Connector.Manifest {
		t.Fatalf("the tag names %v, %v; want %s", d, err, ts.Connector.Manifest)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers %v, %v", layers, err)
	}
	rc, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	var module bytes.Buffer
	if _, err := module.ReadFrom(rc); err != nil {
		t.Fatal(err)
	}
	if registry.DigestOf(module.Bytes()) != registry.Digest(ts.Connector.Digest) {
		t.Fatal("the layer is another module")
	}
	if _, err := connector.Open(module.Bytes()); err != nil {
		t.Fatal(err)
	}
	// The same artifact under another tag, and an image of somebody else.
	again := ref.Context().Tag("again")
	if err := remote.Write(again, img, auth); err != nil {
		t.Fatal(err)
	}
	if desc, err := remote.Head(again, auth); err != nil || desc.Digest.String() != ts.Connector.Manifest {
		t.Fatalf("pushed again: %v, %v", desc, err)
	}
	made, err := random.Image(10_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := name.ParseReference(host+"/default/plugins/foreign:1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(foreign, made, auth); err != nil {
		t.Fatal(err)
	}
	back, err := remote.Image(foreign, auth)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(back); err != nil {
		t.Fatal(err)
	}
	// Our own client over the wire.
	r, err := oci.NewRemote(oci.RemoteOptions{URL: srv.URL, Client: srv.Client(), Authorize: oci.Basic("x", func() secrets.Secret { return w.token })})
	if err != nil {
		t.Fatal(err)
	}
	st := oci.NewStore(r)
	d, err := st.Resolve(t.Context(), ts.Connector.Repository, "again")
	if err != nil {
		t.Fatal(err)
	}
	a, err := st.Pull(t.Context(), ts.Connector.Repository, d, oci.KindPlugin)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Push(t.Context(), "default/plugins/copy", "v1", a); err != nil {
		t.Fatal(err)
	}
	if d, err := st.Resolve(t.Context(), "default/plugins/copy", "v1"); err != nil || d != a.Digest() {
		t.Fatalf("copied as %s, %v", d, err)
	}
	if _, err := st.Resolve(t.Context(), "default/plugins/copy", "v2"); !errors.Is(err, registry.ErrNotFound) {
		t.Fatalf("a tag that is not there: %v", err)
	}
}

// Who may do what with which repository.
func TestRegistryAccess(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	srv := w.serve()
	host := strings.TrimPrefix(srv.URL, "http://")
	img, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	const push, pull, remove = "push", "pull", "delete"
	f := func(token secrets.Secret, action, repository string, status int) {
		t.Helper()
		auth := remote.WithAuth(&authn.Basic{Username: "x", Password: token.Reveal()})
		if token.IsZero() {
			auth = remote.WithAuth(authn.Anonymous)
		}
		ref, err := name.ParseReference(host+"/"+repository+":"+ts.Connector.Tag, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		switch action {
		case push:
			ref = ref.Context().Tag("pushed")
			err = remote.Write(ref, img, auth, remote.WithContext(context.Background()))
		case pull:
			_, err = remote.Head(ref, auth)
		case remove:
			var d v1.Hash
			if d, err = v1.NewHash(ts.Connector.Manifest); err == nil {
				err = remote.Delete(ref.Context().Digest(d.String()), auth)
			}
		}
		got := http.StatusOK
		if te, ok := errors.AsType[*transport.Error](err); ok {
			got = te.StatusCode
		} else if err != nil {
			t.Fatal(err)
		}
		if got != status {
			t.Fatalf("%s %s: %d (%v), want %d", action, repository, got, err, status)
		}
	}
	viewer, editor, publisher := w.withRole("default", "viewer"), w.withRole("default", "editor"), w.withRole("default", "publisher")
	other := w.withRole("other", "admin")
	repo := ts.Connector.Repository
	for _, token := range []secrets.Secret{viewer, editor, publisher, w.token} {
		f(token, pull, repo, 200)
	}
	f(secrets.Secret{}, pull, repo, 401)
	f(access.NewToken(), pull, repo, 401)
	f(other, pull, repo, 403)
	f(other, push, repo, 403)
	f(other, remove, repo, 403)
	f(other, pull, "defaultx/connectors/pets", 403)
	f(viewer, push, "default/plugins/x", 403)
	f(editor, push, "default/plugins/x", 403)
	f(publisher, push, "default/plugins/x", 200)
	f(publisher, push, "other/plugins/x", 403)
	f(publisher, remove, repo, 403)
	f(w.token, pull, "releases/default", 403) // a release lists the toolsets of every workspace
	f(w.token, push, "releases/default", 403)
	f(w.token, remove, repo, 409) // a live release needs it
	if a := w.do("DELETE", "/v1/toolsets/"+ts.ID, nil, "If-Match", "*"); a.StatusCode != http.StatusNoContent {
		t.Fatalf("delete the toolset: %d %s", a.StatusCode, a.body)
	}
	w.restart() // edges that were fetching the release before are gone
	host = strings.TrimPrefix(w.serve().URL, "http://")
	f(w.token, remove, repo, 200)
}

// edgeClient speaks the edge protocol by hand.
type edgeClient struct {
	w    *world
	id   registry.EdgeIdentity
	seal secrets.SealKey
}

func (w *world) enrolEdge(joinBody string) *edgeClient {
	w.t.Helper()
	join := want[fleet.JoinToken](w, w.do("POST", "/v1/edges/join-tokens", joinBody), http.StatusCreated)
	seal, err := secrets.NewSealKey()
	if err != nil {
		w.t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	in := registry.EdgeEnrolment{JoinToken: secrets.Wire{Secret: secrets.New(join.Token)}, Name: "far", SealKey: seal.Public(), SignKey: public}
	if p := want[front.Problem](w, w.do("POST", registry.EdgeEnrolPath, in), 401); p.Code != "unauthenticated" {
		w.t.Fatalf("not signed: %+v", p)
	}
	in.Signature = ed25519.Sign(private, in.Signed())
	e := &edgeClient{w: w, seal: seal, id: want[registry.EdgeIdentity](w, w.do("POST", registry.EdgeEnrolPath, in), 200)}
	other, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	in.SignKey = other
	in.Signature = ed25519.Sign(private, in.Signed())
	want[front.Problem](w, w.do("POST", registry.EdgeEnrolPath, in), 401) // used up
	return e
}

func (e *edgeClient) get(path string) answer {
	return e.w.do(http.MethodGet, path, nil, "Authorization", "Bearer "+e.id.Token.Reveal())
}

// pull asks the registry for one content, as Basic.
func (e *edgeClient) pull(path string) int {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.SetBasicAuth("edge", e.id.Token.Reveal())
	rec := httptest.NewRecorder()
	e.w.srv.Handler().ServeHTTP(rec, r)
	return rec.Code
}

func (e *edgeClient) credentials(etag string) (registry.EdgeCredentials, int) {
	e.w.t.Helper()
	a := e.get(registry.EdgeCredentialsPath + "?known=" + etag)
	var out registry.EdgeCredentials
	if a.StatusCode != http.StatusOK {
		return out, a.StatusCode
	}
	var doc registry.SealedCredentials
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
		e.w.t.Fatal(err)
	}
	if strings.Contains(a.body, upstreamKey) {
		e.w.t.Fatal("the sealed credentials hold the key")
	}
	plain, err := e.seal.Open(registry.SealInfo(e.id.Edge), doc.Sealed)
	if err != nil {
		e.w.t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &out); err != nil {
		e.w.t.Fatal(err)
	}
	return out, 200
}

// An edge gets the toolsets its labels name, their contents, their credentials,
// and nothing else.
func TestEdgeGetsItsOwn(t *testing.T) {
	w := newWorld(t)
	everywhere, eu := w.create("Everywhere", "pets.yaml"), w.create("Europe", "locked.yaml")
	w.putAuth(eu.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey})
	want[fleet.LabelsBody](w, w.do("PUT", "/v1/toolsets/"+eu.ID+"/labels", `{"labels":{"region":"eu"}}`), 200)
	want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+eu.ID+"/deploy", `{"reason":"a test"}`), 200)
	home, abroad := w.enrolEdge(`{"labels":{"region":"eu","tier":"1"}}`), w.enrolEdge(`{"labels":{"region":"us"}}`)
	if home.id.Group == abroad.id.Group {
		t.Fatal("other labels are the same group")
	}
	for _, e := range []struct {
		*edgeClient
		has, not []string
	}{{home, []string{`"everywhere"`, `"europe"`}, nil}, {abroad, []string{`"everywhere"`}, []string{`"europe"`, eu.ID}}} {
		a := e.get(registry.EdgeReleasePath)
		var env struct {
			Payload []byte `json:"payload"`
		}
		if err := json.Unmarshal([]byte(a.body), &env); a.StatusCode != http.StatusOK || err != nil {
			t.Fatalf("release: %d %s", a.StatusCode, a.body)
		}
		for _, s := range e.has {
			if !bytes.Contains(env.Payload, []byte(s)) {
				t.Errorf("the release of %v lacks %s", e.id.Labels, s)
			}
		}
		for _, s := range e.not {
			if bytes.Contains(env.Payload, []byte(s)) {
				t.Errorf("the release of %v holds %s", e.id.Labels, s)
			}
		}
		if a := e.get(registry.EdgeReleasePath + "?known=" + string(registry.DigestOf([]byte(a.body)))); a.StatusCode != http.StatusNotModified {
			t.Errorf("what is known is sent again: %d", a.StatusCode)
		}
	}
	at := func(ts change.CreatedToolset) string {
		return "/v2/" + ts.Connector.Repository + "/manifests/" + ts.Connector.Manifest
	}
	if home.pull(at(eu)) != 200 || home.pull(at(everywhere)) != 200 || abroad.pull(at(everywhere)) != 200 {
		t.Error("an edge cannot pull what it serves")
	}
	if got := abroad.pull(at(eu)); got != 403 {
		t.Errorf("an edge pulls what it does not serve: %d", got)
	}
	for _, path := range []string{
		"/v2/" + eu.Connector.Repository + "/tags/list", "/v2/" + eu.Connector.Repository + "/manifests/" + eu.Connector.Tag,
		"/v2/releases/default/manifests/latest", "/v2/" + eu.Connector.Repository + "/referrers/" + eu.Connector.Manifest,
	} {
		if got := home.pull(path); got != 403 {
			t.Errorf("an edge reads %s: %d", path, got)
		}
	}
	creds, _ := home.credentials("")
	if len(creds.Credentials) != 1 || creds.Credentials[0].Value.Reveal() != upstreamKey || creds.Edge != home.id.Edge {
		t.Fatalf("credentials %+v of %d", creds.Credentials, len(creds.Credentials))
	}
	if none, _ := abroad.credentials(""); len(none.Credentials) != 0 {
		t.Fatalf("an edge gets credentials of others: %v", none.Credentials)
	}
	if _, status := home.credentials(creds.ETag); status != 304 {
		t.Fatalf("known credentials: %d", status)
	}
	w.putAuth(eu.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": "another-key-0123456789"})
	if changed, status := home.credentials(creds.ETag); status != 200 || changed.Credentials[0].Value.Reveal() != "another-key-0123456789" {
		t.Fatalf("changed credentials: %d %v", status, changed.Credentials)
	}
	// Its token opens nothing of the API, and after its end nothing at all.
	want[front.Problem](w, home.get("/v1/toolsets"), 401)
	if a := w.do("POST", registry.EdgeStatusPath, registry.EdgeStatus{Ready: true, Epoch: 1, Revision: 1, Following: "cut off"}, "Authorization", "Bearer "+home.id.Token.Reveal()); a.StatusCode != http.StatusNoContent {
		t.Fatalf("status: %d %s", a.StatusCode, a.body)
	}
	shown := want[fleet.Edge](w, w.do("GET", "/v1/edges/"+home.id.Edge, nil), 200)
	if shown.State != "failing" || shown.Lag == 0 || len(shown.Errors) != 1 || shown.Errors[0] != "cut off" {
		t.Errorf("shown as %+v", shown)
	}
	if a := w.do("DELETE", "/v1/edges/"+home.id.Edge, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("revoke: %d %s", a.StatusCode, a.body)
	}
	want[front.Problem](w, home.get(registry.EdgeReleasePath), 403)
	if _, status := home.credentials(""); status != 403 {
		t.Errorf("a revoked edge asks for credentials: %d", status)
	}
	if got := home.pull(at(everywhere)); got != 403 {
		t.Errorf("a revoked edge pulls: %d", got)
	}
}
