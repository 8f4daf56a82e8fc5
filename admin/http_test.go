package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/front/job"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/diskfault"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Every answer that is not success, whoever makes it: the router, the framework or
// a handler. notContains guards against values coming back.
func TestProblems(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	before := w.audits()
	one := "/v1/toolsets/" + ts.ID
	const secret = "s3cret-that-must-not-return"
	typo := w.token.Reveal()[:39] + "0"
	if typo == w.token.Reveal() {
		typo = w.token.Reveal()[:39] + "1"
	}
	for _, row := range []struct {
		name, method, path string
		body               any
		headers            []string
		status             int
		contains           []string
		notContains        string
	}{
		{name: "no token", method: "GET", path: "/v1/toolsets", headers: []string{"Authorization", ""}, status: 401, contains: []string{`"unauthenticated"`, "missing API token", "admin.token"}},
		{name: "basic", method: "GET", path: "/v1/me", headers: []string{"Authorization", "Basic Zm9v"}, status: 401, contains: []string{"not of the form Bearer TOKEN"}, notContains: "Zm9v"},
		{name: "no scheme", method: "GET", path: "/v1/me", headers: []string{"Authorization", typo}, status: 401, contains: []string{"not of the form Bearer TOKEN"}, notContains: typo},
		{name: "token of a toolset", method: "GET", path: "/v1/me", headers: []string{"Authorization", "Bearer " + access.NewTokenFor(access.ToolsetPrefix).Reveal()}, status: 401, contains: []string{"opens the toolset URL"}},
		{name: "typo in the token", method: "GET", path: "/v1/me", headers: []string{"Authorization", "Bearer " + typo}, status: 401, contains: []string{"malformed API token"}, notContains: typo},
		{name: "another token", method: "GET", path: "/v1/me", headers: []string{"Authorization", "Bearer " + access.NewToken().Reveal()}, status: 401, contains: []string{"not known"}},
		{name: "foreign host", method: "GET", path: "/v1/me", headers: []string{"Host", "evil.example"}, status: 403, contains: []string{`"forbidden"`}},
		{name: "foreign host, probe", method: "GET", path: "/livez", headers: []string{"Host", "evil.example:7301"}, status: 403},
		{name: "nothing here", method: "GET", path: "/nothing", status: 404, contains: []string{`"not_found"`, "/v1/openapi.json"}},
		{name: "nothing in v1", method: "GET", path: "/v1/nothing", status: 404, contains: []string{`"not_found"`}},
		{name: "not clean", method: "GET", path: "/v1//toolsets", status: 404},
		{name: "method", method: "PUT", path: "/v1/toolsets", body: "{}", status: 405, contains: []string{`"method_not_allowed"`}},
		{name: "method of a probe", method: "POST", path: "/livez", status: 405},
		{name: "unknown toolset", method: "GET", path: "/v1/toolsets/ts_none", status: 404, contains: []string{"ts_none"}},
		{name: "unknown job", method: "GET", path: "/v1/jobs/job_none", status: 404},
		{name: "unknown connector", method: "GET", path: "/v1/connectors/none", status: 404},
		{name: "unknown connector's versions", method: "GET", path: "/v1/connectors/none/versions", status: 404},
		{name: "limit 0", method: "GET", path: "/v1/toolsets?limit=0", status: 422, contains: []string{"query.limit"}},
		{name: "limit 201", method: "GET", path: "/v1/toolsets?limit=201", status: 422},
		{name: "limit x", method: "GET", path: "/v1/toolsets?limit=" + secret, status: 422, notContains: secret},
		{name: "foreign cursor", method: "GET", path: "/v1/toolsets?cursor=eyJsIjoiL3YxL2pvYnMiLCJrIjoieCJ9", status: 400, contains: []string{"does not belong"}},
		{name: "broken cursor", method: "GET", path: "/v1/toolsets?cursor=%21", status: 400},
		{name: "empty body", method: "POST", path: "/v1/toolsets", status: 400},
		{name: "not JSON", method: "POST", path: "/v1/toolsets", body: "{" + secret, status: 400, notContains: secret},
		{name: "wrong type", method: "PUT", path: one + "/authentication", body: `{"authType":"header","headerName":"X","apiKey":12345678901}`, status: 422, contains: []string{"body.apiKey"}, notContains: "12345678901"},
		{name: "unknown field", method: "PUT", path: one + "/authentication", body: map[string]any{"authType": "header", "headerName": "X", "apikey": secret}, status: 422, contains: []string{"body.apikey"}, notContains: secret},
		{name: "wrong enum", method: "PUT", path: one + "/authentication", body: map[string]any{"authType": secret}, status: 422, notContains: secret},
		{name: "bad key", method: "PUT", path: one + "/authentication", body: map[string]any{"authType": "header", "headerName": "X", "apiKey": secret + "\n"}, status: 400, contains: []string{"#/apiKey"}, notContains: secret},
		{name: "media type", method: "POST", path: "/v1/toolsets", body: "a: b", headers: []string{"Content-Type", "application/yaml"}, status: 415},
		{name: "no source", method: "POST", path: "/v1/toolsets", body: `{"source":{}}`, status: 400, contains: []string{"#/source"}},
		{name: "two sources", method: "POST", path: "/v1/toolsets", body: `{"source":{"openapi":{"url":"https://a.example","document":"x"}}}`, status: 400},
		{name: "credentials in the URL", method: "POST", path: "/v1/toolsets", body: `{"source":{"openapi":{"url":"https://u:` + secret + `@a.example/x"}}}`, status: 400, contains: []string{"credentials"}, notContains: secret},
		{name: "not a URL", method: "POST", path: "/v1/toolsets", body: `{"source":{"openapi":{"url":"ftp://a.example/x"}}}`, status: 400},
		{name: "unreachable", method: "POST", path: "/v1/toolsets", body: `{"source":{"openapi":{"url":"https://a.example/x"}}}`, status: 502, contains: []string{`"unreachable"`, "remedy"}},
		{name: "bad slug", method: "POST", path: "/v1/toolsets", body: `{"slug":"A","source":{"openapi":{"document":"x"}}}`, status: 422, contains: []string{"body.slug"}},
		{name: "not a specification", method: "POST", path: "/v1/toolsets", body: `{"source":{"openapi":{"document":"hello","fileName":"a.yaml"}}}`, status: 422, contains: []string{`"title":"Invalid OpenAPI spec"`, `"invalid_openapi_spec"`, "a.yaml"}},
		{name: "broken specification", method: "POST", path: "/v1/connectors/preview", body: map[string]any{"source": map[string]any{"openapi": map[string]any{"document": fixture(t, "broken.yaml"), "fileName": "broken.yaml"}}}, status: 422, contains: []string{"Invalid OpenAPI spec", `"line":3`, `"pointer":"#/paths"`, "remedy"}},
		{name: "key of idempotency", method: "POST", path: "/v1/connectors/preview", body: "{}", headers: []string{"Idempotency-Key", strings.Repeat("k", 256)}, status: 400},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := w.do(row.method, row.path, row.body, row.headers...)
			if a.StatusCode != row.status {
				t.Errorf("status %d, want %d: %s", a.StatusCode, row.status, a.body)
			}
			for _, c := range append(row.contains, `"type":"https://`, `"instance":"/v1/requests/req_`) {
				if !strings.Contains(a.body, c) {
					t.Errorf("%s does not contain %s", a.body, c)
				}
			}
			if row.notContains != "" && strings.Contains(a.body, row.notContains) {
				t.Errorf("%s contains %s", a.body, row.notContains)
			}
			var p front.Problem
			if err := json.Unmarshal([]byte(a.body), &p); err != nil || p.Status != a.StatusCode || p.Code == "" || p.Title == "" {
				t.Errorf("problem %+v, %v", p, err)
			}
			if a.StatusCode == http.StatusMethodNotAllowed && a.Header.Get("Allow") == "" || a.StatusCode == http.StatusUnauthorized && a.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("headers %v", a.Header)
			}
		})
	}
	if after := w.audits(); !reflect.DeepEqual(after, before) {
		t.Errorf("refused requests left records: %v", after[len(before):])
	}
	if l := want[admin.List[view.Toolset]](w, w.do("GET", "/v1/toolsets", nil), 200); len(l.Items) != 1 || l.Items[0].Digest != ts.Digest {
		t.Errorf("refused requests changed something: %+v", l)
	}
	if strings.Contains(w.log.String(), secret) {
		t.Error("the log holds a value of a refused request")
	}
}

func TestAllowedHosts(t *testing.T) {
	w := newWorld(t)
	for host, status := range map[string]int{
		"localhost": 200, "localhost:7301": 200, "LOCALHOST:1": 200, "localhost.": 200, "example.com": 200,
		"127.0.0.1": 403, "[::1]:7301": 403, "localhost.evil.example": 403, "": 403,
	} {
		if a := w.do("GET", "/v1/me", nil, "Host", host); a.StatusCode != status {
			t.Errorf("host %q: %d, want %d", host, a.StatusCode, status)
		}
	}
}

func TestHealth(t *testing.T) {
	w := newWorld(t)
	f := func(path string, status int, body string) {
		t.Helper()
		if a := w.do("GET", path, nil, "Authorization", ""); a.StatusCode != status || a.body != body {
			t.Errorf("%s: %d %q; want %d %q", path, a.StatusCode, a.body, status, body)
		}
	}
	f("/livez", 200, "ok\n")
	f("/healthz", 200, "ok\n")
	f("/readyz", 200, "ok\n")
	f("/readyz?verbose", 200, "[+]store ok\nready\n")
	if a := w.do("GET", "/metrics", nil, "Authorization", ""); a.StatusCode != http.StatusOK || !strings.HasSuffix(a.body, "\nsluice_build_info 1\n") {
		t.Errorf("/metrics: %d %q", a.StatusCode, a.body)
	}
	broken, full := errors.New("secret detail of an internal error"), diskfault.Full("disk")
	srv, err := admin.New(t.Context(), admin.Options{
		Store: w.st, Keyring: w.ring, Publisher: w.pub, Fetcher: w.fetcher, GatewayURL: "http://127.0.0.1:7300", Hosts: []string{"example.com"},
		Ready: []front.Check{{Name: "engine", Check: func(context.Context) error { return nil }}, {Name: "registry", Check: func(context.Context) error { return broken }}, {Name: "data directory", Check: func(context.Context) error { return full }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	away := problem.New(problem.Unavailable, "connection refused").Fix("this node counts by itself meanwhile")
	ready, err := admin.New(t.Context(), admin.Options{
		Store: w.st, Keyring: w.ring, Publisher: w.pub, Fetcher: w.fetcher, GatewayURL: "http://127.0.0.1:7300", Hosts: []string{"example.com"},
		Ready: []front.Check{{Name: "shared state", Check: func(context.Context) error { return away }, Warns: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	ready.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz?verbose", nil))
	if rec.Code != 200 || rec.Body.String() != "[+]store ok\n[!]shared state connection refused: this node counts by itself meanwhile\nready\n" {
		t.Errorf("what a node is ready without: %d %q", rec.Code, rec.Body.String())
	}
	for path, want := range map[string]string{
		"/readyz":         "not ready\n",
		"/readyz?verbose": "[+]store ok\n[+]engine ok\n[-]registry the server met an unexpected error; its log names it by this request\n[-]data directory " + full.Detail + ": " + full.Remedy + "\nnot ready\n",
	} {
		rec := httptest.NewRecorder()
		srv.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if rec.Code != 503 || rec.Body.String() != want {
			t.Errorf("%s: %d %q", path, rec.Code, rec.Body.String())
		}
	}
}

// TestHealthBlamesWhatHangs: a check that does not answer in time is named, and not those
// behind it.
func TestHealthBlamesWhatHangs(t *testing.T) {
	w := newWorld(t)
	srv, err := admin.New(t.Context(), admin.Options{
		Store: w.st, Keyring: w.ring, Publisher: w.pub, Fetcher: w.fetcher, GatewayURL: "http://127.0.0.1:7300", Hosts: []string{"example.com"},
		Ready: []front.Check{
			{Name: "database", Check: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
			{Name: "data directory", Check: func(ctx context.Context) error { return ctx.Err() }},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	srv.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz?verbose", nil))
	if want := "[+]store ok\n[-]database did not answer within 2s\n[+]data directory ok\nnot ready\n"; rec.Code != 503 || rec.Body.String() != want {
		t.Errorf("%d %q, want %q", rec.Code, rec.Body.String(), want)
	}
}

func TestMe(t *testing.T) {
	w := newWorld(t)
	a := w.do("GET", "/v1/me", nil)
	me := want[admin.Me](w, a, 200)
	if me.Workspace != "default" || me.Role != "admin" || me.Version != "1.0-test" || me.Name != "local" {
		t.Errorf("me %+v", me)
	}
	if a.Header.Get("X-Request-Id") == "" || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("headers %v", a.Header)
	}
}

func form(t *testing.T, parts ...string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := m.CreateFormFile(parts[i], "dir/"+parts[i]+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), m.FormDataContentType()
}

func TestMultipart(t *testing.T) {
	w := newWorld(t)
	post := func(path string, parts ...string) answer {
		body, ct := form(t, parts...)
		return w.do("POST", path, body, "Content-Type", ct)
	}
	request := `{"name":"Up","baseUrl":"` + w.upstream.URL + `"}`
	ts := want[change.CreatedToolset](w, post("/v1/toolsets", "request", request, "file", fixture(t, "pets.yaml")), 201)
	if ts.Slug != "up" || ts.Status != "live" || ts.Source.URL != "" || ts.Source.Format != "yaml" {
		t.Errorf("created %+v", ts.Toolset)
	}
	pv := want[change.Preview](w, post("/v1/connectors/preview", "file", fixture(t, "pets.yaml")), 200)
	if pv.Report.ToolCount != 4 || len(pv.Tools) != 4 || pv.Name == "" || pv.Report.AuthRequired {
		t.Errorf("preview %+v", pv.Report)
	}
	for name, a := range map[string]answer{
		"no file":     post("/v1/toolsets", "request", request),
		"two files":   post("/v1/toolsets", "file", "a", "file", "b"),
		"bad request": post("/v1/toolsets", "request", "{", "file", "a"),
		"two sources": post("/v1/toolsets", "request", `{"source":{}}`, "file", "a"),
		"cut":         w.do("POST", "/v1/toolsets", "--x\r\nContent-Disposition: form-data; name=file\r\n\r\nabc", "Content-Type", "multipart/form-data; boundary=x"),
		"no boundary": w.do("POST", "/v1/toolsets", "abc", "Content-Type", "multipart/form-data"),
		"other path": func() answer {
			b, ct := form(t, "file", "a")
			return w.do("POST", "/v1/toolsets/"+ts.ID+"/test", b, "Content-Type", ct)
		}(),
	} {
		if a.StatusCode < 400 || a.StatusCode > 422 {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	if p := want[front.Problem](w, post("/v1/toolsets", "file", "\xff\xfe"), 422); p.Errors[0].File != "file.yaml" {
		t.Errorf("not UTF-8: %+v", p)
	}
	want[front.Problem](w, post("/v1/toolsets", "overlay", "overlay: \xff", "file", fixture(t, "pets.yaml")), 422)
	for path, part := range map[string]string{"/v1/toolsets": "file", "/v1/plugins": "module"} {
		named := "--x\r\nContent-Disposition: form-data; name=" + part + "; filename=\"a\xff.yaml\"\r\n\r\nabc\r\n--x--\r\n"
		want[front.Problem](w, w.do("POST", path, named, "Content-Type", "multipart/form-data; boundary=x"), 422)
	}
}

func TestBodyLimit(t *testing.T) {
	w := newWorld(t)
	f := func(size int, status int) {
		t.Helper()
		head, tail := `{"source":{"openapi":{"document":"`, `"}}}`
		body := head + strings.Repeat(" ", size-len(head)-len(tail)) + tail
		if a := w.do("POST", "/v1/connectors/preview", body); a.StatusCode != status {
			t.Errorf("%d bytes: %d %.300s; want %d", size, a.StatusCode, a.body, status)
		}
	}
	f(front.MaxBodyBytes, 422) // read, and then it is not a specification
	f(front.MaxBodyBytes+1, 413)
	large := strings.Repeat(" ", front.MaxBodyBytes+1)
	if p := want[front.Problem](w, w.do("POST", "/v1/plugins", large), 413); !strings.Contains(p.Remedy, "a module may have 16 MiB") {
		t.Errorf("a plugin that is too large: %+v", p)
	}
}

func TestIdempotency(t *testing.T) {
	w := newWorld(t)
	body := w.createBody("Pets", "pets.yaml")
	first := w.do("POST", "/v1/toolsets", body, "Idempotency-Key", "k1")
	ts := want[change.CreatedToolset](w, first, 201)
	again := w.do("POST", "/v1/toolsets", body, "Idempotency-Key", "k1")
	if again.StatusCode != http.StatusCreated || again.body != first.body || again.Header.Get("Idempotent-Replayed") != "true" ||
		again.Header.Get("ETag") != first.Header.Get("ETag") || again.Header.Get("Location") != first.Header.Get("Location") {
		t.Errorf("replayed: %d %v", again.StatusCode, again.Header)
	}
	if n := len(slices.DeleteFunc(w.audits(), func(a string) bool { return a != "toolset.create" })); n != 1 {
		t.Errorf("the toolset was created %d times", n)
	}
	body["name"] = "Other"
	if p := want[front.Problem](w, w.do("POST", "/v1/toolsets", body, "Idempotency-Key", "k1"), 422); !strings.Contains(p.Detail, "another request") {
		t.Errorf("other body: %+v", p)
	}
	path := "/v1/toolsets/" + ts.ID + "/test"
	want[front.Problem](w, w.do("POST", path, nil, "Idempotency-Key", "k1"), 422)
	// Without a key each request counts.
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 200)

	// While the first runs, the second is told to wait.
	hold := make(chan struct{})
	w.tester.mu.Lock()
	w.tester.hold = hold
	w.tester.mu.Unlock()
	done := make(chan answer)
	go func() { done <- w.do("POST", path, nil, "Idempotency-Key", "k2") }()
	w.waitCalls(4)
	if a := w.do("POST", path, nil, "Idempotency-Key", "k2"); a.StatusCode != http.StatusConflict || a.Header.Get("Retry-After") == "" {
		t.Errorf("while it runs: %d %s", a.StatusCode, a.body)
	}
	close(hold)
	if a := <-done; a.StatusCode != http.StatusOK {
		t.Errorf("the first: %d %s", a.StatusCode, a.body)
	}
	if a := w.do("POST", path, nil, "Idempotency-Key", "k2"); a.StatusCode != http.StatusOK || a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("after it ran: %d", a.StatusCode)
	}
	// A fault of the server is not kept: the same key tries again.
	w.faults.set(func(what, _ string) error { return errors.New("disk full") })
	want[front.Problem](w, w.do("POST", "/v1/toolsets", w.createBody("Third", "pets.yaml"), "Idempotency-Key", "k3"), 500)
	w.faults.set(nil)
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody("Third", "pets.yaml"), "Idempotency-Key", "k3"), 201)
}

// waitCalls waits until the tester has begun its nth call.
func (w *world) waitCalls(n int) {
	w.t.Helper()
	w.until("the tester is called", func() bool {
		w.tester.mu.Lock()
		defer w.tester.mu.Unlock()
		return w.tester.n >= n
	})
}

// until polls a condition of real goroutines and real I/O.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestJobs(t *testing.T) {
	w := newWorld(t)
	hold := make(chan struct{})
	w.tester.hold = hold
	a := w.do("POST", "/v1/toolsets", w.createBody("Pets", "pets.yaml"), "Prefer", "respond-async, wait=0")
	going := want[job.Job](w, a, 202)
	if a.Header.Get("Location") != "/v1/jobs/"+going.ID || a.Header.Get("Retry-After") == "" || a.Header.Get("Preference-Applied") != "wait=0" || going.State != "running" {
		t.Fatalf("accepted %+v %v", going, a.Header)
	}
	read := func() job.Job { return want[job.Job](w, w.do("GET", "/v1/jobs/"+going.ID, nil), 200) }
	w.until("the job tests", func() bool { return read().Phase == "testing a tool" })
	close(hold)
	w.until("the job ends", func() bool { return read().State != "running" })
	end := read()
	var ts change.CreatedToolset
	if err := json.Unmarshal(end.Result, &ts); err != nil || end.State != "succeeded" || end.Resource != "/v1/toolsets/"+ts.ID || ts.Status != "live" {
		t.Errorf("ended %+v, %v", end, err)
	}
	// A job that fails says why, as the request would have.
	w.fetcher.mu.Lock() // holds the work
	going = want[job.Job](w, w.do("POST", "/v1/toolsets", `{"source":{"openapi":{"url":"https://no.example/x"}}}`, "Prefer", "wait=0"), 202)
	w.fetcher.mu.Unlock()
	w.until("the job ends", func() bool { return read().State != "running" })
	if end = read(); end.State != "failed" || end.Error == nil || end.Error.Code != "unreachable" || end.Error.Remedy == "" {
		t.Errorf("failed %+v", end)
	}
	if l := want[admin.List[job.Job]](w, w.do("GET", "/v1/jobs", nil), 200); len(l.Items) != 2 || l.Items[0].ID != going.ID {
		t.Errorf("jobs %+v", l)
	}
}

// A process that dies while a job runs: the next one says so.
func TestJobOfADeadProcess(t *testing.T) {
	w := newWorld(t)
	w.tester.hold = make(chan struct{})
	going := want[job.Job](w, w.do("POST", "/v1/toolsets", w.createBody("Pets", "pets.yaml"), "Prefer", "wait=0", "Idempotency-Key", "k"), 202)
	w.waitCalls(1)
	old := w.stop
	w.open() // as another process would, on the same directory
	got := want[job.Job](w, w.do("GET", "/v1/jobs/"+going.ID, nil), 200)
	if got.State != "failed" || got.Error == nil || got.Error.Code != "unavailable" {
		t.Errorf("job %+v", got)
	}
	close(w.tester.hold)
	old()
}

func TestPages(t *testing.T) {
	w := newWorld(t)
	var slugs []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		body := w.createBody(name, "pets.yaml")
		body["deploy"] = map[string]any{"skip": true}
		slugs = append([]string{want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201).Slug}, slugs...)
	}
	var got []string
	for next := "/v1/toolsets?limit=2"; next != ""; {
		a := w.do("GET", next, nil)
		l := want[admin.List[view.Toolset]](w, a, 200)
		for i := range l.Items {
			got = append(got, l.Items[i].Slug)
		}
		link := a.Header.Get("Link")
		if (link == "") != (l.NextCursor == "") {
			t.Fatalf("link %q, cursor %q", link, l.NextCursor)
		}
		next, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
	}
	if !reflect.DeepEqual(got, slugs) {
		t.Errorf("pages %v, want %v", got, slugs)
	}
}

func TestRestart(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Locked", "locked.yaml")
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey})
	token := w.token
	w.stop()
	w.open()
	if !w.token.Equal(token) {
		t.Error("the token changed")
	}
	run := want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/test", nil), 200)
	if !run.Passed || !run.Deployed || run.Digest == ts.Digest {
		t.Errorf("after a restart: %+v", run.TestRun)
	}
}

func TestConcurrentWrites(t *testing.T) {
	w := newWorld(t)
	// Of many creations of one slug the first makes it, the others refresh it.
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 6 {
		wg.Go(func() {
			a := w.do("POST", "/v1/toolsets", w.createBody("Pets", "pets.yaml"))
			mu.Lock()
			defer mu.Unlock()
			statuses[a.StatusCode]++
		})
	}
	wg.Wait()
	l := want[admin.List[view.Toolset]](w, w.do("GET", "/v1/toolsets", nil), 200)
	if statuses[201] != 1 || statuses[200] != 5 || len(l.Items) != 1 {
		t.Fatalf("statuses %v, %d toolsets", statuses, len(l.Items))
	}
	// Of many changes with the same ETag one wins.
	path := "/v1/toolsets/" + l.Items[0].ID
	tag := w.do("GET", path, nil).Header.Get("ETag")
	clear(statuses)
	for i := range 8 {
		wg.Go(func() {
			a := w.do("PATCH", path, map[string]any{"description": strings.Repeat("x", i+1)}, "If-Match", tag)
			mu.Lock()
			defer mu.Unlock()
			statuses[a.StatusCode]++
		})
	}
	wg.Wait()
	if statuses[200] != 1 || statuses[412] != 7 {
		t.Errorf("statuses %v", statuses)
	}
	// Deploys and deletes of several toolsets leave release and records equal.
	for i := range 6 {
		wg.Go(func() {
			ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody("T"+string(rune('a'+i)), "pets.yaml")), 201)
			if i%2 == 0 {
				w.remove(ts.ID)
			}
		})
	}
	wg.Wait()
	var live []string
	for _, ts := range want[admin.List[view.Toolset]](w, w.do("GET", "/v1/toolsets", nil), 200).Items {
		if ts.Status == "live" {
			live = append(live, ts.Slug)
		}
	}
	got := w.live()
	slices.Sort(live)
	slices.Sort(got)
	if !reflect.DeepEqual(live, got) || len(live) < 3 {
		t.Errorf("records say %v, the release %v", live, got)
	}
	if n, err := w.st.Workspace("default").VerifyAudit(t.Context()); err != nil || n == 0 {
		t.Errorf("audit: %d, %v", n, err)
	}
}

func TestTokens(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		tok := access.NewToken()
		v := tok.Reveal()
		if !access.ValidToken(tok) || len(v) != 40 || seen[v] {
			t.Fatalf("token %q", v)
		}
		seen[v] = true
		for i := range len(v) {
			c := byte('x')
			if v[i] == c {
				c = 'y'
			}
			if access.ValidToken(secrets.New(v[:i] + string(c) + v[i+1:])) {
				t.Fatalf("a typo at %d of %s is not seen", i, v)
			}
		}
	}
	if access.ValidToken(secrets.Secret{}) || access.ValidToken(secrets.New("slu_")) {
		t.Error("an empty token is valid")
	}
}

// TestOptions: what a path knows is told without a token, as the document of the API does.
func TestOptions(t *testing.T) {
	w := newWorld(t)
	for path, allow := range map[string]string{"/v1/toolsets": "GET, HEAD, POST, OPTIONS", "/v1/toolsets/any/deploy": "POST, OPTIONS"} {
		a := w.do("OPTIONS", path, nil, "Authorization", "")
		if a.StatusCode != http.StatusNoContent || a.Header.Get("Allow") != allow || a.body != "" || a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v %s", path, a.StatusCode, a.Header, a.body)
		}
	}
	if a := w.do("OPTIONS", "/v1/nothing", nil, "Authorization", ""); a.StatusCode != http.StatusNotFound {
		t.Errorf("what is not there: %d", a.StatusCode)
	}
	if a := w.do("OPTIONS", "/v1/toolsets", nil, "Host", "evil.example"); a.StatusCode != http.StatusForbidden {
		t.Errorf("another host: %d", a.StatusCode)
	}
}
