package admin_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/registry"
)

// logged is a report of calls.
func (w *world) logged(ws, toolset string, sequence uint64, tools ...string) *registry.UsageReport {
	r := &registry.UsageReport{Epoch: "E", Sequence: sequence, Oldest: sequence, Minute: w.now().Truncate(time.Minute).Unix(), Posted: w.now()}
	for i, tool := range tools {
		r.Calls = append(r.Calls, registry.UsageCall{
			Workspace: ws, Toolset: toolset, Tool: tool, At: w.now().Add(time.Duration(int(sequence)*10+i-100) * time.Second), Revision: 1, Outcome: "tool_error", Cause: "http_404",
			Status: 404, Credential: "accepted", CallerKind: "token", Caller: "act_1", Duration: 2500, Prepare: 500, Upstream: 1500, Shape: 400, Encode: 100,
			Captured: true, Arguments: `{"q":"` + tool + ` arguments"}`, Answer: tool + " answer",
		})
	}
	r.Omitted = []registry.UsageOmitted{{Workspace: ws, Toolset: toolset, Calls: 2}}
	return r
}

// TestCallNames: an access token is called by its name, as long as its toolset is there.
func TestCallNames(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	made := want[access.CreatedAccessToken](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/access-tokens", map[string]any{"name": "ci"}), 201)
	report := w.logged("default", ts.ID, 1, "a", "b", "c")
	report.Calls[0].Caller, report.Calls[1].Caller = made.ID, made.ID
	report.Calls[1].CallerKind = "jwt" // a subject that looks like a token
	want[registry.UsageReceipt](w, w.enrolEdge(`{}`).usage(report), 200)

	caller := func() map[string]usage.CallCaller {
		out := map[string]usage.CallCaller{}
		for _, c := range want[admin.Calls](w, w.do("GET", "/v1/calls", nil), 200).Items {
			out[c.Tool] = c.Caller
		}
		return out
	}
	by := caller()
	if by["a"] != (usage.CallCaller{Kind: "token", ID: made.ID, Name: "ci"}) || by["b"].Name != "" || by["c"].Name != "" {
		t.Errorf("%+v", by)
	}
	one := want[usage.CallDetail](w, w.do("GET", "/v1/calls/call_1", nil), 200)
	if one.Caller.Name != "ci" {
		t.Errorf("%+v", one.Caller)
	}
	want[struct{}](w, w.do("DELETE", "/v1/toolsets/"+ts.ID, nil, "If-Match", "*"), 204)
	if by := caller(); by["a"] != (usage.CallCaller{Kind: "token", ID: made.ID}) {
		t.Errorf("of a deleted toolset: %+v", by["a"])
	}
}

func TestCallLog(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	e := w.enrolEdge(`{}`)
	post := func(r *registry.UsageReport) {
		t.Helper()
		if !want[registry.UsageReceipt](w, e.usage(r), 200).Applied {
			t.Fatal("the report was not applied")
		}
	}
	post(w.logged("default", ts.ID, 1, "a", "b", "c"))
	post(w.logged("other", "ts_gone", 2, "d")) // an edge of this workspace writes into no other

	get := func(query string) admin.Calls {
		t.Helper()
		return want[admin.Calls](w, w.do("GET", "/v1/calls"+query, nil), 200)
	}
	all := get("")
	if len(all.Items) != 4 || all.Omitted != 4 || all.Items[0].Tool != "d" || all.NextCursor != "" {
		t.Fatalf("%+v", all)
	}
	c := all.Items[1]
	if c.Toolset != ts.Slug || c.ID != "call_3" || c.Duration != (usage.CallStages{TotalMs: 2.5, PrepareMs: .5, UpstreamMs: 1.5, ShapeMs: .4, EncodeMs: .1}) ||
		c.Caller != (usage.CallCaller{Kind: "token", ID: "act_1"}) || c.Node != e.id.Edge || !c.Captured {
		t.Errorf("%+v", c)
	}
	f := func(query string, n int) {
		t.Helper()
		if got := get(query); len(got.Items) != n {
			t.Errorf("%s: %d calls, want %d", query, len(got.Items), n)
		}
	}
	f("?toolset="+ts.Slug, 3)
	f("?toolset="+ts.ID+"&tool=b", 1)
	f("?outcome=ok,timeout", 0)
	f("?outcome=tool_error", 4)
	f("?failed=true&cause=http_404&caller=act_1&range=1h&minMs=2", 4)
	f("?minMs=3", 0)
	f("?node=local", 0)
	f("?from=2030-01-01T00:00:00Z", 0)
	f("?to=2020-01-01T00:00:00Z", 0)
	for _, bad := range []string{"?outcome=nonsense", "?range=soon", "?toolset=nothing", "?range=1h&from=2026-01-01T00:00:00Z", "?limit=0", "?cursor=x"} {
		if a := w.do("GET", "/v1/calls"+bad, nil); a.StatusCode < 400 || a.StatusCode > 422 {
			t.Errorf("%s: %d", bad, a.StatusCode)
		}
	}
	// Pages; a cursor belongs to its filter.
	first := get("?limit=2&failed=true")
	second := get("?limit=2&failed=true&cursor=" + first.NextCursor)
	if len(first.Items) != 2 || len(second.Items) != 2 || second.NextCursor != "" || second.Omitted != 0 || second.Items[1].ID == first.Items[0].ID {
		t.Errorf("pages: %+v, %+v", first, second)
	}
	want[front.Problem](w, w.do("GET", "/v1/calls?limit=2&cursor="+first.NextCursor, nil), http.StatusBadRequest)

	// What was captured is for those who may change the toolset.
	viewer, stranger := w.withRole("default", "viewer"), w.withRole("other", "admin")
	if got := want[usage.CallDetail](w, w.do("GET", "/v1/calls/call_1", nil), 200); got.Arguments != `{"q":"a arguments"}` || got.Answer != "a answer" {
		t.Errorf("%+v", got)
	}
	want[front.Problem](w, w.do("GET", "/v1/calls/call_1", nil, bearer(viewer)...), http.StatusForbidden)
	want[front.Problem](w, w.do("GET", "/v1/calls/call_1", nil, bearer(stranger)...), http.StatusNotFound)
	if got := want[admin.Calls](w, w.do("GET", "/v1/calls", nil, bearer(stranger)...), 200); len(got.Items) != 0 || got.Omitted != 0 {
		t.Errorf("a stranger sees %+v", got)
	}

	// Whoever follows is answered when a call arrives.
	follow := func(query string) usage.FollowedCalls {
		t.Helper()
		return want[usage.FollowedCalls](w, w.do("GET", "/v1/calls/follow"+query, nil), 200)
	}
	here := follow("")
	if len(here.Items) != 0 || here.Next != "4" {
		t.Fatalf("%+v", here)
	}
	got := make(chan usage.FollowedCalls, 1)
	go func() { got <- follow("?wait=30&tool=y&after=" + here.Next) }()
	post(w.logged("default", ts.ID, 3, "x"))
	post(w.logged("default", ts.ID, 4, "y"))
	if f := <-got; len(f.Items) != 1 || f.Items[0].Tool != "y" || f.Next != "6" {
		t.Errorf("followed %+v", f)
	}
	if f := follow("?after=0&limit=5"); len(f.Items) != 5 || f.Next != "5" {
		t.Errorf("from the beginning: %+v", f)
	}
	want[front.Problem](w, w.do("GET", "/v1/calls/follow?after=x", nil), http.StatusBadRequest)
}

// Capture is off until an administrator turns it on; it is in the signed document that
// gateways obey, and stays when access changes.
func TestCapture(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID + "/capture"
	editor := w.withRole("default", "editor")
	if got := want[access.CaptureSettings](w, w.do("GET", path, nil, bearer(editor)...), 200); got.Capture != "off" {
		t.Errorf("%+v", got)
	}
	want[front.Problem](w, w.do("PUT", path, `{"capture":"all"}`, bearer(editor)...), http.StatusForbidden)
	want[front.Problem](w, w.do("PUT", path, `{"capture":"some"}`), http.StatusUnprocessableEntity)
	document := func() *registry.AccessDocument {
		t.Helper()
		return w.liveAccess(ts.ID)
	}
	for _, c := range []string{"errors", "all"} {
		want[access.CaptureSettings](w, w.do("PUT", path, `{"capture":"`+c+`"}`), 200)
		if d := document(); d.Capture != c || d.Mode != "none" {
			t.Errorf("%+v", d)
		}
	}
	want[access.ToolsetAccess](w, w.do("PUT", "/v1/toolsets/"+ts.ID+"/access", `{"mode":"token"}`), 200)
	if d := document(); d.Capture != "all" || d.Mode != "token" {
		t.Errorf("after a change of access: %+v", d)
	}
	want[access.CaptureSettings](w, w.do("PUT", path, `{"capture":"off"}`), 200)
	if d := document(); d.Capture != "" || d.Mode != "token" {
		t.Errorf("%+v", d)
	}
	n := 0
	for _, action := range w.audits() {
		if action == "capture.set" {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d audit records of three changes", n)
	}
}
