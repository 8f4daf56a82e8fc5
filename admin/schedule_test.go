package admin_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
)

// webFetcher fetches over the network, as the program does.
type webFetcher struct{}

func (webFetcher) Fetch(ctx context.Context, in source.FetchRequest) (source.Document, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL, http.NoBody)
	if err != nil {
		return source.Document{}, err
	}
	if in.Since.ETag != "" {
		req.Header.Set("If-None-Match", in.Since.ETag)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return source.Document{}, problem.New(problem.Unreachable, "%s cannot be fetched", in.URL).Because(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return source.Document{}, err
	case resp.StatusCode == http.StatusNotModified:
		return source.Document{URL: in.URL, Validators: in.Since, NotModified: true}, nil
	case resp.StatusCode != http.StatusOK:
		return source.Document{}, problem.New(problem.UpstreamStatus, "%s answered %d", in.URL, resp.StatusCode)
	}
	return source.Document{Data: b, URL: in.URL, Validators: source.Validators{ETag: resp.Header.Get("ETag")}}, nil
}

// api is an API and its specification on one server.
type api struct {
	*httptest.Server
	mu   sync.Mutex
	spec string // guarded by mu; "": it answers 503
	etag string // guarded by mu
	read int    // guarded by mu; answers that were not 304
	down bool   // guarded by mu; the API, not its specification
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) publish(etag, spec string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spec, a.etag = spec, `"`+etag+`"`
}

func (a *api) reads() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.read
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case r.URL.Path != "/openapi.yaml" && a.down:
		http.Error(w, "down", http.StatusBadGateway)
	case r.URL.Path != "/openapi.yaml":
		_, _ = io.WriteString(w, `[{"id":7,"name":"Rex"}]`)
	case a.spec == "":
		http.Error(w, "in maintenance", http.StatusServiceUnavailable)
	case r.Header.Get("If-None-Match") == a.etag:
		w.WriteHeader(http.StatusNotModified)
	default:
		a.read++
		w.Header().Set("ETag", a.etag)
		_, _ = io.WriteString(w, a.spec)
	}
}

const watchedSpec = `openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: /}]
paths:
  /pets:
    get: {operationId: listPets, responses: {"200": {description: OK}}}
  /orders:
    get: {operationId: listOrders, responses: {"200": {description: OK}}}
`

const ownersPath = `  /owners:
    get: {operationId: listOwners, responses: {"200": {description: OK}}}
`

// A specification is read again when its time has come: what is added is tested and
// deployed, what breaks something waits until exactly that is accepted, and one that
// cannot be read changes nothing.
func TestSchedule(t *testing.T) {
	w := newWorld(t)
	w.fetch = webFetcher{}
	w.stop()
	w.open()
	up := newAPI(t)
	up.publish("1", watchedSpec)
	const at = "/v1/toolsets/shop"
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", map[string]any{
		"slug": "shop", "baseUrl": up.URL, "source": map[string]any{"openapi": map[string]any{"url": up.URL + "/openapi.yaml"}},
	}, "Remote", "127.0.0.1:999"), http.StatusCreated)
	if ts.Status != "live" {
		t.Fatalf("%+v", ts.Test)
	}
	schedule := func() change.Schedule {
		t.Helper()
		return want[change.Schedule](w, w.do("GET", at+"/schedule", nil), http.StatusOK)
	}
	check := func(ahead time.Duration) {
		t.Helper()
		w.later.Add(int64(ahead))
		if err := w.srv.Changes().CheckSpecifications(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// events are those since the last look, of specifications and revisions.
	events := func(expect ...string) {
		t.Helper()
		var got []string
		for _, e := range w.takeEvents() {
			if e.Toolset == ts.ID && (e.Type == rollout.EventDeployed || strings.HasPrefix(e.Type, "spec.")) {
				got = append(got, strings.TrimSpace(e.Type+" "+e.To))
			}
		}
		if !slices.Equal(got, expect) {
			t.Errorf("events %q, want %q", got, expect)
		}
	}
	tools := func() string {
		t.Helper()
		var names []string
		for _, tool := range want[admin.List[toolset.Tool]](w, w.do("GET", at+"/tools", nil), http.StatusOK).Items {
			names = append(names, tool.Name)
		}
		return strings.Join(names, " ")
	}
	revision := func() uint64 { return w.get("shop").Revision }
	events("toolset.deployed published")

	// Without a schedule nothing is read.
	up.publish("2", watchedSpec+ownersPath)
	check(100 * 24 * time.Hour)
	if schedule().EverySeconds != 0 || revision() != 1 {
		t.Error("it was read without a schedule")
	}
	want[front.Problem](w, w.do("PUT", at+"/schedule", `{"everySeconds":299}`), http.StatusBadRequest)
	want[front.Problem](w, w.do("PUT", at+"/schedule", `{"everySeconds":2592001}`), http.StatusUnprocessableEntity)
	want[front.Problem](w, w.do("PUT", at+"/schedule", `{"everySeconds":3600}`, "If-Match", `"v99"`), http.StatusPreconditionFailed)
	if s := want[change.Schedule](w, w.do("PUT", at+"/schedule", `{"everySeconds":3600}`), http.StatusOK); s.EverySeconds != 3600 || s.Connector != "shop" || s.CheckedAt == nil {
		t.Errorf("%+v", s)
	}

	// Added: tested and deployed.
	check(0)
	if tools() != "list_pets list_orders list_owners" || revision() != 2 {
		t.Fatalf("tools %s, revision %d", tools(), revision())
	}
	events("toolset.deployed published", "spec.drifted deployed")
	read := up.reads()
	check(59 * time.Minute)
	check(time.Minute + time.Second)
	if up.reads() != read || revision() != 2 {
		t.Error("what was not changed was read whole")
	}
	events()

	// Removed: it waits outside of the draft, and is reported once.
	v3 := strings.Replace(watchedSpec, "  /orders:\n    get: {operationId: listOrders, responses: {\"200\": {description: OK}}}\n", ownersPath, 1)
	up.publish("3", v3)
	for range 3 {
		check(time.Hour + time.Second)
	}
	s := schedule()
	if s.Waiting == nil || s.Waiting.Removed != 1 || s.Waiting.Breaking != 1 || len(s.Waiting.Tools) != 1 || s.Waiting.Tools[0].Tool != "list_orders" || s.Failures != 0 {
		t.Fatalf("waiting %+v", s.Waiting)
	}
	if d := w.get("shop"); d.Revision != 2 || d.Changed || tools() != "list_pets list_orders list_owners" {
		t.Errorf("a change that waits changed the draft: %+v", d.Toolset)
	}
	events("spec.drifted waiting")

	// What is accepted is what was shown.
	accept := func(change string) answer { return w.do("POST", at+"/changes/"+change+"/accept", `{}`) }
	want[front.Problem](w, accept("chg_nothing"), http.StatusNotFound)
	up.publish("4", strings.Replace(v3, "  /pets:\n    get: {operationId: listPets", "  /pets:\n    get: {operationId: listPets, parameters: [{name: q, in: query, required: true, schema: {type: string}}]", 1))
	want[front.Problem](w, accept(s.Waiting.ID), http.StatusConflict)
	up.publish("3", v3)
	if r := want[change.Refreshed](w, accept(s.Waiting.ID), http.StatusOK); !r.Deployed || r.Toolset.Revision != 3 {
		t.Fatalf("accepted %+v", r)
	}
	if tools() != "list_pets list_owners" || schedule().Waiting != nil {
		t.Errorf("tools %s, %+v", tools(), schedule().Waiting)
	}
	want[front.Problem](w, accept(s.Waiting.ID), http.StatusConflict)
	events("toolset.deployed published", "spec.drifted deployed")

	// What cannot be read, or is not a specification any more, changes nothing, is reported
	// once and tried again soon.
	for _, spec := range []string{"", "openapi: 3.0.3\ninfo: {title: Shop}\npaths: 7\n"} {
		up.publish("5", spec)
		check(time.Hour + time.Second)
		check(14 * time.Minute)
		if s := schedule(); s.Failures != 1 || s.Fault == "" {
			t.Errorf("%+v", s)
		}
		check(time.Minute + time.Second)
		if s := schedule(); s.Failures != 2 || revision() != 3 || tools() != "list_pets list_owners" {
			t.Errorf("%+v at %d with %s", s, revision(), tools())
		}
		events("spec.check_failed")
		up.publish("3", v3)
		check(15*time.Minute + time.Second)
		if s := schedule(); s.Failures != 0 || s.Fault != "" {
			t.Errorf("%+v", s)
		}
		events("spec.check_recovered")
	}

	// A draft with changes of its own is nobody's to deploy; a test that does not pass
	// deploys nothing.
	w.renameTool(ts.ID, "list_pets", "all_pets")
	up.publish("6", v3+strings.ReplaceAll(ownersPath, "wners", "thers"))
	check(time.Hour + time.Second)
	if s := schedule(); s.Waiting == nil || s.Waiting.Breaking != 0 || revision() != 3 || tools() != "all_pets list_owners" {
		t.Errorf("%+v, tools %s", s.Waiting, tools())
	}
	events("spec.drifted waiting")
	want[view.Toolset](w, w.do("POST", at+"/deploy", `{"reason":"renamed"}`), http.StatusOK)
	up.mu.Lock()
	up.down = true
	up.mu.Unlock()
	check(time.Hour + time.Second)
	if d := w.get("shop"); d.Revision != 4 || !d.Changed || schedule().Waiting != nil || tools() != "all_pets list_owners list_others" {
		t.Errorf("revision %d, tools %s", d.Revision, tools())
	}
	events("toolset.deployed published", "spec.drifted draft")

	// Every step is in the audit log, by the server itself.
	seen := map[string]int{}
	for _, a := range w.audits() {
		seen[a]++
	}
	if seen["toolset.schedule"] != 1 || seen["toolset.quarantine"] != 2 || seen["toolset.check:failed"] != 2 || seen["toolset.refresh"] != 3 {
		t.Errorf("audit %v", seen)
	}
	// An uploaded document cannot be watched.
	pets := w.create("Pets", "pets.yaml")
	want[front.Problem](w, w.do("PUT", "/v1/toolsets/"+pets.ID+"/schedule", `{"everySeconds":3600}`), http.StatusConflict)
}
