package admin_test

import (
	"bytes"
	"context"
	"database/sql" //nolint:depguard // faults are injected beside the store
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/playground"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/fleet/artifact"
	"github.com/sluicegate/sluice/admin/member/oidc"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/admin/toolset/suggest"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// world is a whole control plane: real store, registry, keys and publisher, and a
// real upstream. Only the gateway's pipeline is a short one of the test's own.
type world struct {
	elsewhere func(string) (*oci.Store, string, string, error) // registries that plugins may come from
	t         *testing.T
	dir       string
	programs  *programs // nil: the node runs none
	srv       *admin.Server
	st        *store.Store
	pub       *publish.Publisher
	ring      *secrets.Keyring
	dialer    *safedial.Dialer
	faults    *faults
	tester    *tester
	fetcher   *fetcher
	fetch     source.Fetcher // nil: fetcher
	servers   servers
	eventMu   sync.Mutex
	events    []publish.Event // guarded by eventMu
	upstream  *httptest.Server
	token     secrets.Secret
	later     atomic.Int64 // how much the clock is ahead, in nanoseconds
	log       *syncBuffer
	seen      *syncBuffer // every answer's headers and body
	stop      func()
	retention artifact.Retention
	publicURL string // of the admin listener
	openID    oidc.Config
	private   bool // private addresses may be called
	// closed is a node that others than this machine reach.
	closed bool
	// noPreviews makes a control plane without a gateway.
	noPreviews bool
	sandbox    *extism.Host
	policy     guest.Policy
	suggester  *suggest.Model
	catalog    *catalog.Room
}

// syncBuffer is a bytes.Buffer for many goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// faults is a registry that fails where it is told to.
type faults struct {
	oci.Backend
	mu   sync.Mutex
	fail func(what, repository string) error // guarded by mu; of writes
	read func(repository string) error       // guarded by mu; of reads
}

func (f *faults) setReads(fail func(repository string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = fail
}

func (f *faults) checkRead(repository string) error {
	f.mu.Lock()
	fail := f.read
	f.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(repository)
}

func (f *faults) set(fail func(what, repository string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *faults) check(what, repository string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == nil {
		return nil
	}
	return f.fail(what, repository)
}

func (f *faults) FetchBlob(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	if err := f.checkRead(repository); err != nil {
		return nil, err
	}
	return f.Backend.FetchBlob(ctx, repository, d, limit)
}

func (f *faults) FetchManifest(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	if err := f.checkRead(repository); err != nil {
		return nil, err
	}
	return f.Backend.FetchManifest(ctx, repository, d, limit)
}

func (f *faults) ResolveTag(ctx context.Context, repository, tag string) (registry.Digest, error) {
	if err := f.checkRead(repository); err != nil {
		return "", err
	}
	return f.Backend.ResolveTag(ctx, repository, tag)
}

func (f *faults) PutBlob(ctx context.Context, repository string, d registry.Digest, b []byte) error {
	if err := f.check("blob", repository); err != nil {
		return err
	}
	return f.Backend.PutBlob(ctx, repository, d, b)
}

func (f *faults) PutManifest(ctx context.Context, repository, tag string, d registry.Digest, mediaType string, b []byte) error {
	if err := f.check("manifest", repository); err != nil {
		return err
	}
	return f.Backend.PutManifest(ctx, repository, tag, d, mediaType, b)
}

// tester makes the call of a test with net/http.
type tester struct {
	w    *world
	mu   sync.Mutex
	hold chan struct{} // guarded by mu; not nil: calls wait until it is closed
	err  error         // guarded by mu
	n    int           // guarded by mu
	// last is the toolset of the newest call, and where that was sent; guarded by mu.
	last    *registry.Toolset
	address string
}

func (x *tester) Test(ctx context.Context, call rollout.TestCall) (rollout.TestedAnswer, error) {
	x.mu.Lock()
	x.n++
	x.last = call.Toolset
	hold, err := x.hold, x.err
	x.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return rollout.TestedAnswer{}, ctx.Err()
		}
	}
	if err != nil {
		return rollout.TestedAnswer{}, err
	}
	for i := range call.Toolset.Connectors {
		a, err := x.call(ctx, &call, &call.Toolset.Connectors[i])
		if !problem.Is(err, problem.NotFound) {
			return a, err
		}
	}
	return rollout.TestedAnswer{}, problem.New(problem.NotFound, "no tool %s", call.Tool)
}

// Added says that no tools are added: what they are is tested with a gateway.
func (x *tester) Added(rollout.TestCall) ([]byte, error) { return []byte("[]"), nil }

// CheckScript refuses one text, for tests of what is answered then.
func (x *tester) CheckScript(_ context.Context, code string) error {
	if strings.Contains(code, "does not compile") {
		return problem.New(problem.InvalidArgument, "the script cannot be compiled").At("", 2, 7, "/code")
	}
	return nil
}

func (x *tester) call(ctx context.Context, call *rollout.TestCall, ref *registry.ConnectorRef) (rollout.TestedAnswer, error) {
	conn := call.Connectors[ref.Name]
	for i := range conn.Len() {
		tool, err := conn.Tool(i)
		if err != nil {
			return rollout.TestedAnswer{}, err
		}
		name := tool.Name
		for _, e := range call.Toolset.Tools {
			if e.Connector == ref.Name && e.Method == tool.Method && e.Path == tool.Path && e.Name != nil {
				name = *e.Name
			}
		}
		if name != call.Tool {
			continue
		}
		var r operation.Request
		args, err := jsonscan.Parse(call.Arguments, jsonscan.DefaultMaxDepth)
		if err != nil {
			return rollout.TestedAnswer{}, err
		}
		if err := tool.Plan.Build(&r, args); err != nil {
			return rollout.TestedAnswer{}, err
		}
		base := ref.BaseURL
		if servers := append(slices.Clone(tool.Servers), conn.Servers()...); base == "" && len(servers) > 0 {
			base = servers[0].URL
			for _, v := range servers[0].Variables {
				base = strings.ReplaceAll(base, "{"+v.Name+"}", v.Default)
			}
		}
		req, err := http.NewRequestWithContext(ctx, r.Method, base+string(r.Target), bytes.NewReader(r.Body))
		if err != nil {
			return rollout.TestedAnswer{}, err
		}
		x.mu.Lock()
		x.address = req.URL.String()
		x.mu.Unlock()
		if a := ref.Auth; a != nil {
			held, err := x.w.srv.Secrets().Secret(ctx, a.CredentialID)
			value := held.Value
			if err != nil {
				return rollout.TestedAnswer{}, err
			}
			switch a.Type {
			case registry.AuthHeader:
				req.Header.Set(a.HeaderName, a.HeaderPrefix+value.Reveal())
			case registry.AuthBasic:
				user, password, _ := strings.Cut(value.Reveal(), ":")
				req.SetBasicAuth(user, password)
			case registry.AuthQuery:
				req.URL.RawQuery += "&" + a.ParameterName + "=" + url.QueryEscape(value.Reveal())
			case registry.AuthCookie:
				req.AddCookie(&http.Cookie{Name: a.CookieName, Value: value.Reveal()})
			default:
				req.Header.Set("Authorization", "Bearer "+value.Reveal())
			}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return rollout.TestedAnswer{}, problem.New(problem.Unreachable, "the upstream cannot be reached").Because(err)
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		answer := rollout.TestedAnswer{IsError: res.StatusCode > 299, Text: b, UpstreamStatus: res.StatusCode, BytesReceived: len(b)}
		if call.Inspect {
			answer.Inspection = &playground.Inspection{Received: string(b)}
		}
		return answer, err
	}
	return rollout.TestedAnswer{}, problem.New(problem.NotFound, "no tool %s", call.Tool)
}

// credential is the only credential of a toolset; nil: none.
func (w *world) credential(toolset, connector string) (*store.Credential, error) {
	rows, err := w.st.Workspace("default").CredentialsOf(w.t.Context(), toolset, connector)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

const upstreamKey = "live-key-0123456789-9f3c"

// proxyOfTests is the proxy in front of the server.
const proxyOfTests = "203.0.113.9"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), log: &syncBuffer{}, seen: &syncBuffer{}, policy: guest.Policy{Clock: true, Random: true, AnyHost: true, Deadline: time.Minute}, fetcher: &fetcher{docs: map[string]string{}}}
	w.tester = &tester{w: w}
	w.upstream = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		// Listing needs no key, but a wrong one is refused.
		open := r.Method == http.MethodGet && r.URL.Path == "/pets" && r.Header.Get("X-Api-Key") == ""
		_, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/empty/pets":
			rw.WriteHeader(http.StatusOK)
		case r.URL.Path == "/down/pets":
			http.Error(rw, "down", http.StatusBadGateway)
		case !open && r.Header.Get("X-Api-Key") != upstreamKey && r.Header.Get("Authorization") != "Bearer "+upstreamKey && password != upstreamKey:
			http.Error(rw, `{"message":"no key"}`, http.StatusUnauthorized)
		default:
			_, _ = io.WriteString(rw, `[{"id":7,"name":"Rex"}]`)
		}
	}))
	t.Cleanup(w.upstream.Close)
	w.open()
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.later.Load())) }

func (w *world) happened(e publish.Event) {
	w.eventMu.Lock()
	defer w.eventMu.Unlock()
	w.events = append(w.events, e)
}

// takeEvents returns the events since it was called last.
func (w *world) takeEvents() []publish.Event {
	w.eventMu.Lock()
	defer w.eventMu.Unlock()
	out := w.events
	w.events = nil
	return out
}

// previewBase is what preview URLs begin with.
const previewBase = "http://127.0.0.1:7300/preview/"

// open starts the control plane on the world's directory, as after a restart.
func (w *world) open() {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	records := filepath.Join(w.dir, "sluice.db")
	must(storetest.Prepare(records))
	w.st, err = store.Open(ctx, store.Options{Path: records, Now: w.now})
	must(err)
	must(w.st.EnsureWorkspace(ctx, "default", "default"))
	w.ring, err = secrets.OpenFile(filepath.Join(w.dir, "master.key"))
	must(err)
	back, err := server.Open(server.Options{Dir: filepath.Join(w.dir, "registry")})
	must(err)
	w.faults = &faults{Backend: back}
	key, err := sign.OpenKey(filepath.Join(w.dir, "release.key"))
	must(err)
	w.dialer, err = safedial.New(safedial.Options{AllowPrivate: w.private})
	must(err)
	logger := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.pub, err = publish.New(ctx, publish.Options{Store: oci.NewStore(w.faults), Records: w.st, ReleaseKey: key, Logger: logger})
	must(err)
	w.token, err = people.EnsureToken(ctx, w.st, "default", "local", w.token)
	must(err)
	heads, err := audit.Open(ctx, audit.Options{Dir: filepath.Join(w.dir, "audit"), Key: key, Store: w.st, Logger: logger})
	must(err)
	authorization, err := oauth.New(oauth.Options{HTTP: &http.Client{}, Now: w.now})
	must(err)
	w.sandbox, err = extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	must(err)
	previews := previewBase
	if w.noPreviews {
		previews = ""
	}
	fetch := w.fetch
	if fetch == nil {
		fetch = w.fetcher
	}
	proxies, err := forwarded.Parse([]string{proxyOfTests + "/32"})
	must(err)
	w.srv, err = admin.New(ctx, admin.Options{
		Proxies: proxies,
		Closed:  w.closed, GuardMetrics: w.closed, PreviewURL: previews, Event: w.happened,
		Store: w.st, Keyring: w.ring, Publisher: w.pub, Fetcher: fetch, Tester: w.tester, MCP: &w.servers, Commands: w.localCommands(), Dialer: w.dialer, Registry: back, AuditHeads: heads, Retention: w.retention,
		GatewayURL: "http://127.0.0.1:7300", LinkURL: "http://localhost:7301", PublicURL: w.publicURL, Version: "1.0-test", Logger: logger, Hosts: []string{"example.com", "localhost"}, OAuth: authorization,
		Sandbox: w.sandbox, PluginPolicy: w.policy, Suggester: w.suggester, Catalog: w.catalog, OpenID: w.openID, OpenIDClient: &http.Client{}, Elsewhere: w.elsewhere,
		Metrics: []func(io.Writer){func(m io.Writer) { _, _ = io.WriteString(m, "sluice_build_info 1\n") }},
	})
	must(err)
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	srv, sandbox := w.srv, w.sandbox // a later open sets others
	go func() { ended <- srv.Run(run, 10*time.Second) }()
	w.stop = func() {
		cancel()
		if err := errors.Join(<-ended, w.st.Close(), sandbox.Close(context.WithoutCancel(ctx))); err != nil {
			t.Error(err)
		}
	}
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	body string
}

// do sends a request as the local administrator. headers are pairs; an empty
// value removes the header.
func (w *world) do(method, path string, body any, headers ...string) answer {
	w.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		r = bytes.NewReader(j)
	}
	req := httptest.NewRequest(method, path, r)
	req.Header.Set("Authorization", "Bearer "+w.token.Reveal())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i] == "Remote":
			req.RemoteAddr = headers[i+1]
		case headers[i+1] == "":
			req.Header.Del(headers[i])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	rec := httptest.NewRecorder()
	w.srv.Handler().ServeHTTP(rec, req)
	res := rec.Result()
	a := answer{res, rec.Body.String()}
	_, _ = io.WriteString(w.seen, method+" "+path+"\n")
	_ = res.Header.Write(w.seen)
	_, _ = io.WriteString(w.seen, a.body+"\n")
	if ct := res.Header.Get("Content-Type"); res.StatusCode >= 400 && !strings.HasPrefix(path, "/readyz") && ct != "application/problem+json" {
		w.t.Errorf("%s %s: %d with content type %q: %s", method, path, res.StatusCode, ct, a.body)
	}
	// What the audit log and a draft that was set aside hold is as it was written.
	free := strings.HasPrefix(path, "/v1/audit") || strings.Contains(path, "/drafts/")
	if at := strings.Index(a.body, ":null"); at >= 0 && !free && res.StatusCode < 400 && res.Header.Get("Content-Type") == "application/json" {
		w.t.Errorf("%s %s answers null, which no property is by the document: …%s", method, path, a.body[max(0, at-60):at+5])
	}
	return a
}

// want checks the status and returns the decoded body.
func want[T any](w *world, a answer, status int) T {
	w.t.Helper()
	var v T
	if a.StatusCode != status {
		w.t.Fatalf("%s: status %d, want %d: %s", a.Status, a.StatusCode, status, a.body)
	}
	if a.body != "" {
		if err := json.Unmarshal([]byte(a.body), &v); err != nil {
			w.t.Fatalf("%v: %s", err, a.body)
		}
	}
	return v
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// createBody asks for a toolset of a fixture, aimed at the world's upstream.
func (w *world) createBody(name, file string) map[string]any {
	return map[string]any{
		"name": name, "baseUrl": w.upstream.URL,
		"source": map[string]any{"openapi": map[string]any{"document": fixture(w.t, file), "fileName": file}},
	}
}

func (w *world) create(name, file string) change.CreatedToolset {
	w.t.Helper()
	return want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody(name, file)), http.StatusCreated)
}

func (w *world) get(id string) view.ToolsetDetail {
	w.t.Helper()
	return want[view.ToolsetDetail](w, w.do("GET", "/v1/toolsets/"+id, nil), http.StatusOK)
}

// audits returns the actions of the audit log, oldest first, with their outcome
// when it is not ok.
// Refused requests are left out: see TestDenied.
func (w *world) audits() (actions []string) {
	w.t.Helper()
	list := want[admin.List[audit.AuditRecord]](w, w.do("GET", "/v1/audit?limit=200", nil), http.StatusOK)
	for i := range list.Items {
		r := list.Items[len(list.Items)-1-i]
		if r.Action == "request.denied" {
			continue
		}
		if r.Outcome != "ok" {
			r.Action += ":" + r.Outcome
		}
		actions = append(actions, r.Action)
	}
	return actions
}

// live returns the toolsets of the newest release as slug@revision.
func (w *world) live() (out []string) {
	for _, ts := range w.pub.Current().Release().Toolsets {
		out = append(out, ts.Slug)
	}
	return out
}

func page() store.Page { return store.Page{Limit: store.MaxLimit} }

// raw runs SQL beside the store, to inject faults.
func (w *world) raw(statement string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "sluice.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(w.t.Context(), statement); err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
}

// secret is the value and the version of a credential.
func (w *world) secret(ctx context.Context, id string) (secrets.Secret, uint64, error) {
	v, err := w.srv.Secrets().Secret(ctx, id)
	return v.Value, v.Version, err
}

// renewed is another access token than the rejected version.
func (w *world) renewed(ctx context.Context, id string, rejected uint64) (secrets.Secret, uint64, error) {
	v, err := w.srv.Secrets().Refresh(ctx, id, rejected)
	return v.Value, v.Version, err
}
