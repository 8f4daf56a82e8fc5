package edge

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// A press makes releases without toolsets, and is the source of them: it sends what next
// is, whatever the node knows.
type press struct {
	t    *testing.T
	key  *sign.Key
	next []byte
	err  error
}

func newPress(t *testing.T) *press {
	t.Helper()
	key, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &press{t: t, key: key}
}

func (p *press) trusted() []registry.TrustedKey {
	return []registry.TrustedKey{p.key.Trusted(registry.UseRelease, "")}
}

func (p *press) print(group string, revision uint64) registry.Digest {
	p.t.Helper()
	now := time.Unix(1e9, 0)
	env, err := sign.SignRelease(p.key, &registry.Release{Group: group, Epoch: 1, Revision: revision, Issued: now, Expires: now.Add(time.Hour), Trusted: p.trusted()})
	if err != nil {
		p.t.Fatal(err)
	}
	p.next, p.err = env, nil
	return registry.DigestOf(env)
}

func (p *press) Release(context.Context, registry.Digest) ([]byte, error) { return p.next, p.err }

func (p *press) Artifact(context.Context, string, registry.Digest, oci.Kind) (*oci.Artifact, error) {
	return nil, registry.ErrNotFound
}

func (p *press) node(dir string, change ...func(*Options)) *Follower {
	p.t.Helper()
	o := Options{Source: p, Dir: dir, Keys: p.trusted(), Apply: func(*State) error { return nil }}
	for _, f := range change {
		f(&o)
	}
	f, err := New(o)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

// TestPersistAtEachStep: whatever step of keeping a release fails, the node serves it and
// says what is wrong; what it said to be on disk is there after a power cut; and it is
// written when the disk is well again.
func TestPersistAtEachStep(t *testing.T) {
	for n := 1; ; n++ {
		root := t.TempDir()
		disk := atomicfiletest.New(root)
		p := newPress(t)
		f := p.node(filepath.Join(root, "cache"), func(o *Options) { o.System = disk })
		first := p.print(DefaultGroup, 1)
		if err := f.step(t.Context()); err != nil || f.Status().Saved != first {
			t.Fatalf("%v, %+v", err, f.Status())
		}
		disk.FailAt = len(disk.Ops()) + n
		second := p.print(DefaultGroup, 2)
		if err := f.step(t.Context()); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		st := f.Status()
		if st.Release != second || !st.Ready || st.Cache != nil && !errors.Is(st.Cache, atomicfiletest.ErrInjected) {
			t.Fatalf("step %d: %+v", n, st)
		}
		for _, crash := range []atomicfiletest.Crash{atomicfiletest.NamesLost, atomicfiletest.NamesKept} {
			after := t.TempDir()
			if err := disk.PowerCut(after, crash); err != nil {
				t.Fatal(err)
			}
			again := p.node(filepath.Join(after, "cache"))
			if err := again.Load(t.Context()); err != nil {
				t.Errorf("step %d, crash %d: %v", n, crash, err)
			}
			if got := again.Status(); got.Release != second && (got.Release != first || st.Saved == second) {
				t.Errorf("step %d, crash %d: said to keep %s, and has %s", n, crash, st.Saved.Short(), got.Release.Short())
			}
		}
		well := st.Cache == nil
		disk.FailAt = 0
		p.err = registry.ErrUnchanged
		if err := f.step(t.Context()); !errors.Is(err, registry.ErrUnchanged) {
			t.Fatal(err)
		}
		if st := f.Status(); st.Cache != nil || st.Saved != second {
			t.Errorf("step %d, when the disk is well again: %+v", n, st)
		}
		for name, want := range map[string]registry.Digest{fileCurrent: second, filePrevious: first} {
			if b, err := os.ReadFile(filepath.Join(root, "cache", name)); err != nil || !want.Matches(b) {
				t.Errorf("step %d: %s is another: %v", n, name, err)
			}
		}
		if well {
			if n < 12 {
				t.Errorf("only %d steps", n)
			}
			return
		}
	}
}

// TestFaultEndsWithAnAnswer: a fault of following is told until the source answers, also
// when it answers with what is live; what it refused is told until another release comes.
func TestFaultEndsWithAnAnswer(t *testing.T) {
	p := newPress(t)
	f := p.node(t.TempDir())
	live := p.print(DefaultGroup, 5)
	env := p.next
	step := func(what string, want string) {
		t.Helper()
		err := f.step(t.Context())
		if err != nil && !errors.Is(err, registry.ErrUnchanged) {
			f.setFollowing(err)
		}
		got := f.Status().Following
		if want == "" && got != nil || want != "" && (got == nil || !strings.Contains(got.Error(), want)) {
			t.Errorf("%s: %v, want %q", what, got, want)
		}
	}
	step("the first release", "")
	if f.Status().Release != live || f.Status().Contact.IsZero() {
		t.Errorf("%+v", f.Status())
	}
	p.err = errDisk
	step("no answer", "no space left")
	p.err = registry.ErrUnchanged
	step("unchanged", "")
	p.err = errDisk
	step("no answer", "no space left")
	p.next, p.err = env, nil
	step("the same again", "")
	p.print("another", 6)
	step("of another group", "is refused")
	p.err = registry.ErrUnchanged
	step("what was refused is unchanged", "is refused")
	p.next, p.err = env, nil
	step("the same again", "")
	p.print(DefaultGroup, 4)
	step("an older one", "older than")
	p.print(DefaultGroup, 7)
	step("a newer one", "")
	if st := f.Status(); st.Revision != 7 || st.Epoch != 1 || !st.Issued.Equal(time.Unix(1e9, 0)) || !st.Expires.Equal(time.Unix(1e9+3600, 0)) || !st.Expired || st.Applied.IsZero() {
		t.Errorf("%+v", st)
	}
	f.opts.Prepare = func(context.Context, *State) error { return errDisk }
	p.print(DefaultGroup, 8)
	step("one that is not prepared", "release 1.8: no space left")
	if st := f.Status(); st.Revision != 7 {
		t.Errorf("live before it is prepared: %+v", st)
	}
}

// TestOptionsOfAFollower: what is not said is as documented, and what is said stays.
func TestOptionsOfAFollower(t *testing.T) {
	p := newPress(t)
	f := p.node(t.TempDir())
	if o := f.opts; o.Group != DefaultGroup || o.MinRetry != DefaultMinRetry || o.MaxRetry != DefaultMaxRetry || o.PollTimeout != DefaultPollTimeout || o.Now == nil || o.Prepare(t.Context(), nil) != nil {
		t.Errorf("%+v", o)
	}
	for _, c := range []struct{ first, longest, want time.Duration }{
		{time.Second, time.Minute, time.Minute},
		{time.Second, time.Second, time.Second},
		{time.Second, time.Second - 1, DefaultMaxRetry},
		{time.Hour, 0, time.Hour},
		{1, 1, 1},
		{-1, -1, DefaultMaxRetry},
	} {
		f := p.node(t.TempDir(), func(o *Options) { o.MinRetry, o.MaxRetry, o.Group, o.PollTimeout = c.first, c.longest, "north", 7 })
		if o := f.opts; o.MaxRetry != c.want || c.first > 0 && o.MinRetry != c.first || o.Group != "north" || o.PollTimeout != 7 {
			t.Errorf("%+v: %+v", c, o)
		}
	}
	for what, change := range map[string]func(*Options){
		"source": func(o *Options) { o.Source = nil }, "directory": func(o *Options) { o.Dir = "" }, "Apply": func(o *Options) { o.Apply = nil }, "no key": func(o *Options) { o.Keys = nil },
	} {
		o := Options{Source: p, Dir: t.TempDir(), Keys: p.trusted(), Apply: func(*State) error { return nil }}
		change(&o)
		if f, err := New(o); f != nil || err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("without its %s: %v", what, err)
		}
	}
}

// TestNotesOfAFormerRun: notes that are damaged, or of another group, are told and not
// believed; without them a node begins with the keys that it was given.
func TestNotesOfAFormerRun(t *testing.T) {
	p := newPress(t)
	dir := t.TempDir()
	f := p.node(dir)
	saved := p.print(DefaultGroup, 3)
	if err := f.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(dir, fileRatchet))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(good, &doc); err != nil {
		t.Fatal(err)
	}
	with := func(name string, value any) []byte {
		out := map[string]any{}
		maps.Copy(out, doc)
		out[name] = value
		b, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for what, c := range map[string]struct {
		text []byte
		says string
	}{
		"as they were":             {good, ""},
		"of another group":         {with("group", "north"), "is of group"},
		"half":                     {good[:len(good)/2], "read "},
		"with something else":      {with("signers", 5), "read "},
		"with a key of another id": {with("trusted", []registry.TrustedKey{{KeyID: "k", Use: registry.UseRelease, PublicKey: []byte("x")}}), "not the key its id names"},
	} {
		if err := os.WriteFile(filepath.Join(dir, fileRatchet), c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		again := p.node(dir)
		fault := again.Status().Cache
		if (fault == nil) != (c.says == "") || fault != nil && !strings.Contains(fault.Error(), c.says) {
			t.Errorf("notes %s: %v", what, fault)
		}
		if err := again.Load(t.Context()); err != nil || again.Status().Release != saved {
			t.Errorf("notes %s: serves %q, %v", what, again.Status().Release, err)
		}
		// Only what was noted tells that an older release is one.
		p.print(DefaultGroup, 2)
		if err := again.step(t.Context()); err == nil || !strings.Contains(err.Error(), "older than") {
			t.Errorf("notes %s: an older release: %v", what, err)
		}
	}
	if f := p.node(filepath.Join(t.TempDir(), "new")); f.Status().Cache != nil || f.notes {
		t.Errorf("without a former run: %v", f.Status().Cache)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if err := p.node(filepath.Join(t.TempDir(), "new")).Load(over); err != nil {
		t.Errorf("nothing is loaded: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, fileCurrent), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.node(dir).Load(over); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if f := p.node(filepath.Join(t.TempDir(), "x"), func(o *Options) { o.System = brokenDisk{atomicfile.OS} }); !errors.Is(f.Status().Cache, errDisk) {
		t.Errorf("a directory that cannot be made: %v", f.Status().Cache)
	}
}

// TestAnswerThatDoesNotOpen is refused, and changes nothing of what is used.
func TestAnswerThatDoesNotOpen(t *testing.T) {
	dir := t.TempDir()
	id := enrolled(t, dir)
	var body any = sealed(t, id, registry.SealInfo(id.Edge), "a", &registry.EdgeCredentials{Edge: id.Edge, ETag: "a", Credentials: []registry.EdgeCredential{{ID: "one"}}})
	d := &desk{answer: func(context.Context, question) (int, any, error) { return http.StatusOK, body, nil }}
	v := OpenVault(d.ask(t, dir))
	if err := v.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	body = sealed(t, id, registry.SealInfo("edge_2"), "b", &registry.EdgeCredentials{Edge: id.Edge, ETag: "b"})
	err := v.Follow(t.Context())
	if err == nil || !strings.Contains(err.Error(), "open the credentials") {
		t.Errorf("sealed to another edge: %v", err)
	}
	if _, err := v.Credential("one"); err != nil || v.etag != "a" || !v.sent["one"] {
		t.Errorf("%v, etag %q", err, v.etag)
	}
}

// TestBodyThatIsGone: a request whose body cannot be read again is not sent to another
// control plane without it.
func TestBodyThatIsGone(t *testing.T) {
	planes, err := ParseControlPlanes("https://a.example,https://b.example")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	f := &failover{planes: planes, next: tripFunc(func(*http.Request) (*http.Response, error) {
		asked++
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
	})}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://a.example/x", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.GetBody = nil
	resp, err := f.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || asked != 1 {
		t.Fatalf("%v after %d tries", err, asked)
	}
	_ = resp.Body.Close()
}

// TestRestoreNeedsAll: a release of the disk is served with all that it names, or not at all.
func TestRestoreNeedsAll(t *testing.T) {
	p := newPress(t)
	f := p.node(t.TempDir(), func(o *Options) {
		o.Apply = func(s *State) error {
			t.Errorf("served: %+v", s.Release)
			return nil
		}
	})
	env, err := sign.SignRelease(p.key, &registry.Release{
		Group: DefaultGroup, Epoch: 1, Revision: 1, Issued: time.Unix(1e9, 0), Expires: time.Unix(1e9, 0).Add(time.Hour), Trusted: p.trusted(),
		Toolsets: []registry.ReleaseToolset{{Workspace: "default", ID: "tset_1", Slug: "acme", Revision: 1, Repository: "default/toolsets/tset_1", Bundle: registry.DigestOf([]byte("bundle"))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.restore(t.Context(), env); err == nil || !strings.Contains(err.Error(), "acme") {
		t.Errorf("without its bundle: %v", err)
	}
	if st := f.Status(); st.Ready || st.Release != "" || st.Saved != "" {
		t.Errorf("%+v", st)
	}
}
