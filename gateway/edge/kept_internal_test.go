package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// TestCertificatesThatAreServedStay: what the control plane has no more is shown as long as
// the release has its host; what it sends takes the place of what was there.
func TestCertificatesThatAreServedStay(t *testing.T) {
	serves := map[string]bool{"a": true, "b": true}
	var shown []registry.EdgeCertificate
	c := &Certificates{Serves: func(host string) bool { return serves[host] }, Apply: func(_ []string, list []registry.EdgeCertificate) error { shown = list; return nil }}
	name := func(revision uint64) *registry.ReleaseName { n := releaseNamed(1, revision); return &n }
	f := func(release *registry.ReleaseName, sent, want string) {
		t.Helper()
		in := &registry.EdgeCertificates{Release: release, ETag: sent}
		for s := range strings.FieldsSeq(sent) {
			host, text, _ := strings.Cut(s, "=")
			in.Certificates = append(in.Certificates, registry.EdgeCertificate{Host: host, PEM: secrets.Wire{Secret: secrets.New(text)}})
		}
		err := c.apply(in)
		if want == "older" {
			if !problem.Is(err, problem.Conflict) || c.have.ETag == sent {
				t.Errorf("%s: %v", sent, err)
			}
			return
		}
		var got []string
		for _, s := range shown {
			got = append(got, s.Host+"="+s.PEM.Reveal())
		}
		if strings.Join(got, " ") != want || err != nil || c.have.ETag != sent || len(in.Certificates) != len(strings.Fields(sent)) {
			t.Errorf("sent %s: %s, %v; want %s", sent, got, err, want)
		}
	}
	f(nil, "a=1 b=1 c=1", "a=1 b=1 c=1")
	f(name(3), "a=2", "a=2 b=1")
	f(name(3), "b=2", "b=2 a=2")
	f(name(2), "b=3", "older")
	f(nil, "d=1", "d=1 b=2 a=2") // of a control plane that does not say
	f(name(1), "b=4", "b=4 a=2")
	delete(serves, "a")
	f(name(1), "", "b=4")
	delete(serves, "b")
	f(name(1), "", "")
	own := &registry.EdgeCertificates{Own: []string{"own"}, Certificates: []registry.EdgeCertificate{{Host: "own"}}}
	if err := errors.Join(c.apply(own), c.apply(&registry.EdgeCertificates{Own: own.Own})); err != nil || len(shown) != 1 {
		t.Errorf("%d certificates of the installation's own host stay, %v", len(shown), err)
	}
	bad := errors.New("no certificate")
	c.Apply = func([]string, []registry.EdgeCertificate) error { return bad }
	if err := c.apply(&registry.EdgeCertificates{}); !errors.Is(err, bad) {
		t.Error(err)
	}
}

// TestWhatIsSealedToANode: only what is whole, sealed to this node for this use and named
// for it is taken; no error shows what is in it.
func TestWhatIsSealedToANode(t *testing.T) {
	dir := t.TempDir()
	id := enrolled(t, dir)
	r := (&desk{}).ask(t, dir)
	c, v := &Certificates{Remote: r}, OpenVault(r)
	open := map[string]func(*Remote, []byte) error{
		"certificates": func(r *Remote, b []byte) error { c.Remote = r; _, err := c.unseal(b); return err },
		"credentials":  func(r *Remote, b []byte) error { v.remote = r; return v.unseal(b, new(stored)) },
	}
	infos := map[string][]byte{"certificates": registry.CertificateSealInfo(id.Edge), "credentials": registry.SealInfo(id.Edge)}
	bytesOf := func(info []byte, doc any) []byte {
		b, err := json.Marshal(sealed(t, id, info, "", doc))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for what, f := range open {
		info := infos[what]
		if err := f(r, bytesOf(info, map[string]string{"edge": id.Edge})); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := f(r, bytesOf(info, map[string]string{"edge": "edge_2"})); !problem.Is(err, problem.Conflict) {
			t.Errorf("%s of another edge: %v", what, err)
		}
		for fault, b := range map[string][]byte{
			"that are not JSON": []byte("{"), "without anything": []byte("{}"), "that are not JSON inside": bytesOf(info, []byte("hidden")),
			"sealed for another use": bytesOf(registry.SealInfo("edge_2"), map[string]string{"edge": id.Edge}),
		} {
			if err := f(r, b); err == nil || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%s %s: %v", what, fault, err)
			}
		}
		none := (&desk{}).ask(t, t.TempDir())
		if err := f(none, bytesOf(info, map[string]string{"edge": id.Edge})); err == nil || !strings.Contains(err.Error(), "not enrolled") {
			t.Errorf("%s of a node without an identity: %v", what, err)
		}
		broken := (&desk{}).ask(t, dir)
		bad := *id
		bad.SealKey = bad.SealKey[1:]
		broken.id = &bad
		if err := f(broken, bytesOf(info, map[string]string{"edge": id.Edge})); err == nil {
			t.Errorf("%s opened with half a key", what)
		}
	}
}

// TestAnswerIsKept: all that an answer says is there after a restart, and the control plane
// is asked for what is newer than it.
func TestAnswerIsKept(t *testing.T) {
	dir := t.TempDir()
	id := enrolled(t, dir)
	name := releaseNamed(1, 4)
	name.Digest = registry.DigestOf(nil)
	answer := &registry.EdgeCredentials{
		Edge: id.Edge, ETag: "e1", Release: &name, Users: 6, Pool: []byte("pool key"),
		Credentials: []registry.EdgeCredential{{ID: "one", Version: 2, Value: secrets.Wire{Secret: secrets.New("PRIVATE")}}},
	}
	d := &desk{}
	d.answer = func(_ context.Context, q question) (int, any, error) {
		if q.known == answer.ETag {
			return http.StatusNotModified, nil, nil
		}
		return http.StatusOK, sealed(t, id, registry.SealInfo(id.Edge), answer.ETag, answer), nil
	}
	v := OpenVault(d.ask(t, dir))
	if v.PoolKey() != nil || v.Fault() != nil {
		t.Errorf("before any answer: %v", v.Fault())
	}
	if err := v.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := OpenVault(d.ask(t, dir))
	for what, v := range map[string]*Vault{"": v, " after a restart": again} {
		c, err := v.Credential("one")
		if err != nil || c.Version != 2 || c.Value.Reveal() != "PRIVATE" || string(v.PoolKey()) != "pool key" || v.users.now() != 6 || v.Fault() != nil {
			t.Errorf("%v, %v, pool %q, epoch %d%s", c, err, v.PoolKey(), v.users.now(), what)
		}
		if v.release == nil || *v.release != name || v.silent {
			t.Errorf("of release %v, silent %v%s", v.release, v.silent, what)
		}
		if err := v.Follow(t.Context()); !errors.Is(err, registry.ErrUnchanged) {
			t.Errorf("asked again%s: %v", what, err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, fileCredentials))
	if err != nil || bytes.Contains(b, []byte("PRIVATE")) {
		t.Errorf("on disk: %v", err)
	}
	// A control plane that names no release does not say what is absent.
	answer.ETag, answer.Release = "e2", nil
	if err := v.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := OpenVault(d.ask(t, dir)); !v.silent || !again.silent {
		t.Errorf("silent %v, after a restart %v", v.silent, again.silent)
	}
	// What does not open is told until it has come again.
	if err := os.WriteFile(filepath.Join(dir, fileCredentials), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again = OpenVault(d.ask(t, dir)); again.Fault() == nil || !strings.Contains(again.Fault().Error(), "stored credentials") {
		t.Errorf("a file that is not JSON: %v", again.Fault())
	}
	if _, err := again.Credential("one"); !problem.Is(err, problem.NotFound) {
		t.Error(err)
	}
}

// TestWhatCannotBeKept is used, and said.
func TestWhatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	id := enrolled(t, dir)
	d := &desk{}
	d.answer = func(_ context.Context, q question) (int, any, error) {
		if q.path == registry.EdgeCertificatesPath {
			return http.StatusOK, sealed(t, id, registry.CertificateSealInfo(id.Edge), "", &registry.EdgeCertificates{Edge: id.Edge, Certificates: []registry.EdgeCertificate{{Host: "a"}}}), nil
		}
		return http.StatusOK, sealed(t, id, registry.SealInfo(id.Edge), "", &registry.EdgeCredentials{Edge: id.Edge, Credentials: []registry.EdgeCredential{{ID: "one"}}}), nil
	}
	r := d.ask(t, dir, func(o *RemoteOptions) { o.System = brokenDisk{atomicfile.OS} })
	var shown []registry.EdgeCertificate
	c := &Certificates{Remote: r, Apply: func(_ []string, list []registry.EdgeCertificate) error { shown = list; return nil }}
	if err := c.follow(t.Context()); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "are shown and cannot be kept") || len(shown) != 1 {
		t.Errorf("%v, %d shown", err, len(shown))
	}
	v := OpenVault(r)
	if err := v.Follow(t.Context()); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "are used and cannot be kept") {
		t.Error(err)
	}
	if _, err := v.Credential("one"); err != nil {
		t.Error(err)
	}
	// What cannot be shown is kept for the next version of the program, and said.
	bad := errors.New("no certificate")
	c = &Certificates{Remote: d.ask(t, dir), Apply: func([]string, []registry.EdgeCertificate) error { return bad }}
	if err := c.follow(t.Context()); !errors.Is(err, bad) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, fileCertificates)); err != nil {
		t.Error(err)
	}
	// What is on disk and does not open is asked for again.
	if err := os.WriteFile(filepath.Join(dir, fileCertificates), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c = &Certificates{Remote: d.ask(t, dir), Apply: func([]string, []registry.EdgeCertificate) error { t.Error("shown"); return nil }}
	c.Load()
	if c.have.ETag != "" || c.Fault() != nil {
		t.Errorf("%+v, %v", c.have, c.Fault())
	}
	none := (&desk{}).ask(t, t.TempDir())
	if err := OpenVault(none).save(); err == nil || !strings.Contains(err.Error(), "not enrolled") {
		t.Errorf("a node without an identity keeps credentials: %v", err)
	}
}

// pretending is a disk that makes no directory and does not say so.
type pretending struct{ atomicfile.System }

func (pretending) Mkdir(string, os.FileMode) error { return nil }

// TestPacksInTheirOrder: of one content the one that was written last counts, by number and
// not by name; what a crash left behind goes, and what is not ours stays.
func TestPacksInTheirOrder(t *testing.T) {
	dir := t.TempDir()
	d := registry.DigestOf([]byte("x"))
	p := open(t, dir)
	if err := p.add([]content{{d, []byte("old")}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "1.pack"), filepath.Join(dir, "9.pack")); err != nil {
		t.Fatal(err)
	}
	p = open(t, dir)
	if err := p.add([]content{{d, []byte("new")}}); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(filepath.Join(dir, "9.pack"))
	if err != nil {
		t.Fatal(err)
	}
	foreign[0]++ // of another format: nothing in it is read
	if err := os.WriteFile(filepath.Join(dir, "8.pack"), foreign, 0o600); err != nil {
		t.Fatal(err)
	}
	if p := open(t, dir); len(p.list) != 3 || len(p.list[0].sums) != 0 || len(p.list[1].sums) != 1 {
		t.Errorf("of %d packs, the foreign one has %d contents", len(p.list), len(p.list[0].sums))
	}
	if err := os.Remove(filepath.Join(dir, "8.pack")); err != nil {
		t.Fatal(err)
	}
	others := []string{"x.pack", "3", "-4.pack", "notes.txt"}
	for _, name := range append([]string{atomicfile.TempPrefix + "1"}, others...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(packMagic), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p = open(t, dir)
	if got, err := p.get(d, 10); err != nil || string(got) != "new" || len(p.list) != 2 || p.list[1].path != filepath.Join(dir, "10.pack") {
		t.Errorf("%q, %v of %d packs", got, err, len(p.list))
	}
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, atomicfile.TempPrefix+"1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a crash left behind: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "11.pack"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := openPacks(dir, atomicfiletest.Fast()); err == nil || !strings.Contains(err.Error(), "11.pack") {
		t.Errorf("a directory for a pack: %v", err)
	}
	p.release()
	if err := os.Remove(p.list[1].path); err != nil {
		t.Fatal(err)
	}
	if _, err := p.get(d, 10); !errors.Is(err, registry.ErrNotFound) || !p.has(d) {
		t.Errorf("a pack that is gone: %v", err)
	}
	if _, err := openPacks(filepath.Join(dir, "new"), pretending{atomicfiletest.Fast()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is not there after it was made: %v", err)
	}
	if _, err := openPacks(filepath.Join(dir, "new", "x"), brokenDisk{atomicfile.OS}); !errors.Is(err, errDisk) {
		t.Errorf("a directory that cannot be made: %v", err)
	}
	if err := (&packs{sys: brokenDisk{atomicfile.OS}, dir: dir}).add([]content{one("a")}); !errors.Is(err, errDisk) {
		t.Errorf("a pack that cannot be made: %v", err)
	}
	if err := p.add([]content{{"sha256:1", nil}}); !errors.Is(err, registry.ErrDigest) {
		t.Errorf("content without a digest: %v", err)
	}
}

// TestSweepWritesWhatIsWorthIt: packs are written again when more of them is waste than
// use; what is damaged is left out then.
func TestSweepWritesWhatIsWorthIt(t *testing.T) {
	for waste, rewritten := range map[string]bool{"": false, "bb": false, "bbbb": false, "bbbbb": true} {
		used, other := one("aaaa"), one(waste)
		before, twice := set(used), append(set(used), set(used)...) // two artifacts may share a content
		for _, sets := range [][][]*holding{{before}, {before, before}, {twice, before}} {
			dir := t.TempDir()
			p := open(t, dir)
			if err := p.add([]content{used, other}); err != nil {
				t.Fatal(err)
			}
			for _, h := range twice {
				h.swept = 0
			}
			before[0].swept = 0
			if err := p.sweep(sets...); err != nil {
				t.Fatal(err)
			}
			if len(p.list) != 1 || !p.has(used.digest) || p.has(other.digest) == rewritten || (p.list[0].number == 2) != rewritten {
				t.Errorf("%d bytes of waste: %d packs, number %d, waste is there: %v", len(waste), len(p.list), p.list[0].number, p.has(other.digest))
			}
			if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
				t.Errorf("%d files, %v", len(files), err)
			}
		}
	}
	dir := t.TempDir()
	p := open(t, dir)
	good, bad := one("good"), content{registry.DigestOf([]byte("bad")), []byte("damaged")}
	if err := p.add([]content{good, bad, one("much that nobody needs")}); err != nil {
		t.Fatal(err)
	}
	if err := p.sweep(set(good, bad)); err != nil {
		t.Fatal(err)
	}
	if !p.has(good.digest) || p.has(bad.digest) {
		t.Errorf("good %v, damaged %v", p.has(good.digest), p.has(bad.digest))
	}
	p.sys = brokenDisk{atomicfile.OS}
	if err := p.add([]content{one("x")}); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

// flakyDisk fails every write while it is broken.
type flakyDisk struct {
	atomicfile.System
	broken bool
}

func (f *flakyDisk) CreateTemp(dir, pattern string) (atomicfile.File, error) {
	if f.broken {
		return nil, errDisk
	}
	return f.System.CreateTemp(dir, pattern)
}

// TestIdentityIsWrittenAgain: an identity that the disk did not take when the edge was enrolled
// is written with the next request, and the keys that it was asked for with go then. The node
// shows its join token once.
func TestIdentityIsWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	disk := &flakyDisk{System: atomicfile.OS}
	d := &desk{answer: func(_ context.Context, q question) (int, any, error) {
		if q.path != registry.EdgeEnrolPath {
			return http.StatusNoContent, nil, nil
		}
		disk.broken = true
		return http.StatusOK, identityAnswer(func(i *registry.EdgeIdentity) { i.Expires = time.Now().Add(time.Hour) }), nil
	}}
	r := d.ask(t, dir, func(o *RemoteOptions) {
		o.JoinToken, o.System = func() (secrets.Secret, error) { return secrets.New("join"), nil }, disk
	})
	if err := r.Enrol(t.Context()); !errors.Is(err, errDisk) || !r.Enrolled() || !errors.Is(r.Fault(), errDisk) {
		t.Fatalf("enrolled: %v, fault %v", err, r.Fault())
	}
	is := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	for _, broken := range []bool{true, false} {
		disk.broken = broken
		if err := r.Report(t.Context(), registry.EdgeStatus{}); err != nil {
			t.Fatal(err)
		}
		if is(fileIdentity) == broken || is(fileJoining) != broken || (r.Fault() != nil) != broken {
			t.Errorf("disk broken %t: identity %t, joining %t, fault %v", broken, is(fileIdentity), is(fileJoining), r.Fault())
		}
	}
	if n := slices.IndexFunc(d.take()[1:], func(q question) bool { return q.path == registry.EdgeEnrolPath }); n >= 0 {
		t.Error("it was enrolled twice")
	}
	if id, err := readIdentity(dir); err != nil || id == nil || id.Edge != r.Edge() {
		t.Errorf("read %+v, %v", id, err)
	}
}
