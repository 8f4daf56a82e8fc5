package admin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/front/job"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/toolset/access"
)

// TestClosedByDefault: where others reach the gateway a new toolset needs a token,
// which its creation shows once, unless the request says that it is public.
func TestClosedByDefault(t *testing.T) {
	w := newWorld(t)
	early := w.create("Early", "pets.yaml") // on loopback: open
	if early.Token != nil || early.Access.Mode != "none" || early.Access.Public {
		t.Fatalf("on loopback: %+v, token %v", early.Access, early.Token)
	}
	w.stop()
	w.closed = true
	w.open()
	if got := w.get(early.ID).Access; !got.Public || got.Mode != "none" {
		t.Errorf("a toolset from before: %+v, want public", got)
	}
	made := w.create("Pets", "pets.yaml")
	if made.Token == nil || !strings.HasPrefix(made.Token.Token, "slt_") || made.Token.Mode != "token" || made.Access.Mode != "token" || made.Access.Public {
		t.Fatalf("made %+v with token %+v", made.Access, made.Token)
	}
	if made.Status != "live" {
		t.Fatalf("the toolset is %s", made.Status)
	}
	path := "/v1/toolsets/" + made.ID
	opened := want[access.ToolsetAccess](w, w.do("GET", path+"/access", nil), 200)
	tokens := want[admin.List[access.AccessToken]](w, w.do("GET", path+"/access-tokens", nil), 200)
	if opened.Mode != "token" || opened.Tokens != 1 || len(tokens.Items) != 1 || tokens.Items[0].Last4 != made.Token.Last4 {
		t.Errorf("access %+v, tokens %+v", opened, tokens.Items)
	}
	if again := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody("Pets", "pets.yaml")), 200); again.Token != nil || again.Access.Mode != "token" {
		t.Errorf("the same again: %+v, %v", again.Access, again.Token)
	}
	// A slow creation is a job, whose record has no token.
	going := want[job.Job](w, w.do("POST", "/v1/toolsets", w.createBody("Slow", "pets.yaml"), "Prefer", "wait=0"), 202)
	for going.State == "running" || going.State == "queued" {
		going = want[job.Job](w, w.do("GET", "/v1/jobs/"+going.ID, nil), 200)
	}
	if strings.Contains(string(going.Result), "slt_") || !strings.Contains(string(going.Result), `"mode":"token"`) {
		t.Errorf("the job has %s", going.Result)
	}
	body := w.createBody("Open", "pets.yaml")
	body["access"] = "none"
	open := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	if open.Token != nil || !open.Access.Public {
		t.Errorf("public: %+v, %v", open.Access, open.Token)
	}
	if n := len(slices.DeleteFunc(w.audits(), func(a string) bool { return a != "access.set" })); n != 3 {
		t.Errorf("%d audit records of access, want one for each toolset", n)
	}
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 200) // the same said again
	body["access"] = "token"
	if p := want[front.Problem](w, w.do("POST", "/v1/toolsets", body), 409); !strings.Contains(p.Remedy, "sluice toolset access open set token") {
		t.Errorf("another access of a toolset that is there: %+v", p)
	}
}

// TestTokenOnLoopbackWhenAsked: the request may ask for a token on any node.
func TestTokenOnLoopbackWhenAsked(t *testing.T) {
	w := newWorld(t)
	body := w.createBody("Pets", "pets.yaml")
	body["access"] = "token"
	if made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201); made.Token == nil || made.Access.Mode != "token" {
		t.Errorf("made %+v, %v", made.Access, made.Token)
	}
}

// TestMetricsNeedAToken: beyond loopback, one of the operator's workspace; probes stay
// open.
func TestMetricsNeedAToken(t *testing.T) {
	w := newWorld(t)
	f := func(path string, status int, headers ...string) {
		t.Helper()
		if a := w.do("GET", path, nil, headers...); a.StatusCode != status {
			t.Errorf("%s %v: %d, want %d", path, headers, a.StatusCode, status)
		}
	}
	nobody := []string{"Authorization", ""}
	viewer := w.apiToken("viewer")
	tenant := want[people.CreatedWorkspace](w, w.do("POST", "/v1/workspaces", `{"id":"tenant"}`), 201)
	f("/metrics", 200, nobody...)
	w.stop()
	w.closed = true
	w.open()
	f("/metrics", 401, nobody...)
	f("/metrics", 401, slices.Concat(here, nobody)...)
	f("/metrics", 401, "Authorization", "Bearer slu_000000000000000000000000000000000000")
	f("/metrics", 403, "Authorization", "Bearer "+tenant.Administrator.Token)
	f("/metrics", 200, viewer...)
	f("/metrics", 200)
	for _, path := range []string{"/livez", "/healthz", "/readyz"} {
		f(path, 200, nobody...)
	}
}
