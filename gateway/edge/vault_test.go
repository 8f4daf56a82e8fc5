package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// desk answers questions for credentials as a test says, sealed to the edge.
type desk struct {
	*far

	mu     sync.Mutex
	answer *registry.EdgeCredentials // nil: status
	status int
}

// newDesk is an edge whose release 1.N uses the credentials "one" and "two".
func newDesk(t *testing.T) (*desk, *sign.Release) {
	t.Helper()
	p := newPlane(t)
	e := p.enrol(filepath.Join(t.TempDir(), "cache"), p.join(`{"allWorkspaces":true}`))
	d := &desk{far: e}
	p.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != registry.EdgeCredentialsPath {
			return false
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.answer == nil {
			w.WriteHeader(d.status)
			return true
		}
		plain, err := json.Marshal(d.answer)
		if err != nil {
			t.Error(err)
		}
		sealed, err := secrets.SealTo(d.sealKey(), registry.SealInfo(d.answer.Edge), plain)
		if err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(registry.SealedCredentials{ETag: d.answer.ETag, Sealed: sealed})
		return true
	})
	p.use("toolset", "one", "two")
	return d, p.release()
}

// sealKey is the public half of the edge's key.
func (d *desk) sealKey() []byte {
	b, err := os.ReadFile(filepath.Join(d.dir, "identity.json"))
	var id struct {
		SealKey []byte `json:"sealKey"`
	}
	if err == nil {
		err = json.Unmarshal(b, &id)
	}
	key, kerr := secrets.ParseSealKey(id.SealKey)
	if err := errors.Join(err, kerr); err != nil {
		d.p.t.Error(err)
		return nil
	}
	return key.Public()
}

// use makes a toolset with a connector for each credential what is to be live.
func (w *world) use(slug string, credentials ...string) {
	w.t.Helper()
	t := &registry.Toolset{Workspace: "acme", ID: "ts_" + slug, Slug: slug, Name: slug, Access: registry.Access{Mode: registry.AccessNone}}
	for _, id := range credentials {
		ref := w.pushConnector(slug+"-"+id, id)
		ref.Name = id
		ref.Auth = &registry.AuthShape{Type: registry.AuthBearer, CredentialID: id}
		t.Connectors = append(t.Connectors, ref)
	}
	b, err := w.pub.Bundle(context.Background(), t, nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live[slug] = registry.ReleaseToolset{
		ID: t.ID, Workspace: "acme", Slug: slug, Revision: w.live[slug].Revision + 1, Repository: b.Repository, Bundle: b.Digest,
	}
}

func nameOf(r *sign.Release) *registry.ReleaseName {
	return &registry.ReleaseName{Epoch: r.Release().Epoch, Revision: r.Release().Revision, Digest: r.Digest()}
}

// says makes the control plane answer with the values of credentials, NAME=VALUE.
func (d *desk) says(etag string, release *registry.ReleaseName, values ...string) *registry.EdgeCredentials {
	doc := &registry.EdgeCredentials{Edge: d.remote.Edge(), ETag: etag, Release: release}
	for _, v := range values {
		id, value, _ := strings.Cut(v, "=")
		doc.Credentials = append(doc.Credentials, registry.EdgeCredential{ID: id, Version: 1, Value: secrets.Wire{Secret: secrets.New(value)}})
	}
	d.set(doc)
	return doc
}

func (d *desk) set(doc *registry.EdgeCredentials) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = doc
}

// has compares what the vault has, and what a vault has that is opened on the same
// directory.
func (d *desk) has(when string, v *edge.Vault, values ...string) {
	d.p.t.Helper()
	for _, v := range []*edge.Vault{v, edge.OpenVault(d.remote)} {
		for _, want := range values {
			id, value, _ := strings.Cut(want, "=")
			c, err := v.Credential(id)
			if c.Value.Reveal() != value || (err == nil) != (value != "") {
				d.p.t.Errorf("%s: credential %s is %q, %v; want %q", when, id, c.Value.Reveal(), err, value)
			}
		}
	}
}

// The matrix of answers: whatever the control plane says or does not say, the edge
// keeps what its release uses, in memory and on disk, unless a signed notice says
// that it was deleted.
func TestVaultKeepsWhatItsReleaseUses(t *testing.T) {
	d, rel := newDesk(t)
	d.live(rel)
	state := d.newest()
	v, now, later := d.vault, nameOf(rel), *nameOf(rel)
	later.Revision += 5
	stranger, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	absent := func(doc *registry.EdgeCredentials, key *sign.Key, edgeID string, release registry.ReleaseName, reason string, ids ...string) {
		n := &registry.AbsenceNotice{Edge: edgeID, Release: release}
		for _, id := range ids {
			n.Absent = append(n.Absent, registry.Absence{Credential: id, Reason: reason})
		}
		env, err := sign.SignAbsence(key, n)
		if err != nil {
			t.Fatal(err)
		}
		doc.Absent = env
	}
	f := func(when, fault string, values ...string) {
		t.Helper()
		err := v.Follow(t.Context())
		if err == nil {
			err = v.Fault()
		}
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: %v, want %q", when, err, fault)
		}
		if err != nil && strings.Contains(err.Error(), "secret-") {
			t.Errorf("%s: the error holds a value: %v", when, err)
		}
		d.has(when, v, values...)
	}
	first := []string{"one=secret-1", "two=secret-2"}
	v.Serve(state)
	if err := v.Missing(); err == nil || !strings.Contains(err.Error(), "one of toolset toolset, two of toolset toolset") {
		t.Errorf("before any answer: %v", err)
	}
	d.says("a", now, first...)
	f("complete", "", first...)
	d.says("b", now)
	f("nothing", "lacks credentials", first...)
	d.says("c", nil)
	f("nothing, of a control plane that names no release", "lacks credentials", first...)
	d.says("d", now, "two=secret-3")
	f("one of two, rotated", "lacks credentials", "one=secret-1", "two=secret-3")
	d.says("e", &later, "three=secret-4")
	f("of a newer release", "", "one=secret-1", "two=secret-3", "three=secret-4")
	d.says("f", now, first...)
	f("of an older release than was seen", "older state", "one=secret-1", "two=secret-3", "three=secret-4")
	d.set(nil)
	d.status = http.StatusServiceUnavailable
	f("not yet", "503", "one=secret-1", "two=secret-3")
	if err := v.Missing(); err != nil {
		t.Errorf("it has all: %v", err)
	}

	doc := d.says("g", &later)
	absent(doc, stranger, doc.Edge, later, registry.AbsentDeleted, "one", "two")
	f("deleted, says another key", "absent credentials", "one=secret-1", "two=secret-3")
	absent(doc, d.p.key, "edge_other", later, registry.AbsentDeleted, "one", "two")
	f("deleted, says a notice for another edge", "another edge or release", "one=secret-1", "two=secret-3")
	absent(doc, d.p.key, doc.Edge, *now, registry.AbsentDeleted, "one", "two")
	f("deleted, says a notice for another release", "another edge or release", "one=secret-1", "two=secret-3")
	absent(doc, d.p.key, doc.Edge, later, registry.AbsentUnavailable, "one", "two")
	f("unavailable", "", "one=secret-1", "two=secret-3")
	absent(doc, d.p.key, doc.Edge, later, registry.AbsentDeleted, "one")
	f("one is deleted", "", "one=", "two=secret-3")
	if err := v.Missing(); err != nil {
		t.Errorf("what the control plane says is deleted is not waited for: %v", err)
	}
	again := edge.OpenVault(d.remote)
	again.Serve(state)
	if err := again.Missing(); err != nil {
		t.Errorf("nor after a restart: %v", err)
	}
}

// A release becomes live when its credentials are there, and not before; one whose
// credentials do not come is tried again and the release before is served.
func TestReleaseWaitsForItsCredentials(t *testing.T) {
	d, first := newDesk(t)
	d.live(first)
	d.stop()
	d.says("a", nameOf(first), "one=1", "two=2")
	v := edge.OpenVault(d.remote)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = v.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	n := d.p.start(d.dir, &wire{Source: d.remote}, func(o *edge.Options) {
		o.Group, o.Keys, o.Prepare = d.remote.Group(), d.remote.Trusted(), v.Prepare
		apply := o.Apply
		o.Apply = func(s *edge.State) error { v.Serve(s); return apply(s) }
	})
	n.live(first)
	d.p.use("toolset", "one", "three")
	second := d.p.release()
	s := n.until("waiting", func(s edge.Status) bool {
		return s.Following != nil && strings.Contains(s.Following.Error(), "three of toolset toolset")
	})
	if s.Release != first.Digest() {
		t.Fatalf("serves %s without its credential", s.Release)
	}
	d.says("b", nameOf(second), "one=1", "three=3")
	n.live(second)
	if c, err := v.Credential("three"); err != nil || c.Value.Reveal() != "3" {
		t.Errorf("live with %v, %v", c, err)
	}
	// Calls that began before the swap finish with what they began with.
	if c, err := v.Credential("two"); err != nil || c.Value.Reveal() != "2" {
		t.Errorf("dropped at once: %v, %v", c, err)
	}
}
