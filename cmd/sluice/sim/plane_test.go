package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/internal/filelock"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

const (
	controlHost = "control.example"
	// templateTime is when worlds begin, by the clock of a bubble: the template was made
	// before.
	templateTime = 10 * time.Minute
)

// plane is a process of a control plane on a directory, put together as cmd/sluice does.
type plane struct {
	w       *world
	dir     string
	disk    *atomicfiletest.Disk // of the registry
	st      *store.Store
	backend *server.Store
	pub     *publish.Publisher
	srv     *admin.Server
	token   secrets.Secret
	unlock  func() error

	life   context.Context //nolint:containedctx // of the process
	cancel context.CancelFunc
	work   sync.WaitGroup
	gone   chan struct{} // closed when the process is stopped or killed: nothing it says arrives

	bad atomic.Bool // its disk fails
}

// openPlane starts a control plane on what is in a directory.
func openPlane(w *world, dir string) (p *plane, err error) {
	unlock, err := filelock.Exclusive(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	p = &plane{w: w, dir: dir, unlock: unlock, gone: make(chan struct{})}
	p.life, p.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			p.cancel()
			err = errors.Join(err, unlock())
		}
	}()
	ctx := p.life
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "keys"), 0o700), os.MkdirAll(filepath.Join(dir, "registry"), 0o700)); err != nil {
		return nil, err
	}
	if p.disk, err = atomicfiletest.Open(filepath.Join(dir, "registry")); err != nil {
		return nil, err
	}
	p.disk.Fault = func(string) error {
		if p.bad.Load() {
			return atomicfiletest.ErrInjected
		}
		return nil
	}
	if p.st, err = store.Open(ctx, store.Options{Path: filepath.Join(dir, "sluice.db")}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.st.Close())
		}
	}()
	if err := p.st.EnsureWorkspace(ctx, "default", "Default"); err != nil {
		return nil, err
	}
	contents, err := server.OpenBlobs(p.disk.Root(), p.disk)
	if err != nil {
		return nil, err
	}
	if p.backend, err = server.Open(server.Options{Dir: p.disk.Root(), System: p.disk, Content: &slowContent{contents, p}}); err != nil {
		return nil, err
	}
	release, err := sign.OpenKey(filepath.Join(dir, "keys", "release.key"))
	if err != nil {
		return nil, err
	}
	workspace, err := sign.OpenKey(filepath.Join(dir, "keys", "workspace.key"))
	if err != nil {
		return nil, err
	}
	ring, err := secrets.OpenFile(filepath.Join(dir, "keys", "master.key"))
	if err != nil {
		return nil, err
	}
	p.pub, err = publish.New(ctx, publish.Options{
		Store: oci.NewStore(p.backend), Records: p.st, ReleaseKey: release, WorkspaceKey: workspace, May: p.st.Claimed,
	})
	if err != nil {
		return nil, err
	}
	p.srv, err = admin.New(ctx, admin.Options{
		Store: p.st, Keyring: ring, Publisher: p.pub, Fetcher: noFetcher{}, GatewayURL: "https://gateway.example", Registry: p.backend,
		Hosts: []string{controlHost}, Closed: true, Catalog: builtIn(),
	})
	if err != nil {
		return nil, err
	}
	p.work.Go(func() { _ = p.pub.Run(ctx) })
	synctest.Wait() // both want the publisher's turn at once, and the machine would say who gets it
	p.work.Go(func() { _ = p.srv.Run(ctx, time.Second) })
	return p, nil
}

// end ends the process: what it does from now on nobody sees.
func (p *plane) end() {
	close(p.gone)
	p.cancel()
}

// close waits until nothing of the process is left.
func (p *plane) close() {
	p.work.Wait()
	_ = p.st.Close()
	_ = p.unlock()
}

// left is a directory with what the process leaves when it is killed now, or loses power.
func (p *plane) left(power bool) string {
	if !power {
		return p.w.copyOf(p.dir)
	}
	// The database is taken as it is: SQLite syncs each commit, and make chaos cuts the
	// power of a real file system under it.
	to := p.w.copyOf(p.dir, "registry")
	crash := atomicfiletest.NamesLost
	if p.w.rng.IntN(2) == 0 {
		crash = atomicfiletest.NamesKept
	}
	dir := filepath.Join(to, "registry")
	p.w.must(os.MkdirAll(dir, 0o700))
	p.w.must(p.disk.PowerCut(dir, crash))
	return to
}

// api asks the admin API as the operator does, and returns the status.
func (p *plane) api(method, path string, in, out any) (status int, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	r := httptest.NewRequestWithContext(p.life, method, path, bytes.NewReader(body))
	r.Host = controlHost
	r.Header.Set("Authorization", "Bearer "+p.token.Reveal())
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	r.Header.Set("If-Match", "*")
	rec := httptest.NewRecorder()
	p.srv.Handler().ServeHTTP(rec, r)
	if rec.Code/100 != 2 {
		return rec.Code, fmt.Errorf("%s %s: %d %.500s", method, path, rec.Code, rec.Body)
	}
	if out != nil {
		err = json.Unmarshal(rec.Body.Bytes(), out)
	}
	return rec.Code, err
}

// builtIn is the catalog of every control plane: nobody changes it here, and reading it
// takes as long as opening a database.
var builtIn = sync.OnceValue(func() *catalog.Room {
	c, err := catalog.New(nil)
	if err != nil {
		panic(err)
	}
	return c
})

type noFetcher struct{}

func (noFetcher) Fetch(context.Context, source.FetchRequest) (source.Document, error) {
	return source.Document{}, errors.New("this world has no other servers")
}

// slowContent is a registry that may take its time. How much depends on the process and the
// content, and not on which of two that are read at one moment comes first: on a busy machine
// that is another one each time.
type slowContent struct {
	server.Content

	p *plane
}

func (s *slowContent) wait(ctx context.Context, what string, d registry.Digest) error {
	most := s.p.w.slow.Load()
	if most == 0 {
		return ctx.Err()
	}
	return retry.Sleep(ctx, time.Duration(s.p.w.dice(fmt.Sprintf("registry %s %s %s", filepath.Base(s.p.dir), what, d)).Int64N(most))+time.Nanosecond)
}

func (s *slowContent) Fetch(ctx context.Context, d registry.Digest, limit int64) ([]byte, error) {
	if err := s.wait(ctx, "fetch", d); err != nil {
		return nil, err
	}
	return s.Content.Fetch(ctx, d, limit)
}

func (s *slowContent) Open(ctx context.Context, d registry.Digest) (io.ReadSeekCloser, error) {
	if err := s.wait(ctx, "open", d); err != nil {
		return nil, err
	}
	return s.Content.Open(ctx, d)
}

func (s *slowContent) Put(ctx context.Context, blobs ...server.Blob) error {
	if err := s.wait(ctx, "put", blobs[0].Digest); err != nil {
		return err
	}
	return s.Content.Put(ctx, blobs...)
}

// template is a control plane with toolsets, from which every world begins.
type template struct {
	dir   string
	joins map[string]secrets.Secret // join tokens by zone
	token secrets.Secret            // of the operator
	model model
}

const spec = `{"openapi":"3.0.3","info":{"title":"%s","version":"1"},"servers":[{"url":"https://%[1]s.example.com"}],"paths":{%s}}`

// newTemplate makes it: alpha is everywhere, beta in zone a and gamma in zone b.
func newTemplate(t *testing.T, root string) *template {
	t.Helper()
	cryptotest.SetGlobalRandom(t, 0)
	tm := &template{dir: filepath.Join(root, "template"), joins: map[string]secrets.Secret{}}
	if err := os.MkdirAll(tm.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	must := func(_ int, err error) {
		if err != nil {
			panic(err)
		}
	}
	synctest.Test(t, func(*testing.T) {
		w := &world{counts: map[string]uint64{}, began: time.Now()}
		p, err := openPlane(w, tm.dir)
		must(0, err)
		tm.token, err = people.EnsureToken(p.life, p.st, "default", "operator", secrets.Secret{})
		must(0, err)
		p.token = tm.token
		for _, ts := range []*toolset{{slug: "alpha"}, {slug: "beta", zone: "a"}, {slug: "gamma", zone: "b"}} {
			var paths []string
			for _, tool := range tools {
				paths = append(paths, fmt.Sprintf(`"/%s":{"get":{"operationId":"%[1]s","responses":{"200":{"description":"ok"}}}}`, tool))
			}
			var made change.CreatedToolset
			must(p.api("POST", "/v1/toolsets", map[string]any{
				"name": ts.slug, "access": "token",
				"source": map[string]any{"openapi": map[string]any{"document": fmt.Sprintf(spec, ts.slug, strings.Join(paths, ","))}},
			}, &made))
			ts.id = made.ID
			must(p.api("PUT", "/v1/toolsets/"+ts.id+"/labels", map[string]any{"labels": labels(ts.zone)}, nil))
			must(p.api("PUT", "/v1/toolsets/"+ts.id+"/authentication", keyOf(ts.slug, 0), nil))
			var live view.Toolset
			must(p.api("POST", "/v1/toolsets/"+ts.id+"/deploy", map[string]any{"reason": "the first"}, &live))
			ts.revision, ts.sets = live.Revision, map[uint64][]string{live.Revision: tools}
			ts.tokens = append(ts.tokens, &token{id: made.Token.ID, text: made.Token.Token, made: true})
			tm.model.toolsets = append(tm.model.toolsets, ts)
		}
		for _, zone := range []string{"a", "b"} {
			var join fleet.JoinToken
			must(p.api("POST", "/v1/edges/join-tokens", map[string]any{"labels": labels(zone), "maxUses": 20}, &join))
			tm.joins[zone] = secrets.New(join.Token)
		}
		tm.model.operator = tm.token
		p.end()
		p.close()
		if time.Since(w.began) > templateTime {
			panic("the template took longer than it may")
		}
	})
	return tm
}

func labels(zone string) map[string]string {
	if zone == "" {
		return map[string]string{}
	}
	return map[string]string{"zone": zone}
}

// keyOf is the authentication of a toolset with the n-th value of its key.
func keyOf(slug string, n int) map[string]any {
	return map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": keyValue(slug, n)}
}

func keyValue(slug string, n int) string { return fmt.Sprintf("key-of-%s-%d", slug, n) }
