package admin_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/toolset/access"
)

// records returns the audit records of one action, oldest first.
func (w *world) records(action string) (out []audit.AuditRecord) {
	w.t.Helper()
	l := want[admin.List[audit.AuditRecord]](w, w.do("GET", "/v1/audit?limit=200", nil), 200)
	for _, r := range l.Items {
		if r.Action == action {
			out = append(out, r)
		}
	}
	slices.Reverse(out)
	return out
}

func basicAuth(password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+password))
}

// status sends a request whose answer need not be of the form of the admin API.
func (w *world) status(method, path string, headers []string) int {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, nil)
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:50000"
	r.Header.Set("Authorization", "Bearer "+w.token.Reveal())
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.srv.Handler().ServeHTTP(rec, r)
	return rec.Code
}

func refused(t *testing.T, r *audit.AuditRecord) (status, notRecorded int) {
	t.Helper()
	var after struct{ Status, NotRecorded int }
	if err := json.Unmarshal(r.After, &after); err != nil {
		t.Fatalf("%s: %v", r.After, err)
	}
	return after.Status, after.NotRecorded
}

// TestDenied: who was refused stands in the audit log, sampled and without secrets.
func TestDenied(t *testing.T) {
	w := newWorld(t)
	viewer := want[people.APIToken](w, w.do("POST", "/v1/tokens", `{"name":"v","role":"viewer"}`), 201)
	as := []string{"Authorization", "Bearer " + viewer.Token}
	unknown := []string{"Authorization", "Bearer " + access.NewToken().Reveal()}
	for _, row := range []struct {
		method, path string
		headers      []string
		status       int
		resource     string // "": not recorded
		actor        string
	}{
		{"GET", "/v1/members", as, 403, "GET /v1/members", "token"},
		{"GET", "/v1/me", unknown, 401, "GET /v1/me", "unknown"},
		{"GET", "/v1/me", []string{"Authorization", ""}, 401, "GET /v1/me", "unknown"},
		{"GET", "/v2/", []string{"Authorization", ""}, 401, "", ""}, // how every OCI client begins
		{"GET", "/v2/", []string{"Authorization", "Basic eDp5"}, 401, "GET /v2/", "unknown"},
		{"GET", "/edge/v1/release", unknown, 401, "GET /edge/v1/release", "unknown"},
		{"GET", "/oauth/login/a-secret-link", []string{"Host", "evil.example"}, 403, "GET /oauth", "unknown"},
		{"GET", "/v1/" + strings.Repeat("x", 500), unknown, 401, "GET /v1/" + strings.Repeat("x", 196) + "…", "unknown"},
		{"GET", "/v1/toolsets/ts_none", nil, 404, "", ""},
	} {
		before := len(w.records("request.denied"))
		if status := w.status(row.method, row.path, row.headers); status != row.status {
			t.Errorf("%s %s: %d", row.method, row.path, status)
		}
		got := w.records("request.denied")[before:]
		if row.resource == "" {
			if len(got) != 0 {
				t.Errorf("%s %s: recorded %+v", row.method, row.path, got)
			}
			continue
		}
		if len(got) != 1 {
			t.Errorf("%s %s: %d records", row.method, row.path, len(got))
			continue
		}
		status, _ := refused(t, &got[0])
		if got[0].Resource != row.resource || got[0].Actor.Type != row.actor || got[0].Outcome != "refused" || status != row.status || got[0].Actor.IP == "" {
			t.Errorf("%s %s: %+v", row.method, row.path, got[0])
		}
		if row.actor == "token" && got[0].Actor.ID != viewer.ID {
			t.Errorf("%s %s: by %s", row.method, row.path, got[0].Actor.ID)
		}
	}
	for _, r := range w.records("request.denied") {
		if b, _ := json.Marshal(r); strings.Contains(string(b), "a-secret-link") || strings.Contains(string(b), "slu_") {
			t.Errorf("a secret in %s", b)
		}
	}
}

// TestDeniedFlood: somebody who is refused again and again writes ten records at once
// and one in six seconds from then on; what was left out is counted, nobody of another
// workspace loses a record by it, and the chain stays whole.
func TestDeniedFlood(t *testing.T) {
	w := newWorld(t)
	other := want[people.CreatedWorkspace](w, w.do("POST", "/v1/workspaces", `{"id":"other","name":"Other"}`), 201)
	flood := func(n int) {
		for range n {
			if a := w.do("GET", "/v1/me", nil, "Authorization", ""); a.StatusCode != http.StatusUnauthorized {
				t.Fatalf("%d %s", a.StatusCode, a.body)
			}
		}
	}
	flood(100)
	got := w.records("request.denied")
	if len(got) != 10 {
		t.Fatalf("%d records of 100 refusals", len(got))
	}
	w.later.Add(int64(6 * time.Second))
	flood(2)
	got = w.records("request.denied")
	if len(got) != 11 {
		t.Fatalf("%d records after six seconds", len(got))
	}
	if _, n := refused(t, &got[10]); n != 90 {
		t.Errorf("%d were left out, want 90", n)
	}
	// The other workspace's own refusals are recorded there.
	as := []string{"Authorization", "Bearer " + other.Administrator.Token}
	if a := w.do("GET", "/v1/workspaces", nil, as...); a.StatusCode != http.StatusForbidden {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	l := want[admin.List[audit.AuditRecord]](w, w.do("GET", "/v1/audit", nil, as...), 200)
	if len(l.Items) == 0 || l.Items[0].Action != "request.denied" {
		t.Errorf("the other workspace: %+v", l.Items)
	}
	// At a stop, what was left out is said.
	w.stop()
	w.open()
	got = w.records("request.denied")
	if _, n := refused(t, &got[len(got)-1]); n != 1 {
		t.Errorf("at the stop %d are counted, want 1", n)
	}
	if n, err := w.st.Workspace("default").VerifyAudit(t.Context()); err != nil || n == 0 {
		t.Errorf("%d records, %v", n, err)
	}
}

// TestRegistryAudit: pushes and deletes through /v2/ are in the audit log.
func TestRegistryAudit(t *testing.T) {
	w := newWorld(t)
	basic := func(method, path string, body, contentType string, status int) answer {
		t.Helper()
		a := w.do(method, path, body, "Authorization", basicAuth(w.token.Reveal()), "Content-Type", contentType)
		if a.StatusCode != status {
			t.Fatalf("%s %s: %d %s", method, path, a.StatusCode, a.body)
		}
		return a
	}
	const repository, kind = "/v2/default/plugins/x", "application/vnd.oci.image.manifest.v1+json"
	const empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // of {}
	basic("POST", repository+"/blobs/uploads/?digest="+empty, "{}", "application/octet-stream", 201)
	manifest := `{"schemaVersion":2,"mediaType":"` + kind + `","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"` + empty + `","size":2},"layers":[]}`
	d := basic("PUT", repository+"/manifests/v1", manifest, kind, 201).Header.Get("Docker-Content-Digest")
	basic("DELETE", repository+"/manifests/v1", "", "", 202)
	basic("DELETE", repository+"/manifests/"+d, "", "", 202)
	basic("DELETE", repository+"/blobs/"+empty, "", "", 202)
	var got []string
	for _, action := range []string{"registry.push", "registry.delete"} {
		for _, r := range w.records(action) {
			got = append(got, strings.Join([]string{r.Action, r.Resource, r.Digest, string(r.After)}, " "))
		}
	}
	expected := []string{
		"registry.push default/plugins/x " + d + ` {"kind":"manifests","tag":"v1"}`,
		"registry.delete default/plugins/x " + d + ` {"kind":"manifests","tag":"v1"}`,
		"registry.delete default/plugins/x " + d + ` {"kind":"manifests","tag":""}`,
		"registry.delete default/plugins/x " + empty + ` {"kind":"blobs","tag":""}`,
	}
	if !slices.Equal(got, expected) {
		t.Errorf("records\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(expected, "\n"))
	}
}

// TestAuditVerify: the API says whether the log is whole, also against a head that was
// kept elsewhere, and to administrators only.
func TestAuditVerify(t *testing.T) {
	w := newWorld(t)
	head := want[audit.AuditHead](w, w.do("GET", "/v1/audit/head", nil), 200)
	w.create("Pets", "pets.yaml")
	for _, body := range []any{nil, audit.VerifyAudit{Head: head.Envelope}} {
		if v := want[audit.VerifiedAudit](w, w.do("POST", "/v1/audit/verify", body), 200); !v.OK || v.Records == 0 || len(v.Faults) != 0 {
			t.Errorf("verified %+v", v)
		}
	}
	other := want[people.CreatedWorkspace](w, w.do("POST", "/v1/workspaces", `{"id":"other","name":"Other"}`), 201)
	as := []string{"Authorization", "Bearer " + other.Administrator.Token}
	if v := want[audit.VerifiedAudit](w, w.do("POST", "/v1/audit/verify", audit.VerifyAudit{Head: head.Envelope}, as...), 200); v.OK || len(v.Faults) != 1 || !strings.Contains(v.Faults[0], "workspace") {
		t.Errorf("the head of another workspace: %+v", v)
	}
	if v := want[audit.VerifiedAudit](w, w.do("POST", "/v1/audit/verify", `{"head":{"payload":"e30=","payloadType":"x","signatures":[]}}`), 200); v.OK {
		t.Errorf("a head that nobody signed: %+v", v)
	}
}
