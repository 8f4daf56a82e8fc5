package edge

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// A desk is a control plane in memory: it keeps what it was asked, and a test says what it
// answers.
type desk struct {
	answer func(ctx context.Context, q question) (status int, body any, err error)

	mu    sync.Mutex
	asked []question // guarded by mu
}

type question struct {
	path, wait, known, token, body string
	at                             time.Time
}

func (d *desk) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	q := question{
		path: r.URL.Path, wait: r.URL.Query().Get("wait"), known: r.URL.Query().Get("known"),
		token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), body: string(body), at: time.Now(),
	}
	d.mu.Lock()
	d.asked = append(d.asked, q)
	d.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	status, out, err := d.answer(r.Context(), q)
	if err != nil {
		return nil, err
	}
	b, ok := out.([]byte)
	if !ok && out != nil {
		if b, err = json.Marshal(out); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b))}, nil
}

// take returns the questions since it was called last.
func (d *desk) take() []question {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.asked
	d.asked = nil
	return out
}

// refuse is a problem as a control plane sends it.
func refuse(kind problem.Kind, detail string) map[string]any {
	return map[string]any{"code": string(kind), "detail": detail}
}

// ask opens the node of a directory, enrolled or not, whose questions go to d.
func (d *desk) ask(t *testing.T, dir string, change ...func(*RemoteOptions)) *Remote {
	t.Helper()
	o := RemoteOptions{ControlPlane: "https://control.example", Dir: dir, Name: "e", Version: "1", Client: &http.Client{Transport: d}}
	for _, f := range change {
		f(&o)
	}
	r, err := OpenRemote(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// brokenDisk fails every write.
type brokenDisk struct{ atomicfile.System }

var errDisk = errors.New("no space left on device")

func (brokenDisk) CreateTemp(string, string) (atomicfile.File, error) { return nil, errDisk }
func (brokenDisk) Mkdir(string, os.FileMode) error                    { return errDisk }

// TestTokenLivesToItsHalf: a token is renewed from the half of its life on, with the node's
// key and nothing else, and the new one is used and kept.
func TestTokenLivesToItsHalf(t *testing.T) {
	for after, renewed := range map[time.Duration]bool{0: false, 30*time.Minute - 1: false, 30 * time.Minute: true, 2 * time.Hour: true} {
		dir := t.TempDir()
		id := enrolled(t, dir)
		id.Obtained = time.Unix(1e9, 0).UTC()
		id.Expires = id.Obtained.Add(time.Hour)
		if err := id.write(dir, fileIdentity, atomicfile.OS); err != nil {
			t.Fatal(err)
		}
		now := id.Obtained.Add(after)
		until := now.Add(50 * time.Hour).UTC()
		d := &desk{answer: func(_ context.Context, q question) (int, any, error) {
			if q.path == registry.EdgeTokenPath {
				return http.StatusOK, &registry.EdgeIdentity{Token: secrets.Wire{Secret: secrets.New("new")}, Expires: until}, nil
			}
			return http.StatusNoContent, nil, nil
		}}
		r := d.ask(t, dir, func(o *RemoteOptions) { o.Now = func() time.Time { return now } })
		if err := r.Report(t.Context(), registry.EdgeStatus{}); err != nil {
			t.Fatal(err)
		}
		asked := d.take()
		if !renewed {
			if len(asked) != 1 || asked[0].token != "token" {
				t.Errorf("after %s of an hour: %+v", after, asked)
			}
			continue
		}
		if len(asked) != 2 || asked[0].path != registry.EdgeTokenPath || asked[0].token != "" || asked[1].token != "new" {
			t.Fatalf("after %s of an hour: %+v", after, asked)
		}
		var in registry.EdgeRenewal
		if err := json.Unmarshal([]byte(asked[0].body), &in); err != nil {
			t.Fatal(err)
		}
		public, ok := ed25519.NewKeyFromSeed(id.SignSeed).Public().(ed25519.PublicKey)
		if !ok || in.Edge != "edge_1" || !in.Time.Equal(now) || in.Time.Location() != time.UTC || !ed25519.Verify(public, in.Signed(), in.Signature) {
			t.Errorf("a renewal of %+v", in)
		}
		kept, err := readIdentity(dir)
		if err != nil || kept.Token.Reveal() != "new" || !kept.Expires.Equal(until) || !kept.Obtained.Equal(now) || kept.Group != "default" || kept.Edge != "edge_1" {
			t.Errorf("kept %+v, %v", kept, err)
		}
		if err := r.Fault(); err != nil {
			t.Error(err)
		}
	}
}

// TestTokenThatIsRefused is renewed once, whatever the clock says; the question is then
// asked once more.
func TestTokenThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		takes   string // the token that the control plane takes
		renewal any
		status  int // of the renewal
		disk    atomicfile.System
		asked   string
		fails   problem.Kind
		fault   string
	}{
		"it is good":          {takes: "token", asked: "/edge/v1/status token"},
		"a newer one is":      {takes: "new", asked: "/edge/v1/status token, /edge/v1/token , /edge/v1/status new"},
		"none is":             {takes: "another", asked: "/edge/v1/status token, /edge/v1/token , /edge/v1/status new", fails: problem.Unauthenticated},
		"no newer one comes":  {takes: "new", renewal: refuse(problem.Forbidden, "revoked"), status: http.StatusForbidden, asked: "/edge/v1/status token, /edge/v1/token ", fails: problem.Forbidden, fault: "revoked"},
		"the answer lacks it": {takes: "new", renewal: map[string]any{}, asked: "/edge/v1/status token, /edge/v1/token ", fails: problem.Unavailable, fault: "not complete"},
		"the disk is full":    {takes: "new", disk: brokenDisk{atomicfile.OS}, asked: "/edge/v1/status token, /edge/v1/token , /edge/v1/status new", fault: "no space left"},
	} {
		dir := t.TempDir()
		enrolled(t, dir)
		d := &desk{answer: func(_ context.Context, q question) (int, any, error) {
			switch {
			case q.path == registry.EdgeTokenPath && c.renewal != nil:
				return max(c.status, http.StatusOK), c.renewal, nil
			case q.path == registry.EdgeTokenPath:
				return http.StatusOK, &registry.EdgeIdentity{Token: secrets.Wire{Secret: secrets.New("new")}, Expires: time.Now().Add(time.Hour)}, nil
			case q.token == c.takes:
				return http.StatusNoContent, nil, nil
			}
			return http.StatusUnauthorized, refuse(problem.Unauthenticated, "the token is not good"), nil
		}}
		r := d.ask(t, dir, func(o *RemoteOptions) { o.System = c.disk })
		err := r.Report(t.Context(), registry.EdgeStatus{})
		if c.fails == "" && err != nil || c.fails != "" && !problem.Is(err, c.fails) {
			t.Errorf("%s: %v", name, err)
		}
		var asked []string
		for _, q := range d.take() {
			asked = append(asked, q.path+" "+q.token)
		}
		if got := strings.Join(asked, ", "); got != c.asked {
			t.Errorf("%s: asked %s, want %s", name, got, c.asked)
		}
		if fault := r.Fault(); (fault != nil) != (c.fault != "") || fault != nil && !strings.Contains(fault.Error(), c.fault) {
			t.Errorf("%s: fault %v", name, fault)
		}
	}
	// Of two whose token was refused the second finds the new one.
	dir := t.TempDir()
	enrolled(t, dir)
	d := &desk{answer: func(context.Context, question) (int, any, error) { return 0, nil, errors.New("not asked") }}
	if err := d.ask(t, dir).renew(t.Context(), secrets.New("an older one")); err != nil || len(d.take()) != 0 {
		t.Errorf("a token that is replaced already: %v", err)
	}
}

// TestOldTokenIsUsedOn: a token that cannot be renewed at half of its life is used, and the
// fault is told until it is.
func TestOldTokenIsUsedOn(t *testing.T) {
	dir := t.TempDir()
	id := enrolled(t, dir)
	down := true
	d := &desk{answer: func(_ context.Context, q question) (int, any, error) {
		if q.path != registry.EdgeTokenPath {
			return http.StatusNoContent, nil, nil
		}
		if down {
			return 0, nil, errors.New("connection reset")
		}
		return http.StatusOK, &registry.EdgeIdentity{Token: secrets.Wire{Secret: secrets.New("new")}, Expires: id.Expires.Add(time.Hour)}, nil
	}}
	r := d.ask(t, dir, func(o *RemoteOptions) { o.Now = func() time.Time { return id.Expires } })
	if err := r.Report(t.Context(), registry.EdgeStatus{}); err != nil {
		t.Error(err)
	}
	if q := d.take(); len(q) != 2 || q[1].token != "token" || r.Fault() == nil || !strings.Contains(r.Fault().Error(), "connection reset") {
		t.Errorf("%+v, fault %v", q, r.Fault())
	}
	down = false
	if err := r.Report(t.Context(), registry.EdgeStatus{}); err != nil || r.Fault() != nil {
		t.Errorf("%v, fault %v", err, r.Fault())
	}
}

// TestQuestionsThatAreHeld: the control plane is asked to hold a question, unless the last
// one on that path failed or the caller cannot wait. One that was given up says nothing of
// the control plane.
func TestQuestionsThatAreHeld(t *testing.T) {
	dir := t.TempDir()
	enrolled(t, dir)
	var status int
	var fails error
	d := &desk{answer: func(context.Context, question) (int, any, error) {
		if status == http.StatusOK {
			return status, []byte("text"), fails
		}
		return status, nil, fails
	}}
	r := d.ask(t, dir, func(o *RemoteOptions) { o.Wait = 7*time.Second + time.Millisecond })
	over, end := context.WithCancel(t.Context())
	end()
	late, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	end()
	for i, c := range []struct {
		ctx    context.Context
		path   string
		hold   bool
		status int
		fails  error
		wait   string // "" not asked
		known  string
		want   error
	}{
		{nil, "/a", true, 200, nil, "7", "", nil},
		{nil, "/a", true, 304, nil, "7", "etag", registry.ErrUnchanged},
		{nil, "/a", false, 200, nil, "0", "etag", nil},
		{nil, "/a", true, 0, errDisk, "7", "", errDisk},
		{nil, "/b", true, 200, nil, "7", "", nil}, // another path
		{nil, "/a", true, 304, nil, "0", "", registry.ErrUnchanged},
		{nil, "/a", true, 503, nil, "7", "", problem.New(problem.Unavailable, "")},
		{nil, "/a", true, 200, nil, "0", "", nil},
		{over, "/a", true, 200, nil, "", "", context.Canceled},
		{nil, "/a", true, 200, nil, "7", "", nil},
		{late, "/a", true, 200, nil, "", "", context.DeadlineExceeded},
		{nil, "/a", true, 200, nil, "0", "", nil},
	} {
		status, fails = c.status, c.fails
		ctx := c.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		b, err := r.get(ctx, c.path, c.known, c.hold, 100)
		if kind := problem.As(c.want); kind != nil && !problem.Is(err, kind.Kind) || kind == nil && !errors.Is(err, c.want) {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
		if got := string(b); (got == "text") != (c.want == nil) || c.want != nil && b != nil {
			t.Errorf("%d: %q", i, got)
		}
		asked := d.take()
		if c.wait == "" && len(asked) > 0 {
			if asked[0].wait == "" {
				t.Errorf("%d: %+v", i, asked)
			}
			continue
		}
		if c.wait != "" && (len(asked) != 1 || asked[0].wait != c.wait || asked[0].known != c.known || asked[0].token != "token") {
			t.Errorf("%d: %+v, want wait %s", i, asked, c.wait)
		}
	}
	if r := d.ask(t, dir, func(o *RemoteOptions) { o.Wait = -1 }); r.opts.Wait != 30*time.Second {
		t.Errorf("by default a question is held %s", r.opts.Wait)
	}
}

// TestWhatAnErrorAnswerSays: what the control plane says of an error reaches who asked;
// what is not a problem document is told by its status.
func TestWhatAnErrorAnswerSays(t *testing.T) {
	for body, want := range map[string]string{
		`{"code":"conflict","detail":"taken"}`:                                                   "conflict: the control plane says: taken",
		`{"code":"conflict","detail":"taken","errors":[{"remedy":"take another"},{}]}`:           "conflict: the control plane says: taken; fix: take another",
		`{"code":"conflict","detail":"taken","errors":[{"remedy":""},{"remedy":"take a rest"}]}`: "conflict: the control plane says: taken",
		`{"code":"","detail":"taken"}`:                                                           "unavailable: the control plane answered 409",
		`{"code":"conflict"}`:                                                                    "unavailable: the control plane answered 409",
		`<html>`:                                                                                 "unavailable: the control plane answered 409",
		``:                                                                                       "unavailable: the control plane answered 409",
	} {
		err := problemIn(&http.Response{StatusCode: http.StatusConflict, Body: io.NopCloser(strings.NewReader(body))})
		e := problem.As(err)
		if e == nil {
			t.Fatalf("%s: %v", body, err)
		}
		got := string(e.Kind) + ": " + e.Detail
		if e.Remedy != "" {
			got += "; fix: " + e.Remedy
		}
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// TestMessages: where each message of a node goes, as whom, and what its answer may be.
func TestMessages(t *testing.T) {
	dir := t.TempDir()
	enrolled(t, dir)
	status, body := http.StatusOK, any(nil)
	d := &desk{answer: func(context.Context, question) (int, any, error) { return status, body, nil }}
	r := d.ask(t, dir)
	f := func(path, in string, send func() error) {
		t.Helper()
		for code, ok := range map[int]bool{200: true, 204: true, 299: true, 300: false, 400: false, 500: false, 199: false} {
			status = code
			err := send()
			if (err == nil) != ok {
				t.Errorf("%s answered with %d: %v", path, code, err)
			}
			if q := d.take(); len(q) != 1 || q[0].path != path || q[0].token != "token" || !strings.Contains(q[0].body, in) {
				t.Errorf("%+v", q)
			}
		}
		status = http.StatusOK
	}
	f(registry.EdgeStatusPath, `"revision":77`, func() error { return r.Report(t.Context(), registry.EdgeStatus{Revision: 77}) })
	f(registry.EdgePluginsPath, `"mask"`, func() error {
		return r.PostPlugins(t.Context(), &registry.EdgePlugins{Unbound: []registry.PluginUnbound{{PluginKey: registry.PluginKey{Name: "mask"}}}})
	})
	body = registry.UsageReceipt{Applied: true}
	f(registry.EdgeUsagePath, `{`, func() error {
		receipt, err := r.PostUsage(t.Context(), &registry.UsageReport{})
		if receipt.Applied != (err == nil) {
			t.Errorf("receipt %+v, %v", receipt, err)
		}
		return err
	})
	body = registry.EdgeChallenge{Token: "abc"}
	f(registry.EdgeChallengePath, `"a.example"`, func() error {
		c, err := r.Challenge(t.Context(), "a.example")
		if (c != nil) != (err == nil) || c != nil && c.Token != "abc" {
			t.Errorf("%+v, %v", c, err)
		}
		return err
	})
	body = []byte("no JSON")
	if c, err := r.Challenge(t.Context(), "a.example"); err == nil || c != nil {
		t.Errorf("an answer that is not JSON: %+v, %v", c, err)
	}
	status, body = http.StatusNotFound, refuse(problem.NotFound, "nothing is asked")
	if c, err := r.Challenge(t.Context(), "a.example"); err != nil || c != nil {
		t.Errorf("a host of which nothing is asked: %+v, %v", c, err)
	}
	// A node without an identity has nobody to ask as.
	d.take()
	none := d.ask(t, t.TempDir())
	if c, err := none.Challenge(t.Context(), "a.example"); err != nil || c != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := none.PostUsage(t.Context(), &registry.UsageReport{}); !problem.Is(err, problem.Unavailable) {
		t.Error(err)
	}
	if none.Edge() != "" || none.Enrolled() || !none.token().IsZero() || r.Edge() != "edge_1" || r.Group() != "default" || len(r.Trusted()) != 1 {
		t.Errorf("edges %q and %q", none.Edge(), r.Edge())
	}
	if len(d.take()) != 0 {
		t.Error("the control plane was asked")
	}
}

// TestOpenRemoteNeeds what it needs, and an identity of the control plane that is named.
func TestOpenRemoteNeeds(t *testing.T) {
	dir := t.TempDir()
	enrolled(t, dir)
	client := &http.Client{Transport: &desk{}}
	for what, c := range map[string]struct {
		o    RemoteOptions
		kind problem.Kind
		ok   bool
	}{
		"all":                 {RemoteOptions{ControlPlane: "https://control.example", Client: client, Dir: dir}, "", true},
		"several":             {RemoteOptions{ControlPlane: "https://first.example,https://control.example/", Client: client, Dir: dir}, "", true},
		"no client":           {RemoteOptions{ControlPlane: "https://control.example", Dir: dir}, "", false},
		"no transport":        {RemoteOptions{ControlPlane: "https://control.example", Client: &http.Client{}, Dir: dir}, "", false},
		"no directory":        {RemoteOptions{ControlPlane: "https://control.example", Client: client}, "", false},
		"no address":          {RemoteOptions{Client: client, Dir: dir}, problem.InvalidArgument, false},
		"another":             {RemoteOptions{ControlPlane: "https://another.example", Client: client, Dir: dir}, problem.Conflict, false},
		"a part of its path":  {RemoteOptions{ControlPlane: "https://control.example/x", Client: client, Dir: dir}, problem.Conflict, false},
		"http to other hosts": {RemoteOptions{ControlPlane: "http://control.example", Client: client, Dir: t.TempDir()}, "", true},
	} {
		r, err := OpenRemote(c.o)
		if (err == nil) != c.ok || c.kind != "" && !problem.Is(err, c.kind) || (r != nil) != c.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, fileIdentity), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRemote(RemoteOptions{ControlPlane: "https://control.example", Client: client, Dir: dir}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("an identity that cannot be read: %v", err)
	}
}

// TestEnrolKeepsItsToken: the join token, which is good once, is shown only when the node
// can keep what it gets for it; a node that is enrolled shows none.
func TestEnrolKeepsItsToken(t *testing.T) {
	gone := errors.New("no such file")
	join := func() (secrets.Secret, error) { return secrets.New("join"), nil }
	for name, c := range map[string]struct {
		join  func() (secrets.Secret, error)
		disk  atomicfile.System
		down  bool
		asked int
		want  error
		kind  problem.Kind
	}{
		"all is well":       {join: join, asked: 1},
		"no token":          {kind: problem.InvalidArgument},
		"an unread token":   {join: func() (secrets.Secret, error) { return secrets.Secret{}, gone }, want: gone},
		"no directory":      {join: join, disk: brokenDisk{atomicfile.OS}, want: errDisk},
		"the plane is down": {join: join, down: true, asked: 1, want: errDisk},
	} {
		d := &desk{answer: func(context.Context, question) (int, any, error) {
			if c.down {
				return 0, nil, errDisk
			}
			return http.StatusOK, identityAnswer(func(*registry.EdgeIdentity) {}), nil
		}}
		r := d.ask(t, filepath.Join(t.TempDir(), "new"), func(o *RemoteOptions) { o.JoinToken, o.System = c.join, c.disk })
		err := r.Enrol(t.Context())
		well := c.want == nil && c.kind == ""
		if well != (err == nil) || c.want != nil && !errors.Is(err, c.want) || c.kind != "" && !problem.Is(err, c.kind) || r.Enrolled() != well {
			t.Errorf("%s: %v", name, err)
		}
		asked := d.take()
		if len(asked) != c.asked {
			t.Errorf("%s: asked %+v", name, asked)
		}
		if !well {
			continue
		}
		var in registry.EdgeEnrolment
		if err := json.Unmarshal([]byte(asked[0].body), &in); err != nil {
			t.Fatal(err)
		}
		if in.JoinToken.Reveal() != "join" || in.Name != "e" || in.Version != "1" || asked[0].token != "" || !ed25519.Verify(in.SignKey, in.Signed(), in.Signature) {
			t.Errorf("%s: an enrolment of %s", name, asked[0].body)
		}
		id := r.current()
		key, err := id.sealKey()
		if err != nil || !bytes.Equal(key.Public(), in.SealKey) || id.ControlPlane != "https://control.example" || !bytes.Equal(ed25519.NewKeyFromSeed(id.SignSeed)[32:], in.SignKey) {
			t.Errorf("%s: the node keeps other keys: %v", name, err)
		}
		if err := r.Enrol(t.Context()); err != nil || len(d.take()) != 0 {
			t.Errorf("%s: enrolled twice, %v", name, err)
		}
	}
}

// TestRenewalThatIsNotComplete: an answer without a token changes nothing, and the state of the
// edge says so.
func TestRenewalThatIsNotComplete(t *testing.T) {
	dir := t.TempDir()
	id := enrolled(t, dir)
	d := &desk{answer: func(_ context.Context, q question) (int, any, error) {
		if q.path == registry.EdgeTokenPath {
			return http.StatusOK, &registry.EdgeIdentity{Expires: id.Expires.Add(time.Hour)}, nil
		}
		return http.StatusNoContent, nil, nil
	}}
	r := d.ask(t, dir, func(o *RemoteOptions) { o.Now = func() time.Time { return id.Expires } })
	if err := r.Report(t.Context(), registry.EdgeStatus{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Fault(); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "renew the token") || !strings.Contains(err.Error(), "not complete") {
		t.Errorf("the fault is %v", err)
	}
	if asked := d.take(); len(asked) != 2 || asked[1].token != "token" || !r.current().Expires.Equal(id.Expires) {
		t.Errorf("the token of before is not used on: %+v", asked)
	}
}

// TestArtifactForARefusedToken: an artifact is asked for again with a new token, once.
func TestArtifactForARefusedToken(t *testing.T) {
	dir := t.TempDir()
	enrolled(t, dir)
	d := &desk{answer: func(_ context.Context, q question) (int, any, error) {
		if q.path == registry.EdgeTokenPath {
			return http.StatusOK, &registry.EdgeIdentity{Token: secrets.Wire{Secret: secrets.New("new")}, Expires: time.Now().Add(time.Hour)}, nil
		}
		return http.StatusUnauthorized, nil, nil
	}}
	r := d.ask(t, dir)
	_, err := r.Artifact(t.Context(), "acme/toolsets/x", registry.DigestOf([]byte("x")), oci.KindToolset)
	var paths []string
	for _, q := range d.take() {
		if strings.HasPrefix(q.path, "/v2/acme/toolsets/x/") {
			q.path = "artifact"
		}
		paths = append(paths, q.path)
	}
	if want := []string{"artifact", registry.EdgeTokenPath, "artifact"}; !slices.Equal(paths, want) || !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("asked %q, want %q; %v", paths, want, err)
	}
	if got := r.token().Reveal(); got != "new" {
		t.Errorf("the token is %q", got)
	}
}

// TestArtifactsOfARegistry: the control plane is asked for what the registry does not give, and
// for nothing else; a node that stops asks nobody.
func TestArtifactsOfARegistry(t *testing.T) {
	dir := t.TempDir()
	enrolled(t, dir)
	a, err := oci.New(oci.KindToolset, []byte("bundle"), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := server.Open(server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := oci.NewStore(files)
	if err := elsewhere.Push(t.Context(), "acme/toolsets/x", "v1", a); err != nil {
		t.Fatal(err)
	}
	d := &desk{answer: func(context.Context, question) (int, any, error) { return http.StatusNotFound, nil, nil }}
	r := d.ask(t, dir, func(o *RemoteOptions) { o.Artifacts = elsewhere })
	if got, err := r.Artifact(t.Context(), "acme/toolsets/x", a.Digest(), oci.KindToolset); err != nil || string(got.Layer()) != "bundle" || len(d.take()) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := r.Artifact(t.Context(), "acme/toolsets/x", registry.DigestOf([]byte("y")), oci.KindToolset); !errors.Is(err, registry.ErrNotFound) || len(d.take()) != 1 {
		t.Errorf("what neither has: %v", err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := r.Artifact(over, "acme/toolsets/x", registry.DigestOf([]byte("y")), oci.KindToolset); err == nil || len(d.take()) != 0 {
		t.Errorf("a node that stops: %v", err)
	}
}

// TestJoining: a node asks again with the keys that it asked with before, also after a restart,
// and another control plane with others.
func TestJoining(t *testing.T) {
	dir := t.TempDir()
	keys := func(controlPlane string) string {
		t.Helper()
		i, err := joining(dir, controlPlane, atomicfile.OS)
		if err != nil {
			t.Fatal(err)
		}
		return string(i.SignSeed) + string(i.SealKey)
	}
	first := keys("https://one.example")
	if keys("https://one.example") != first {
		t.Error("the second time it has other keys")
	}
	if keys("https://two.example") == first {
		t.Error("two control planes get the same keys")
	}
	if _, err := os.Stat(filepath.Join(dir, fileJoining)); err != nil {
		t.Error(err)
	}
}
