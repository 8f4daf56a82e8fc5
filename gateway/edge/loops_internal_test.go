package edge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// whole is a jitter that takes nothing off.
func whole(d time.Duration) time.Duration { return d }

// sealed is an answer of the control plane for the node of an identity.
func sealed(t *testing.T, id *identity, info []byte, etag string, doc any) registry.SealedCredentials {
	t.Helper()
	key, err := id.sealKey()
	if err != nil {
		t.Fatal(err)
	}
	plain, ok := doc.([]byte)
	if !ok {
		if plain, err = json.Marshal(doc); err != nil {
			t.Fatal(err)
		}
	}
	b, err := secrets.SealTo(key.Public(), info, plain)
	if err != nil {
		t.Fatal(err)
	}
	return registry.SealedCredentials{ETag: etag, Sealed: b}
}

// TestLoopsAsk: a node asks again at once after news and after a question that was held, in
// a moment after one that was not, and ever less often while the control plane is away; it
// asks it then to hold nothing. The fault is told from the first failure to the next answer.
func TestLoopsAsk(t *testing.T) {
	const first = DefaultMinRetry
	steps := []struct {
		holds  time.Duration
		status int
		pause  time.Duration // until the next question
		wait   string        // that this question asks for
		known  string
		fault  bool // after it
	}{
		{0, 503, first, "30", "", true},
		{0, 503, 2 * first, "0", "", true},
		{0, 503, 4 * first, "0", "", true},
		{0, 304, first, "0", "", false},
		{0, 304, first, "30", "", false},
		{quickAnswer, 304, 0, "30", "", false},
		{quickAnswer - 1, 304, first, "30", "", false},
		{0, 200, 0, "30", "", false},
		{0, 503, first, "30", "news", true},
		{20 * time.Second, 503, 2 * first, "0", "news", true},
		{quickAnswer, 304, 0, "0", "news", false},
		{0, 503, first, "30", "news", true},
		{0, 304, 0, "0", "news", false},
	}
	for name, open := range map[string]func(t *testing.T, id *identity, r *Remote) (path string, run func(context.Context) error, fault func() error, news any){
		"certificates": func(t *testing.T, id *identity, r *Remote) (string, func(context.Context) error, func() error, any) {
			c := &Certificates{Remote: r, Serves: func(string) bool { return true }, Apply: func([]string, []registry.EdgeCertificate) error { return nil }}
			return registry.EdgeCertificatesPath, c.Run, c.Fault, sealed(t, id, registry.CertificateSealInfo(id.Edge), "news", &registry.EdgeCertificates{Edge: id.Edge, ETag: "news"})
		},
		"credentials": func(t *testing.T, id *identity, r *Remote) (string, func(context.Context) error, func() error, any) {
			v := OpenVault(r)
			return registry.EdgeCredentialsPath, v.Run, v.Fault, sealed(t, id, registry.SealInfo(id.Edge), "news", &registry.EdgeCredentials{Edge: id.Edge, ETag: "news"})
		},
		"releases": func(t *testing.T, _ *identity, r *Remote) (string, func(context.Context) error, func() error, any) {
			key, err := sign.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			trusted := []registry.TrustedKey{key.Trusted(registry.UseRelease, "")}
			env, err := sign.SignRelease(key, &registry.Release{Group: "default", Epoch: 1, Revision: 1, Issued: time.Now(), Expires: time.Now().Add(time.Hour), Trusted: trusted})
			if err != nil {
				t.Fatal(err)
			}
			f, err := New(Options{Source: r, Dir: t.TempDir(), Keys: trusted, Apply: func(*State) error { return nil }, Jitter: whole})
			if err != nil {
				t.Fatal(err)
			}
			return registry.EdgeReleasePath, f.Run, func() error { return f.Status().Following }, env
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				id := enrolled(t, dir)
				ctx, cancel := context.WithCancel(t.Context())
				var (
					fault func() error
					news  any
					n     int
				)
				d := &desk{}
				d.answer = func(ctx context.Context, _ question) (int, any, error) {
					if n > 0 {
						if err := fault(); (err != nil) != steps[n-1].fault {
							t.Errorf("after step %d: %v", n-1, err)
						}
					}
					if n == len(steps) {
						cancel()
						return 0, nil, ctx.Err()
					}
					s := steps[n]
					n++
					time.Sleep(s.holds)
					if s.status == http.StatusOK {
						return s.status, news, nil
					}
					return s.status, nil, nil
				}
				r := d.ask(t, dir, func(o *RemoteOptions) { o.Jitter = whole })
				path, run, faultOf, body := open(t, id, r)
				fault, news = faultOf, body
				if err := run(ctx); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				asked := d.take()
				if len(asked) != len(steps)+1 {
					t.Fatalf("asked %d times", len(asked))
				}
				for i, s := range steps {
					known := s.known
					if name == "releases" && known != "" {
						known = string(registry.DigestOf(body.([]byte))) //nolint:forcetypeassert // an envelope
					}
					q := asked[i]
					if got := asked[i+1].at.Sub(q.at) - s.holds; got != s.pause && i != len(steps)-1 {
						t.Errorf("step %d: asked again after %s, want %s", i, got, s.pause)
					}
					if q.path != path || q.wait != s.wait || q.known != known {
						t.Errorf("step %d: asked %+v", i, q)
					}
				}
			})
		})
	}
}

// TestReports: a node tells how it is at once, each half a minute, and within a second of a
// change; one that did not arrive is told again at its time, not each second.
func TestReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		enrolled(t, dir)
		var down, full atomic.Bool
		d := &desk{answer: func(ctx context.Context, _ question) (int, any, error) {
			if down.Load() {
				<-ctx.Done()
				return 0, nil, ctx.Err()
			}
			return http.StatusNoContent, nil, nil
		}}
		r := &Reporter{Remote: d.ask(t, dir), Follower: &Follower{loader: &loader{}}, Version: "7", Usage: func() error {
			if !full.Load() {
				return nil
			}
			return errors.New("the spool is full")
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		begun := time.Now()
		go func() { ended <- r.Run(ctx) }()
		told := func(until time.Duration, want ...time.Duration) {
			t.Helper()
			time.Sleep(time.Until(begun.Add(until)))
			synctest.Wait()
			var got []time.Duration
			for _, q := range d.take() {
				got = append(got, q.at.Sub(begun))
				if !strings.Contains(q.body, `"version":"7"`) || !strings.Contains(q.body, `"trials":true`) || strings.Contains(q.body, "spool") != full.Load() {
					t.Errorf("told %s", q.body)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("until %s: told at %v, want %v", until, got, want)
			}
		}
		told(70*time.Second+time.Second/2, 0, 30*time.Second, 60*time.Second)
		full.Store(true)
		told(99*time.Second+time.Second/2, 71*time.Second)
		down.Store(true)
		told(131*time.Second+time.Second/2, 101*time.Second) // given up after 10 s
		down.Store(false)
		told(141*time.Second+time.Second/2, 141*time.Second)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestStateOfANode: what the reports say of credentials, and how long a text is.
func TestStateOfANode(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("east", 3600))
	f := &Follower{loader: &loader{}}
	f.opts.Now = func() time.Time { return now }
	f.ready.Store(true)
	f.status = Status{Epoch: 3, Revision: 4, Release: "d", Toolsets: 5, Applied: now, Expires: now, Cache: errors.New(strings.Repeat("x", 1001))}
	v := &Vault{}
	v.values.Store(&map[string]registry.EdgeCredential{})
	r := &Reporter{Remote: &Remote{}, Follower: f, Vault: v, Version: "7"}
	s := r.State()
	if s.Epoch != 3 || s.Revision != 4 || s.Release != "d" || s.Toolsets != 5 || !s.Ready || !s.Trials || s.Version != "7" || s.Usage != "" || s.Secrets != "" {
		t.Errorf("%+v", s)
	}
	if s.Applied != time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC) || s.Cache != strings.Repeat("x", 1000) {
		t.Errorf("live since %v, %d bytes of a fault", s.Applied, len(s.Cache))
	}
	v.fault = errors.New("refused")
	if s := r.State(); !s.Ready || s.Secrets != "refused" {
		t.Errorf("with a fault of credentials: %+v", s)
	}
	v.live = &needs{toolsets: map[string]string{"lost": "t"}}
	if s := r.State(); s.Ready || !strings.Contains(s.Secrets, "lost of toolset t") {
		t.Errorf("without a credential that is used: %+v", s)
	}
	f.status.Applied = time.Time{}
	if s := r.State(); !s.Applied.IsZero() {
		t.Errorf("never live, and since %v", s.Applied)
	}
}

// stateOf is a release that uses credentials.
func stateOf(revision uint64, credentials ...string) *State {
	t := &Toolset{ReleaseToolset: registry.ReleaseToolset{Slug: "shop"}, Bundle: &registry.Toolset{}}
	for _, id := range credentials {
		t.Bundle.Connectors = append(t.Bundle.Connectors, registry.ConnectorRef{Auth: &registry.AuthShape{Type: registry.AuthBearer, CredentialID: id}})
	}
	return &State{Release: &registry.Release{Epoch: 1, Revision: revision}, Toolsets: []*Toolset{t}}
}

// TestPrepareAsksAtOnce: a release that needs a credential ends the question that is held
// and the pause after a fault; it waits for two answers, or for as long as they may take.
func TestPrepareAsksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		id := enrolled(t, dir)
		var (
			mu     sync.Mutex // sleeping in the bubble orders nothing
			have   []string   // guarded by mu
			status int        // guarded by mu
		)
		says := func(code int, credentials ...string) {
			mu.Lock()
			defer mu.Unlock()
			status, have = code, credentials
		}
		says(http.StatusOK, "one")
		d := &desk{}
		d.answer = func(ctx context.Context, q question) (int, any, error) {
			if q.wait != "0" && q.known != "" {
				select {
				case <-ctx.Done():
					return 0, nil, ctx.Err()
				case <-time.After(30 * time.Second):
					return http.StatusNotModified, nil, nil
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if status != http.StatusOK {
				return status, nil, nil
			}
			doc := &registry.EdgeCredentials{Edge: id.Edge, ETag: strings.Join(have, " "), Release: &registry.ReleaseName{Epoch: 1, Revision: 1, Digest: registry.DigestOf(nil)}}
			for _, id := range have {
				doc.Credentials = append(doc.Credentials, registry.EdgeCredential{ID: id})
			}
			return http.StatusOK, sealed(t, id, registry.SealInfo(id.Edge), doc.ETag, doc), nil
		}
		v := OpenVault(d.ask(t, dir, func(o *RemoteOptions) { o.Jitter = whole }))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- v.Run(ctx) }()
		// urgent is how many questions are not held.
		prepare := func(what string, took time.Duration, missing string, urgent int, credentials ...string) {
			t.Helper()
			d.take()
			begun := time.Now()
			err := v.Prepare(t.Context(), stateOf(2, credentials...))
			if missing == "" && err != nil || missing != "" && (!problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "1.2") || !strings.Contains(err.Error(), missing)) {
				t.Errorf("%s: %v", what, err)
			}
			if got := time.Since(begun); got != took {
				t.Errorf("%s: took %s", what, got)
			}
			synctest.Wait()
			got := 0
			for _, q := range d.take() {
				if q.wait == "0" {
					got++
				}
			}
			if got != urgent {
				t.Errorf("%s: %d questions that are not held, want %d", what, got, urgent)
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			if len(v.next) != 0 {
				t.Errorf("%s: %d releases are still prepared", what, len(v.next))
			}
		}
		time.Sleep(time.Second)
		if err := v.Fault(); err != nil {
			t.Fatal(err)
		}
		prepare("it has all", 0, "", 0, "one")
		says(http.StatusOK, "one", "two")
		prepare("one is new", 0, "", 1, "one", "two")
		prepare("one does not come", 0, "three of toolset shop", 2, "one", "two", "three")
		says(http.StatusServiceUnavailable)
		time.Sleep(40 * time.Second) // the question that is held ends, and the next is held too
		prepare("the control plane is away", 0, "four of toolset shop", 2, "four")
		says(http.StatusOK, "one", "two", "four")
		prepare("it is back", 0, "", 1, "four")
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		// Nobody asks any more.
		prepare("no answer", prepareTimeout, "five of toolset shop", 0, "five")
		over, end := context.WithCancel(t.Context())
		end()
		if err := v.Prepare(over, stateOf(2, "five")); !problem.Is(err, problem.Unavailable) {
			t.Errorf("given up: %v", err)
		}
	})
}

// TestUnusedCredentialsGo: a minute after neither the release nor the control plane has a
// credential it is gone, from the disk too; that it cannot be written is told.
func TestUnusedCredentialsGo(t *testing.T) {
	for name, system := range map[string]atomicfile.System{"a disk": nil, "a full disk": brokenDisk{atomicfile.OS}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				id := enrolled(t, dir)
				d := &desk{}
				d.answer = func(_ context.Context, q question) (int, any, error) {
					doc := &registry.EdgeCredentials{Edge: id.Edge, ETag: q.known + "x", Release: &registry.ReleaseName{Epoch: 1, Revision: 1, Digest: registry.DigestOf(nil)}, Credentials: []registry.EdgeCredential{{ID: "used"}}}
					switch q.known {
					case "":
						doc.Credentials = append(doc.Credentials, registry.EdgeCredential{ID: "unused"})
					case "xx":
						time.Sleep(10 * time.Second)
						return http.StatusNotModified, nil, nil
					}
					return http.StatusOK, sealed(t, id, registry.SealInfo(id.Edge), doc.ETag, doc), nil
				}
				r := d.ask(t, dir, func(o *RemoteOptions) { o.Jitter, o.System = whole, system })
				v := OpenVault(r)
				v.Serve(stateOf(1, "used"))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- v.Run(ctx) }()
				has := func(v *Vault, id string) bool { _, err := v.Credential(id); return err == nil }
				begun := time.Now()
				for at, has1 := range []bool{true, false} {
					time.Sleep(time.Until(begun.Add(unusedGrace - 5*time.Second + time.Duration(at)*10*time.Second)))
					synctest.Wait()
					if fault := v.Fault(); (fault != nil) != (system != nil && !has1) || fault != nil && !errors.Is(fault, errDisk) {
						t.Errorf("the unused one is there: %v, fault %v", has1, fault)
					}
					if !has(v, "used") || has(v, "unused") != has1 {
						t.Errorf("after a while the unused one is there: %v", has(v, "unused"))
					}
					if kept := OpenVault(r); system == nil && (!has(kept, "used") || has(kept, "unused") != has1) {
						t.Errorf("and on the disk: %v", has(kept, "unused"))
					}
				}
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		})
	}
	// The write after that is one like any other.
	dir := t.TempDir()
	enrolled(t, dir)
	v := OpenVault((&desk{}).ask(t, dir, func(o *RemoteOptions) { o.System = brokenDisk{atomicfile.OS} }))
	if err := v.save(); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}
