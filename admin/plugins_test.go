package admin_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/fleet/artifact"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// maskPlugin is the plugin of package guest's tests with another manifest.
func maskPlugin(t *testing.T, change func(*manifest.Manifest)) *guest.Package {
	t.Helper()
	code, err := os.ReadFile("../testdata/plugins/mask/mask.wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	m := *p.Manifest
	m.Version = "1.0.0"
	if change != nil {
		change(&m)
	}
	if code, err = module.AppendCustom(nil, code, manifest.Section, m.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if p, err = guest.Open(code); err != nil {
		t.Fatal(err)
	}
	return p
}

func newPublisher(t *testing.T) *sign.Key {
	t.Helper()
	k, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (w *world) trust(k *sign.Key, name string) {
	w.t.Helper()
	want[plugin.PublisherKey](w, w.do("POST", "/v1/publisher-keys", map[string]any{"name": name, "publicKey": string(k.PublicPEM())}), http.StatusCreated)
}

const goodCase = `{"context":{},"input":{"to":"ada@example.com","n":12345678901234567890},"output":{"to":"***@example.com","n":12345678901234567890}}`

func publication(t *testing.T, k *sign.Key, p *guest.Package) map[string]any {
	t.Helper()
	body := map[string]any{"module": base64.StdEncoding.EncodeToString(p.Code), "cases": []any{map[string]any{"name": "masks", "case": json.RawMessage(goodCase)}}}
	if k != nil {
		body["signature"] = signatureOf(t, k, p)
	}
	return body
}

func signatureOf(t *testing.T, k *sign.Key, p *guest.Package) string {
	t.Helper()
	env, err := sign.SignPlugin(k, sign.PluginStatement{Digest: p.Digest, Kind: string(p.Manifest.Kind), Name: p.Manifest.Name, Version: p.Manifest.Version})
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(env)
}

func (w *world) publishMask(k *sign.Key, version string) plugin.PluginVersion {
	w.t.Helper()
	p := maskPlugin(w.t, func(m *manifest.Manifest) { m.Version = version })
	return want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", publication(w.t, k, p)), http.StatusCreated)
}

// TestPublishPlugin: a version is checked, stored, measured and never changes.
func TestPublishPlugin(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	p := maskPlugin(t, nil)
	body := publication(t, k, p)
	if e := want[front.Problem](w, w.do("POST", "/v1/plugins", body), 422); e.Code != "invalid_plugin" || !strings.Contains(e.Detail, "no publisher key") {
		t.Fatalf("without a key: %+v", e)
	}
	w.trust(k, "Ada")
	v := want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", body), http.StatusCreated)
	if v.Name != "mask" || v.Version != "1.0.0" || v.Kind != "filter" || v.Digest != p.Digest || v.Signature.Publisher != "Ada" || v.Status != "published" || v.Effect != "subset" {
		t.Errorf("published %+v", v)
	}
	m := v.Measured
	if len(m.Cases) != 1 || !m.Cases[0].OK || m.TokensBefore == 0 || m.TokensAfter == 0 || !m.Metered || m.P50Us <= 0 {
		t.Errorf("measured %+v", m)
	}
	if again := want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", body), http.StatusOK); again.PublishedAt != v.PublishedAt {
		t.Errorf("again: %+v", again)
	}
	other := maskPlugin(t, func(m *manifest.Manifest) { m.Description = "other bytes" })
	if e := want[front.Problem](w, w.do("POST", "/v1/plugins", publication(t, k, other)), 409); !strings.Contains(e.Detail, "with other bytes") {
		t.Errorf("other bytes: %+v", e)
	}
	w.publishMask(k, "1.1.0")
	w.publishMask(k, "2.0.0-rc.1")
	all := want[plugin.Plugin](w, w.do("GET", "/v1/plugins/mask", nil), 200)
	var versions []string
	for _, v := range all.Versions {
		versions = append(versions, v.Version)
	}
	if all.Latest != "1.1.0" || !slices.Equal(versions, []string{"2.0.0-rc.1", "1.1.0", "1.0.0"}) {
		t.Errorf("latest %s of %v", all.Latest, versions)
	}
	list := want[admin.List[plugin.Plugin]](w, w.do("GET", "/v1/plugins", nil), 200)
	if len(list.Items) != 1 || len(list.Items[0].Versions) != 1 || list.Items[0].Versions[0].Version != "1.1.0" {
		t.Errorf("list %+v", list)
	}
	tested := want[plugin.PluginMeasured](w, w.do("POST", "/v1/plugins/mask/versions/1.0.0/test", nil), 200)
	if len(tested.Cases) != 1 || !tested.Cases[0].OK {
		t.Errorf("tested again: %+v", tested)
	}
	if got := w.audits(); !slices.Equal(got[1:], []string{"publisher_key.add", "plugin.publish", "plugin.publish", "plugin.publish"}) {
		t.Errorf("audited %v", got)
	}
}

// TestPublishRefuses: what is wrong is named, and nothing of it remains.
func TestPublishRefuses(t *testing.T) {
	w := newWorld(t)
	k, stranger := newPublisher(t), newPublisher(t)
	w.trust(k, "Ada")
	good := maskPlugin(t, nil)
	f := func(what string, body map[string]any, status int, detail string) {
		t.Helper()
		e := want[front.Problem](w, w.do("POST", "/v1/plugins", body), status)
		if !strings.Contains(e.Detail, detail) || e.Remedy == "" && status == 422 {
			t.Errorf("%s: %+v, want %q", what, e, detail)
		}
	}
	f("nothing", map[string]any{}, 400, "needs module or oci")
	f("not signed", publication(t, nil, good), 422, "not signed")
	f("signed by a stranger", publication(t, stranger, good), 422, "no publisher key")
	other := publication(t, k, good)
	other["signature"] = signatureOf(t, k, maskPlugin(t, func(m *manifest.Manifest) { m.Version = "1.0.1" }))
	f("the signature of another version", other, 422, "another plugin")
	large := publication(t, k, good)
	large["module"] = base64.StdEncoding.EncodeToString(make([]byte, module.MaxBytes+1))
	f("too large", large, 413, "it is too large: it has 16777217 bytes, more than the 16 MiB of a plugin")
	cases := func(list ...string) map[string]any {
		body := publication(t, k, good)
		var out []any
		for i, c := range list {
			out = append(out, map[string]any{"name": "case" + string(rune('a'+i)), "case": json.RawMessage(c)})
		}
		body["cases"] = out
		return body
	}
	f("no cases", cases(), 422, "no golden cases")
	f("a case that is none", cases(`{"output":1}`), 422, `needs "input"`)
	f("a case that fails", cases(goodCase, `{"input":{"to":"a@b.example"},"output":{"to":"a@b.example"}}`), 422, "1 of 2 golden cases")
	f("a case without a result", cases(`{"input":1}`), 422, "1 of 1 golden cases")
	f("no version", publication(t, k, maskPlugin(t, func(m *manifest.Manifest) { m.Version = "one" })), 422, "major.minor.patch")
	f("makes what no schema can say", publication(t, k, maskPlugin(t, func(m *manifest.Manifest) {
		m.Output = &manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{"type":"objekt"}`)}
	})), 422, "output.schema of plugin mask: its schema cannot be used")
	f("asks for memory", publication(t, k, maskPlugin(t, func(m *manifest.Manifest) { m.Limits = &manifest.Limits{MemoryBytes: 9 << 20} })), 403, "memory")
	if a := w.do("GET", "/v1/plugins/mask", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("something was published: %s", a.body)
	}
	publisher, editor := w.withRole("default", "publisher"), w.withRole("default", "editor")
	if a := w.do("POST", "/v1/plugins", publication(t, k, good), bearer(editor)...); a.StatusCode != http.StatusForbidden {
		t.Errorf("an editor publishes: %d", a.StatusCode)
	}
	if a := w.do("POST", "/v1/publisher-keys", map[string]any{"name": "x", "publicKey": string(stranger.PublicPEM())}, bearer(publisher)...); a.StatusCode != http.StatusForbidden {
		t.Errorf("a publisher trusts itself: %d", a.StatusCode)
	}
	if a := w.do("POST", "/v1/plugins", publication(t, k, good), bearer(publisher)...); a.StatusCode != http.StatusCreated {
		t.Errorf("a publisher: %d %s", a.StatusCode, a.body)
	}
}

// TestPublishMultipart: files instead of base64.
func TestPublishMultipart(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	p := maskPlugin(t, nil)
	sig, err := base64.StdEncoding.DecodeString(signatureOf(t, k, p))
	if err != nil {
		t.Fatal(err)
	}
	form := func(parts ...[3]string) answer {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		for _, part := range parts {
			f, err := m.CreateFormFile(part[0], part[1])
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.Write([]byte(part[2]))
		}
		_ = m.Close()
		return w.do("POST", "/v1/plugins", b.String(), "Content-Type", m.FormDataContentType())
	}
	code := [3]string{"module", "mask.wasm", string(p.Code)}
	signed := [3]string{"signature", "mask.wasm.sig", string(sig)}
	want[front.Problem](w, form(code, signed, [3]string{"case", "a.json", "{"}), 422)
	want[front.Problem](w, form(code, signed, [3]string{"other", "a", "{"}), 400)
	v := want[plugin.PluginVersion](w, form(code, signed, [3]string{"case", "a.json", goodCase}), 201)
	if v.Measured.Cases[0].Name != "a" {
		t.Errorf("%+v", v.Measured)
	}
}

// TestPublishPushed: what oras pushed is registered, with our signature or cosign's,
// and its tag cannot be moved then.
func TestPublishPushed(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	st := oci.NewStore(w.faults)
	push := func(version string) (*guest.Package, *oci.Artifact) {
		t.Helper()
		p := maskPlugin(t, func(m *manifest.Manifest) { m.Version = version })
		a, err := oci.New(oci.KindPlugin, p.Code, map[string]string{"org.example.by": "oras"})
		if err == nil {
			err = st.Push(t.Context(), "default/plugins/mask", version, a)
		}
		if err != nil {
			t.Fatal(err)
		}
		return p, a
	}
	body := func(ref string, sig any) map[string]any {
		b := map[string]any{"oci": ref, "cases": []any{map[string]any{"name": "masks", "case": json.RawMessage(goodCase)}}}
		if sig != nil {
			b["signature"] = sig
		}
		return b
	}
	p, a := push("1.0.0")
	for ref, status := range map[string]int{
		"mask": 400, "mask:9.9.9": 404, "other:1.0.0": 404, "../mask:1": 400, "mask@" + string(registry.DigestOf(nil)): 404,
	} {
		if got := w.do("POST", "/v1/plugins", body(ref, nil)); got.StatusCode != status {
			t.Errorf("%s: %d %s", ref, got.StatusCode, got.body)
		}
	}
	want[front.Problem](w, w.do("POST", "/v1/plugins", body("mask:1.0.0", nil)), 422)
	v := want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", body("mask:1.0.0", signatureOf(t, k, p))), 201)
	if v.Manifest != string(a.Digest()) || v.Repository != "default/plugins/mask" {
		t.Errorf("%+v", v)
	}
	p, a = push("1.1.0")
	sig, err := sign.SignCosign(k, "localhost/default/plugins/mask", a.Digest())
	if err == nil {
		err = st.PushCosign(t.Context(), "default/plugins/mask", a.Digest(), sig)
	}
	if err != nil {
		t.Fatal(err)
	}
	if v := want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", body("mask@"+string(a.Digest()), nil)), 201); v.Digest != p.Digest || v.Signature.KeyID != k.ID() {
		t.Errorf("%+v", v)
	}
	// The tag of a published version stays.
	front := httptest.NewServer(w.srv.Handler())
	defer front.Close()
	send := func(method, tag string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, front.URL+"/v2/default/plugins/mask/manifests/"+tag, bytes.NewReader(a.Manifest()))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "localhost"
		req.SetBasicAuth("x", w.token.Reveal())
		req.Header.Set("Content-Type", oci.MediaTypeManifest)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if got := send(http.MethodPut, "1.0.0"); got != http.StatusForbidden {
		t.Errorf("the tag of a published version was moved: %d", got)
	}
	if got := send(http.MethodPut, "nightly"); got != http.StatusCreated {
		t.Errorf("another tag: %d", got)
	}
	// …and its contents too, when the registry is cleaned and its tag is gone.
	if got := send(http.MethodDelete, "1.0.0"); got != http.StatusAccepted {
		t.Errorf("removing the tag: %d", got)
	}
	w.retention.Grace = 1
	w.stop()
	w.open()
	want[artifact.Collected](w, w.do("POST", "/v1/registry/collect", nil), 200)
	want[plugin.PluginMeasured](w, w.do("POST", "/v1/plugins/mask/versions/1.0.0/test", nil), 200)
}

// TestPublishFromElsewhere: a plugin in a registry that the operator named is
// published by its reference, with cosign's signature there, and kept here.
func TestPublishFromElsewhere(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	body := func(ref string) map[string]any {
		return map[string]any{"oci": ref, "cases": []any{map[string]any{"name": "masks", "case": json.RawMessage(goodCase)}}}
	}
	const ref = "registry.example/team/mask:1.0.0"
	if p := want[front.Problem](w, w.do("POST", "/v1/plugins", body(ref)), 400); !strings.Contains(p.Detail, "another registry") {
		t.Errorf("%+v", p)
	}
	back, err := server.Open(server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	there := oci.NewStore(back)
	w.elsewhere = func(reference string) (*oci.Store, string, string, error) {
		at, ok := strings.CutPrefix(reference, "registry.example/")
		if !ok {
			return nil, "", "", problem.New(problem.Forbidden, "not from there")
		}
		repository, tag, _ := strings.Cut(at, ":")
		return there, repository, tag, nil
	}
	w.stop()
	w.open()
	p := maskPlugin(t, func(m *manifest.Manifest) { m.Version = "1.0.0" })
	a, err := oci.New(oci.KindPlugin, p.Code, map[string]string{"org.example.by": "oras"})
	if err == nil {
		err = there.Push(t.Context(), "team/mask", "1.0.0", a)
	}
	if err != nil {
		t.Fatal(err)
	}
	want[front.Problem](w, w.do("POST", "/v1/plugins", body("evil.example/team/mask:1.0.0")), 403)
	want[front.Problem](w, w.do("POST", "/v1/plugins", body("registry.example/team/mask:9.0.0")), 404)
	want[front.Problem](w, w.do("POST", "/v1/plugins", body(ref)), 422) // it is not signed
	sig, err := sign.SignCosign(k, "registry.example/team/mask", a.Digest())
	if err == nil {
		err = there.PushCosign(t.Context(), "team/mask", a.Digest(), sig)
	}
	if err != nil {
		t.Fatal(err)
	}
	v := want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", body(ref)), 201)
	if v.Repository != "default/plugins/mask" || v.Digest != p.Digest || v.Signature.KeyID != k.ID() {
		t.Errorf("%+v", v)
	}
	if _, err := oci.NewStore(w.faults).Pull(t.Context(), v.Repository, registry.Digest(v.Manifest), oci.KindPlugin); err != nil {
		t.Errorf("it is not in the control plane's registry: %v", err)
	}
}

func (w *world) bind(id string, bindings ...map[string]any) answer {
	w.t.Helper()
	if bindings == nil {
		bindings = []map[string]any{}
	}
	return w.do("PUT", "/v1/toolsets/"+id+"/plugins", map[string]any{"bindings": bindings})
}

// TestBindPlugins: bindings are pinned, checked, part of the digest, and kept in
// their order.
func TestBindPlugins(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	w.publishMask(k, "1.0.0")
	ts := w.create("Pets", "pets.yaml")
	before := w.get(ts.ID)
	tool := ts.Tools[0]
	got := want[binding.ToolsetPlugins](w, w.bind(ts.ID,
		map[string]any{"plugin": "mask", "tool": tool.Name, "config": json.RawMessage(`{ "mask": "x" }`), "onError": "fail", "unbind": map[string]any{"errorPercent": 10}},
		map[string]any{"plugin": "mask", "version": "1"}), 200)
	b := got.Bindings
	if len(b) != 2 || b[0].Pinned != "1.0.0" || b[0].Version != "^1.0.0" || b[0].Tool != tool.Name || *b[0].Operation != tool.Operation ||
		string(b[0].Config) != `{"mask":"x"}` || b[0].OnError != "fail" || b[0].Unbind.ErrorPercent != 10 || b[1].Version != "1" || b[1].OnError != "fail" || b[1].Status != "ok" || !b[1].Redacts || b[1].Warning != "" {
		t.Fatalf("bound %+v", b)
	}
	after := w.get(ts.ID)
	if after.Digest == before.Digest || !after.Changed {
		t.Error("binding does not change the draft")
	}
	// What lets go on what it was to take out is warned of, and audited so.
	open := want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "onError": "pass"}), 200).Bindings
	audit := w.do("GET", "/v1/audit?limit=1", nil)
	if open[0].OnError != "pass" || !strings.Contains(open[0].Warning, "reaches agents") || !strings.Contains(audit.body, `"warning":"the plugin redacts`) {
		t.Errorf("bound to pass: %+v, audited %s", open, audit.body)
	}
	want[binding.ToolsetPlugins](w, w.bind(ts.ID,
		map[string]any{"plugin": "mask", "tool": tool.Name, "config": json.RawMessage(`{ "mask": "x" }`), "onError": "fail", "unbind": map[string]any{"errorPercent": 10}},
		map[string]any{"plugin": "mask", "version": "1"}), 200)
	want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/test", nil), 200)
	live := w.get(ts.ID)
	if live.LiveDigest != after.Digest {
		t.Fatalf("the tested draft is not live: %+v", live.Test)
	}
	content, err := w.pub.Content(t.Context(), "default/toolsets/pets", registry.Digest(live.LiveDigest))
	if err != nil || !slices.Contains(content.Digests, registry.Digest(b[0].Digest)) {
		t.Errorf("the bundle needs %v, %v", content, err)
	}
	w.publishMask(k, "1.1.0")
	w.publishMask(k, "2.0.0")
	again := want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "version": "1"}), 200).Bindings
	if again[0].Pinned != "1.0.0" || again[0].Newer != "1.1.0" {
		t.Errorf("what is bound moved by itself: %+v", again)
	}
	updated := want[binding.ToolsetPlugins](w, w.do("PUT", "/v1/toolsets/"+ts.ID+"/plugins", map[string]any{"update": true, "bindings": []any{map[string]any{"plugin": "mask", "version": "1"}}}), 200).Bindings
	if updated[0].Pinned != "1.1.0" || updated[0].Newer != "" {
		t.Errorf("updated %+v", updated)
	}
	if used := want[plugin.PluginVersion](w, w.do("GET", "/v1/plugins/mask/versions/1.1.0", nil), 200).UsedBy; !slices.Equal(used, []string{"pets"}) {
		t.Errorf("used by %v", used)
	}

	refused := func(detail string, binding map[string]any) {
		t.Helper()
		if e := want[front.Problem](w, w.bind(ts.ID, binding), 400); !strings.Contains(e.Detail, detail) {
			t.Errorf("%v: %+v, want %q", binding, e, detail)
		}
	}
	refused("no plugin", map[string]any{"plugin": "other"})
	refused("no version in", map[string]any{"plugin": "mask", "version": "^3.0.0"})
	refused("not a range", map[string]any{"plugin": "mask", "version": "newest"})
	refused("no tool", map[string]any{"plugin": "mask", "tool": "other"})
	refused("no connector", map[string]any{"plugin": "mask", "connector": "other"})
	refused("/mask: got number", map[string]any{"plugin": "mask", "config": map[string]any{"mask": 1}})
	refused("JSON object", map[string]any{"plugin": "mask", "config": []int{1}})

	// An operation that the specification does not have waits.
	waiting := want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "operation": map[string]any{"method": "GET", "path": "/gone"}}), 200)
	if waiting.Bindings[0].Status != "waiting" {
		t.Errorf("%+v", waiting)
	}
	stale := w.do("PUT", "/v1/toolsets/"+ts.ID+"/plugins", map[string]any{"bindings": []any{}}, "If-Match", `"v1"`)
	if stale.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("a stale write: %d", stale.StatusCode)
	}
	if none := want[binding.ToolsetPlugins](w, w.bind(ts.ID), 200); len(none.Bindings) != 0 || w.get(ts.ID).Digest != before.Digest {
		t.Error("unbinding everything does not bring the digest back")
	}
}

// TestYankAndRevoke: what was yanked cannot be bound, what is bound stays, and what
// a revoked key signed cannot be deployed again.
func TestYankAndRevoke(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	w.publishMask(k, "1.0.0")
	w.publishMask(k, "1.1.0")
	ts := w.create("Pets", "pets.yaml")
	want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "mask", "version": "1.1.0"}), 200)
	w.describe(ts.ID, "it is live")
	yank := "/v1/plugins/mask/versions/1.1.0/yank"
	want[front.Problem](w, w.do("POST", yank, map[string]any{}), 400)
	if v := want[plugin.PluginVersion](w, w.do("POST", yank, map[string]any{"reason": "leaks"}), 200); v.Status != "yanked" || v.YankReason != "leaks" || !slices.Equal(v.UsedBy, []string{"pets"}) {
		t.Errorf("%+v", v)
	}
	if got := want[binding.ToolsetPlugins](w, w.do("GET", "/v1/toolsets/"+ts.ID+"/plugins", nil), 200); got.Bindings[0].Status != "yanked" {
		t.Errorf("%+v", got)
	}
	w.describe(ts.ID, "it can still be changed")
	other := w.create("Others", "locked.yaml")
	if e := want[front.Problem](w, w.bind(other.ID, map[string]any{"plugin": "mask", "version": "1.1.0"}), 400); !strings.Contains(e.Detail, "yanked: leaks") {
		t.Errorf("%+v", e)
	}
	if got := want[binding.ToolsetPlugins](w, w.bind(other.ID, map[string]any{"plugin": "mask"}), 200); got.Bindings[0].Pinned != "1.0.0" {
		t.Errorf("%+v", got)
	}
	if v := want[plugin.PluginVersion](w, w.do("POST", yank, map[string]any{"undo": true}), 200); v.Status != "published" {
		t.Errorf("%+v", v)
	}
	revoked := want[plugin.RevokedKey](w, w.do("POST", "/v1/publisher-keys/"+k.ID()+"/revoke", map[string]any{"reason": "stolen"}), 200)
	if revoked.Yanked != 2 || !slices.Equal(revoked.Toolsets, []string{"others", "pets"}) || revoked.Status != "revoked" {
		t.Errorf("%+v", revoked)
	}
	want[front.Problem](w, w.do("POST", yank, map[string]any{"undo": true}), 409)
	if e := want[front.Problem](w, w.do("PATCH", "/v1/toolsets/"+ts.ID, map[string]any{"description": "no more"}, "If-Match", "*"), 409); !strings.Contains(e.Detail, "revoked: stolen") {
		t.Errorf("%+v", e)
	}
	if e := want[front.Problem](w, w.do("POST", "/v1/plugins", publication(t, k, maskPlugin(t, func(m *manifest.Manifest) { m.Version = "1.2.0" }))), 422); !strings.Contains(e.Detail, "no publisher key") {
		t.Errorf("%+v", e)
	}
	if got := want[binding.ToolsetPlugins](w, w.do("GET", "/v1/toolsets/"+ts.ID+"/plugins", nil), 200); got.Bindings[0].Status != "revoked" {
		t.Errorf("%+v", got)
	}
	want[binding.ToolsetPlugins](w, w.bind(ts.ID), 200)
}

// TestPluginUsage: counts of nodes add up, and an unbinding is recorded and told.
func TestPluginUsage(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	w.publishMask(k, "1.0.0")
	mask := registry.PluginKey{Workspace: "default", Name: "mask", Version: "1.0.0"}
	calls := []registry.PluginCalls{
		{PluginKey: mask, PluginCounts: registry.PluginCounts{Calls: 10, Errors: 1, Micros: 1000, BytesIn: 50, BytesOut: 40, Unbound: 1}},
		{PluginKey: registry.PluginKey{Workspace: "default", Name: "gone", Version: "1.0.0"}, PluginCounts: registry.PluginCounts{Calls: 1}},
	}
	for range 2 {
		if err := w.srv.Plugins().RecordUsage(t.Context(), calls); err != nil {
			t.Fatal(err)
		}
	}
	v := want[plugin.PluginVersion](w, w.do("GET", "/v1/plugins/mask/versions/1.0.0", nil), 200)
	if v.Live.Calls != 20 || v.Live.Errors != 2 || v.Live.MeanUs != 100 || v.Live.BytesOut != 80 || v.Live.Unbound != 2 {
		t.Errorf("%+v", v.Live)
	}
	w.srv.Plugins().Failed(context.WithoutCancel(t.Context()), "default", "mask", "1.0.0", "11 of 20 calls failed")
	if got := w.audits(); got[len(got)-1] != "plugin.unbind" {
		t.Errorf("audited %v", got)
	}
	if log := w.log.String(); !strings.Contains(log, `"event":"plugin.failed"`) {
		t.Error("nobody is told")
	}
}

// TestPublishAuthPlugin: golden cases of auth plugins bring their secrets, and the
// plugin is bound as the others are.
func TestPublishAuthPlugin(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	code, err := os.ReadFile("../testdata/plugins/stamp/stamp.wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	body := publication(t, k, p)
	// HMAC-SHA-256 of "hello" by a key derived from "Ksecret" with "day" and "region".
	sig := hmacOf(hmacOf(hmacOf([]byte("Ksecret"), "day"), "region"), "hello")
	body["cases"] = []any{map[string]any{"name": "signs", "case": map[string]any{
		"input": map[string]any{}, "secrets": []string{"secret"},
		"output": map[string]any{"headers": map[string]string{"X-Signature": hex.EncodeToString(sig)}, "query": []any{[]string{"signed by", "stamp"}}},
	}}}
	v := want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", body), http.StatusCreated)
	if v.Kind != "auth" || v.Effect != "" || v.Capabilities == nil || v.Capabilities.Signing == nil || v.Capabilities.Signing.Derivations != 2 {
		t.Errorf("%+v", v)
	}
	ts := w.create("Pets", "pets.yaml")
	if got := want[binding.ToolsetPlugins](w, w.bind(ts.ID, map[string]any{"plugin": "stamp"}), 200); got.Bindings[0].Kind != "auth" || got.Bindings[0].Status != "ok" {
		t.Errorf("%+v", got)
	}
}

func hmacOf(secret []byte, message string) []byte {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write([]byte(message))
	return h.Sum(nil)
}
