package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// remoteOf is a remote whose control plane answers everything with one body.
func remoteOf(t *testing.T, dir string, body func() []byte) *Remote {
	t.Helper()
	r, err := OpenRemote(RemoteOptions{
		ControlPlane: "https://control.example", Dir: dir, Name: "e",
		JoinToken: func() (secrets.Secret, error) { return secrets.New("join"), nil },
		Client: &http.Client{Transport: tripFunc(func(*http.Request) (*http.Response, error) {
			b := body()
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b))}, nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func identityAnswer(change func(*registry.EdgeIdentity)) *registry.EdgeIdentity {
	a := &registry.EdgeIdentity{
		Edge: "edge_1", Token: secrets.Wire{Secret: secrets.New("token")}, Expires: time.Now().Add(time.Hour), Group: "default",
		Trusted: []registry.TrustedKey{{KeyID: "k"}},
	}
	change(a)
	return a
}

// enrolled writes the identity of a node that is enrolled.
func enrolled(t *testing.T, dir string) *identity {
	t.Helper()
	id, err := newIdentity("https://control.example")
	if err != nil {
		t.Fatal(err)
	}
	id.take(identityAnswer(func(*registry.EdgeIdentity) {}), time.Now())
	if err := id.write(dir, fileIdentity, atomicfile.OS); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestEnrolNeedsAll: an answer to an enrolment that lacks something is refused, and the
// node is not enrolled by it: it would have no token, or trust nobody, for good.
func TestEnrolNeedsAll(t *testing.T) {
	for what, change := range map[string]func(*registry.EdgeIdentity){
		"":         func(*registry.EdgeIdentity) {},
		"edge":     func(a *registry.EdgeIdentity) { a.Edge = "" },
		"token":    func(a *registry.EdgeIdentity) { a.Token = secrets.Wire{} },
		"group":    func(a *registry.EdgeIdentity) { a.Group = "../x" },
		"no group": func(a *registry.EdgeIdentity) { a.Group = "" },
		"keys":     func(a *registry.EdgeIdentity) { a.Trusted = nil },
	} {
		dir := t.TempDir()
		r := remoteOf(t, dir, func() []byte {
			b, err := json.Marshal(identityAnswer(change))
			if err != nil {
				t.Error(err)
			}
			return b
		})
		err := r.Enrol(t.Context())
		_, kept := os.Stat(filepath.Join(dir, fileIdentity))
		if ok := what == ""; ok != (err == nil) || r.Enrolled() != ok || (kept == nil) != ok || !ok && !problem.Is(err, problem.Unavailable) {
			t.Errorf("without %s: %v, enrolled %v, kept %v", what, err, r.Enrolled(), kept == nil)
		}
	}
}

// TestCertificatesAreKept: what was shown is shown again after a restart, without the
// control plane; the text is nowhere on disk.
func TestCertificatesAreKept(t *testing.T) {
	dir := t.TempDir()
	id := enrolled(t, dir)
	key, err := id.sealKey()
	if err != nil {
		t.Fatal(err)
	}
	sealed := func(edge string, revision uint64) []byte {
		plain, err := json.Marshal(&registry.EdgeCertificates{
			Edge: edge, ETag: "1", Release: &registry.ReleaseName{Epoch: 1, Revision: revision, Digest: registry.DigestOf(nil)},
			Certificates: []registry.EdgeCertificate{{Host: "a.example", PEM: secrets.Wire{Secret: secrets.New("PRIVATE KEY")}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		b, err := secrets.SealTo(key.Public(), registry.CertificateSealInfo(id.Edge), plain)
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(registry.SealedCredentials{ETag: "1", Sealed: b})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var body []byte
	open := func(shown *[]registry.EdgeCertificate) *Certificates {
		return &Certificates{Remote: remoteOf(t, dir, func() []byte { return body }), Serves: func(string) bool { return true }, Apply: func(_ []string, list []registry.EdgeCertificate) error {
			*shown = list
			return nil
		}}
	}
	var first, second []registry.EdgeCertificate
	c := open(&first)
	body = sealed("edge_1", 2)
	if err := c.follow(t.Context()); err != nil || len(first) != 1 {
		t.Fatalf("%v, %d shown", err, len(first))
	}
	for what, b := range map[string][]byte{"of another edge": sealed("edge_2", 3), "of an older release": sealed("edge_1", 1)} {
		body = b
		if err := c.follow(t.Context()); !problem.Is(err, problem.Conflict) {
			t.Errorf("certificates %s: %v", what, err)
		}
	}
	onDisk, err := os.ReadFile(filepath.Join(dir, fileCertificates))
	if err != nil || bytes.Contains(onDisk, []byte("PRIVATE")) {
		t.Fatalf("on disk: %v", err)
	}
	open(&second).Load()
	if len(second) != 1 || second[0].Host != "a.example" || second[0].PEM.Reveal() != "PRIVATE KEY" {
		t.Errorf("after a restart %v is shown", second)
	}
}

// TestMaxSealedBytes: so much is read of sealed credentials and certificates, which are
// base64 in JSON, and no more.
func TestMaxSealedBytes(t *testing.T) {
	for over, refused := range []bool{false, true} {
		dir := t.TempDir()
		enrolled(t, dir)
		r := remoteOf(t, dir, func() []byte { return bytes.Repeat([]byte(" "), registry.MaxSealedBytes*2+over) })
		b, err := r.get(t.Context(), registry.EdgeCertificatesPath, "", false, registry.MaxSealedBytes*2)
		if problem.Is(err, problem.TooLarge) != refused || !refused && len(b) != registry.MaxSealedBytes*2 {
			t.Errorf("%d past the limit: %d bytes, %v", over, len(b), err)
		}
		c := &Certificates{Remote: r, Serves: func(string) bool { return true }, Apply: func([]string, []registry.EdgeCertificate) error { return nil }}
		if err := c.follow(t.Context()); err == nil || problem.Is(err, problem.TooLarge) != refused {
			t.Errorf("certificates, %d past the limit: %v", over, err)
		}
	}
}

// TestStateSaysWhatIsSaved: a release is on disk when it is the live one that was saved.
func TestStateSaysWhatIsSaved(t *testing.T) {
	now := time.Unix(1e9, 0)
	f := &Follower{loader: &loader{}}
	f.opts.Now = func() time.Time { return now }
	r := &Reporter{Remote: &Remote{}, Follower: f}
	for _, c := range []struct {
		live, saved registry.Digest
		want        bool
	}{{"", "", false}, {"a", "", false}, {"a", "a", true}, {"b", "a", false}} {
		f.status.Release, f.status.Saved = c.live, c.saved
		if got := r.State().Saved; got != c.want {
			t.Errorf("%+v: saved %v", c, got)
		}
	}
	f.ready.Store(true)
	for after, want := range map[time.Duration]bool{-1: false, 0: false, 1: true} {
		f.status.Expires = now.Add(-after)
		if got := r.State().Expired; got != want {
			t.Errorf("%d ns after its end: expired %v", after, got)
		}
	}
	r.Usage = func() error { return errors.New(strings.Repeat("x", 10)) }
	if got := r.State().Usage; got != strings.Repeat("x", 10) {
		t.Errorf("usage: %q", got)
	}
}
